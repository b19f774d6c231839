"""Runs of element-wise equations over one shape, computed block by block on all cores: what one
equation leaves in a cache is read by the next."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._support.annotations import Arrays, Raw
from ..jaxprs import Trait, primitives_with
from ._elementwise import block_choice
from ._equations import Equation, FlatJaxpr
from ._helper_threads import THREADS, parts, run_all
from ._rules import Kernel

#: Maximum number of elements of a block. Measured, ms of a parameter's update with momentum (2.4
#: million elements) on one core: 4.7 with 32 K, 3.7 with 64 K, 3.2 with 128 K, 3.1 undivided.
_BLOCK = 1 << 17
#: Minimum number of elements of arrays that are divided.
LEAST_DIVIDED = 1 << 18
_PRODUCTS = primitives_with(Trait.PRODUCT)


class Run(NamedTuple):
    """Equations that follow each other, by number; several are element-wise and of one shape."""

    numbers: range
    is_elementwise: bool


def in_runs(flat: FlatJaxpr) -> tuple[FlatJaxpr, list[Run]]:
    """Moves each element-wise equation to later ones of its shape, unless another equation reads
    the result or a product is computed in between: so long its operands stay in memory."""
    shapes: dict[object, int] = {}
    waiting: dict[int, list[Equation]] = {}
    #: The shapes of results of equations that wait.
    shape_of: dict[int, int] = {}
    equations: list[Equation] = []
    runs: list[Run] = []

    def add(members: list[Equation], is_elementwise: bool) -> None:
        stop = len(equations) + len(members)
        runs.append(Run(range(len(equations), stop), is_elementwise))
        equations.extend(members)

    def end(shape: int) -> None:
        members = waiting.pop(shape)
        for equation in members:
            del shape_of[equation.outputs[0]]
        add(members, True)

    for equation in flat.equations:
        shape = None
        if _is_member(equation):  # by number: symbolic shapes may be equal with unequal hashes
            shape = shapes.setdefault(equation.call.shape, len(shapes))
        for i in equation.inputs:
            if i in shape_of and shape_of[i] != shape:
                end(shape_of[i])
        if shape is not None:
            waiting.setdefault(shape, []).append(equation)
            shape_of[equation.outputs[0]] = shape
            continue
        if equation.has_effects or equation.several or equation.call.name in _PRODUCTS:
            for other in list(waiting):
                end(other)
        add([equation], False)
    for shape in list(waiting):
        end(shape)
    return flat._replace(equations=equations), runs


def _is_member(equation: Equation) -> bool:
    call, rule = equation.call, equation.rule
    if rule is None or equation.several or equation.has_effects or not call.shape:
        return False
    return rule.any_shape or block_choice(call) is not None


class _Member(NamedTuple):
    kernel: Any
    #: Numbers of the operands among the inputs and the results of members.
    operands: tuple[int, ...]
    #: Number of the array that the result is written to, among the run's results and the buffers;
    #: None for an array of its own.
    target: int | None


class Blocks:
    """The computation of a run, for all sizes. ``kept`` are the values that others read, and
    ``reusable`` the inputs whose memory is read by no others."""

    def __init__(
        self, equations: Sequence[Equation], kernels: Sequence[Kernel | None],
        kept: Collection[int], reusable: Collection[int],
    ) -> None:  # fmt: skip
        members = {e.outputs[0]: n for n, e in enumerate(equations)}
        reads = {i: x for e in equations for i, x in zip(e.inputs, e.call.ins, strict=True)}
        last = {i: n for n, e in enumerate(equations) for i in e.inputs}
        self.inputs = tuple([i for i in reads if i not in members])
        self.outputs = tuple([i for i in members if i in kept])
        self._dtypes = [equations[members[i]].call.dtype for i in self.outputs]
        #: The inputs whose memory the results take, by number.
        self._reused: dict[int, int] = {}
        free = [(k, i) for k, i in enumerate(self.inputs) if i in reusable]
        for number, i in enumerate(self.outputs):
            aval = equations[members[i]].call.outs[0]
            fitting = [x for x in free if reads[x[1]] == aval and last[x[1]] <= members[i]]
            if fitting:
                self._reused[number] = fitting[0][0]
                free.remove(fitting[0])
        slots = {i: n for n, i in enumerate((*self.inputs, *members))}
        #: The dtypes of buffers of a block's size.
        self._buffers: list[np.dtype] = []
        unused: list[int] = []
        held: dict[int, int] = {}
        self._members: list[_Member] = []
        for n, (equation, kernel) in enumerate(zip(equations, kernels, strict=True)):
            unused.extend([held.pop(i) for i in {*equation.inputs} if i in held and last[i] == n])
            out, dtype = equation.outputs[0], equation.call.dtype
            kernel = kernel or block_choice(equation.call)
            target = self.outputs.index(out) if out in kept else None
            if target is None and isinstance(kernel, np.ufunc):
                target = next((k for k in unused if self._buffers[k] == dtype), None)
                if target is None:
                    target = len(self._buffers)
                    self._buffers.append(dtype)
                else:
                    unused.remove(target)
                held[out] = target
                target += len(self.outputs)
            operands = tuple([slots[i] for i in equation.inputs])
            self._members.append(_Member(kernel, operands, target))

    def compute(self, shape: tuple[int, ...], multiplications: int, *arrays: Raw) -> list[Raw]:
        # In C order, or in the order of the operand whose memory they take.
        results: list[Raw] = []
        for number, dtype in enumerate(self._dtypes):
            reused = self._reused.get(number)
            results.append(np.empty(shape, dtype) if reused is None else arrays[reused])
        blocks, size = _blocks(shape)
        pieces = parts(len(blocks), 2 * THREADS)
        jobs = [partial(self._compute, arrays, results, blocks[part], size) for part in pieces]
        run_all(jobs, multiplications)
        return results

    def _compute(self, arrays: Arrays, results: Arrays, blocks: Arrays, size: int) -> None:
        buffers = [np.empty(size, dtype) for dtype in self._buffers]
        whole = [x.shape == results[0].shape for x in arrays]
        for index in blocks:
            targets = [x[index] for x in results]
            block = targets[0].shape
            targets += [x[: targets[0].size].reshape(block) for x in buffers]
            values = [
                x[index] if is_whole else _part(x, index, len(block))
                for x, is_whole in zip(arrays, whole, strict=True)
            ]
            for kernel, operands, target in self._members:
                ins = [values[i] for i in operands]
                if target is None:
                    values.append(kernel(*ins))
                    continue
                out = targets[target]
                if isinstance(kernel, np.ufunc):
                    kernel(*ins, out=out)
                else:
                    out[...] = kernel(*ins)
                values.append(out)


def _part(x: Raw, index: tuple[slice, ...], rank: int) -> Raw:
    pairs = zip(index[rank - x.ndim :], x.shape, strict=False)
    return x[tuple([slice(None) if n == 1 else part for part, n in pairs])]


def _blocks(shape: tuple[int, ...]) -> tuple[list[tuple[slice, ...]], int]:
    """Cuts an array into blocks; returns their indices and the largest one's number of elements."""
    axis, row = 0, math.prod(shape[1:])
    while row > _BLOCK:
        axis += 1
        row //= shape[axis]
    rows = max(1, _BLOCK // row)
    pieces = parts(shape[axis], -(-shape[axis] // rows))
    leading = itertools.product(*[[slice(i, i + 1) for i in range(n)] for n in shape[:axis]])
    blocks = [(*index, piece) for index in leading for piece in pieces]
    return blocks, row * (pieces[0].stop - pieces[0].start)
