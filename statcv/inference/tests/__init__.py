"""Hypothesis tests against no skill, and the tests on which others are built."""

from statcv.inference.tests.signed_rank import signed_rank

__all__ = ["signed_rank"]
