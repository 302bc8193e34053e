"""A result as one file: HTML for the browser and the printer, or Markdown."""

from statcv.results.report.contents import (
    comparison_report,
    general_report,
    result_report,
)
from statcv.results.report.facts import sentence_of
from statcv.results.report.page import check_path, write_report
from statcv.results.report.parts import Picture

__all__ = [
    "Picture",
    "check_path",
    "comparison_report",
    "general_report",
    "result_report",
    "sentence_of",
    "write_report",
]
