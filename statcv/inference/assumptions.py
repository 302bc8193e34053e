"""The assumptions of intervals and tests, as notes and summaries print them."""

from __future__ import annotations

from statcv.words import stored_rows

# by name; names of numbers and of what is counted stand in braces
ASSUMED: dict[str, str] = {
    row[0]: row[1] for row in stored_rows("statcv.inference", "assumptions.txt")
}
