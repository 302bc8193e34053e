"""Large ridge fits of about as many columns as records, or more, by multiples.

At the optimum the coefficients are a sum of multiples of the training records, which
are their residuals over the penalty (Zhu & Hastie 2005). Gradients, steps and all
places between are such sums, and are written by the multiples. Steps take one product
with the products of all records, where they would take two with the records; inverse
Hessians are made ``by_records``. The products are those of one ``span`` that all folds
have in common, or of one for each if their ridges differ.
"""

from statcv.models.batched.multiples.fits import fit_by_multiples

__all__ = ["fit_by_multiples"]
