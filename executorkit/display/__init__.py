"""What people look at: tables, drawings of graphs and static HTML with a text form.

Text is made from data, never the other way round. Views load nothing and run no scripts; their
colours follow the page's theme, or the system's preference.
"""

from ._bar import Bar
from ._blocks import Block, blocks
from ._curves import Curve, Curves
from ._drawing import Box, Drawing
from ._heatmap import HeatMap
from ._notebook import Live, notebook_display
from ._parts import Cell, Emphasis, Fold, Line, Lines, Part, Table, View
from ._sparkline import Sparkline
from ._table import text_table
from ._viewed import Viewed
from ._words import clipped, count, many, scaled, shape, total, value

__all__ = [
    "Bar",
    "Block",
    "Box",
    "Cell",
    "Curve",
    "Curves",
    "Drawing",
    "Emphasis",
    "Fold",
    "HeatMap",
    "Line",
    "Lines",
    "Live",
    "Part",
    "Sparkline",
    "Table",
    "View",
    "Viewed",
    "blocks",
    "clipped",
    "count",
    "many",
    "notebook_display",
    "scaled",
    "shape",
    "text_table",
    "total",
    "value",
]
