"""The layout of a figure that has none, imported only where one is drawn."""

from typing import Any

from matplotlib.layout_engine import TightLayoutEngine


class SettledLayout(TightLayoutEngine):
    """A tight layout for the labels that an earlier one of the same figure leaves.

    Others may still adjust the figure, which a constrained layout does not allow.
    """

    def __init__(self) -> None:
        super().__init__(pad=0.5)

    def execute(self, fig: Any) -> None:
        """Lay the figure out twice, since ticks and lines depend on the room.

        Axes outside a grid have the place that they were given.
        """
        if all(ax.get_subplotspec() is not None for ax in fig.axes):
            super().execute(fig)
            super().execute(fig)
