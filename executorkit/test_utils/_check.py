"""Checks of a symbol: its values and its gradients. ``location`` and ``aux_states`` are lists in
the symbol's order, or dicts by name, of values that ``mx.nd.array`` accepts. Every check binds the
symbol in ``ctx``, the default context if None."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..context import Context
from ..errors import MXNetError
from ..executor import Executor
from ..ndarray import NDArray, array
from ..symbol import Symbol, Variable
from ..symbol.op import make_loss
from ._compare import (
    Tolerance,
    assert_almost_equal,
    default_numeric_eps,
    get_atol,
    get_rtol,
    to_numpy,
)
from ._environment import default_context

Arrays = Sequence[Any] | Mapping[str, Any]


def _named(
    names: Sequence[str], arrays: Arrays | None, argument: str, dtype: object, ctx: Context
) -> dict[str, NDArray]:
    if arrays is None:
        arrays = {}
    if not isinstance(arrays, Mapping):
        arrays = dict(zip(names, arrays, strict=False))
    if argument == "location" and set(arrays) != set(names):
        problem = f"location names {sorted(arrays)}, the symbol's arguments are {sorted(names)}"
        raise ValueError(problem)
    missing = [n for n in names if n not in arrays]
    if missing:
        raise ValueError(f"{argument} lacks {', '.join(missing)}")
    named = {}
    for name in names:
        value = arrays[name]
        keeps_dtype = isinstance(value, NDArray) or dtype == "asnumpy"  # MXNet's "unchanged"
        named[name] = array(value, ctx, value.dtype if keeps_dtype else dtype)
    return named


def _requests(names: Sequence[str], grad_req: Any) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if not isinstance(grad_req, Mapping):
        grad_req = dict(zip(names, grad_req, strict=True))
    return {n: grad_req.get(n, "null") for n in names}


def _expected(names: Sequence[str], expected: Arrays) -> dict[str, Any]:
    return dict(expected if isinstance(expected, Mapping) else zip(names, expected, strict=False))


def simple_forward(
    sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: object
) -> Any:
    """Returns the outputs of a symbol for inputs by name: one NumPy array, or a list of them."""
    ctx = ctx or default_context()
    executor = sym.bind(ctx, {n: array(v, ctx) for n, v in inputs.items()})
    outputs = [o.asnumpy() for o in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym: Symbol,
    location: Arrays,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: object = np.float32,
) -> list[NDArray]:
    """Compares the outputs of inference with ``expected``, and returns them.

    sym, location, aux_states
        A symbol, its arguments and its auxiliary states: lists, or dicts by name.
    expected
        The outputs: a list, or a dict by name.
    rtol, atol
        Relative and absolute tolerance, by default of the less precise dtype.
    ctx, dtype
        The context, and the dtype to which arguments are converted unless they are NDArrays.
    equal_nan
        Whether NaN equals NaN.

    Raises AssertionError for a difference, ValueError for names that do not fit.
    """
    ctx = ctx or default_context()
    args = _named(sym.list_arguments(), location, "location", dtype, ctx)
    states = _named(sym.list_auxiliary_states(), aux_states, "aux_states", dtype, ctx)
    outputs = sym.bind(ctx, args, aux_states=states).forward(is_train=False)
    expected_outputs = _expected(sym.list_outputs(), expected)
    for name, output in zip(sym.list_outputs(), outputs, strict=True):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(expected_outputs[name], output, rtol, atol, names, equal_nan=equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Arrays,
    out_grads: Arrays | None,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    grad_req: object = "write",
    ctx: Context | None = None,
    grad_stypes: object = None,
    equal_nan: bool = False,
    dtype: object = np.float32,
) -> dict[str, NDArray]:
    """Compares gradients with ``expected``, and returns them by argument.

    out_grads
        The head gradients: a list, a dict by output, or None for losses.
    expected
        The gradients: a list, or a dict of some of them by argument.
    grad_req
        A request, or a list or dict of them. Gradients start with random numbers: "add" must add
        to them, "null" must not change them.
    grad_stypes
        MXNetError for storage types other than "default".

    ``sym``, ``location``, ``aux_states``, ``rtol``, ``atol``, ``ctx``, ``equal_nan`` and ``dtype``
    are as in :func:`check_symbolic_forward`.
    """
    ctx = ctx or default_context()
    _refuse_sparse(grad_stypes)
    names = sym.list_arguments()
    args = _named(names, location, "location", dtype, ctx)
    requests = _requests(names, grad_req)
    expected_grads = _expected(names, expected)
    start = {n: np.random.normal(size=to_numpy(expected_grads[n]).shape) for n in expected_grads}
    grads = {n: array(v, ctx, args[n].dtype) for n, v in start.items()}
    start = {n: g.asnumpy() for n, g in grads.items()}
    grad_req = {n: requests[n] if n in grads else "null" for n in names}
    states = _named(sym.list_auxiliary_states(), aux_states, "aux_states", dtype, ctx)
    executor = sym.bind(ctx, args, args_grad=grads, grad_req=grad_req, aux_states=states)
    executor.backward(_heads(sym, out_grads, executor.forward(is_train=True), ctx))
    for name, grad in grads.items():
        value = to_numpy(expected_grads[name])
        target = {"write": value, "add": start[name] + value, "null": start[name]}[requests[name]]
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        target = target.astype(start[name].dtype)
        assert_almost_equal(target, grad, rtol, atol, labels, equal_nan=equal_nan)
    return grads


def _heads(
    sym: Symbol, out_grads: Arrays | None, outputs: Sequence[NDArray], ctx: Context
) -> list[NDArray] | None:
    if out_grads is None:
        return None
    gradients = _expected(sym.list_outputs(), out_grads)
    pairs = zip(sym.list_outputs(), outputs, strict=True)
    return [array(gradients[name], ctx, output.dtype) for name, output in pairs]


def _refuse_sparse(stypes: Any) -> None:
    kinds = stypes.values() if isinstance(stypes, Mapping) else stypes or ()
    sparse = sorted({k for k in kinds if k not in (None, "default")})
    if sparse:
        raise MXNetError("gradient storage", f"{', '.join(sparse)}: only dense is served")


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 0.0001,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """Returns central differences of the executor's first output, summed in float64, by floating
    entries of ``location``; zeros for others. Auxiliary states are restored each time."""

    def value() -> np.ndarray:
        for name, state in (aux_states or {}).items():
            executor.aux_dict[name][:] = to_numpy(state)
        return executor.forward(is_train=use_forward_train)[0].asnumpy().astype(np.float64)

    for name, start in location.items():
        executor.arg_dict[name][:] = to_numpy(start)
    grads: dict[str, np.ndarray] = {}
    for name, start in location.items():
        base = to_numpy(start)
        grad = np.zeros(base.shape, dtype)
        if np.issubdtype(base.dtype, np.floating):
            for index in np.ndindex(base.shape):
                results = []
                for step in (eps / 2, -eps / 2):
                    shifted = base.copy()
                    shifted[index] += step
                    executor.arg_dict[name][:] = shifted
                    results.append((value(), float(shifted[index])))
                # The actual step, after rounding to the dtype.
                (high, up), (low, down) = results
                grad[index] = (high - low).sum() / (up - down)
            executor.arg_dict[name][:] = base
        grads[name] = grad
    return grads


def check_numeric_gradient(
    sym: Symbol,
    location: Arrays,
    aux_states: Arrays | None = None,
    numeric_eps: float | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """Compares the gradients of a random projection of the first output with finite differences.

    numeric_eps
        The length of the differences, by default the dtype's.
    grad_nodes
        The names of arguments to be checked, by default all, or a dict from them to a ``grad_req``.
    use_forward_train
        Whether the differences are taken in training mode.
    grad_stype_dict
        MXNetError for storage types other than "default".

    ``sym``, ``location``, ``aux_states``, ``rtol``, ``atol``, ``ctx`` and ``dtype`` (a floating
    one) are as in :func:`check_symbolic_forward`.
    """
    ctx = ctx or default_context()
    _refuse_sparse(grad_stype_dict)
    kind = np.dtype(dtype)
    if kind not in default_numeric_eps():
        raise ValueError(f"dtype is {kind}, expected float16, float32 or float64")
    args = _named(sym.list_arguments(), location, "location", dtype, ctx)
    aux = _named(sym.list_auxiliary_states(), aux_states, "aux_states", dtype, ctx)
    states = {n: a.asnumpy() for n, a in aux.items()}
    if grad_nodes is None:
        requests = dict.fromkeys(args, "write")
    elif isinstance(grad_nodes, Mapping):
        requests = dict(grad_nodes)
    elif isinstance(grad_nodes, list | tuple):
        requests = dict.fromkeys(grad_nodes, "write")
    else:
        raise ValueError(f"grad_nodes is {grad_nodes!r}, expected a list or dict of names")

    head = sym[0]
    _, (shape,), _ = head.infer_shape(**{n: a.shape for n, a in args.items()})
    args["__random_proj"] = array(np.random.rand(*shape) + 0.1, ctx, dtype)
    loss = make_loss(head * Variable("__random_proj"))
    start = {n: np.random.normal(size=args[n].shape).astype(args[n].dtype) for n in requests}
    grads = {n: array(v, ctx, v.dtype) for n, v in start.items()}
    executor = loss.bind(ctx, args, args_grad=grads, grad_req=requests, aux_states=aux)
    executor.forward(is_train=True)
    executor.backward()
    computed = {n: g.asnumpy() for n, g in grads.items()}

    eps = numeric_eps or default_numeric_eps()[kind]
    points = {n: args[n].asnumpy() for n in requests}
    numeric = numeric_grad(executor, points, states, eps, use_forward_train, dtype)
    for name, request in requests.items():
        change = {"write": computed[name], "add": computed[name] - start[name]}.get(request)
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        if change is None:
            assert_almost_equal(start[name], computed[name], 0, 0, labels)
        else:
            limits = get_rtol(rtol, kind), get_atol(atol, kind)
            assert_almost_equal(numeric[name], change, *limits, labels)


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Returns True if two graphs have the same operators and connections; names may differ."""

    def shape(symbol: Symbol) -> Any:
        graph = json.loads(symbol.tojson())
        nodes = [(n["op"], [tuple(i[:2]) for i in n["inputs"]]) for n in graph["nodes"]]
        return nodes, [tuple(h[:2]) for h in graph["heads"]]

    return shape(sym1) == shape(sym2)
