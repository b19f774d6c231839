"""Checks of values inside a program: a failed one becomes an error where a result is read.

MXNet refuses some values while it computes (an index out of range, a matrix that is not positive
definite). A compiled program cannot raise, so an operator states the condition with
:func:`check_values`, and :func:`collect_checks` adds the outcome of all checks to the results of
the function. In a program mapped over devices, or a function that a user jits, a check has no
effect.
"""

import threading
from functools import wraps
from typing import Any

import jax
from jax import Array, lax
from jax.experimental import checkify

from .._support.annotations import Attrs, Function, Tree
from ..errors import MXNetError, explain


class _Collecting(threading.local):
    """The thread's flag: True while it traces a function whose checks are collected."""

    now = False


_collecting = _Collecting()
#: The class of the error that a failed check raises, its place and problem, by both as one text.
_errors: dict[str, tuple[type[MXNetError], str, str]] = {}
#: Exceptions that operators in Python have raised, by number, until they are reported.
_exceptions: dict[int, Exception] = {}
#: Maximum number of exceptions that are stored; the oldest goes first.
_MAX_EXCEPTIONS = 256
_lock = threading.RLock()


def collects_checks() -> bool:
    return _collecting.now


def check_values(
    valid: Array, where: str, problem: str, error: type[MXNetError] = MXNetError, **numbers: Array
) -> None:
    """States that ``valid``, one boolean, must be true when the program runs.

    Otherwise reading a result raises ``error`` with the text of ``where`` and ``problem``, in which
    ``numbers`` (integer scalars) fill the fields in braces. A number called ``exception`` comes
    from :func:`keep_exception`: that exception becomes the error's cause.
    """
    if _collecting.now:
        text = explain(where, problem)
        _errors[text] = error, where, problem
        fields: Attrs = {**numbers}
        checkify.check(valid, text, **fields)


def collect_checks(function: Function) -> Function:
    """Returns ``function`` with its result and the outcome of its checks as a pair."""

    @wraps(function)
    def collecting(*args: Tree) -> Tree:
        before, _collecting.now = _collecting.now, True
        try:
            outcome, results = checkify.checkify(function, errors=checkify.user_checks)(*args)
        finally:
            _collecting.now = before
        # NumPy, which computes first calls, has no weak types.
        return results, jax.tree.map(lambda x: lax.convert_element_type(x, x.dtype), outcome)

    return collecting


def failed_check(outcome: checkify.Error) -> MXNetError | None:
    """Returns the error of the first check that failed, or None; waits for the program."""
    failure: Any = outcome.get_exception()
    if failure is None:
        return None
    error_class, where, problem = _errors[failure.fmt_string]
    numbers = {name: int(value) for name, value in failure.kwargs.items()}
    cause = _exceptions.pop(numbers.get("exception", 0), None)
    because = None if cause is None else f"{type(cause).__name__}: {cause}"
    error = error_class(explain(where, problem.format(**numbers), because=because))
    error.__cause__ = cause
    return error


def keep_exception(exception: Exception) -> int:
    """Returns a number above 0 by which :func:`failed_check` finds the exception again."""
    with _lock:
        number = max(_exceptions, default=0) + 1
        while len(_exceptions) >= _MAX_EXCEPTIONS:
            del _exceptions[next(iter(_exceptions))]
        _exceptions[number] = exception
    return number


def exception_in(error: Exception) -> Exception | None:
    """Returns the kept exception whose text JAX's error of a callback has; None without one."""
    with _lock:
        for number, kept in reversed(_exceptions.items()):
            if f"{type(kept).__name__}: {kept}" in str(error):
                return _exceptions.pop(number)
    return None
