"""Estimates and p-values combined over several data sets."""

from statcv.inference.meta.effects import fisher

__all__ = ["fisher"]
