"""``mx.contrib.autograd``: the older interface of ``mx.autograd``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import autograd
from ..errors import InputTypeError
from ..ndarray import NDArray, zeros_like


def set_is_training(is_train: bool) -> bool:
    """Begins or ends recording and training; returns whether it was training."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return before


def train_section() -> Any:
    """Returns a scope in which calls are recorded and compute as in training."""
    return autograd.record(train_mode=True)


def test_section() -> Any:
    """Returns a scope in which nothing is recorded, and calls compute as in inference."""
    return autograd.pause(train_mode=False)


def mark_variables(variables: object, gradients: object, grad_reqs: object = "write") -> None:
    """Calls :func:`executorkit.autograd.mark_variables`."""
    autograd.mark_variables(variables, gradients, grad_reqs)


def backward(outputs: object, out_grads: object = None, retain_graph: bool = False) -> None:
    """Calls :func:`executorkit.autograd.backward`."""
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: object) -> None:
    """Returns the gradients of the variables that outputs were computed from."""
    backward(outputs)


def grad_and_loss(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., tuple[list[NDArray], Any]]:
    """Returns a function that returns the gradients of ``func`` by its NDArray arguments at the
    positions ``argnum`` (all by default), and its result."""

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        variables = list(args)
        if argnum is not None:
            positions = [argnum] if isinstance(argnum, int) else argnum
            variables = [args[i] for i in positions]
        for x in variables:
            if not isinstance(x, NDArray):
                problem = f"an argument is {type(x).__name__}, expected an NDArray"
                raise InputTypeError("contrib.autograd.grad_and_loss", problem)
        gradients = [zeros_like(x) for x in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., list[NDArray]]:
    """Returns a function that returns only the gradients of :func:`grad_and_loss`."""
    with_loss = grad_and_loss(func, argnum)

    @functools.wraps(with_loss)
    def wrapped(*args: object) -> list[NDArray]:
        return with_loss(*args)[0]

    return wrapped
