"""The contrast of two colours, and of text on a colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Colour = Sequence[float]  # red, green and blue, from 0 to 1


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), 6)
    21.0
    """
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(colour: Colour) -> str:
    """Return the colour of text, black or white, with more contrast on a colour.

    The contrast is at least 4.58, and text needs 4.5.

    >>> ink_on((1.0, 1.0, 0.0)), ink_on((0.0, 0.0, 0.6))
    ('black', 'white')
    """
    black, white = (contrast(colour, (grey,) * 3) for grey in (0.0, 1.0))
    return "black" if black >= white else "white"


def _luminance(colour: Colour) -> float:
    each = np.asarray(colour[:3], dtype=float)
    linear = np.where(each <= 0.04045, each / 12.92, ((each + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
