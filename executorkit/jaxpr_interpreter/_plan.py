"""Plans: a jaxpr as a list of NumPy calls over a list of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._support.annotations import Arrays, Raw
from ._rules import KEY, Aval, Kernel
from ._shapes import in_order
from .blas_threads import single_threaded_products

#: Seconds that an equation takes beside the work on its elements.
CALL_SECONDS = 2e-6


class PlanStep(NamedTuple):
    """One call: positions of its arguments and results, and of values that are not read later."""

    kernel: Kernel
    ins: tuple[int, ...]
    out: int | tuple[int, ...]
    dead: tuple[int, ...]


class PlanInput(NamedTuple):
    #: The dtype is None for an array of typed keys.
    position: int
    dtype: np.dtype | None


class PlanResult(NamedTuple):
    position: int
    aval: Aval
    fresh: bool
    is_key: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Plan:
    """A jaxpr that NumPy can evaluate. It is immutable, and threads may run it at once."""

    steps: list[PlanStep]
    inputs: list[PlanInput]
    results: list[PlanResult]
    constants: list[Raw]
    #: Sorted names of unsupported primitives, effects and dtypes; only a plan without any may run.
    uncovered: tuple[str, ...]
    #: Estimated seconds of one run.
    estimate: float
    #: True if OpenBLAS may divide a product among threads.
    large_products: bool
    #: True if the steps serve arguments of other shapes too (:meth:`for_shapes`).
    any_shape: bool

    @property
    def equations(self) -> int:
        return len(self.steps)

    @property
    def all_equations(self) -> int:
        nested = [s.kernel.plans for s in self.steps if isinstance(s.kernel, NestedKernel)]
        return self.equations + sum(plan.all_equations for plans in nested for plan in plans)

    def for_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Plan:
        """Returns the plan for results of these shapes; the estimate grows with the largest."""
        largest = max([aval.size for _, aval, _, _ in self.results])
        growth = max(1.0, max(map(math.prod, shapes)) / max(largest, 1))
        calls = CALL_SECONDS * self.equations
        estimate = (self.estimate - calls) * growth + calls
        results = [
            result._replace(aval=result.aval._replace(shape=shape))
            for result, shape in zip(self.results, shapes, strict=True)
        ]
        return replace(self, results=results, estimate=estimate, large_products=False)

    def run(self, args: Arrays) -> list[np.ndarray]:
        """Computes the results for NumPy arrays of the jaxpr's shapes and dtypes. Typed keys are
        passed and returned as key data (``uint32[..., 2]``). Every result is a new C-contiguous
        array of the jaxpr's dtype and shape that shares no memory."""
        values = self.constants.copy()
        for (position, dtype), x in zip(self.inputs, args, strict=True):
            values[position] = keys_of_data(x) if dtype is None else x
        # Setting NumPy's reaction to overflows takes longer than running in a context that has it.
        try:
            context = _silent_contexts.pop()
        except IndexError:
            context = Context()
            context.run(np.seterr, all="ignore")
        if self.large_products:
            with single_threaded_products:
                context.run(execute, self.steps, values)
        else:
            context.run(execute, self.steps, values)
        _silent_contexts.append(context)
        results = [values[result.position] for result in self.results]
        values.clear()  # a value is freed once its copy has been made
        for n, (_, (shape, dtype), fresh, is_key) in enumerate(self.results):
            x = results[n]
            if x.__class__ is not np.ndarray or x.dtype != dtype:
                x = np.array(x, dtype, order="C")
            elif not x.flags.c_contiguous:
                x = in_order(x)
            elif not fresh:
                x = x.copy()
            if is_key:
                x = data_of_keys(x)
            elif x.shape != shape:
                x = x.reshape(shape)
            results[n] = x
        return results

    def evaluate(self, args: Sequence[np.ndarray]) -> list[Raw]:
        """Computes results inside of another plan: values as they come, keys as they are held."""
        values = self.constants.copy()
        for (position, _), x in zip(self.inputs, args, strict=True):
            values[position] = x
        execute(self.steps, values)
        return [values[result[0]] for result in self.results]


#: Contexts in which NumPy is silent and in which no thread is at present.
_silent_contexts: list[Context] = []


class NestedKernel:
    """Base class of kernels that run plans; ``estimate`` is in seconds a call."""

    plans: Sequence[Plan]
    estimate: float

    @property
    def uncovered(self) -> tuple[str, ...]:
        return tuple(sorted({name for plan in self.plans for name in plan.uncovered}))

    def __call__(self, *operands: np.ndarray) -> Raw:
        raise NotImplementedError


def execute(steps: list[PlanStep], values: list[Raw]) -> None:
    read = values.__getitem__
    for kernel, ins, out, dead in steps:
        result = kernel(*map(read, ins))
        if out.__class__ is int:
            values[out] = result  # pyright: ignore[reportArgumentType, reportCallIssue]
        else:
            for i, x in zip(out, result, strict=True):  # pyright: ignore[reportArgumentType]
                values[i] = x
        for i in dead:
            values[i] = None


def keys_of_data(data: np.ndarray) -> Raw:
    return np.ascontiguousarray(data, np.uint32).view(KEY)[..., 0]


def data_of_keys(keys: object) -> np.ndarray:
    return np.array(np.asarray(keys, KEY)[..., None], order="C").view(np.uint32)
