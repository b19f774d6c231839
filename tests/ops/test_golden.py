"""Every operator against MXNet's own results: outputs, gradients, states, shapes and types."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace

import jax
import numpy as np
import pytest

from executorkit import ops
from executorkit.jaxpr_interpreter import FlatJaxpr, flattened, plan
from tests._tools import golden as _golden

pytestmark = pytest.mark.golden

#: Operators without golden values, and why.
NO_GOLDEN_CASE = {
    op.name: "draws other numbers than MXNet; test_random.py looks at their distribution"
    for op in ops.all_ops()
    if op.key_name and op.name.startswith(("_random_", "_sample_", "_shuffle"))
} | {
    "Custom": "runs the user's own Python; test_custom.py looks at it",
    "WarpCTC": "a plugin that MXNet's builds lack; test_ctc.py compares it with CTCLoss",
    "_foreach": "its body is a graph; test_control_flow.py compares whole graphs",
    "_while_loop": "its body is a graph; test_control_flow.py compares whole graphs",
    "_sg_mkldnn_conv": "it holds a graph; test_fused.py compares whole networks",
    "_sg_mkldnn_fully_connected": "it holds a graph; test_fused.py compares whole networks",
    "_sg_mkldnn_selfatt_qk": "MXNet runs it in graphs; test_fused.py compares whole networks",
    "_sg_mkldnn_selfatt_valatt": "MXNet runs it in graphs; test_fused.py compares whole networks",
    "_cond": "its branches are graphs; test_control_flow.py compares whole graphs",
    "_contrib_group_adagrad_update": "MXNet has it for GPUs only; see test_updates.py",
    "_contrib_fft": "MXNet has it for GPUs only; see test_contrib.py",
    "_contrib_ifft": "MXNet has it for GPUs only; see test_contrib.py",
    "_contrib_count_sketch": "MXNet has it for GPUs only; see test_contrib.py",
    "_image_random_color_jitter": "draws other numbers than MXNet; see test_image_random.py",
    "_contrib_getnnz": "MXNet has it for CSR matrices only; see test_contrib.py",
    "_square_sum": "MXNet has it for row_sparse arrays only; see test_contrib.py",
    "_copyto": "MXNet cannot call it by itself; see test_contrib.py",
}

#: Cases that no interpreter runs: the size of their result depends on values.
DYNAMIC = {"boolean_mask", "boolean_mask_all", "boolean_mask_mixed", "boolean_mask_one_row"}

QUESTIONS = list(_golden.questions())


def interpreted(closed_jaxpr, arrays):
    """The results of a jaxpr by the interpreter, which reads it in the form stored on disk."""
    planned = plan(FlatJaxpr.from_bytes(flattened(closed_jaxpr).to_bytes()))
    assert planned.uncovered == ()
    return planned.run(arrays)


@pytest.mark.parametrize("family", _golden.families())
def test_operators_give_what_mxnet_gives(family, both_readings, subtests):
    """Outputs, gradients, states, shapes and types of every case, from one trace of each."""
    for case in _golden.cases(family):
        by_numpy = both_readings == "interpreted" and not case.eager and case.name not in DYNAMIC
        for dtype in case.dtypes:
            with subtests.test(f"{case.key(dtype)}, {both_readings}"):
                if by_numpy:
                    result = _golden.trace_case(case, dtype).evaluated(interpreted)
                    _golden.check_result(family, _golden.for_interpreter(case), dtype, result)
                    facts = _golden.facts_of(family, case, dtype)
                    assert _golden.check_inference(case, facts) == []
                else:
                    _golden.check_case(family, case, dtype)


def test_cases_that_are_named_exist():
    names = {case.name for _, case, _ in QUESTIONS}
    assert {*_golden.INTERPRETED, *DYNAMIC} <= names


def test_every_operator_has_a_golden_case():
    asked = {ops.lookup(case.op) for _, case, _ in QUESTIONS}
    missing = [op.name for op in ops.all_ops() if op not in asked]
    assert sorted(missing) == sorted(NO_GOLDEN_CASE)


def test_every_operator_says_what_shapes_it_takes():
    shape = re.compile(r"\(.*\)|shape|ax[ie]s|scalar|element", re.DOTALL)
    assert [op.name for op in ops.all_ops() if not shape.search(op.doc)] == []


def test_no_two_cases_share_a_name():
    keys = [(family, case.key(dtype)) for family, case, dtype in QUESTIONS]
    assert len(keys) == len(set(keys))


def test_loosened_tolerances_say_why():
    loose = [
        case.name
        for _, case, _ in QUESTIONS
        if (case.rtol, case.atol, case.rtol16, case.rtol64, case.steps) != (None,) * 4 + (0,)
        and not case.why
    ]
    assert loose == []


class TestTheCheckerCanFail:
    """A deliberately wrong answer must be refused, each kind of wrong by itself."""

    family, case = "dense", _golden.cases("dense")[0]

    def problems(self, **changed: np.ndarray) -> list[str]:
        stored = _golden.answers(self.family)
        key = self.case.key("float32")
        result = _golden.run_case(self.case, "float32")
        result.arrays.update({n.replace("__", ":"): a for n, a in changed.items()})
        return _golden.compare(result, self.case, key, stored, stored.facts[key])

    def test_right_answer_passes(self):
        assert self.problems() == []

    def test_wrong_value(self):
        wrong = _golden.run_case(self.case, "float32").arrays["out0"].copy()
        wrong[1, 2] += 1e-3
        (problem,) = self.problems(out0=wrong)
        assert "out0: 1 of 12 entries differ" in problem
        assert "at (1, 2)" in problem

    def test_wrong_gradient(self):
        wrong = -_golden.run_case(self.case, "float32").arrays["grad:weight"]
        (problem,) = self.problems(grad__weight=wrong)
        assert problem.startswith("grad:weight: 20 of 20 entries differ")

    def test_wrong_dtype_and_shape(self):
        good = _golden.run_case(self.case, "float32").arrays["out0"]
        assert self.problems(out0=good.astype("float64")) == [
            "out0: dtype is float64, MXNet's is float32"
        ]
        assert self.problems(out0=good[:1]) == ["out0: shape is (1, 4), MXNet's is (3, 4)"]

    def test_nan_and_infinity_are_values(self):
        good = np.array([np.nan, np.inf, 1.0])
        assert _golden.difference(good, good, 0, 0) is None
        assert _golden.difference(np.array([np.nan, -np.inf, 1.0]), good, 1, 1) is not None
        assert _golden.difference(np.array([0.0, np.inf, 1.0]), good, 1, 1) is not None
        assert _golden.difference(np.array([np.nan, np.inf, np.nan]), good, 1, 1) is not None

    def test_changed_case_asks_for_new_answers(self):
        changed = replace(self.case, attrs={"num_hidden": 5})
        with pytest.raises(AssertionError, match=r"was changed; run tests/golden/make\.py dense"):
            _golden.check_case(self.family, changed, "float32")

    def test_backward_that_reads_values_of_forward_fails(self, monkeypatch):
        """An executor may run both in programs of their own."""
        op = ops.lookup("FullyConnected")
        assert op is not None
        right = op.fn

        def closing(data, weight, bias, **attrs):
            @jax.custom_vjp
            def layer(data, weight, bias):
                return right(data, weight, bias, **attrs)

            layer.defvjp(
                lambda *inputs: (layer(*inputs), None),
                lambda _, head: (head @ weight, head.T @ data, head.sum(0)),
            )
            return layer(data, weight, bias)

        monkeypatch.setattr(_golden, "lookup", lambda name: replace(op, fn=closing))
        with pytest.raises(jax.errors.UnexpectedTracerError):
            _golden.check_case(self.family, self.case, "float32")

    def test_wrong_operator_fails(self, monkeypatch):
        op = ops.lookup("FullyConnected")
        assert op is not None
        right = op.fn

        def wrong(data, weight, bias, **attrs):
            return right(data, weight, bias, **attrs) * 1.001

        twisted = replace(op, fn=wrong)
        monkeypatch.setattr(_golden, "lookup", lambda name: twisted)
        with pytest.raises(AssertionError, match="entries differ"):
            _golden.check_case(self.family, self.case, "float32")


def test_signatures_are_complete():
    """Every attribute is keyword-only and annotated, so that calls and files are read alike."""
    bare = [
        f"{op.name}.{p.name}"
        for op in ops.all_ops()
        for p in inspect.signature(op.fn).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.annotation is p.empty
    ]
    assert bare == []
