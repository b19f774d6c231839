"""Every operator's outputs and gradients with every axis free: one trace serves all sizes.

An axis of a golden case is free, alone or with others of its size, if the operator takes other
sizes of it. The trace is planned for the sizes that came and for others, and compared with traces
of those; where others fall into another part of the range, the sizes themselves are compared only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.jaxpr_interpreter import GeneralPlan, flattened, plan
from executorkit.jaxprs import SymbolicSizes
from executorkit.ops.schema.inference import ShapeFacts
from executorkit.ops.tracing import this_process_only
from tests._tools import golden as _golden

#: Operators, or cases by name, that are traced for each size, and why.
TRACED_FOR_EACH = {"_linalg_extracttrian": "NumPy lists the entries of a triangle"}
#: Families of which all cases are traced, not one of each operator.
WHOLE = {"conv", "pool"}

Shapes = list[tuple[int, ...]]


class _Gradient:
    """Outputs and gradients of a case as a function of its inputs."""

    def __init__(self, case: Any) -> None:
        self.name = case.name
        self.op, self.p = _golden.parsed(case)
        inputs = case.arrays(case.dtype)
        self.arrays = list(inputs.values())
        self._train = case.train
        self._of = [i for i, n in enumerate(inputs) if n in case.compared(case.dtype)]
        self.sizes = tuple(n for a in self.arrays for n in a.shape)

    def run(self, *arrays: Any) -> Any:
        def forward(*varied: Any) -> tuple[list[Any], Any]:
            given = list(arrays)
            for i, x in zip(self._of, varied, strict=True):
                given[i] = x
            outputs = self.op.apply(self.p, given, key=jax.random.key(0), train=self._train)
            shown = outputs[: len(self.op.outputs(self.p))]
            return [x for x in shown if jnp.issubdtype(x.dtype, jnp.floating)], outputs

        varied = [arrays[i] for i in self._of]
        smooth, back, outputs = jax.vjp(forward, *varied, has_aux=True)
        return outputs, back([jnp.full_like(x, 2) for x in smooth])

    def shapes(self, sizes: Sequence[Any]) -> Shapes:
        rest = iter(sizes)
        return [tuple(next(rest) for _ in a.shape) for a in self.arrays]

    def traced(self, sizes: Sequence[Any]) -> Any:
        pairs = zip(self.shapes(sizes), self.arrays, strict=True)
        with this_process_only():
            return jax.make_jaxpr(self.run)(*(jax.ShapeDtypeStruct(s, a.dtype) for s, a in pairs))

    def filled(self, sizes: Sequence[int]) -> list[np.ndarray]:
        arrays = []
        for array, shape in zip(self.arrays, self.shapes(sizes), strict=True):
            index = np.ix_(
                *(np.arange(n) % size for n, size in zip(shape, array.shape, strict=True))
            )
            arrays.append(np.ascontiguousarray(array[index]))
        return arrays

    def takes(self, sizes: Sequence[int]) -> bool:
        facts = ShapeFacts(
            self.op.name, dict(zip(self.op.inputs(self.p), self.shapes(sizes), strict=True))
        )
        try:
            for _ in range(2):
                if self.op.infer_shape is not None:
                    self.op.infer_shape(facts, self.p)
            self.traced(sizes)
        except Exception:  # whatever an operator raises for arrays that do not fit
            return False
        return True

    def free_axes(self) -> dict[int, tuple[tuple[int, ...], Callable[[int], int]]]:
        """By the first axis the axes that have its size, and other sizes for them."""
        sizes, taken = self.sizes, set()
        free = {}
        for first, n in enumerate(sizes):
            if n < 2 or first in taken:
                continue
            rest = [i for i in range(first + 1, len(sizes)) if sizes[i] == n and i not in taken]
            groups = [(first, *x) for k in range(3) for x in itertools.combinations(rest, k)]
            ways = ((lambda k, n=n: n + k * (n + 1)), (lambda k, n=n: n * (2 * k or 1)))
            for group, way in itertools.product([*groups, (first, *rest)], ways):
                others = [
                    [way(k) if i in group else m for i, m in enumerate(sizes)] for k in (1, 2)
                ]
                if all(map(self.takes, others)):
                    free[first] = group, way
                    taken.update(group)
                    break
        return free


def _gradients(family: str) -> Iterator[_Gradient]:
    seen = set()
    for case in _golden.cases(family):
        if case.compared(case.dtype) and (family in WHOLE or case.op not in seen):
            seen.add(case.op)
            yield _Gradient(case)


def _check(gradient: _Gradient) -> None:
    free = gradient.free_axes()
    shared: list[int | None] = [None] * len(gradient.sizes)
    for first, (group, _) in free.items():
        for axis in group:
            shared[axis] = first

    def sizes(k: int) -> tuple[int, ...]:
        pairs = zip(gradient.sizes, shared, strict=True)
        return tuple(n if first is None else free[first][1](k) for n, first in pairs)

    if not free or not gradient.takes(sizes(1)):
        return
    symbolic = SymbolicSizes.of(shared, sizes(1))
    general = GeneralPlan(flattened(gradient.traced(symbolic.sizes)), symbolic)
    is_part, evaluate = symbolic.test(), symbolic.function(symbolic.sizes)
    for k in (1, 2, 0):
        values = symbolic.values(sizes(k))
        if not is_part(*values) or evaluate(*values) != sizes(k) or not gradient.takes(sizes(k)):
            assert k != 1
            continue
        ours = general.at(values).run(gradient.filled(sizes(k)))
        fixed = plan(gradient.traced(sizes(k))).run(gradient.filled(sizes(k)))
        for a, b in zip(ours, fixed, strict=True):
            # Some algorithms are chosen by known sizes, and round otherwise.
            scale = np.abs(np.nan_to_num(np.asarray(b, "float64"))).max(initial=1e-3)
            tolerance = (2e-3 if b.dtype == "float16" else 1e-5) * scale
            np.testing.assert_allclose(
                np.asarray(a, "float64"), np.asarray(b, "float64"), 0, tolerance,
                err_msg=f"{gradient.name} of {gradient.shapes(sizes(k))}",
            )  # fmt: skip
            assert (a.shape, a.dtype) == (b.shape, b.dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("family", _golden.families())
def test_gradients_are_traced_once_for_all_sizes(family):
    with jax.enable_x64(True):
        for gradient in _gradients(family):
            if TRACED_FOR_EACH.keys().isdisjoint((gradient.name, gradient.op.name)):
                _check(gradient)


@pytest.mark.parametrize("name", TRACED_FOR_EACH)
def test_what_is_traced_for_each_size_cannot_be_traced_for_all(name):
    case = next(c for _, c, _ in _golden.questions() if name in (c.name, c.op))
    with jax.enable_x64(True), pytest.raises(Exception, match=r"."):
        _check(_Gradient(case))
