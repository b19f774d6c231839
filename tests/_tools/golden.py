"""Compares executorkit with the stored answers of MXNet, case by case."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from executorkit import nd
from executorkit.calls.ways import invoke
from executorkit.ops import OpDef, Params, lookup
from executorkit.ops.schema.inference import ShapeFacts, TypeFacts, is_fully_known
from tests.golden import _store
from tests.golden.cases._case import Case

GOLDEN = Path(__file__).parents[1] / "golden"

#: Relative to the largest magnitude of the array compared, and absolute.
TOLERANCES = {"float16": (4e-3, 1e-5), "float32": (1e-5, 1e-7), "float64": (1e-9, 1e-12)}

#: Cases that need another tolerance where NumPy interprets them, and why.
INTERPRETED = {
    "BatchNorm_large_mean": (
        2e-5,
        "numbers near 100 lie 7.6e-6 apart; the mean here is within one step of the true one, "
        "MXNet's and XLA's, added up one by one, two steps away",
    )
}


def for_interpreter(case: Case) -> Case:
    """The case with the tolerance that holds where NumPy interprets its program."""
    return replace(case, rtol=INTERPRETED[case.name][0]) if case.name in INTERPRETED else case


@dataclass
class Result:
    """The answer of one side: arrays by ``out0``, ``grad:data``, ``aux:moving_mean``."""

    arrays: dict[str, np.ndarray]
    outputs: list[str] = field(default_factory=list)


def families() -> list[str]:
    """Names of all families that have cases."""
    return sorted(p.stem for p in (GOLDEN / "cases").glob("*.py") if not p.stem.startswith("_"))


def cases(family: str) -> list[Case]:
    return importlib.import_module(f"tests.golden.cases.{family}").CASES


@functools.cache
def answers(family: str) -> _store.Answers:
    return _store.Answers(family)


def questions() -> Iterator[tuple[str, Case, str]]:
    """Every (family, case, dtype)."""
    for family in families():
        for case in cases(family):
            for dtype in case.dtypes:
                yield family, case, dtype


def parsed(case: Case) -> tuple[OpDef, Params]:
    """The operator of a case, and its attributes."""
    op = lookup(case.op)
    assert op is not None, f"operator {case.op} is not registered"
    attrs: dict[str, Any] = dict(case.attrs)
    if op.variadic is not None and op.count is not None:
        attrs.setdefault(op.count, len(case.inputs))
    return op, op.parse(attrs)


@dataclass(frozen=True)
class TracedCase:
    """The program of a case in one dtype, traced once: outputs, gradients, new auxiliary states."""

    case: Case
    dtype: str
    op: OpDef
    p: Params
    function: Any
    traced: Any
    arguments: tuple[Any, ...]

    def compiled(self) -> Result:
        """The results by XLA."""
        with jax.enable_x64(True):
            return self._result(self.function(*self.arguments))

    def evaluated(self, way: Callable[[Any, list[np.ndarray]], Sequence[Any]]) -> Result:
        """The results by a function of the jaxpr and its arguments."""
        with jax.enable_x64(True):
            leaves = [np.asarray(x) for x in jax.tree.leaves(self.arguments)]
            structure = jax.tree.structure(self.traced.out_info)
            return self._result(jax.tree.unflatten(structure, way(self.traced.jaxpr, leaves)))

    def _result(self, results: Any) -> Result:
        outs, new, grads = jax.device_get(results)
        shown = self.op.visible(self.p)
        arrays_by_name = {f"out{i}": o for i, o in enumerate(outs[:shown])}
        arrays_by_name.update({f"grad:{n}": g for n, g in grads.items()})
        if grads:
            states = [n for n in self.case.inputs if n in self.op.aux_of(self.p)]
            arrays_by_name.update({f"aux:{n}": a for n, a in zip(states, new, strict=True)})
        return Result(arrays_by_name, list(self.op.outputs(self.p)[:shown]))


def trace_case(case: Case, dtype: str) -> TracedCase:
    """Traces forward and backward of one case."""
    op, p = parsed(case)
    inputs = case.arrays(dtype)
    names = op.inputs(p)
    assert len(names) == len(inputs), f"{case.op} has inputs {names}, the case gives {list(inputs)}"
    ours = dict(zip(names, inputs, strict=True))
    if op.variadic is None:
        assert list(ours) == list(inputs), f"{case.op} has inputs {names}, not {list(inputs)}"
    grad_names = case.compared(dtype)
    shown = op.visible(p)
    states = [n for n in inputs if n in op.aux_of(p)]

    def forward(diff: dict[str, jax.Array], fixed: dict[str, jax.Array]) -> tuple[Any, Any]:
        arrays = {**fixed, **diff}
        key = jax.random.key(0)
        results = op.apply(p, [arrays[n] for n in inputs], key=key, train=case.train)
        outs, new = results[: len(op.outputs(p))], results[len(op.outputs(p)) :]
        assert len(new) == len(states), f"{case.op} returns {len(new)} states, has {states}"
        smooth = {i: o for i, o in enumerate(outs) if jnp.issubdtype(o.dtype, jnp.floating)}
        return smooth, (outs, new)

    # Backward is traced from the residuals that an executor stores when outputs are read before
    # it, so its rule must not close over values of forward's. Both are traced once.
    @functools.partial(jax.jit, inline=True)
    def linearize(diff: dict[str, Any], fixed: dict[str, Any]) -> Any:
        return jax.vjp(lambda d: forward(d, fixed), diff, has_aux=True)

    @functools.partial(jax.jit, inline=True)
    def transpose(vjp: Any, heads: dict[int, jax.Array]) -> Any:
        return vjp(heads)

    def program(
        diff: dict[str, np.ndarray], fixed: dict[str, np.ndarray], heads: dict[int, np.ndarray]
    ) -> Any:
        smooth, vjp, (outs, new) = linearize(diff, fixed)
        cotangents = {i: heads[i] if i in heads else jnp.zeros_like(o) for i, o in smooth.items()}
        return outs, new, transpose(vjp, cotangents)[0]

    with jax.enable_x64(True):
        diff = {n: a for n, a in inputs.items() if n in grad_names}
        fixed = {n: a for n, a in inputs.items() if n not in grad_names}
        _, _, (shapes, _) = jax.eval_shape(linearize, diff, fixed)
        heads = {
            i: case.head(i, o.shape, o.dtype.name)
            for i, o in enumerate(shapes[:shown])
            if jnp.issubdtype(o.dtype, jnp.floating)
        }
        function = jax.jit(program)
        traced = function.trace(diff, fixed, heads)
    return TracedCase(case, dtype, op, p, function, traced, (diff, fixed, heads))


def run_case(case: Case, dtype: str) -> Result:
    """The results of one case, compiled by XLA."""
    return trace_case(case, dtype).compiled()


def call_case(case: Case, arrays: Mapping[str, nd.NDArray]) -> list[nd.NDArray]:
    """The outputs of a case's operator called on arrays."""
    op, attrs = parsed(case)[0], dict(case.attrs)
    if op.variadic is not None and op.count is not None:
        attrs.setdefault(op.count, len(case.inputs))
    outs = invoke(op, nd.NDArray, list(arrays.values()), attrs)
    return outs if isinstance(outs, list) else [outs]


def run_eager(case: Case, dtype: str) -> Result:
    """Results of one operator called on arrays, and the inputs that it changed."""
    op = lookup(case.op)
    assert op is not None, f"operator {case.op} is not registered"
    inputs = case.arrays(dtype)
    arrays = {n: nd.array(a, dtype=a.dtype) for n, a in inputs.items()}
    outs = invoke(
        op, nd.NDArray, list(arrays.values()), case.attrs, [arrays[n] for n in case.out] or None
    )
    outs = outs if isinstance(outs, list) else [outs]
    results = {f"out{i}": o.asnumpy() for i, o in enumerate(outs)}
    outputs = list(results)
    for name, before in inputs.items():
        after = arrays[name].asnumpy()
        if after.tobytes() != before.tobytes():
            results[f"aux:{name}"] = after
    return Result(results, outputs)


def tolerance(case: Case, dtype: str) -> tuple[float, float]:
    """(rtol, atol) of a case's arrays of ``dtype``."""
    rtol, atol = TOLERANCES.get(dtype, (0.0, 0.0))
    special = {"float16": case.rtol16, "float32": case.rtol, "float64": case.rtol64}.get(dtype)
    if special is not None:
        rtol = special
    if dtype == "float32" and case.atol is not None:
        atol = case.atol
    if "int" in dtype:
        atol = case.steps
    return rtol, atol


def difference(ours: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> str | None:
    """The fault of ``ours``, or None; NaN equals NaN and infinities equal themselves."""
    if ours.shape != theirs.shape:
        return f"shape is {ours.shape}, MXNet's is {theirs.shape}"
    exact = ours == theirs
    a, b = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    finite = np.isfinite(b)
    scale = np.abs(b[finite]).max(initial=0.0)
    odd = ~finite | ~np.isfinite(a)
    agree = exact | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.maximum(np.abs(a - b), np.where(exact, 0.0, np.finfo(float).tiny))
        error = np.where(odd, np.where(agree, 0.0, np.inf), distance)
    allowed = atol + rtol * scale
    if not np.any(error > allowed):
        return None
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    return (
        f"{np.count_nonzero(error > allowed)} of {a.size} entries differ; largest error "
        f"{error[at]:.3g} (allowed {allowed:.3g}) at {tuple(map(int, at))}: "
        f"ours {float(a[at])!r}, MXNet {float(b[at])!r}"
    )


def compare(
    result: Result, case: Case, key: str, stored: Any, facts: Mapping[str, Any]
) -> list[str]:
    """All differences between our result and the stored answer."""
    problems = []
    for name, (shape, kind) in facts["arrays"].items():
        if name not in result.arrays:
            problems.append(f"{name}: missing; we have {sorted(result.arrays)}")
            continue
        ours = np.asarray(result.arrays[name])
        if ours.dtype.name != kind:
            problems.append(f"{name}: dtype is {ours.dtype.name}, MXNet's is {kind}")
        if list(ours.shape) != shape:
            problems.append(f"{name}: shape is {ours.shape}, MXNet's is {tuple(shape)}")
            continue
        rtol, atol = tolerance(case, kind)
        wrong = difference(_store.condense(ours), stored[f"{key}|{name}"], rtol, atol)
        if wrong:
            problems.append(f"{name}: {wrong}")
    if result.outputs != facts["outputs"]:
        problems.append(f"outputs are {result.outputs}, MXNet's are {facts['outputs']}")
    if case.eager:
        problems += [f"{n} should not change" for n in result.arrays if n not in facts["arrays"]]
    return problems


def facts_of(family: str, case: Case, dtype: str) -> dict[str, Any]:
    """The stored answer of one case; fails if there is none for this question."""
    key = case.key(dtype)
    facts = answers(family).facts.get(key)
    again = f"run tests/golden/make.py {family}"
    assert facts is not None, f"no answer stored for {key}; {again}"
    assert facts["fingerprint"] == case.fingerprint, f"{key} was changed; {again}"
    assert "error" not in facts, f"MXNet refuses {key}: {facts['error']}; drop this case or dtype"
    assert "backward_error" not in facts, (
        f"MXNet refuses the gradient of {key}: {facts['backward_error']}; give it no_grad"
    )
    return facts


def check_result(family: str, case: Case, dtype: str, result: Result) -> None:
    """Fails with everything in which a result and MXNet's differ."""
    key, facts = case.key(dtype), facts_of(family, case, dtype)
    _fail(case, key, compare(result, case, key, answers(family), facts))


def check_case(family: str, case: Case, dtype: str) -> None:
    """Fails with everything in which executorkit, compiled, and MXNet differ about one case."""
    key, facts = case.key(dtype), facts_of(family, case, dtype)
    run = run_eager if case.eager else run_case
    problems = compare(run(case, dtype), case, key, answers(family), facts)
    _fail(case, key, problems + check_inference(case, facts))


def _fail(case: Case, key: str, problems: list[str]) -> None:
    assert not problems, "\n  ".join([f"{key}, {case.op}({dict(case.attrs)}):", *problems])


def check_inference(case: Case, facts: Mapping[str, Any]) -> list[str]:
    """The shapes and types that MXNet infers from one input and that are not inferred here."""
    op, p = parsed(case)
    ours = dict(zip(case.inputs, op.inputs(p), strict=True))
    first = next(iter(case.inputs), None)
    outs = [f"out{i}" for i in range(len(op.outputs(p)))]
    problems = []
    for what, make, rule in (
        ("shape", ShapeFacts, op.infer_shape),
        ("type", TypeFacts, op.infer_type),
    ):
        theirs = facts.get(f"{what}_first")
        if first is None or theirs is None or rule is None:
            continue
        box: Any = make(op.name, dict.fromkeys([*op.inputs(p), *outs]))
        start = theirs["inputs"][first]
        box[ours[first]] = tuple(start) if what == "shape" else start
        for _ in range(3):
            rule(box, p)
        for name, answer in theirs["inputs"].items():
            if what == "shape" and not is_fully_known(tuple(answer or (0,))):
                continue
            answer = tuple(answer) if isinstance(answer, list) else answer
            if answer is not None and box[ours[name]] != answer:
                problems.append(
                    f"{what} of {name!r}, given only {first!r}: {box[ours[name]]}, "
                    f"MXNet infers {answer}"
                )
    return problems
