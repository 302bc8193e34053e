"""A result as one file: HTML for the browser and the printer, or Markdown."""

from statcv.results.report.contents import (
    comparison_report,
    general_report,
    result_report,
)
from statcv.results.report.facts import heterogeneity_table, sentence_of
from statcv.results.report.page import check_path, write_report
from statcv.results.report.parts import Picture, Said, named_values, value_table
from statcv.results.report.pictures import draw_classes

__all__ = [
    "Picture",
    "Said",
    "check_path",
    "comparison_report",
    "draw_classes",
    "general_report",
    "heterogeneity_table",
    "named_values",
    "result_report",
    "sentence_of",
    "value_table",
    "write_report",
]
