"""The assumptions of intervals and tests, as notes and summaries print them."""

from __future__ import annotations

from statcv.words import stored_texts

# by name; names of numbers and of what is counted stand in braces
ASSUMED = stored_texts("statcv.inference", "assumptions.txt")
