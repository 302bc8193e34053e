"""Hypothesis tests against no skill, and the tests on which others are built."""
