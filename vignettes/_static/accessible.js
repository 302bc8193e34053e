// What the themes leave undone for those who use the keyboard or a screen reader:
// regions that scroll can be reached, and names of buttons are what is written on them.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll(".cell_output *, .cell_output, pre")) {
    if (one.scrollWidth > one.clientWidth + 1 &&
        ["auto", "scroll"].includes(getComputedStyle(one).overflowX)) {
      one.tabIndex = 0;
    }
  }
  for (const one of document.querySelectorAll(
      "details > summary[aria-label], .search-button-field[aria-label]")) {
    one.removeAttribute("aria-label");
  }
});
