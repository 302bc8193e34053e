"""Estimates and p-values combined over several data sets."""

from statcv.inference.meta.combination import fisher

__all__ = ["fisher"]
