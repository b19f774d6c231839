"""Checks of one symbol in several contexts and element types: agreement, and speed."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
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

    sym, ctx_list
        Each entry of ``ctx_list`` holds ``ctx``, input shapes by name, and perhaps ``type_dict``,
        for ``sym`` or for the symbol at its place.
    scale, use_uniform, rand_type
        Arguments are random, normal or uniform, times ``scale``, and of ``rand_type`` at first.
    arg_params, aux_params
        Arguments and auxiliary states by name, in place of random ones and of zeros.
    rtol, atol, equal_nan
        As in :func:`assert_almost_equal`.
    raise_on_err
        False collects differences into one warning.

    Inference is compared, then, unless ``grad_req`` is "null", a training step with the outputs as
    head gradients. Returns the reference: ``ground_truth``, or the results of the most precise
    executor.
    """
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    if len(symbols) != len(ctx_list) or len(ctx_list) < 1:
        raise ValueError(f"{len(symbols)} symbols for {len(ctx_list)} contexts")
    for other in symbols[1:]:
        for method in ("list_arguments", "list_auxiliary_states", "list_outputs"):
            first, second = getattr(symbols[0], method)(), getattr(other, method)()
            if first != second:
                raise AssertionError(f"the symbols differ in {method}(): {first} and {second}")
    train = grad_req != "null"
    pairs = zip(symbols, ctx_list, strict=True)
    executors = [s.simple_bind(grad_req=grad_req, **dict(entry)) for s, entry in pairs]
    args = _shared_start(executors[0].arg_dict, arg_params, scale, use_uniform, rand_type)
    aux = {n: to_numpy((aux_params or {}).get(n, 0)) for n in executors[0].aux_dict}
    for executor in executors:
        _assign(executor.arg_dict, args)
        _assign(executor.aux_dict, aux)

    precisions = [_precision(e) for e in executors]
    names = symbols[0].list_outputs()
    problems: list[str] = []
    truth: dict[str, NDArray] = {}
    for step in ("inference", "training") if train else ("inference",):
        results = [_results(e, names, step == "training") for e in executors]
        truth = dict(ground_truth or results[int(np.argmax(precisions))])
        for number, (result, entry) in enumerate(zip(results, ctx_list, strict=True)):
            where = f"of executor {number} ({entry['ctx']}) in {step}"
            for error in _disagreements(result, truth, where, (rtol, atol), equal_nan):
                if raise_on_err:
                    raise error
                problems.append(str(error))
    if problems:
        warnings.warn("\n".join(problems), stacklevel=2)
    return truth


def _assign(arrays: Mapping[str, NDArray], values: Mapping[str, np.ndarray]) -> None:
    for name, target in arrays.items():
        target[:] = np.broadcast_to(values[name], target.shape).astype(target.dtype)


def _disagreements(
    result: Mapping[str, NDArray],
    truth: Mapping[str, object],
    where: str,
    tolerances: tuple[Tolerance, Tolerance],
    equal_nan: bool,
) -> Iterator[AssertionError]:
    for name, array in result.items():
        reference = truth.get(name)
        if reference is None:
            continue
        limits = get_tols(array, reference, *tolerances)
        labels = (f"{name} {where}", "reference")
        try:
            assert_almost_equal(array, reference, *limits, labels, equal_nan=equal_nan)
        except AssertionError as error:
            yield error


def _shared_start(
    arrays: Mapping[str, NDArray],
    fixed: Mapping[str, Any] | None,
    scale: float,
    uniform: bool,
    dtype: object,
) -> dict[str, np.ndarray]:
    values = {}
    for name, array in arrays.items():
        if fixed is not None and name in fixed:
            values[name] = to_numpy(fixed[name])
        elif uniform:
            values[name] = np.random.uniform(-0.92 * scale, 0.92 * scale, size=array.shape)
        else:
            values[name] = np.random.normal(size=array.shape, scale=scale)
        values[name] = values[name].astype(dtype)
    return values


def _precision(executor: Executor) -> int:
    dtypes = [np.dtype(o.dtype) for o in executor.outputs]
    return min((np.finfo(dtype).nmant if dtype.kind == "f" else 64) for dtype in dtypes)


def _results(executor: Executor, names: Sequence[str], train: bool) -> dict[str, NDArray]:
    results = {n: o.copy() for n, o in zip(names, executor.forward(is_train=train), strict=True)}
    if train:
        executor.backward([results[n] for n in names])
        results.update({n: g.copy() for n, g in executor.grad_dict.items() if g is not None})
    return results


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,  # noqa: N803 - MXNet's name
    grad_req: object = None,
    typ: str = "whole",
    **kwargs: object,
) -> float:
    """Returns seconds per call, averaged over N calls; ``typ`` is "whole" (forward and backward) or
    "forward". Inputs are ``location``, or normal numbers for the shapes given by keyword."""
    ctx = ctx or default_context()
    if typ not in ("whole", "forward"):
        raise ValueError(f"typ is {typ!r}, expected 'whole' or 'forward'")
    if location is not None and not isinstance(location, Mapping):
        raise TypeError(f"location is a {type(location).__name__}, expected a dict of arrays")
    shapes = kwargs if location is None else {n: np.shape(v) for n, v in location.items()}
    executor = sym.simple_bind(ctx, grad_req=grad_req or "write", **shapes)
    for name, target in executor.arg_dict.items():
        random_values = np.random.normal(size=target.shape)
        values = random_values if location is None else location.get(name, random_values)
        target[:] = to_numpy(values)

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
