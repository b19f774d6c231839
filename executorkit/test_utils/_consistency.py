"""One symbol in several contexts and element types: does it agree with itself, how fast is it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..context import Context
from ..executor import Executor
from ..ndarray import NDArray
from ..symbol import Symbol
from ._compare import Tolerance, assert_almost_equal, get_tols, to_numpy
from ._environment import default_context


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, NDArray]:
    """Compares one symbol (or equivalent ones) across contexts and element types.

    Each entry of ``ctx_list`` holds ``ctx``, input shapes by name, and perhaps ``type_dict``.
    Inference is compared first, then, unless ``grad_req`` is "null", a training step whose head
    gradients are its own outputs. The most precise executor is the reference, or ``ground_truth``
    (by names of outputs and arguments), which is what is returned too. With
    ``raise_on_err=False`` differences are collected into one warning.
    """
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    if len(symbols) != len(ctx_list) or len(ctx_list) < 1:
        raise ValueError(f"{len(symbols)} symbols for {len(ctx_list)} contexts")
    for other in symbols[1:]:
        for part in ("list_arguments", "list_auxiliary_states", "list_outputs"):
            ours, theirs = getattr(symbols[0], part)(), getattr(other, part)()
            if ours != theirs:
                raise AssertionError(f"the symbols differ in {part}(): {ours} and {theirs}")
    train = grad_req != "null"
    executors = [
        s.simple_bind(grad_req=grad_req, **dict(entry))
        for s, entry in zip(symbols, ctx_list, strict=True)
    ]
    args = _shared_start(executors[0].arg_dict, arg_params, scale, use_uniform, rand_type)
    aux = {n: to_numpy((aux_params or {}).get(n, 0)) for n in executors[0].aux_dict}
    for executor in executors:
        for arrays, values in ((executor.arg_dict, args), (executor.aux_dict, aux)):
            for name, target in arrays.items():
                target[:] = np.broadcast_to(values[name], target.shape).astype(target.dtype)

    precisions = [_precision(e) for e in executors]
    names = symbols[0].list_outputs()
    problems: list[str] = []
    truth: dict[str, NDArray] = {}
    for step in ("inference", "training") if train else ("inference",):
        results = [_results(e, names, step == "training") for e in executors]
        truth = dict(ground_truth or results[int(np.argmax(precisions))])
        for number, result in enumerate(results):
            for name in result:
                target = truth.get(name)
                if target is None:
                    continue
                limits = get_tols(result[name], target, rtol, atol)
                label = f"{name} of executor {number} ({ctx_list[number]['ctx']}) in {step}"
                try:
                    assert_almost_equal(
                        result[name], target, *limits, (label, "reference"), equal_nan=equal_nan
                    )
                except AssertionError as error:
                    if raise_on_err:
                        raise
                    problems.append(str(error))
    if problems:
        warnings.warn("\n".join(problems), stacklevel=2)
    return truth


def _shared_start(
    arrays: Mapping[str, NDArray],
    given: Mapping[str, Any] | None,
    scale: float,
    uniform: bool,
    kind: Any,
) -> dict[str, np.ndarray]:
    """The same random argument values for every executor, those of ``given`` taken from there."""
    values = {}
    for name, like in arrays.items():
        if given is not None and name in given:
            values[name] = to_numpy(given[name])
        elif uniform:
            values[name] = np.random.uniform(-0.92 * scale, 0.92 * scale, size=like.shape)
        else:
            values[name] = np.random.normal(size=like.shape, scale=scale)
        values[name] = values[name].astype(kind)
    return values


def _precision(executor: Executor) -> int:
    kinds = [np.dtype(o.dtype) for o in executor.outputs]
    return min((np.finfo(k).nmant if k.kind == "f" else 64) for k in kinds)


def _results(executor: Executor, names: Sequence[str], train: bool) -> dict[str, NDArray]:
    outputs = executor.forward(is_train=train)
    found = {n: o.copy() for n, o in zip(names, outputs, strict=True)}
    if train:
        executor.backward([found[n] for n in names])
        found.update({n: g.copy() for n, g in executor.grad_dict.items() if g is not None})
    return found


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,  # noqa: N803 - MXNet's name
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds per call, over N calls after one that compiles.

    ``typ`` is "whole" (forward and backward, head gradients the outputs) or "forward".
    Inputs are ``location``, or normal numbers for the shapes given by keyword.
    """
    ctx = ctx or default_context()
    if typ not in ("whole", "forward"):
        raise ValueError(f"typ is {typ!r}, expected 'whole' or 'forward'")
    if location is not None and not isinstance(location, Mapping):
        raise TypeError(f"location is a {type(location).__name__}, expected a dict of arrays")
    shapes = kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    executor = sym.simple_bind(ctx, grad_req=grad_req or "write", **shapes)
    for name, target in executor.arg_dict.items():
        fresh = np.random.normal(size=target.shape)
        target[:] = to_numpy(fresh if location is None else location.get(name, fresh))

    def call() -> None:
        outputs = executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(outputs)
            outputs = [*outputs, *(g for g in executor.grad_dict.values() if g is not None)]
        for result in outputs:
            result.wait_to_read()

    call()
    start = time.perf_counter()
    for _ in range(N):
        call()
    return (time.perf_counter() - start) / N
