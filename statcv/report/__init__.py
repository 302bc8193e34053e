"""A result as one file: HTML for the browser and the printer, or Markdown."""

from statcv.report.characteristics import table1
from statcv.report.contents import (
    comparison_report,
    general_report,
    pooled_comparison_report,
    pooled_report,
    result_report,
)
from statcv.report.facts import heterogeneity_table, sentence_of
from statcv.report.page import check_path, write_report
from statcv.report.paper import comparison_table, paper_table
from statcv.report.parts import Picture, Said, named_values, value_table

__all__ = [
    "Picture",
    "Said",
    "check_path",
    "comparison_report",
    "comparison_table",
    "general_report",
    "heterogeneity_table",
    "named_values",
    "paper_table",
    "pooled_comparison_report",
    "pooled_report",
    "result_report",
    "sentence_of",
    "table1",
    "value_table",
    "write_report",
]
