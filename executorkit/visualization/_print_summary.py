"""``print_summary``: one line for each layer, on standard output."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..symbol.node import Node, topological_order
from ._known_shapes import checked_symbol, output_shapes, size_text

_HEADER = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")

Shapes = Mapping[str, tuple[int, ...]]


def print_summary(
    symbol: Any,
    shape: Mapping[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Prints the layers of a symbol: name, output shape, parameters, and the layers they read.

    symbol
        The network; otherwise a TypeError.
    shape
        Shapes of the inputs by name, as tuples; ValueError if another shape does not follow.
        Without it, no shapes are shown and parameters are not known.
    line_length
        The number of characters in a line.
    positions
        The ends of the four columns, as fractions of the line, or in characters.

    Text and counts are MXNet's: shapes without their first dimension; parameters of Convolution,
    FullyConnected, BatchNorm and Embedding only, without moving averages; the input size of
    Convolution and FullyConnected from its second dimension (0 if missing, where MXNet fails with
    an IndexError). ``symbol.summary()`` counts every parameter of every operator.

    >>> import executorkit as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc")
    >>> mx.viz.print_summary(net, shape={"data": (32, 784)}, line_length=60)
    ____________________________________________________________ Layer (type)              Output
    ShapeParam Previous Layer ============================================================
    data(null)                784         0
    ____________________________________________________________ fc(FullyConnected)        10
    7850  data ============================================================ Total params: 7850
    ____________________________________________________________
    """
    symbol = checked_symbol("print_summary", symbol)
    shapes = None if shape is None else output_shapes("print_summary", symbol, shape)
    ends: Sequence[Any] = positions
    if positions[-1] <= 1:
        ends = [int(line_length * position) for position in positions]
    order = topological_order(symbol.heads)
    # The variables that MXNet shows as layers: those whose number in the file equals one of the
    # three numbers that describe the first output there (its node, its index, and a version, 0).
    first, index = symbol.heads[0]
    shown_variables = {order[i] for i in (order.index(first), index, 0) if i < len(order)}
    print("_" * line_length)
    print(_row(_HEADER, ends))
    print("=" * line_length)
    total = 0
    for node in [node for k, node in enumerate(order) if node.op is not None or k == 0]:
        sources = [
            child for child, _ in node.inputs if child.op is not None or child in shown_variables
        ]
        parameters = _parameters(node, sources, shapes)
        total += parameters
        sizes: Sequence[int] = ()
        if shapes is not None and (node.op is not None or node in shown_variables):
            sizes = shapes.get(_output(node), ())[1:]
        title = f"{node.name}({'null' if node.op is None else node.op.name})"
        names = [source.name for source in sources] or [""]
        print(_row((title, size_text(sizes), parameters, names[0]), ends))
        for name in names[1:]:
            print(_row(("", "", "", name), ends))
        print(("=" if node is order[-1] else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def _row(fields: Sequence[Any], ends: Sequence[int]) -> str:
    line = ""
    for i, field in enumerate(fields):
        line = f"{line}{field}"[: ends[i]]
        line += " " * (ends[i] - len(line))
    return line


def _output(node: Node) -> str:
    return node.name if node.op is None else f"{node.name}_output"


def _parameters(node: Node, sources: Sequence[Node], shapes: Shapes | None) -> int:
    p = node.params
    if node.op is None or p is None:
        return 0
    source_shapes = [(shapes or {}).get(_output(source), ()) for source in sources]
    channels = sum(shape[1] for shape in source_shapes if len(shape) > 1)
    biased = node.attrs.get("no_bias") != "True"
    match node.op.name:
        case "Convolution":
            return channels * p.num_filter // p.num_group * prod(p.kernel) + biased * p.num_filter
        case "FullyConnected":
            return (channels + biased) * p.num_hidden
        case "BatchNorm":
            return 2 * shapes[_output(node)][1] if shapes else 0
        case "Embedding":
            return p.input_dim * p.output_dim
    return 0
