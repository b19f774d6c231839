"""Views for people: tables, charts, drawings of graphs, as static HTML with a text form.

The view of an object is a function registered for its class with :func:`view_of`. Views load
nothing and run no scripts; their colours follow the page's theme, or the system's preference.
"""

from ._brief import brief, brief_arrays, changed_values
from ._charts import Bar, Curve, Curves, HeatMap, Sparkline
from ._folding import Block, GraphNodes, folded
from ._graph_drawing import BlockFold, Box, Drawing, Flow
from ._notebook import Live, Viewed, notebook_display, view_of
from ._parts import (
    Cell,
    Emphasis,
    Fold,
    Line,
    Lines,
    Part,
    Table,
    View,
    clipped,
    count,
    many,
    scaled,
    shape,
    text_table,
    total,
    value,
)
from ._timeline import Lane, Span, Timeline

__all__ = [
    "Bar",
    "Block",
    "BlockFold",
    "Box",
    "Cell",
    "Curve",
    "Curves",
    "Drawing",
    "Emphasis",
    "Flow",
    "Fold",
    "GraphNodes",
    "HeatMap",
    "Lane",
    "Line",
    "Lines",
    "Live",
    "Part",
    "Span",
    "Sparkline",
    "Table",
    "Timeline",
    "View",
    "Viewed",
    "brief",
    "brief_arrays",
    "changed_values",
    "clipped",
    "count",
    "folded",
    "many",
    "notebook_display",
    "scaled",
    "shape",
    "text_table",
    "total",
    "value",
    "view_of",
]
