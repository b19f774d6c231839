"""``Block.summary``: the table of a network's layers, as MXNet prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ndarray import NDArray
from ..symbol import Symbol

_ROW = "{:>20}  {:>42} {:>15}"
_WIDTH = 80


class _LayerRow:
    def __init__(self, name: str, shapes: Any, parameters: Sequence[Any] = ()) -> None:
        self.name = name
        self.shapes = shapes
        self.parameters = parameters

    @property
    def size(self) -> int:
        return sum(math.prod(p.shape) for p in self.parameters)


def print_summary(block: Any, inputs: Sequence[Any]) -> None:
    rows = [_LayerRow("Input", _shapes(inputs))]
    handles: list[Any] = []

    def add_row(layer: Any, _: Any, outputs: Any) -> None:
        if not layer._is_container:
            name = f"{type(layer).__name__}-{len(rows)}"
            rows.append(_LayerRow(name, _shapes(outputs), list(layer.params.values())))

    def add_hook(layer: Any) -> None:
        layer._check_runs_layers()
        handles.append(layer.register_forward_hook(add_row))

    try:
        block.apply(add_hook)
        block(*inputs)
        print("\n".join(_lines(rows)))
    finally:
        for handle in handles:
            handle.detach()


def _lines(rows: Sequence[_LayerRow]) -> list[str]:
    every = [p for row in rows for p in row.parameters]
    unique = {id(p): p for p in every}.values()
    total = sum(row.size for row in rows)
    trainable = sum(math.prod(p.shape) for p in every if p.grad_req != "null")
    distinct = sum(math.prod(p.shape) for p in unique)
    return [
        "-" * _WIDTH,
        _ROW.format("Layer (type)", "Output Shape", "Param #"),
        "=" * _WIDTH,
        *[_ROW.format(row.name, str(row.shapes), row.size) for row in rows],
        "=" * _WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {total}",
        f"   Trainable params: {trainable}",
        f"   Non-trainable params: {total - trainable}",
        f"Shared params in forward computation graph: {total - distinct}",
        f"Unique parameters in model: {distinct}",
        "-" * _WIDTH,
    ]


def _shapes(values: Any) -> str:
    if isinstance(values, (list, tuple)):
        return ", ".join([str(_nested_shapes(v)) for v in values])
    return str(_nested_shapes(values))


def _nested_shapes(values: Any) -> Any:
    if isinstance(values, NDArray):
        return values.shape
    if isinstance(values, (list, tuple)):
        return [_nested_shapes(v) for v in values]
    return repr(values) if isinstance(values, Symbol) else values
