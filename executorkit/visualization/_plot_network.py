"""``plot_network``: a network as a graph of graphviz, or as a drawing by this package."""

import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ops import Params
from ..symbol.node import Node, topological_order
from ..symbol.symbol_view import GraphDrawing
from ._known_shapes import checked_symbol, output_shapes, output_types, size_text
from ._network_picture import DotEdge, NetworkPicture, StyledNode

_PARAMETERS = ("_weight", "_bias", "_gamma", "_beta", "_moving_mean", "_moving_var",
               "_running_mean", "_running_var")  # fmt: skip
_STYLE = {
    "shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled",
}  # fmt: skip
_INPUT, _OTHER = "#8dd3c7", "#fccde5"
#: MXNet's colours of nodes, by operator.
_COLOURS = {
    "Convolution": "#fb8072", "FullyConnected": "#fb8072", "BatchNorm": "#bebada",
    "Activation": "#ffffb3", "LeakyReLU": "#ffffb3", "Pooling": "#80b1d3",
    "Concat": "#fdb462", "Flatten": "#fdb462", "Reshape": "#fdb462",
}  # fmt: skip


def _convolution(node: Node) -> str:
    p = node.params or Params()
    return f"Convolution\n{size_text(p.kernel)}/{size_text(p.stride or (1,))}, {p.num_filter}"


def _pooling(node: Node) -> str:
    p = node.params or Params()
    return f"Pooling\n{p.pool_type}, {size_text(p.kernel) or '[]'}/{size_text(p.stride or (1,))}"


#: MXNet's labels of nodes, by operator; other nodes show their names.
_LABELS: dict[str, Callable[[Node], str]] = {
    "Convolution": _convolution,
    "FullyConnected": lambda node: f"FullyConnected\n{node.attrs['num_hidden']}",
    "Activation": lambda node: f"Activation\n{node.attrs['act_type']}",
    "LeakyReLU": lambda node: f"LeakyReLU\n{node.attrs.get('act_type', 'Leaky')}",
    "Pooling": _pooling,
    "Custom": lambda node: node.attrs["op_type"],
}


def plot_network(
    symbol: Any,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, tuple[int, ...]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Any = {},  # noqa: B006 - MXNet's default, not changed
    hide_weights: bool = True,
) -> Any:
    """Draws a symbol: operators as boxes, inputs as ovals, arrows with the shapes.

    symbol
        The network; otherwise a TypeError.
    title, save_format
        The name of the picture, and the format in which its ``render()`` writes it.
    shape, dtype
        Shapes (as tuples) and types of the inputs by name, which arrows then show, shapes without
        their first dimension. Raises ValueError if a shape does not follow.
    node_attrs
        Graphviz attributes of all nodes, such as ``{"fixedsize": "false"}``.
    hide_weights
        Leaves out variables that are named like parameters (``_weight``, ``_bias``, ``_gamma``,
        ``_beta``, moving averages).

    Returns a ``graphviz.Digraph`` with MXNet's nodes, edges and attributes if the Python package
    ``graphviz`` and Graphviz's program ``dot`` are installed, and otherwise a
    :class:`NetworkPicture`. Nodes of the same name become one; a RuntimeWarning in MXNet's words
    names them.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> print(mx.viz.plot_network(net, shape={"data": (32, 784)}).source.splitlines()[-2].strip())
    fc -> data [label=784 arrowtail=open dir=back]
    """
    symbol = checked_symbol("plot_network", symbol)
    shapes = None if shape is None else output_shapes("plot_network", symbol, shape)
    types = None if dtype is None else output_types("plot_network", symbol, dtype)
    order = topological_order(symbol.heads)
    _warn_of_repeated(order)
    hidden = {node.name for node in order if node.op is None and node.name.endswith(_PARAMETERS)}
    style = {**_STYLE, **dict(node_attrs)}
    nodes = [_node(node, style) for node in order if node.op is not None or node.name not in hidden]
    arrows = [
        DotEdge(node.name, child.name, _edge_label(child, shapes, types))
        for node in order
        for child, _ in node.inputs
        if not (hide_weights and child.name in hidden)
    ]
    graphviz = _graphviz()
    if graphviz is None:
        known = {(node, k): (shapes or {}).get(name)
                 for node in order for k, name in enumerate(node.output_names)}  # fmt: skip
        drawing = GraphDrawing.of(order, known, parameters=not hide_weights)
        return NetworkPicture(title, save_format, nodes, arrows, drawing.whole(), drawing.folded())
    graph = graphviz.Digraph(name=title, format=save_format)
    for name, attributes in nodes:
        graph.node(name=name, **attributes)
    for arrow in arrows:
        graph.edge(arrow.tail, arrow.head, **arrow.attributes)
    return graph


def _graphviz() -> Any:
    if shutil.which("dot") is None:
        return None
    try:
        import graphviz  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return graphviz


def _warn_of_repeated(order: Sequence[Node]) -> None:
    repeated = [name for name, count in Counter(node.name for node in order).items() if count > 1]
    if repeated:
        text = (
            "There are multiple variables with the same name in your graph, "
            f"this may result in cyclic graph. Repeated names: {','.join(repeated)}"
        )
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _node(node: Node, style: Mapping[str, str]) -> StyledNode:
    if node.op is None:
        return node.name, {**style, "shape": "oval", "label": node.name, "fillcolor": _INPUT}
    label = _LABELS[node.op.name](node) if node.op.name in _LABELS else node.name
    return node.name, {**style, "label": label, "fillcolor": _COLOURS.get(node.op.name, _OTHER)}


def _edge_label(
    source: Node, shapes: Mapping[str, tuple[int, ...]] | None, types: Mapping[str, Any] | None
) -> str:
    name = source.output_names[0]
    words = "" if shapes is None else size_text(shapes.get(name, ())[1:])
    return words if types is None else f"{words}({np.dtype(types[name]).name})"
