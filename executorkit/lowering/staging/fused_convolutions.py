"""Fuses convolutions with the operations that follow them, for the kernel in C.

Bias, a sum with another array of the result's shape, and bounds (ReLU, ReLU6) become part of the
convolution if nothing else reads its result. Convolutions, with concatenations of their results,
are one operation, a chain, as far as no other operation is between them. The first stage packs the
weights and biases of a chain into one array. First calls, which NumPy interprets, run its parts.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array, lax

from ..._support.annotations import Operands
from ...jax_internals import Primitive
from ...jaxprs import FlatProgram, FlatValue, Operation, flat_program
from ...ops.nn.conv_kernels import ConvDims, convolve, native_convolution

_chain_p = Primitive("executorkit_convolution_chain")
_UNBOUNDED = -math.inf, math.inf
#: Axes of pictures and weight: channels last, filters last.
_NUMBERS = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHWC", "HWIO", "NHWC"))


class _Packable(NamedTuple):
    """A weight, the order of its axes for the kernel, and its groups; a bias has only groups."""

    value: FlatValue
    order: tuple[int, ...]
    groups: int


@dataclass(eq=False)
class _Fused:
    """A convolution and the operations that follow it, the last of which has the result."""

    convolution: Operation
    parts: list[Operation] = field(default_factory=list)
    bias: FlatValue | None = None
    addend: FlatValue | None = None
    bounds: tuple[float, float] = _UNBOUNDED

    @property
    def inputs(self) -> tuple[FlatValue, ...]:
        data = self.convolution.inputs[0]
        return (data,) if self.addend is None else (data, self.addend)

    @property
    def outputs(self) -> tuple[FlatValue, ...]:
        return (self.parts or [self.convolution])[-1].outputs

    @property
    def weight(self) -> _Packable:
        params = self.convolution.params
        return _Packable(
            self.convolution.inputs[1], _filters_last(params), params["feature_group_count"]
        )

    @property
    def vector(self) -> _Packable | None:
        return self.bias and _Packable(self.bias, (0,), self.bias.shape[0])

    def plain(self, copies: Mapping[Any, FlatValue]) -> list[Operation]:
        """Returns the operations, of copies of the weight and the bias."""
        params = {**self.convolution.params, "dimension_numbers": _NUMBERS}
        inputs = self.convolution.inputs[0], copies[self.weight]
        convolution = replace(self.convolution, params=params, inputs=inputs, compute=_convolve)
        bias = {self.bias: copies.get(self.vector)}
        parts = [replace(p, inputs=tuple([bias.get(x, x) for x in p.inputs])) for p in self.parts]
        return [convolution, *parts]

    def step(self, starts: Mapping[Any, int]) -> native_convolution.ChainStep:
        (data, *_), (result,), params = self.inputs, self.outputs, self.convolution.params
        height, width, *_ = [self.weight.value.shape[i] for i in self.weight.order]
        before = [p for p, _ in params["padding"]]
        window = height, width, *params["window_strides"], *before, *params["rhs_dilation"]
        return native_convolution.ChainStep(
            data=data, addend=self.addend, result=result, weights=starts[self.weight],
            bias=starts.get(self.vector), shapes=(data.shape, result.shape), window=window,
            is_depthwise=self.weight.groups > 1,
        )  # fmt: skip


_Link = _Fused | Operation


def fuse_convolutions(program: FlatProgram, static: set[FlatValue]) -> FlatProgram:
    readers = Counter(x for operation in program.operations for x in operation.inputs)
    readers.update(program.outputs)
    producers = {x: operation for operation in program.operations for x in operation.outputs}
    by_result: dict[FlatValue, _Fused] = {}
    for operation in program.operations:
        if _is_taken(operation, static):
            by_result[operation.outputs[0]] = _Fused(operation)
            continue
        for x in operation.inputs:
            if (
                x in by_result
                and readers[x] == 1
                and _take(by_result[x], operation, x, producers, static)
            ):
                by_result[operation.outputs[0]] = by_result.pop(x)
                break
    inside = {op for fused in by_result.values() for op in (fused.convolution, *fused.parts)}
    operations: list[Operation] = []
    chain: list[_Link] = []
    after: list[Operation] = []
    linked: set[FlatValue] = set()
    late: set[FlatValue] = set()

    def end_chain() -> None:
        operations.extend([*_operations(chain, readers), *after] if chain else after)
        for each in (chain, after, linked, late):
            each.clear()

    for operation in program.operations:
        fused = by_result.get(operation.outputs[0]) if operation.outputs else None
        if fused is None and operation in inside and operation.name != "broadcast_in_dim":
            continue
        link = fused or (operation if _joins(operation, readers, linked & set(by_result)) else None)
        inputs = set((link or operation).inputs)
        if operation.has_effects or (link and late & inputs):
            end_chain()
        if link:
            chain.append(link)
            linked.update(link.outputs)
        elif inputs & (linked | late):
            after.append(operation)
            late.update(operation.outputs)
        else:
            operations.append(operation)
    end_chain()
    return FlatProgram(program.inputs, operations, program.outputs)


def _joins(operation: Operation, readers: Counter[FlatValue], results: set[FlatValue]) -> bool:
    return (
        operation.name == "concatenate"
        and operation.params["dimension"] == 3
        and results.issuperset(operation.inputs)
        and all(readers[x] == 1 for x in operation.inputs)
    )


def _is_taken(operation: Operation, static: set[FlatValue]) -> bool:
    if operation.name != "conv_general_dilated":
        return False
    (data, weight), params = operation.inputs, operation.params
    numbers = params["dimension_numbers"]
    return (
        numbers.lhs_spec == numbers.out_spec == _NUMBERS.lhs_spec
        and data.dtype == weight.dtype == operation.outputs[0].dtype == np.float32
        and data not in static
        and weight in static
        and max(*params["lhs_dilation"], params["batch_group_count"]) == 1
        and all(before == after for before, after in params["padding"])
        and native_convolution.supports(
            data.shape, tuple([weight.shape[i] for i in _filters_last(params)]), **_window(params)
        )
    )


def _filters_last(params: Mapping[str, Any]) -> tuple[int, ...]:
    filters, channels, *spatial = params["dimension_numbers"].rhs_spec
    return (*spatial, channels, filters)


def _window(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "strides": params["window_strides"], "padding": params["padding"],
        "dilation": params["rhs_dilation"], "groups": params["feature_group_count"],
    }  # fmt: skip


def _take(
    fused: _Fused, operation: Operation, x: FlatValue, producers: Mapping[FlatValue, Operation],
    static: set[FlatValue],
) -> bool:  # fmt: skip
    # True if the operation, which reads the result x, becomes a part.
    others = [y for y in operation.inputs if y is not x]
    numbers = [float(y.constant) for y in others if y.constant is not None and not y.shape]
    source = producers.get(others[0]) if others else None
    if fused.bounds != _UNBOUNDED:
        return False
    if operation.name == "add" and source is not None and source.name == "broadcast_in_dim":
        vector = source.inputs[0]
        if (
            fused.parts
            or vector not in static
            or vector.shape != x.shape[3:]
            or source.params["broadcast_dimensions"] != (3,)
        ):
            return False
        fused.bias = vector
        fused.parts.append(source)
    elif operation.name == "add" and not numbers and fused.addend is None:
        fused.addend = others[0]
    elif operation.name == "max" and len(numbers) == 1:
        fused.bounds = numbers[0], math.inf
    elif operation.name == "clamp" and len(numbers) == 2:
        fused.bounds = numbers[0], numbers[1]
    else:
        return False
    fused.parts.append(operation)
    return True


def _operations(chain: Sequence[_Link], readers: Counter[FlatValue]) -> list[Operation]:
    # The operation that packs weights and biases, and the chain.
    convolutions = [link for link in chain if isinstance(link, _Fused)]
    pieces = dict.fromkeys(x for fused in convolutions for x in (fused.weight, fused.vector) if x)
    shapes = [tuple([piece.value.shape[i] for i in piece.order]) for piece in pieces]
    groups = [piece.groups for piece in pieces]
    sizes = list(map(native_convolution.packed_size, shapes, groups))
    starts = dict(zip(pieces, accumulate(sizes, initial=0), strict=False))

    def pack(*arrays: Array) -> Array:
        packed = [
            native_convolution.pack(lax.transpose(x, piece.order), piece.groups)
            for x, piece in zip(arrays, pieces, strict=True)
        ]
        return lax.concatenate([lax.reshape(x, (x.size,)) for x in packed], 0)

    def unpack(packed: Array) -> list[Array]:
        parts = zip(pieces, shapes, starts.values(), sizes, strict=True)
        return [
            lax.reshape(native_convolution.unpack(packed[i : i + n], shape, piece.groups), shape)
            for piece, shape, i, n in parts
        ]

    packing, (packed,) = _inlined(pack, *(piece.value for piece in pieces))
    parts, copies = _inlined(unpack, packed)
    plain = dict(zip(pieces, copies, strict=True))
    steps: list[native_convolution.ChainStep] = []
    slots: dict[Hashable, tuple[Hashable, int, int]] = {}
    for link in chain:
        (result,) = link.outputs
        if isinstance(link, Operation):
            firsts = accumulate([x.shape[3] for x in link.inputs], initial=0)
            whole = result, result.shape[3]
            slots |= {x: (*whole, i) for x, i in zip(link.inputs, firsts, strict=False)}
            parts.append(link)
        else:
            parts += link.plain(plain)
            steps.append(link.step(starts))
    read = Counter(x for link in chain for x in link.inputs)
    linked = [x for link in chain for x in link.outputs]
    results = [x for x in linked if readers[x] > read[x]]
    arrays = [x for x in read if x not in linked]
    buffers: dict[Hashable, int] = {x: i + 1 for i, x in enumerate((*arrays, *results))}
    rows, size = native_convolution.planned(steps, buffers, slots)
    facts = {"rows": rows, "bounds": tuple([x.bounds for x in convolutions]), "size": size}
    inputs, outputs = (packed, *arrays), tuple(results)
    compute = partial(_compute, FlatProgram(inputs, parts, outputs))
    scopes = convolutions[0].convolution.scopes if len(convolutions) == 1 else ()
    operation = Operation(_chain_p, facts, compute, inputs, outputs, scopes, parts=tuple(parts))
    return [*packing, operation]


def _compute(plain: FlatProgram, params: Mapping[str, Any], *arrays: Array) -> Operands:
    if not native_convolution.available():
        return plain(*arrays)
    shapes = [x.shape for x in plain.outputs]
    return tuple(native_convolution.convolve_chain(*arrays, results=shapes, **params))


def _convolve(params: Mapping[str, Any], data: Array, weight: Array) -> Operands:
    # The form without the kernel: one of XLA alone is ten times slower for a group per channel.
    window = _window(params)
    pads = tuple([before for before, _ in window.pop("padding")])
    dims = ConvDims(**window, pads=pads, layout="NHWC")
    return (convolve(data, lax.transpose(weight, (3, 0, 1, 2)), dims),)


def _inlined(
    function: Callable[..., Any], *values: FlatValue
) -> tuple[list[Operation], tuple[FlatValue, ...]]:
    # The operations of a function of arrays, and its results.
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in values]
    program = flat_program(jax.make_jaxpr(function)(*avals))
    own = dict(zip(program.inputs, values, strict=True))
    operations = [
        replace(operation, inputs=tuple([own.get(x, x) for x in operation.inputs]))
        for operation in program.operations
    ]
    return operations, tuple([own.get(x, x) for x in program.outputs])
