"""Views for people: tables, charts, drawings of graphs, as static HTML with a text form.

A function registered with :func:`view_of` makes the view of a class. Views load nothing and run no
scripts; their colours follow the page's theme, or the system's preference.
"""

from ._brief import brief as brief, brief_arrays as brief_arrays, changed_values as changed_values
from ._charts import (
    Bar as Bar,
    Curve as Curve,
    Curves as Curves,
    HeatMap as HeatMap,
    Sparkline as Sparkline,
)
from ._folding import Block as Block, GraphNodes as GraphNodes, folded as folded
from ._graph_drawing import BlockFold as BlockFold, Box as Box, Drawing as Drawing, Flow as Flow
from ._notebook import (
    Live as Live,
    Viewed as Viewed,
    notebook_display as notebook_display,
    view_of as view_of,
)
from ._parts import (
    Cell as Cell,
    Emphasis as Emphasis,
    Fold as Fold,
    Line as Line,
    Lines as Lines,
    Part as Part,
    Table as Table,
    View as View,
    clipped as clipped,
    count as count,
    many as many,
    scaled as scaled,
    shape as shape,
    text_table as text_table,
    total as total,
    value as value,
)
from ._progress import ProgressLine as ProgressLine
from ._timeline import Lane as Lane, Span as Span, Timeline as Timeline
