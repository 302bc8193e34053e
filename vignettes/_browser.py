"""Look at every built page in a real browser, and say what is wrong with it.

    pip install playwright; npm install axe-core
    python vignettes/_browser.py build/html node_modules/axe-core/axe.min.js

Each page is opened at 1280 and at 390 pixels, light and dark. A finding is a serious
violation of accessibility by axe-core, an error in the console, a page that scrolls
sideways, a header of more than one line, a page of one question that takes more than a
screen and a half, or a link inside the site that leads nowhere.
With the Tab key alone every link, button and field has to be reached and to show that
it has the focus, the skip link has to lead into the page, and each menu and the search
have to open, take the focus and give it back.
Chromium is that of the system (`CHROMIUM`, by default /usr/bin/chromium).
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
HEADER = 90  # pixels, more than one line of the header takes
TALLEST = 1380  # pixels of a page of one question: a screen and a half, and a line
SHORT = ("how-to/", "glossary", "fairness", "more-predictors", "stratified-exercises")
AXE = """() => axe.run(document, {resultTypes: ['violations']}).then(
    r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => [v.id, v.nodes.length, v.nodes[0].target.join(' ')]))"""
STILL = "*, ::before, ::after { transition: none !important }"
WATCH = """root => {
    const drawn = s => {
        return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow,
            s.backgroundColor, s.borderColor, s.color, s.textDecoration].join();
    };
    const look = one => drawn(getComputedStyle(one)) +
        drawn(getComputedStyle(one, "::after"));
    const chosen = one => one.type !== "radio" || one.checked;
    const every = "a[href], button, input, select, textarea, summary, [tabindex]";
    const all = [...document.querySelector(root).querySelectorAll(every)].filter(
        one => one.tabIndex >= 0 && !one.disabled && chosen(one) &&
            one.checkVisibility({visibilityProperty: true}));
    const focused = document.activeElement;
    focused.blur();
    const left = new Map(all.map(one => [one, look(one)]));
    const unseen = [];
    document.addEventListener("focusin", ({target}) => {
        if (left.has(target) && look(target) === left.get(target)) {
            unseen.push(target);
        }
        left.delete(target);
    });
    focused.focus();
    const name = one => one.tagName.toLowerCase() + " " +
        (one.getAttribute("href") || one.textContent.trim() || one.className);
    window.keyboard = () => ({
        left: [...left.keys()].map(name), unseen: unseen.map(name)});
    return all.length;
}"""
FOCUSED = """() => {
    const one = document.activeElement, open = document.querySelector("dialog[open]");
    return {main: Boolean(one.closest("main")), body: one === document.body,
        dialog: Boolean(open), within: Boolean(open && open.contains(one)),
        name: one.id || one.className || one.tagName};
}"""
DIALOG = "dialog[open]"
OPENERS = "button.search-button, button.search-button__button, button.sidebar-toggle"
FROM_THE_TOP = """() => {
    document.activeElement.blur();
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    scrollTo(0, 0);
}"""
SPARE = 5  # presses of the Tab key beyond the number of elements
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


def findings_of(page: Page, axe: str, narrow: bool) -> list[str]:
    """Return what is wrong with the page that is open."""
    found = []
    wide = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    if wide > 1:
        found.append(f"scrolls sideways by {wide} pixels")
    height = page.evaluate(
        "document.querySelector('header.bd-header')?.getBoundingClientRect().height"
    )
    if not narrow and (height or 0) > HEADER:
        found.append(f"header of {height:.0f} pixels")
    if not narrow and urlsplit(page.url).path.lstrip("/").startswith(SHORT):
        tall = page.evaluate(
            "document.querySelector('article').getBoundingClientRect().height"
        )
        if tall > TALLEST:
            found.append(f"an article of {tall:.0f} pixels")
    page.evaluate(axe)
    for name, count, target in page.evaluate(AXE):
        found.append(f"axe {name} ({count}): {target}")
    return found


def keyboard_findings(page: Page) -> list[str]:
    """Return what cannot be done with the keyboard on the page that is open."""
    page.add_style_tag(content=STILL)
    found = []
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link is the first
    page.keyboard.press("Tab")
    after = page.evaluate(FOCUSED)
    if not after["main"] and page.query_selector("main a[href]"):
        found.append(f"keyboard: the skip link leads to {after['name']}")
    page.evaluate(FROM_THE_TOP)
    found += _by_tab(page, "body")
    for opener in page.query_selector_all(OPENERS):
        if not opener.is_visible():
            continue
        opener.focus()
        page.keyboard.press("Enter")
        if not page.evaluate(FOCUSED)["dialog"]:
            continue  # a sidebar that is beside the text, not over it
        found += _by_tab(page, DIALOG)
        page.keyboard.press("Escape")
        closed = page.evaluate(FOCUSED)
        if closed["dialog"]:
            found.append("keyboard: Escape does not close a menu")
        elif closed["body"]:
            found.append("keyboard: focus is lost where a menu closes")
    return found


def _by_tab(page: Page, root: str) -> list[str]:
    """Return what the Tab key does not reach in a part of the page, or not visibly."""
    count = page.evaluate(WATCH, root) + SPARE
    for _ in range(2):  # the list of headings grows where the page is scrolled
        for _ in range(count):
            page.keyboard.press("Tab")
        result = page.evaluate("keyboard()")
        if not result["left"]:
            break
    found = [f"keyboard: not reached: {name}" for name in result["left"][:3]]
    found += [f"keyboard: focus not visible: {name}" for name in result["unseen"][:3]]
    focused = page.evaluate(FOCUSED)
    if focused["dialog"] and not focused["within"] and not focused["body"]:
        found.append("keyboard: focus leaves an open menu")
    if focused["body"]:
        page.keyboard.press("Tab")  # back from the browser's own buttons
    return found


def broken_links(pages: dict[str, tuple[set[str], set[str]]], base: str) -> list[str]:
    """Return links to pages or anchors of the site that do not exist.

    ``pages`` has the links and the anchors of each page, by its address.
    """
    found = []
    for address, (links, _) in pages.items():
        for link in links:
            target, anchor = urldefrag(urljoin(address, link))
            if not target.startswith(base) or not target.endswith(".html"):
                continue
            if target not in pages:
                found.append(f"{address}: no page {link}")
            elif anchor and unquote(anchor) not in pages[target][1]:
                found.append(f"{address}: no anchor {link}")
    return found


def _listen(page: Page, said: list[str]) -> None:
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))


def look(browser: Browser, base: str, files: list[str], axe: str, shots: Path | None):
    """Yield the address of each page, how it was opened, and what is wrong with it."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme
            )
            page = context.new_page()
            said: list[str] = []
            _listen(page, said)
            for file in files:
                said.clear()
                page.goto(base + file)
                page.wait_for_load_state("load")
                found = findings_of(page, axe, width < 800)
                found += [f"console: {text}" for text in said]
                links = page.eval_on_selector_all(
                    "a[href]", "all => all.map(a => a.getAttribute('href'))"
                )
                anchors = page.eval_on_selector_all("[id]", "all => all.map(a => a.id)")
                if shots is not None:
                    name = file.replace("/", "_").removesuffix(".html")
                    page.screenshot(path=shots / f"{name}-{width}-{scheme}.png")
                if scheme == SCHEMES[0]:
                    found += keyboard_findings(page)
                yield base + file, f"{width} {scheme}", found, set(links), set(anchors)
            context.close()


def main() -> int:
    """Look at all pages; the exit code says whether something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path)
    parser.add_argument("axe", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for pictures of the pages")
    parser.add_argument("--only", nargs="*", default=[], help="names of pages")
    args = parser.parse_args()
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    files = sorted(str(f.relative_to(args.html)) for f in args.html.rglob("*.html"))
    files = [f for f in files if "_static" not in f]
    chosen = [f for f in files if not args.only or f.removesuffix(".html") in args.only]
    handler = functools.partial(_Silent, directory=str(args.html))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    pages: dict[str, tuple[set[str], set[str]]] = {}
    count: Counter[str] = Counter()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=QUIET
        )
        source = args.axe.read_text()
        for address, how, found, links, anchors in look(
            browser, base, chosen, source, args.shots
        ):
            pages[address] = links, anchors
            for text in found:
                count[text.split(":")[0].split(" (")[0]] += 1
                print(f"{urlsplit(address).path} [{how}] {text}")
        browser.close()
    server.shutdown()
    broken = [] if args.only else broken_links(pages, base)
    print(*broken, sep="\n")
    print(f"{len(chosen)} pages, {sum(count.values())} findings, {len(broken)} links")
    return int(bool(count or broken))


if __name__ == "__main__":
    raise SystemExit(main())
