"""The language of the autograd scripts: what they see, as JSON. NumPy only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._scripts import Scripts
from ..executor_scripts import _facts as executor_facts

SCRIPTS = script = Scripts()


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    return observe(SCRIPTS[name], mx)


def observe(function: Callable[[Any], Any], mx: Any) -> Any:
    """Observations of a function of ``mx``, with fresh names and seeds; the thread's
    flags are as before afterwards."""
    mx.random.seed(7)
    np.random.seed(7)
    try:
        with mx.name.NameManager(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return executor_facts.plain(mx, function(mx))
    finally:
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)


def attempt(mx: Any, action: Callable[[], Any]) -> Any:
    """Result of an action, or the classes of its exception and the beginning of its message."""
    says = []

    def observed() -> Any:
        try:
            return executor_facts.plain(mx, action())
        except Exception as error:
            says.append(_first_line(error))
            raise

    seen = executor_facts.attempt(mx, observed)
    return {**seen, "says": says[0]} if says else seen


def _first_line(error: Exception) -> str:
    """The beginning of a message; MXNet writes the place of the failed check before it."""
    lines = [
        line for line in str(error).splitlines() if not line.startswith(("Traceback", "  File"))
    ]
    line = lines[0] if lines else ""
    return (line.partition("Check failed: ")[2] or line)[:60]


def attempts(mx: Any, **actions: Callable[[], Any]) -> dict[str, Any]:
    """The result or exception of each action, in order."""
    return {name: attempt(mx, action) for name, action in actions.items()}


def leaf(mx: Any, values: Any = (1.0, 2.0), req: str = "write", dtype: str = "float32") -> Any:
    """A marked array."""
    x = mx.nd.array(values, dtype=dtype)
    x.attach_grad(req)
    return x


def flags(mx: Any) -> list[bool]:
    """Whether the thread records, and whether it trains."""
    return [mx.autograd.is_recording(), mx.autograd.is_training()]


def recorded(mx: Any, function: Callable[..., Any], *arrays: Any, **scope: Any) -> Any:
    """A function's result under ``record``."""
    with mx.autograd.record(**scope):
        return function(*arrays)


def gradients(mx: Any, function: Callable[..., Any], *arrays: Any, **scope: Any) -> Any:
    """The gradients of the sum of a function's outputs at new leaves, after one backward."""
    leaves = [leaf(mx, values) for values in arrays]
    outputs = recorded(mx, function, *leaves, **scope)
    mx.autograd.backward(list(outputs) if isinstance(outputs, (list, tuple)) else [outputs])
    return [x.grad for x in leaves]


def in_thread(action: Callable[[], Any]) -> Any:
    """The result of an action in a thread of its own; its exception is raised here."""
    import threading

    results: list[Any] = []

    def call() -> None:
        try:
            results.append((True, action()))
        except Exception as error:
            results.append((False, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    succeeded, result = results[0]
    if not succeeded:
        raise result
    return result
