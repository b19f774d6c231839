"""States as bytes: pickles compatible with MXNet, read without importing or calling what they name.

A pickle is first read as plain data, in which each name and each call is a record of itself. Then
the calls of an allow-list are made: MXNet's arrays, contexts, schedulers and optimizers (as this
package's), NumPy's arrays and numbers, containers, and the running program's own optimizers and
schedulers. Time and memory are proportional to the length of the pickle.
"""

from __future__ import annotations

import collections
import io
import math
import pickle
import pickletools
import re
from collections.abc import Callable, Hashable, Sized
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import lr_scheduler
from .._files import HEAD, PICKLE, describe_misfit
from .._support.annotations import DType, Function
from ..context import Context
from ..errors import FileFormatError, MXNetError, shorten
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from ..ndarray.params_file import array_records, load_record
from ._optimizer import Optimizer

#: Maximum depth of containers, maximum number of parts, and of an integer's bits.
_MAX_DEPTH, _MAX_PARTS, _MAX_BITS = 24, 1_000_000, 4096
#: Types that stand for themselves, as the value of an attribute or a default factory.
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


def _mxnet_names() -> dict[type, tuple[str, str]]:
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


@dataclass(slots=True, eq=False)
class _Name:
    """A class or function that a pickle names; ``target`` takes its place here."""

    target: Any


@dataclass(slots=True, eq=False)
class _Call:
    function: _Name
    arguments: tuple[Any, ...]
    is_new: bool
    state: Any = None
    items: dict[Hashable, Any] = field(default_factory=dict)


#: The instructions of pickles that make plain data.
_PLAIN = {
    "PROTO", "FRAME", "STOP", "POP", "POP_MARK", "DUP", "MARK", "PUT", "BINPUT", "LONG_BINPUT",
    "GET", "BINGET", "LONG_BINGET", "MEMOIZE", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT",
    "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "EMPTY_TUPLE",
    "LIST", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND", "APPENDS", "GLOBAL", "STACK_GLOBAL",
}  # fmt: skip


def _instructions() -> dict[int, Callable[[Any], None]]:
    def refuse(name: str, reader: Any) -> None:
        raise ValueError(f"instruction {name} is not carried out")

    plain = pickle._Unpickler.dispatch  # type: ignore[attr-defined]
    return {
        ord(op.code): plain[ord(op.code)] if op.name in _PLAIN else partial(refuse, op.name)
        for op in pickletools.opcodes
    }


# The Unpickler in C reserves memory for the largest number of a memo, here it is a dict.
class _Reader(pickle._Unpickler):  # type: ignore[name-defined]
    # It calls nothing: its result holds a _Call for each call.
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]
    read: Callable[[int], bytes]

    def __init__(self, file: io.BytesIO, where: str) -> None:
        super().__init__(file, encoding="latin-1")
        self._where = where
        self._ours = {names: klass for klass, names in _mxnet_names().items()}
        self._users = {
            (klass.__module__, klass.__qualname__): klass
            for klass in (*_subclasses(Optimizer), *_subclasses(LRScheduler))
        }

    def find_class(self, module: str, name: str) -> _Name:
        module = _RENAMED.get(module, module)
        key = ("numpy" if module.split(".")[0] == "numpy" else module), name
        for table in (_TYPES, self._ours, _FUNCTIONS, self._users):
            if key in table:
                return _Name(table[key])
        raise FileFormatError(
            self._where,
            f"they name {shorten(module)}.{shorten(name)}, which is not loaded",
            because="such files may run anything; only arrays, numbers, containers, "
            "optimizers and schedulers are read",
            hint="define or import the optimizer's or scheduler's class first",
        )

    def _record_call(self, is_new: bool) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple or type(function) is not _Name:
            raise TypeError(f"a call of a {type(function).__name__.strip('_').lower()}")
        self.stack.append(_Call(function, arguments, is_new))

    def _record_state(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is not _Call:
            raise TypeError("contents of a name")
        target.state = state

    def _set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        target = target.items if type(target) is _Call else target
        if type(target) is not dict:
            raise TypeError(f"a {type(target).__name__} takes no items by key")
        target.update(zip(map(_plain_key, items[::2]), items[1::2], strict=True))

    def _make_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._set_items(items)

    def _add_items(self) -> None:
        items = self.pop_mark()
        self.stack[-1].update(map(_plain_key, items))

    def _make_frozenset(self) -> None:
        items = self.pop_mark()
        self.stack.append(frozenset(map(_plain_key, items)))

    def _read_bytearray(self) -> None:
        # Python's own function reserves the memory before it reads.
        self.stack.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **_instructions(),
        pickle.REDUCE[0]: lambda self: self._record_call(is_new=False),
        pickle.NEWOBJ[0]: lambda self: self._record_call(is_new=True),
        pickle.BUILD[0]: _record_state,
        pickle.SETITEM[0]: lambda self: self._set_items([self.stack.pop(), self.stack.pop()][::-1]),
        pickle.SETITEMS[0]: lambda self: self._set_items(self.pop_mark()),
        pickle.DICT[0]: _make_dict,
        pickle.ADDITEMS[0]: _add_items,
        pickle.FROZENSET[0]: _make_frozenset,
        pickle.BYTEARRAY8[0]: _read_bytearray,
    }


def _plain_key(key: Any) -> Any:
    # To hash a deep key may crash; integers of more than 64 bits may all have the same hash.
    for part in key if type(key) is tuple else (key,):
        is_plain = type(part) in (str, bytes, int, float, bool, type(None))
        if not is_plain or (type(part) is int and part.bit_length() > 64):
            raise TypeError(f"a {type(part).__name__} as a key")
    return key


class _Builder:
    """The second reading, which makes the calls; ``size`` is the length of the pickle."""

    def __init__(self, where: str, size: int) -> None:
        self._where = where
        # Elements that calls may copy. Protocol 2 copies each three times at most; a pickle that
        # copies one value again and again would fill the memory.
        self._budget = 4 * size
        self._parts = 0
        #: By identity: the value that was read (and so stays alive), its result, its parts.
        self._ready: dict[int, tuple[Any, Any, int]] = {}

    def build(self, value: Any, depth: int = 0) -> Any:
        """Returns a value with the results of its calls; dicts and lists are changed in place."""
        before, kind = self._parts, type(value)
        _, result, size = self._ready.get(id(value), (None, value, 1))
        self._parts += size
        if depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            raise ValueError("a state has too many parts")
        if id(value) in self._ready:
            return result
        if kind is _Name:
            if not isinstance(value.target, type):
                raise TypeError("a function as a value")
            return value.target
        if kind is int and value.bit_length() > _MAX_BITS:
            raise ValueError(f"an integer of {value.bit_length()} bits")
        if kind is dict:
            for key in value:
                value[key] = self.build(value[key], depth + 1)
        elif kind is list:
            value[:] = [self.build(x, depth + 1) for x in value]
        elif kind is tuple:
            result = tuple([self.build(x, depth + 1) for x in value])
        elif kind is _Call:
            result = self._call(value, depth + 1)
        else:
            return value
        self._ready[id(value)] = value, result, self._parts - before
        return result

    def _call(self, call: _Call, depth: int) -> Any:
        function = call.function.target
        arguments = self.build(call.arguments, depth)
        if function is _reconstructor:  # an object of protocols 0 and 1
            function, *rest = arguments
            if rest != [object, None] or not _is_own(function):
                raise TypeError("an object of a built-in type")
            arguments, is_new = (), True
        else:
            is_new = call.is_new
        if _is_own(function):
            result = function.__new__(function, *arguments) if is_new else function(*arguments)
            self._ready[id(call)] = call, result, 1  # its attributes may refer to it
            _set_attributes(result, self.build(call.state, depth))
            return result
        state, make = self.build(call.state, depth), _CALLS.get(function)
        if make is None or (is_new and function is not NDArray):
            raise TypeError(f"a call of {function.__name__}")
        self._spend(*arguments, state)
        self._spend(*(state.values() if isinstance(state, dict) else state or ()))
        if function is NDArray:
            return load_record(_record(state), self._where)
        if state is not None and function not in (np.dtype, _array):
            raise TypeError(f"contents of a {function.__name__}")
        result = make(*arguments) if state is None else make(*arguments, state=state)
        if call.items:
            if not isinstance(result, dict):
                raise TypeError(f"a {function.__name__} takes no items by key")
            result.update({key: self.build(x, depth) for key, x in call.items.items()})
        return result

    def _spend(self, *values: Any) -> None:
        self._budget -= sum(len(x) for x in values if isinstance(x, Sized))
        if self._budget < 0:
            raise ValueError("the same data is copied again and again")


def _is_own(klass: Any) -> bool:
    return isinstance(klass, type) and issubclass(klass, Optimizer | LRScheduler)


def _set_attributes(target: Any, state: Any) -> None:
    parts = [part for part in (state if type(state) is tuple else (state,)) if part]
    for key in (key for part in parts for key in part):
        # An attribute in the place of a method would be called.
        if (
            not isinstance(key, str)
            or key[:2] == "__"
            or callable(getattr(type(target), key, None))
        ):
            raise TypeError(f"{shorten(key)!r} as an attribute of {type(target).__name__}")
    if state is not None and hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    for key, value in (pair for part in parts for pair in part.items()):
        setattr(target, key, value)


# The calls of the allow-list


def _encode(text: Any, encoding: Any = "latin-1") -> bytes:
    # Protocol 2 writes bytes so.
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {shorten(encoding)!r}")
    return text.encode("latin-1")


def _bytes(*arguments: Any) -> bytes:
    if arguments and isinstance(arguments[0], str):
        return _encode(*arguments)
    if len(arguments) > 1 or not isinstance(arguments[0] if arguments else b"", bytes):
        raise ValueError("bytes of something else")  # of a number: that much memory
    return arguments[0] if arguments else b""


def _items(items: Any = ()) -> Any:
    if type(items) not in (tuple, list):
        raise TypeError(f"a {type(items).__name__} as argument")
    return items


def _default_dict(factory: Any = None) -> collections.defaultdict[Any, Any]:
    if factory is not None and factory not in _TYPES.values():
        raise TypeError("a default factory that is not a plain type")
    return collections.defaultdict(factory)


def _number(part: Any, *parts: Any) -> complex:
    if not all(type(x) in (int, float) for x in (part, *parts)):
        raise TypeError("a complex number of something else")
    return complex(part, *parts)


def _record(state: Any) -> bytes | bytearray:
    record = state.get("handle") if isinstance(state, dict) else None
    if not isinstance(record, bytes | bytearray):
        raise ValueError("an array has no contents")
    return record


def _dtype(code: Any, *_: Any, state: Any = (3, "=")) -> np.dtype:
    if not isinstance(code, str) or not re.fullmatch(r"[<>|=]?([?]|[biufc]\d{1,2})", code):
        raise TypeError(f"NumPy's type {shorten(code)!r}")
    if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
        raise ValueError("NumPy's type has no byte order")
    return np.dtype(code).newbyteorder(state[1])


def _scalar(dtype: DType, content: Any = b"") -> np.generic:
    if not isinstance(dtype, np.dtype):
        raise TypeError("a scalar without type")
    return np.frombuffer(_bytes(content), dtype, 1)[0]


def _array(*_: Any, state: Any) -> np.ndarray:
    _, shape, dtype, is_fortran, content = state
    if not (isinstance(dtype, np.dtype) and all(type(d) is int and d >= 0 for d in shape)):
        raise TypeError("an array of NumPy's has no shape and type")
    if not isinstance(content, bytes) or len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array of NumPy's has another length than its shape")
    return np.ndarray(shape, dtype, content, order="F" if is_fortran else "C").copy(order="K")


def _reconstructor() -> None: ...


#: The functions of the allow-list; ``numpy`` stands for all of its modules.
_FUNCTIONS: dict[tuple[str, str], Any] = {
    ("numpy", "_reconstruct"): _array,
    ("numpy", "scalar"): _scalar,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("_codecs", "encode"): _encode,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("builtins", "object"): object,
}
#: Callables besides optimizers and schedulers, and the functions called in their places.
_CALLS: dict[Hashable, Function] = {
    bytearray: lambda *arguments: bytearray(_bytes(*arguments)),
    bytes: _bytes,
    set: lambda *items: set(map(_plain_key, _items(*items))),
    frozenset: lambda *items: frozenset(map(_plain_key, _items(*items))),
    complex: _number,
    slice: slice,
    collections.OrderedDict: lambda *items: collections.OrderedDict(
        (_plain_key(key), value) for key, value in map(_items, _items(*items))
    ),
    collections.defaultdict: _default_dict,
    NDArray: NDArray,
    Context: Context,
    np.dtype: _dtype,
    _encode: _encode,
    _scalar: _scalar,
    _array: _array,
}


class _Writer(pickle._Pickler):  # type: ignore[name-defined]
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

    dispatch: ClassVar[dict[Hashable, Any]] = {**pickle._Pickler.dispatch, type: save_global}  # type: ignore[attr-defined]


def dump_states(states: Any) -> bytes:
    file = io.BytesIO()
    _Writer(file).dump(states)
    return file.getvalue()


def load_states(data: bytes, where: str = "optimizer states", *, whole: bool = False) -> Any:
    """Returns the states in bytes from :func:`dump_states` or MXNet's ``Updater.get_states``.
    Raises FileFormatError, which names ``where``, for other or truncated bytes, for unknown
    classes, and with ``whole`` for bytes after the end, which MXNet ignores."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileFormatError(where, f"{type(data).__name__} given, expected bytes")
    misfit = describe_misfit(where, bytes(data[:HEAD]), PICKLE) if len(data) else None
    if misfit is not None:
        raise FileFormatError(misfit)
    try:
        file = io.BytesIO(data)
        loaded = _Builder(where, len(data)).build(_Reader(file, where).load())
        if whole and file.tell() < len(data):
            raise ValueError(f"{len(data) - file.tell()} bytes follow, cut off or damaged")
    except MXNetError:
        raise
    except Exception as error:
        problem = f"they cannot be read: {type(error).__name__}: {shorten(error)}"
        hint = "what save_optimizer_states or get_states wrote"
        raise FileFormatError(where, problem, hint=hint) from error
    pair = isinstance(loaded, tuple) and len(loaded) == 2
    states, optimizer = loaded if pair else (loaded, None)
    if not isinstance(states, dict) or not isinstance(optimizer, Optimizer | None):
        raise FileFormatError(where, f"{type(states).__name__} found, expected states by index")
    return loaded
