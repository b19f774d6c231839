"""Every operator with a symbolic batch: one exported program serves every batch size.

A golden case has a batch axis if its inference runs for other sizes of that axis too, of its first
input alone or of all inputs that have it. The operators of each family are exported together; of
each operator, one case is compared at three sizes with the operator at that size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax import export

from executorkit.jaxpr_interpreter import plan
from executorkit.ops.tracing import at_least, is_known
from tests._tools import golden as _golden

#: Operators whose data has the batch on another axis than the first.
BATCH_AXIS = {
    **dict.fromkeys(("RNN", "CTCLoss", "SequenceLast", "SequenceMask", "SequenceReverse"), 1),
    "_contrib_interleaved_matmul_selfatt_qk": 1,
    "_contrib_interleaved_matmul_encdec_qk": 1,
}
#: Operators, or cases by name, whose first axis is no batch and cannot be symbolic, and why.
NOT_A_BATCH = {
    "_contrib_calibrate_entropy": "bins of a histogram, the number of which decides on loops",
    "diag": "rows of a matrix: the length of a diagonal is a minimum that jnp.diagonal lacks",
    "_slice_assign": "cut axis: the shape of the other input depends on the size",
    "_split_v2-sections": "axis that is split: the parts are of different sizes",
    "slice_like": "cut axis: it may be shorter than the other input's",
    "slice_like-negative": "cut axis: it may be shorter than the other input's",
    "Reshape-minus_4_second": "axis that is split: not all sizes are divisible",
    "Reshape-target_shape_rest": "axis that is joined: not all sizes are divisible",
}


class _Question(NamedTuple):
    """A case with the axis that varies, the inputs that have it, and its inference."""

    name: str
    op: str
    inputs: dict[str, np.ndarray]
    batched: frozenset[str]
    axis: int
    run: Callable[..., Any]

    @property
    def size(self) -> int:
        return next(iter(self.inputs.values())).shape[self.axis]

    def avals(self, size: Any) -> list[jax.ShapeDtypeStruct]:
        return [
            jax.ShapeDtypeStruct(
                tuple(
                    size if i == self.axis and name in self.batched else n
                    for i, n in enumerate(array.shape)
                ),
                array.dtype,
            )
            for name, array in self.inputs.items()
        ]

    def arrays(self, size: int) -> list[np.ndarray]:
        return [
            np.take(array, np.arange(size) % self.size, self.axis)
            if name in self.batched
            else array
            for name, array in self.inputs.items()
        ]


def _question(case: Any) -> _Question | None:
    """The question that a case gives; None if it has no batch axis."""
    op, p = _golden.parsed(case)
    inputs = case.arrays(case.dtype)
    axis = BATCH_AXIS.get(op.name, 0)
    first = next(iter(inputs.values()), np.empty(()))
    if case.eager or first.ndim <= axis or not first.shape[axis]:
        return None
    if not {case.name, op.name}.isdisjoint(NOT_A_BATCH):
        return None
    if op.name.startswith("_image_") and first.ndim == 3:
        return None  # one image: height, width, channels
    if op.name == "topk" and case.attrs.get("axis", -1) in (0, -first.ndim):
        return None  # entries to choose from: there may be fewer than k

    def run(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        results = op.apply(p, arrays, key=jax.random.key(0), train=False)
        return results[: len(op.outputs(p))]

    size = first.shape[axis]
    names = [n for n, a in inputs.items() if a.ndim > axis and a.shape[axis] == size]
    for batched in dict.fromkeys((frozenset(names[:1]), frozenset(names))):
        question = _Question(case.name, op.name, inputs, batched, axis, run)
        try:
            jax.eval_shape(run, *question.avals(2 * size + 1))
        except (TypeError, ValueError):
            continue
        return question
    return None


def _together(questions: list[_Question]) -> Callable[..., Any]:
    def run(*inputs: list[jax.Array]) -> list[Any]:
        results = []
        for question, arrays in zip(questions, inputs, strict=True):
            try:
                results.append(question.run(*arrays))
            except Exception as error:
                error.add_note(f"in case {question.name}")
                raise
        return results

    return run


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", _golden.families())
def test_operators_run_with_any_batch_size_of_one_program(family):
    with jax.enable_x64(True):
        # One symbol for all: with one each, every shape is computed from a hundred symbols.
        (shared,) = export.symbolic_shape("b")
        questions = [q for case in _golden.cases(family) if (q := _question(case))]
        compared = list({q.op: q for q in reversed(questions)}.values())
        others = [q for q in questions if q not in compared]
        export.export(jax.jit(_together(others)))(*(q.avals(shared) for q in others))
        names = [f"b{i}" for i in range(len(compared))]
        sizes = export.symbolic_shape(", ".join(names) or "b")
        run = _together(compared)
        avals = [q.avals(size) for q, size in zip(compared, sizes, strict=False)]
        exported = export.export(jax.jit(run))(*avals)
        at_sizes = jax.jit(lambda *inputs: [exported.call(*arrays) for arrays in inputs])
        directly = jax.make_jaxpr(lambda *inputs: [run(*arrays) for arrays in inputs])
        inputs = [
            [q.arrays(size) for q, size in zip(compared, sizes, strict=True)]
            for sizes in zip(*((q.size, q.size + 1, 2 * q.size + 1) for q in compared), strict=True)
        ]
        ours = _flat(at_sizes(*inputs))
        planned = plan(directly(*inputs))
        assert planned.uncovered == ()
        expected = iter(planned.run([np.asarray(x) for x in jax.tree.leaves(inputs)]))
    for question, outputs in zip(compared * len(inputs), ours, strict=True):
        for a, b in zip(outputs, expected, strict=False):
            scale = np.abs(np.nan_to_num(np.asarray(b, "float64"))).max(initial=1e-3)
            np.testing.assert_allclose(
                np.asarray(a, "float64"), np.asarray(b, "float64"), 0, 1e-5 * scale,
                err_msg=question.name,
            )  # fmt: skip


def _flat(results: list[list[Any]]) -> list[Any]:
    return [outputs for at_size in results for outputs in at_size]


def test_every_exception_is_a_case_or_an_operator():
    known = {name for _, case, _ in _golden.questions() for name in (case.name, case.op)}
    assert NOT_A_BATCH.keys() <= known


def test_a_symbolic_size_is_compared_with_a_way_out():
    def decide(x):
        size = x.shape[0]
        answers.append(
            (is_known(size), at_least(size, 1), at_least(size, 2), at_least(8, size, True))
        )
        return x

    answers = []
    jax.make_jaxpr(decide)(np.zeros(4))
    export.export(jax.jit(decide))(jax.ShapeDtypeStruct(export.symbolic_shape("b"), "float32"))
    assert answers == [(True, True, True, True), (False, True, False, True)]
