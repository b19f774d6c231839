"""Notebook view of a block: its layers and parameters, and its graph once it was called."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..display import Fold, Line, Part, Table, View, many, scaled, view_of
from ..lowering import Summary
from ..symbol import Variable
from ._block import Block
from ._hybrid_block import HybridBlock
from ._parameter import Parameter
from ._traced_graph import trace

_HEADER = ["", "layer", "parameters", "elements"]


@view_of.register
def _view_of_block(block: Block) -> View:
    parameters = list(block.collect_params().values())
    known = [p for p in parameters if _size(p) is not None]
    elements = sum(_size(p) or 0 for p in known)
    facts = [many(len(parameters), "parameter"), f"{elements:,} elements"]
    if len(known) < len(parameters):
        facts.append(f"{many(len(parameters) - len(known), 'shape')} not known yet")
    contexts = sorted({str(x.context) for p in parameters for x in p._data or ()})
    facts.append(f"on {', '.join(contexts)}" if contexts else "not initialized")
    if isinstance(block, HybridBlock) and block._active:
        facts.append("hybridized")
    drawn = _graph_of(block)
    if isinstance(block, HybridBlock) and isinstance(drawn, Summary):
        shapes = ", ".join(map(str, block._input_shapes.values()))
        facts.append(f"{scaled(drawn.flops, 'FLOPs')} for {shapes}")
    parts: list[Part] = [Line(", ".join(facts)), Table(_HEADER, list(_rows(block, "", 0)), {3})]
    if drawn is not None:
        parts.append(Fold("graph", view_of(drawn).parts))
    return View(f"{type(block).__name__} {block.name}", parts)


def _graph_of(block: Block) -> Any:
    # None without a call, or if ``forward`` needs arrays.
    if not isinstance(block, HybridBlock):
        return None
    graph: Any = block._traced
    shapes: Any = block._input_shapes
    if graph is not None:
        return graph.output.summary(**shapes) if shapes else graph.output
    if not shapes:
        return None
    try:
        return trace(block, [Variable(name) for name in shapes]).output.summary(**shapes)
    except Exception:  # whatever the user's hybrid_forward raises: symbols have no values
        return None


def _rows(block: Block, name: str, depth: int) -> Iterator[list[str]]:
    indent = "\u2003" * depth
    shapes = [f"{attribute} {p.shape}" for attribute, p in block._reg_params.items()]
    size = sum(_size(p) or 0 for p in block._reg_params.values())
    title = repr(block).split("\n", 1)[0].removesuffix("(")
    yield [indent + name, title, ", ".join(shapes), f"{size:,}" if size else ""]
    for child_name, child in block._children.items():
        yield from _rows(child, child_name, depth + 1)


def _size(parameter: Parameter) -> int | None:
    shape = parameter.shape
    return None if shape is None or 0 in shape else math.prod(shape)
