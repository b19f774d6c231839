"""Every exception class of the package, and the functions that word their messages.

The classes have MXNet's names where MXNet has one. Each also derives from the built-in classes that
MXNet raises at the same place, AssertionError among them, so that ``except`` clauses written for
MXNet still work. A message consists of where, what was expected and what came, why, what to try.
"""

import difflib
import os
import struct
import traceback
from collections.abc import Collection, Iterable
from types import TracebackType

#: Packages whose frames notebooks leave out of tracebacks about a graph, an array or a file.
_INNER = frozenset({__name__.partition(".")[0], "jax", "jaxlib", "contextlib", "functools"})


class MXNetError(RuntimeError):
    """Base class of every error that executorkit raises about a graph, an array or a file.

    Two arguments, where and the problem, become the text of :func:`explain`; one is the message. An
    operator's function gives the problem alone, perhaps with ``because``: its caller adds where.

    IPython and notebooks show the frames of the caller's code and the message; all frames with
    ``JAX_TRACEBACK_FILTERING=off`` in the environment, and outside of notebooks.
    """

    def __init__(self, *parts: object, **circumstances: str | None) -> None:
        if len(parts) == 2:
            parts = (explain(str(parts[0]), str(parts[1]), **circumstances),)
        elif circumstances:
            parts = (*parts, circumstances["because"])
        super().__init__(*parts)

    __str__ = RuntimeError.__str__  # KeyError's would quote the message

    def _render_traceback_(self) -> list[str]:  # IPython's name
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is None:
            return traceback.format_exception(self)
        frames, left_out = self.__traceback__, 0
        if os.environ.get("JAX_TRACEBACK_FILTERING") != "off":
            frames, left_out = _callers_frames(self.__traceback__)
            _hide_inner_frames(self.__cause__)
        lines = shell.InteractiveTB.structured_traceback(type(self), self, frames)
        if left_out:
            lines.append(f"({left_out} inner frames; JAX_TRACEBACK_FILTERING=off shows them)")
        return lines


# Graphs and operators


class ShapeError(MXNetError, ValueError):
    """Shapes of a graph, an array or an assignment contradict each other, or do not suffice."""


class DTypeError(MXNetError, TypeError, KeyError):
    """Element types of a graph or an array contradict each other, or are unknown."""


class AttributeValueError(MXNetError, ValueError):
    """An operator's attribute is missing, unknown, or has a value that it cannot take."""


class UnknownOperatorError(MXNetError, NotImplementedError):
    """A graph names operators that are not supported; the message lists all of them."""


class DynamicShapeError(MXNetError, TypeError):
    """The shape of a result depends on values that are unknown while a program is compiled."""


class ValueRangeError(MXNetError, IndexError):
    """An index is beyond its axis, or there are more of them than axes."""


class NotFiniteError(MXNetError, FloatingPointError):
    """A node computed a NaN or an infinity; the message is the text of the report."""


class NotCompiledError(BaseException):
    """JAX was about to trace a function for its own call; users never see this. A BaseException,
    which JAX passes on without rewriting its traceback."""


# Arguments of functions


class InputTypeError(MXNetError, AssertionError, TypeError):
    """An argument is of a type that the function does not take, such as a number for a symbol."""


class UnusedInputError(InputTypeError, ValueError):
    """The body of a loop does not use all of its inputs."""


class ArgumentValueError(MXNetError, ValueError, AssertionError):
    """An argument has a value that the function does not take, or contradicts another argument."""


class UnknownArgumentError(MXNetError, TypeError):
    """A keyword names no argument of the symbol."""


class UnknownNameError(MXNetError, KeyError, AssertionError):
    """A name or key is not among the known ones, or a required one is missing."""


class MissingParameterError(UnknownNameError, ValueError):
    """A parameter of the model is missing among the given ones."""


class NotSupportedError(MXNetError, NotImplementedError):
    """A capability of MXNet that executorkit lacks, or a method that a class does not define."""


class NotImplementedForSymbol(MXNetError, NotImplementedError):  # noqa: N818 - MXNet's name
    """A method of NDArray that has no meaning for a Symbol."""

    def __init__(self, function: object, alias: str | None = None, *args: object) -> None:
        name = getattr(function, "__name__", str(function))
        hint = f"; use {alias} instead" if alias else ""
        super().__init__(f"{name} is not available for Symbol, only for NDArray{hint}")


class RefusedCallError(MXNetError, UserWarning, DeprecationWarning):
    """A call that MXNet refuses by raising a warning class: a rate beside a scheduler."""


class MissingDependencyError(MXNetError, ImportError):
    """An optional package is needed and not installed."""


class RegistryError(MXNetError, ValueError, AssertionError):
    """A name is not registered, or a class or a text to parse is of the wrong kind."""


# Files


class FileFormatError(MXNetError, ValueError):
    """A file of symbols, parameters, states or data is truncated, malformed or unsupported."""


class RecordError(FileFormatError, struct.error):
    """A record, its header or an index of records is truncated, malformed or too long."""


class FileAccessError(MXNetError, OSError):
    """A file cannot be opened, read or written."""


# Executors, devices and programs


class BindError(MXNetError, ValueError):
    """The arrays or names given to ``bind``, or to a module, do not fit the symbol."""


class GradientConsumedError(MXNetError, RuntimeError):
    """A gradient is read that was never stored: an update consumed it inside one fused program."""


class NotFingerprintableError(Exception):
    """A value has no fingerprint that distinguishes it from all others."""


# Data


class DataArgumentError(MXNetError, TypeError, ValueError, AssertionError):
    """Data, labels or an option of an iterator have a type or value that is not accepted."""


class BatchError(MXNetError, ValueError, AssertionError):
    """Arrays of a batch are missing, or do not fit each other, the bound shapes or the devices."""


class BatchTypeError(MXNetError, TypeError, AttributeError):
    """No batch is loaded, or an entry of a batch is not an array."""


class EmptyIteratorError(MXNetError, StopIteration):
    """An iterator to train with has no batch."""


# Modules, parameters and training


class DeferredInitializationError(MXNetError):
    """A parameter is asked for its contents while it waits for its shape."""


class ModuleUsageError(MXNetError, AssertionError):
    """A module or an executor group is not bound, initialised or made for the call."""


class FeedForwardError(MXNetError, ValueError, AssertionError, TypeError, AttributeError):
    """A FeedForward model has no parameters yet, or cannot work with its arguments."""


class StepError(MXNetError, ValueError, TypeError):
    """A training step cannot be made for this target, or its arguments contradict each other."""


class InitializerError(MXNetError, ValueError, AssertionError, IndexError):
    """A parameter cannot be initialised: its name, shape or dtype does not fit the initializer."""


class ParameterShapeError(ShapeError, AssertionError):
    """A parameter does not have the shape that its optimizer or its recurrent layer requires."""


class MetricShapeError(ShapeError, AssertionError, IndexError):
    """Labels and predictions given to a metric do not fit each other, or the metric."""


class MetricValueError(MXNetError, ValueError, IndexError):
    """Labels hold values that the metric cannot take. Raised when the metric is read, because the
    labels stay on the device until then (MXNet raises at ``update``)."""


class KVStoreError(MXNetError, ValueError):
    """A key of a key-value store is missing, present already or of another type than the others;
    or the store does not have a capability."""


class ProfilerError(UnknownNameError, ValueError):
    """An option, state or scope of the profiler does not exist, or it cannot do this now."""


def _callers_frames(frames: TracebackType | None) -> tuple[TracebackType | None, int]:
    entries = _entries(frames)
    shown = [e for e in entries if _package(e) not in _INNER]
    result: TracebackType | None = None
    for entry in reversed(shown):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result, len(entries) - len(shown)


def _hide_inner_frames(cause: BaseException | None) -> None:
    while cause is not None:
        for entry in _entries(cause.__traceback__):
            if _package(entry) in _INNER:
                entry.tb_frame.f_locals["__tracebackhide__"] = True
        cause = cause.__cause__


def _entries(frames: TracebackType | None) -> list[TracebackType]:
    entries = []
    while frames is not None:
        entries.append(frames)
        frames = frames.tb_next
    return entries


def _package(entry: TracebackType) -> str:
    return str(entry.tb_frame.f_globals.get("__name__")).partition(".")[0]


# Messages


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Returns the hint for an unknown name: similar known names, or all if there are none.

    >>> did_you_mean("num_filters", ["kernel", "num_filter"])
    "'num_filter'"
    >>> did_you_mean("zz", ["kernel", "num_filter"])
    'one of: kernel, num_filter'
    """
    return similar_names(name, known) or "one of: " + ", ".join(known)


def similar_names(name: str, known: Collection[str]) -> str:
    """Returns the known names similar to an unknown one (``'a' or 'b'``); may be empty."""
    return " or ".join(map(repr, difflib.get_close_matches(name, known, 3, 0.7)))


def shorten(value: object, limit: int = 200) -> str:
    """Returns the text of a value, at most ``limit`` characters and an ellipsis.

    >>> shorten("abcdefgh", 3)
    'abc...'
    """
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def listed(texts: Iterable[object], limit: int | None, separator: str = ", ") -> str:
    """Returns the first ``limit`` texts and the others' number; all, if it is None or one is left.

    >>> listed(["a", "b", "c", "d"], 2)
    'a, b, ... 2 more'
    """
    words = list(map(str, texts))
    if limit is not None and len(words) > limit + 1:
        words[limit:] = [f"... {len(words) - limit:,} more"]
    return separator.join(words)


def check_names(
    what: str,
    names: Iterable[str],
    arguments: Collection[str],
    usual: Collection[str] = (),
    error: type[MXNetError] = UnknownNameError,
) -> None:
    """Raises ``error``, with the ``usual`` names as the hint, for an unknown name."""
    for name in names:
        if name not in arguments:
            hint = f"one of: {listed(usual or arguments, 8)}"
            raise error(f"{what} {name!r}", "it is not an argument of this symbol", hint=hint)


def explain(
    where: str,
    problem: str,
    *,
    because: str | None = None,
    given_by: str | None = None,
    hint: str | None = None,
) -> str:
    """Returns the text of an error: ``where: problem``, and an indented line per known
    circumstance.

    >>> print(explain("node 'fc1'", "'weight' is (10, 5), expected (10, 784)", hint="reshape it"))
    node 'fc1': 'weight' is (10, 5), expected (10, 784)
      try: reshape it
    """
    lines = [f"{where}: {problem}"]
    if because:
        lines.append(f"  because {because}")
    if given_by:
        lines.append(f"  given by: {given_by}")
    if hint:
        lines.append(f"  try: {hint}")
    return "\n".join(lines)
