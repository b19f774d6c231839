"""Gradients as functions of arrays: ``backward``, ``grad``, ``mark_variables``, ``get_symbol``."""

from __future__ import annotations

from typing import Any

from ..calls.recording import Variable, modes, new_variable
from ..errors import ArgumentValueError, InputTypeError, MXNetError
from ..ndarray import NDArray
from ..symbol import Symbol
from ._gradients import grad as gradients_by
from ._recorded_symbol import Names, recorded_entry


def _listed(arrays: Any) -> list[Any]:
    return [arrays] if isinstance(arrays, NDArray) else list(arrays)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Attaches gradient arrays to variables, to which ``backward`` writes.

    variables, gradients
        NDArrays, one or a list of them; each gradient has its variable's shape and dtype.
    grad_reqs
        'write', 'add' or 'null', one for all or a list.

    Raises ShapeError or DTypeError for another shape or dtype (MXNet does so in ``backward``), and
    ArgumentValueError for lists of different lengths (MXNet reads past the shorter one).
    """
    if isinstance(variables, NDArray) is not isinstance(gradients, NDArray):
        problem = "one of variables and gradients is an array, the other one is a list"
        raise ArgumentValueError("autograd.mark_variables", problem)
    variables, gradients = _listed(variables), _listed(gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    counts = len(variables), len(gradients), len(requests)
    if len({*counts}) > 1:
        problem = "{} variables, {} gradients and {} grad_reqs: expected as many of each"
        raise ArgumentValueError("autograd.mark_variables", problem.format(*counts))
    parts = list(zip(variables, gradients, requests, strict=True))
    entries = [new_variable("autograd.mark_variables", *part) for part in parts]
    for array, entry in zip(variables, entries, strict=True):
        array.graph_entry = entry


def backward(
    heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True
) -> None:
    """Computes the gradients of the variables that heads were computed from under ``record()``.

    heads
        NDArrays, one or a list of them.
    head_grads
        for each head its gradient, of the head's shape; None for ones.
    retain_graph
        whether the graph can be differentiated again.
    train_mode
        False differentiates operators that change auxiliary states, such as BatchNorm, as in
        inference, and leaves the states unchanged. Others are differentiated as they ran.
    """
    heads = _listed(heads)
    grads = [None] * len(heads) if head_grads is None else _listed(head_grads)
    if len(grads) != len(heads):
        problem = f"{len(grads)} head gradients for {len(heads)} heads"
        raise ArgumentValueError("autograd.backward", problem)
    modes.recorder.backward(heads, grads, retain_graph, train_mode)


def grad(
    heads: Any, variables: Any, head_grads: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, train_mode: bool = True,
) -> list[NDArray]:  # fmt: skip
    """Returns the gradients of heads with respect to variables as a list of new arrays.

    heads, head_grads, train_mode
        as for :func:`backward`.
    variables
        NDArrays with ``attach_grad``, one or a list of them; their ``grad`` is not changed.
    retain_graph
        whether the graph can be differentiated again; by default as ``create_graph``.
    create_graph
        records the gradients, so that they can be differentiated any number of times. MXNet
        supports a few dozen operators; here all but ``Custom``, :class:`Function`, and operators
        whose results have shapes that depend on values.

    Raises MXNetError for a variable that the heads do not depend on. The results' ``jax`` arrays
    can be passed to an optax transformation:

    >>> import executorkit as mx, optax
    >>> w = mx.nd.array([1.0, 2.0])
    >>> w.attach_grad()
    >>> transformation = optax.sgd(0.25, momentum=0.5)
    >>> state = transformation.init([w.jax])
    >>> for _ in range(2):
    ...     with mx.autograd.record():
    ...         loss = (w * w).sum()
    ...     grads = [g.jax for g in mx.autograd.grad(loss, [w])]
    ...     updates, state = transformation.update(grads, state, [w.jax])
    ...     w[:] = w.jax + updates[0]
    >>> w.asnumpy().tolist()
    [0.0, 0.0]
    """
    heads, variables = _listed(heads), _listed(variables)
    if not variables:
        raise ArgumentValueError("autograd.grad", "variables is an empty list")
    grads = [None] * len(heads) if head_grads is None else _listed(head_grads)
    if len(grads) != len(heads):
        problem = f"{len(grads)} head gradients for {len(heads)} heads"
        raise ArgumentValueError("autograd.grad", problem)
    retains = create_graph if retain_graph is None else retain_graph
    modes = bool(retains), bool(create_graph), bool(train_mode)
    results = gradients_by(heads, variables, grads, *modes)
    pairs = zip(variables, results, strict=True)
    return [g if type(g) is type(x) else g.shown_as(type(x)) for x, g in pairs]


def get_symbol(x: NDArray) -> Symbol:
    """Returns the recorded calls that computed an array as a symbol.

    Variables are called ``var0``, constants ``null1``, nodes ``node_0`` (MXNet numbers everything
    that the process has recorded). Raises MXNetError for an array that belongs to no graph.
    """
    if not isinstance(x, NDArray):
        raise InputTypeError("autograd.get_symbol", f"{type(x).__name__} is not an NDArray")
    entry = x.graph_entry
    names = Names()
    if isinstance(entry, Variable):
        return Symbol([(names.variable(entry), 0)])
    if entry is None or not entry.is_live:
        problem = "NDArray is not part of a computation graph"
        raise MXNetError("autograd.get_symbol", problem, hint="record it: autograd.record()")
    return Symbol([recorded_entry(entry, names)])
