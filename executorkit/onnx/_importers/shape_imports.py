"""Nodes that change shapes and order of axes, and that cut, join and repeat arrays."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from .._node_reader import NodeReader, Unknown, imports, same, with_leading_axes

#: A bound of a slice beyond every axis.
_FAR = 1 << 31


@imports("Reshape")
def _reshape(r: NodeReader) -> Symbol:
    target = r.values[1]
    if isinstance(target, Unknown) and target.shape_of is not None:
        return sym.reshape_like(r[0], target.shape_of, name=r.name)
    if isinstance(target, np.ndarray):
        codes = [int(n) for n in target]
        if r.get("allowzero", 0) and 0 in codes:
            r.refuse("a shape with a length of 0")
        if codes:
            return sym.reshape(r[0], shape=tuple(codes), name=r.name)
    shape = target.lengths if isinstance(target, Unknown) and target.lengths else r.output_shape
    codes = _codes(shape or (), r.shapes[0] or ())
    if not codes:
        r.refuse("a shape that is computed from shapes of inputs")
    return sym.reshape(r[0], shape=codes, name=r.name)


def _codes(target: Sequence[int | None], data: Sequence[int | None]) -> tuple[int, ...]:
    # An unknown length is deduced, or kept where the data's is unknown too.
    unknown = [axis for axis, n in enumerate(target) if n is None]
    deduced = -1 in target
    kept = [a for a in unknown if a < len(data) and data[a] is None]
    if len(unknown) - len(kept) + deduced > 1:
        return ()
    if len(unknown) == 1 and not deduced:
        kept = []
    return tuple(0 if axis in kept else -1 if n is None else n for axis, n in enumerate(target))


@imports("Flatten")
def _flatten(r: NodeReader) -> Symbol:
    axis = r.get("axis", 1)
    if axis == 1:
        return sym.Flatten(r[0], name=r.name)
    if axis == 0:
        return sym.reshape(r[0], shape=(1, -1), name=r.name)
    axis %= r.rank(0)
    last = sym.reshape(r[0], shape=(*[0] * axis, -1))
    return sym.reshape(last, shape=(-1, 0), reverse=True, name=r.name)


imports("Transpose")(lambda r: sym.transpose(r[0], axes=tuple(r.get("perm", ())), name=r.name))
imports("Squeeze")(lambda r: sym.squeeze(r[0], axis=r.ints("axes", 1), name=r.name))
imports("Concat")(lambda r: sym.concat(*r.symbols(), dim=r.get("axis", 1), name=r.name))
imports("Tile")(lambda r: sym.tile(r[0], reps=tuple(map(int, r.constant(1))), name=r.name))


@imports("Unsqueeze")
def _unsqueeze(r: NodeReader) -> Symbol:
    axes = r.ints("axes", 1) or ()
    if any(a < 0 for a in axes):
        rank = r.rank(0) + len(axes)
        axes = tuple(a % rank for a in axes)
    result = r[0]
    for axis in sorted(axes):
        result = sym.expand_dims(result, axis=axis, name=r.name if axis == max(axes) else None)
    return result


@imports("Split")
def _split(r: NodeReader) -> list[Symbol]:
    axis, count = r.get("axis", 0), r.n_outputs
    sizes = r.ints("split", 1)
    if count == 1:
        return [same(r[0], r.name)]
    if sizes is None and "num_outputs" in r.attrs:
        length = (r.shapes[0] or (None,) * (axis + 1))[axis]
        if length is not None and length % count:
            part = -(-length // count)
            sizes = (*[part] * (count - 1), length - part * (count - 1))
    if sizes is None or len(set(sizes)) == 1:
        parts = sym.SliceChannel(r[0], num_outputs=count, axis=axis, name=r.name)
        return [parts[i] for i in range(count)]
    return [
        sym.slice_axis(r[0], axis=axis, begin=int(first), end=int(last), name=f"{r.name}{i}")
        for i, (first, last) in enumerate(pairwise(np.cumsum((0, *sizes))))
    ]


@imports("Slice")
def _slice(r: NodeReader) -> Symbol:
    starts, ends = r.ints("starts", 1) or (), r.ints("ends", 2) or ()
    axes = r.ints("axes", 3) or tuple(range(len(starts)))
    steps = r.ints("steps", 4) or (1,) * len(starts)
    if any(a < 0 for a in axes):
        axes = tuple(a % r.rank(0) for a in axes)
    begin: list[int | None] = [None] * (max(axes) + 1)
    end, step = begin.copy(), [1] * len(begin)
    for axis, first, last, stride in zip(axes, starts, ends, steps, strict=True):
        begin[axis] = None if abs(first) >= _FAR or (first == -1 and stride < 0) else first
        end[axis] = None if abs(last) >= _FAR else last
        step[axis] = stride
        if stride < 0 and first == -1 and last <= -_FAR:
            begin[axis] = end[axis] = None
    return sym.slice(r[0], begin=tuple(begin), end=tuple(end), step=tuple(step), name=r.name)


@imports("Expand", takes_unknown=True)
def _expand(r: NodeReader) -> Symbol:
    target = r.values[1]
    if isinstance(r.values[0], np.ndarray | Unknown) and not isinstance(target, Unknown):
        r.refuse("an expanded constant")
    if isinstance(target, Unknown):
        if target.shape_of is None:
            r.refuse("a shape that is computed from shapes of inputs")
        return sym.broadcast_like(r[0], target.shape_of, name=r.name)
    lengths = tuple(int(n) for n in r.constant(1))
    missing = len(lengths) - r.rank(0)
    data = with_leading_axes(r[0], missing)
    lengths = (*[1] * -missing, *lengths) if missing < 0 else lengths
    return sym.broadcast_to(data, shape=tuple(0 if n == 1 else n for n in lengths), name=r.name)


@imports("ConstantOfShape", takes_unknown=True)
def _constant_of_shape(r: NodeReader) -> Symbol:
    value = r.get("value")
    number = 0.0 if value is None else float(value.reshape(-1)[0])
    shape = r.output_shape
    if shape is None:
        r.refuse("a shape that is computed from shapes of inputs")
    lengths = tuple(n or 0 for n in shape)
    dtype = "float32" if value is None else value.dtype.name
    if number in (0, 1):
        return (sym.ones if number else sym.zeros)(lengths, dtype=dtype, name=r.name)
    return sym.full(lengths, number, dtype=dtype, name=r.name)


@imports("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", draws=True)
def _random(r: NodeReader) -> Symbol:
    r.refuse("no operator of MXNet is like it")


@imports("Pad")
def _pad(r: NodeReader) -> Symbol:
    pads = r.ints("pads", 1) or ()
    axes = r.optional(3)
    mode = r.only("mode", "constant", "edge", "reflect")
    half = len(pads) // 2
    if axes is not None:
        rank = r.rank(0)
        full = [0] * (2 * rank)
        for i, axis in enumerate(int(a) % rank for a in axes):
            full[axis], full[rank + axis] = pads[i], pads[half + i]
        pads, half = tuple(full), rank
    return padded(r[0], pads[:half], pads[half:], r.number("value", 2, 0.0), r.name, mode)


def padded(
    data: Symbol, before: Any, after: Any, value: float, name: str | None, mode: Any = "constant"
) -> Symbol:
    if any(n < 0 for n in (*before, *after)):
        begin = tuple(max(-n, 0) for n in before)
        data = sym.slice(data, begin=begin, end=tuple(n if n < 0 else None for n in after))
        before, after = ([max(n, 0) for n in side] for side in (before, after))
    widths = tuple(n for pair in zip(before, after, strict=True) for n in pair)
    return sym.Pad(data, mode=mode, pad_width=widths, constant_value=value, name=name)


@imports("DepthToSpace", "SpaceToDepth")
def _blocks(r: NodeReader) -> Symbol:
    size = r.get("blocksize")
    if r.op_type == "SpaceToDepth":
        r.only("mode", "DCR")
        return sym.space_to_depth(r[0], block_size=size, name=r.name)
    if r.get("mode", "DCR") == "DCR":
        return sym.depth_to_space(r[0], block_size=size, name=r.name)
    split = sym.reshape(r[0], shape=(0, -4, -1, size * size, 0, 0))
    split = sym.reshape(split, shape=(0, 0, -4, size, size, 0, 0))
    moved = sym.transpose(split, axes=(0, 1, 4, 2, 5, 3))
    return sym.reshape(moved, shape=(0, 0, -3, -3), name=r.name)
