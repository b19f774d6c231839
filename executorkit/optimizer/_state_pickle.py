"""States as bytes: pickles compatible with MXNet, read without importing anything they name.

A pickle names classes and functions to be called. Only these names are accepted: MXNet's arrays,
contexts, schedulers and optimizers, which are mapped to this package's; NumPy's arrays and numbers;
plain containers; and optimizers and schedulers that the running program has defined. Pickles are
written with MXNet's names, so that MXNet can continue with the states.
"""

from __future__ import annotations

import collections
import io
import math
import pickle
import re
from collections.abc import Callable, Iterable, Sized
from typing import Any, ClassVar

import numpy as np

from .. import lr_scheduler
from .._files import HEAD, PICKLE, describe_misfit
from ..context import Context
from ..errors import FileFormatError, MXNetError, shorten
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from ..ndarray.params_file import array_records, load_record
from ._optimizer import Optimizer
from ._restricted_unpickler import RestrictedUnpickler, plain_key, refused_name

#: Names of types that stand for themselves, as the value of an attribute or a default factory.
_TYPES: dict[tuple[str, str], type] = {
    ("builtins", kind.__name__): kind
    for kind in (
        bytearray, bytes, complex, dict, float, frozenset, int, list, set, slice, str, tuple,
    )
}  # fmt: skip
_TYPES["builtins", "long"], _TYPES["builtins", "unicode"] = int, str  # of Python 2
_TYPES["collections", "OrderedDict"] = collections.OrderedDict
_TYPES["collections", "defaultdict"] = collections.defaultdict
#: Modules of Python 2.
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg"}
#: Maximum depth of the containers in a state, and maximum number of its parts.
_MAX_DEPTH, _MAX_PARTS = 16, 1_000_000


class _Saved(NDArray):
    """An array during unpickling, which sets its contents after its creation."""

    __slots__ = ()

    def __new__(cls, *args: Any) -> _Saved:
        return object.__new__(cls)

    def __init__(self, *args: Any) -> None:
        pass

    def fill(self, state: Any, where: str) -> None:
        """Becomes the array in a state of MXNet's: a dict with the array's record as "handle"."""
        record = state.get("handle") if isinstance(state, dict) else None
        if not isinstance(record, bytes | bytearray):
            raise ValueError("an array has no contents")
        self.show(load_record(record, where))
        self.__class__ = NDArray  # type: ignore[assignment]


def _mxnet_names() -> dict[type, tuple[str, str]]:
    """MXNet's module and name of each class of this package."""
    names: dict[type, tuple[str, str]] = {
        NDArray: ("mxnet.ndarray.ndarray", "NDArray"),
        Context: ("mxnet.context", "Context"),
    }
    for klass in Optimizer.opt_registry.values():
        if klass.__module__.startswith(__package__ or ""):
            home = "contrib" if klass.__module__.endswith("contrib") else "optimizer"
            names[klass] = (f"mxnet.optimizer.{home}", klass.__name__)
    names[Optimizer] = ("mxnet.optimizer.optimizer", "Optimizer")
    for name in lr_scheduler.__all__:
        names[getattr(lr_scheduler, name)] = ("mxnet.lr_scheduler", name)
    return names


def _subclasses(klass: type) -> list[type]:
    return [s for k in klass.__subclasses__() for s in (k, *_subclasses(k))]


def _encode(text: Any, encoding: Any = "latin-1") -> bytes:
    """Bytes, as protocol 2 writes them."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {shorten(encoding)!r}")
    return text.encode("latin-1")


def _bytes(*arguments: Any) -> bytes:
    if arguments and isinstance(arguments[0], str):
        return _encode(*arguments)
    if len(arguments) > 1 or not isinstance(arguments[0] if arguments else b"", bytes):
        raise ValueError("bytes of something else")  # of a number: that much memory
    return arguments[0] if arguments else b""


def _set(items: Any = ()) -> set[Any]:
    return {plain_key(item) for item in _checked(items, list)}


def _checked(value: Any, *types: type) -> Any:
    if type(value) not in (tuple, *types):
        raise TypeError(f"a {type(value).__name__} as argument")
    return value


def _ordered_dict(items: Any = ()) -> collections.OrderedDict[Any, Any]:
    pairs = [_checked(pair, list) for pair in _checked(items, list)]
    return collections.OrderedDict((plain_key(key), value) for key, value in pairs)


def _default_dict(factory: Any = None) -> collections.defaultdict[Any, Any]:
    if factory is not None and factory not in _TYPES.values():
        raise TypeError("a default factory that is no plain type")
    return collections.defaultdict(factory)


def _number(part: Any, *parts: Any) -> complex:
    if not all(type(x) in (int, float) for x in (part, *parts)):
        raise TypeError("a complex number of something else")
    return complex(part, *parts)


def _dtype(code: Any, *_: Any) -> np.dtype:
    if not isinstance(code, str) or not re.fullmatch(r"[<>|=]?([?]|[biufc]\d{1,2})", code):
        raise TypeError(f"NumPy's type {shorten(code)!r}")
    return np.dtype(code, copy=True)


def _scalar(dtype: Any, content: Any = b"") -> Any:
    if not isinstance(dtype, np.dtype):
        raise TypeError("a scalar without type")
    return np.frombuffer(_bytes(content), dtype, 1)[0]


def _empty_array(*_: Any) -> np.ndarray:
    return np.empty(0)


def _reconstructed(klass: Any, base: Any, state: Any) -> Any:
    """An object of protocols 0 and 1."""
    if base is not object or state is not None:
        raise TypeError("an object of a built-in type")
    return _new_object(klass, ())


_NUMPY = {"_reconstruct": _empty_array, "scalar": _scalar, "dtype": _dtype, "ndarray": np.ndarray}
#: Functions of calls, by the object that a name stands for; others may not be called.
_CALLS: dict[Any, Callable[..., Any]] = {
    bytearray: lambda *arguments: bytearray(_bytes(*arguments)),
    bytes: _bytes,
    set: _set,
    frozenset: lambda items=(): frozenset(_set(items)),
    complex: _number,
    slice: slice,
    collections.OrderedDict: _ordered_dict,
    collections.defaultdict: _default_dict,
    _Saved: _Saved,
    Context: Context,
    **{function: function for function in (_encode, _empty_array, _scalar, _dtype, _reconstructed)},
}


def _is_own(klass: Any) -> bool:
    """True for classes of optimizers and schedulers."""
    return isinstance(klass, type) and issubclass(klass, Optimizer | LRScheduler)


def _new_object(klass: Any, arguments: tuple[Any, ...]) -> Any:
    if not _is_own(klass) and klass is not _Saved:
        raise TypeError(f"a new {getattr(klass, '__name__', type(klass).__name__)}")
    return klass.__new__(klass, *arguments)


class _StateVocabulary:
    """The vocabulary of optimizer states: arrays, NumPy's numbers, optimizers, schedulers."""

    def __init__(self, where: str, size: int) -> None:
        self._where = where
        # Elements that calls may copy. Each is copied three times at most, by protocol 2; a pickle
        # that copies one value again and again would fill the memory.
        self._budget = 4 * size
        self._ours = {names: klass for klass, names in _mxnet_names().items()}
        self._users = {
            (klass.__module__, klass.__qualname__): klass
            for klass in (*_subclasses(Optimizer), *_subclasses(LRScheduler))
        }

    def find(self, module: str, name: str) -> Any:
        module = _RENAMED.get(module, module)
        key = module, name
        if key in _TYPES:
            return _TYPES[key]
        if module.split(".")[0] == "numpy" and name in _NUMPY:
            return _NUMPY[name]
        if key in self._ours:
            return _Saved if self._ours[key] is NDArray else self._ours[key]
        others = {
            ("_codecs", "encode"): _encode,
            ("copyreg", "_reconstructor"): _reconstructed,
            ("builtins", "object"): object,
        }
        klass = others.get(key) or self._users.get(key)
        if klass is None:
            raise refused_name(self._where, module, name)
        return klass

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        self._spend(*arguments)
        if _is_own(function):
            return function(*arguments)
        try:
            call = _CALLS.get(function)
        except TypeError:  # it has no hash
            call = None
        if call is None:
            name = getattr(function, "__name__", type(function).__name__)
            raise TypeError(f"a call of {shorten(name)}")
        return call(*arguments)

    def create(self, klass: Any, arguments: tuple[Any, ...]) -> Any:
        return _new_object(klass, arguments)

    def _spend(self, *values: Any) -> None:
        self._budget -= sum(len(x) for x in values if isinstance(x, Sized))
        if self._budget < 0:
            raise ValueError("the same data is copied again and again")

    def set_state(self, target: Any, state: Any) -> None:
        parts = state.values() if isinstance(state, dict) else state
        self._spend(state, *(parts if isinstance(parts, Iterable) else ()))
        if isinstance(target, _Saved):
            target.fill(state, self._where)
        elif isinstance(target, np.dtype):
            _set_byte_order(target, state)
        elif isinstance(target, np.ndarray):
            _fill_array(target, state)
        elif isinstance(target, Optimizer | LRScheduler):
            _set_attributes(target, state)
        else:
            raise TypeError(f"contents of a {type(target).__name__}")


def _set_byte_order(target: np.dtype, state: Any) -> None:
    if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
        raise ValueError("NumPy's type has no byte order")
    target.__setstate__((3, state[1], None, None, None, -1, -1, 0))  # type: ignore[attr-defined]


def _fill_array(target: np.ndarray, state: Any) -> None:
    _, shape, dtype, _, content = state
    if not (isinstance(dtype, np.dtype) and all(type(d) is int and d >= 0 for d in shape)):
        raise TypeError("an array of NumPy's has no shape and type")
    if not isinstance(content, bytes) or len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array of NumPy's has another length than its shape")
    target.__setstate__((1, *state[1:]))  # type: ignore[attr-defined]


def _set_attributes(target: Any, state: Any) -> None:
    """Gives an optimizer or scheduler its attributes; none may take the place of a method."""
    parts = state if type(state) is tuple else (state,)
    for part in parts:
        for key in part or ():
            if not isinstance(key, str) or callable(getattr(type(target), key, None)):
                raise TypeError(f"{shorten(key)!r} as an attribute of {type(target).__name__}")
    restore = getattr(target, "__setstate__", None)
    if restore is not None:
        restore(state)
        return
    for part in parts:
        for key, value in (part or {}).items():
            setattr(target, key, value)


class _Writer(pickle._Pickler):  # type: ignore[name-defined]
    """A pickler that writes MXNet's names of classes, which need not be importable."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=3)
        self._names = _mxnet_names()

    def save_global(self, obj: Any, name: str | None = None) -> None:
        mxnet_name = self._names.get(obj) if isinstance(obj, type) else None
        if mxnet_name is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        self.write(pickle.GLOBAL + "\n".join((*mxnet_name, "")).encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, NDArray):
            return NDArray, (None,), {"handle": bytearray(b"".join(array_records([obj])))}
        return NotImplemented

    dispatch: ClassVar[dict[Any, Any]] = {**pickle._Pickler.dispatch, type: save_global}  # type: ignore[attr-defined]


def dump_states(states: Any) -> bytes:
    """Bytes of a dictionary of states by index, or of (states, optimizer)."""
    file = io.BytesIO()
    _Writer(file).dump(states)
    return file.getvalue()


def load_states(data: bytes, where: str = "optimizer states", *, whole: bool = False) -> Any:
    """The states in bytes from :func:`dump_states`, or from MXNet's ``Updater.get_states``.

    Raises FileFormatError, which names ``where``, for other or truncated bytes, for unknown
    classes, and with ``whole`` for bytes after the end, which MXNet ignores.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileFormatError(where, f"{type(data).__name__} given, expected bytes")
    misfit = describe_misfit(where, bytes(data[:HEAD]), PICKLE) if len(data) else None
    if misfit is not None:
        raise FileFormatError(misfit)
    try:
        unpickler = RestrictedUnpickler(data, _StateVocabulary(where, len(data)))
        loaded = unpickler.load()
        if whole and unpickler.length < len(data):
            raise ValueError(f"{len(data) - unpickler.length} bytes follow, cut off or damaged")
        pair = isinstance(loaded, tuple) and len(loaded) == 2
        states, optimizer = loaded if pair else (loaded, None)
        if isinstance(states, dict):
            _check_state(list(states.values()))
    except MXNetError:
        raise
    except Exception as error:
        problem = f"they cannot be read: {type(error).__name__}: {shorten(error)}"
        hint = "what save_optimizer_states or get_states wrote"
        raise FileFormatError(where, problem, hint=hint) from error
    if not isinstance(states, dict) or not isinstance(optimizer, Optimizer | None):
        raise FileFormatError(where, f"{type(states).__name__} found, expected states by index")
    return loaded


def _check_state(state: Any) -> None:
    """Refuses arrays without contents, and what is too deep or too often referred to to be
    copied."""
    parts: list[tuple[Any, int]] = [(state, 0)]
    for part, depth in parts:
        if isinstance(part, _Saved):
            raise ValueError("an array has no contents")
        if isinstance(part, dict | list | tuple):
            if depth == _MAX_DEPTH or len(parts) + len(part) > _MAX_PARTS:
                raise ValueError("a state has too many parts")
            inner = part.values() if isinstance(part, dict) else part
            parts += [(x, depth + 1) for x in inner]
