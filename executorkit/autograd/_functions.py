"""Gradients as functions of arrays: ``backward``, ``grad``, ``mark_variables``, ``get_symbol``."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentValueError
from ..ndarray import NDArray
from ..ndarray.recording import mark, recorder


def _listed(arrays: Any) -> list[Any]:
    return [arrays] if isinstance(arrays, NDArray) else list(arrays)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Has gradients of arrays computed, and written to given arrays.

    variables, gradients
        NDArrays, one or a list of them.
    grad_reqs
        'write', 'add' or 'null', one for all or a list.
    """
    variables, gradients = _listed(variables), _listed(gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    for array, grad, request in zip(variables, gradients, requests, strict=True):
        mark(array, grad, request)


def backward(
    heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True
) -> None:
    """Computes the gradients of the variables that heads were computed from under ``record()``.

    heads
        NDArrays, one or a list of them.
    head_grads
        for each head its gradient, of its shape; None for ones.
    retain_graph
        whether the graph can be differentiated again. Otherwise it is used up.
    train_mode
        accepted as MXNet does; operators are differentiated in the mode in which they ran.
    """
    heads = _listed(heads)
    grads = [None] * len(heads) if head_grads is None else _listed(head_grads)
    if len(grads) != len(heads):
        problem = f"{len(grads)} head gradients for {len(heads)} heads"
        raise ArgumentValueError("autograd.backward", problem)
    recorder().backward(heads, grads, retain_graph, train_mode)
