"""A result as one file: HTML for the browser and the printer, or Markdown."""

from statcv.report.characteristics import table1 as table1
from statcv.report.contents import comparison_report as comparison_report
from statcv.report.contents import general_report as general_report
from statcv.report.contents import pooled_comparison_report as pooled_comparison_report
from statcv.report.contents import pooled_report as pooled_report
from statcv.report.contents import result_report as result_report
from statcv.report.facts import heterogeneity_table as heterogeneity_table
from statcv.report.facts import sentence_of as sentence_of
from statcv.report.page import check_path as check_path
from statcv.report.page import write_report as write_report
from statcv.report.parts import Cited as Cited
from statcv.report.parts import Picture as Picture
from statcv.report.parts import named_values as named_values
from statcv.report.parts import said as said
from statcv.report.parts import value_table as value_table
