"""Pickles read without Python's own machine for them, which runs whatever they name.

An instruction is decoded by ``pickletools.genops`` and carried out here, if it makes plain data,
or one of the few objects that a *vocabulary* knows. Time and memory are proportional to the length
of the pickle: it cannot reserve memory, compute, or change a class.
"""

import io
import pickletools
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from ..errors import FileFormatError, shorten

#: Maximum number of instructions: a state takes about thirty.
MAX_INSTRUCTIONS = 5_000_000

#: Maximum number of bits of an integer.
_MAX_BITS = 4096
_PLAIN_KEYS = (str, bytes, int, float, bool, type(None))


class PickleVocabulary(Protocol):
    """The classes and functions that pickles may name, and what may be done with them.

    Each method raises ValueError, or an error of this package, for what it does not allow.
    """

    def find(self, module: str, name: str) -> Any:
        """The object of a name."""
        ...

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """The result of a call."""
        ...

    def create(self, klass: Any, arguments: tuple[Any, ...]) -> Any:
        """A new object without contents."""
        ...

    def set_state(self, target: Any, state: Any) -> None:
        """Gives an object its contents."""
        ...


class RestrictedUnpickler:
    """The value of one pickle; everything that it names comes from a vocabulary."""

    def __init__(self, data: bytes | memoryview, vocabulary: PickleVocabulary) -> None:
        self._data = data
        self._vocabulary = vocabulary
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        #: Number of bytes that the pickle takes; others may follow.
        self.length = 0

    def load(self) -> Any:
        """The value. Raises FileFormatError, ValueError, TypeError or LookupError."""
        instructions = pickletools.genops(io.BytesIO(self._data))
        for count, (instruction, argument, at) in enumerate(instructions):
            if count >= MAX_INSTRUCTIONS:
                raise ValueError(f"more than {MAX_INSTRUCTIONS} instructions")
            if instruction.name in _CONSTANTS:
                self._stack.append(_checked_constant(argument))
            elif instruction.name in self._INSTRUCTIONS:
                self._INSTRUCTIONS[instruction.name](self, argument)
            else:
                raise ValueError(f"instruction {instruction.name} is not carried out")
            self.length = (at or 0) + 1
        return self._pop()

    # The stack

    def _pop(self) -> Any:
        self._top()
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise ValueError("there is no mark")
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise ValueError("the stack is empty")
        return self._stack[-1]

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    # Plain data

    def _pop_tuple(self, size: int) -> None:
        self._stack.append(tuple([self._pop() for _ in range(size)][::-1]))

    def _top_of(self, kind: type) -> Any:
        target = self._top()
        if type(target) is not kind:
            raise TypeError(f"a {type(target).__name__} takes no items")
        return target

    def _append(self, values: list[Any]) -> None:
        self._top_of(list).extend(values)

    def _add(self, values: list[Any]) -> None:
        self._top_of(set).update(map(plain_key, values))

    def _set_items(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, dict):
            raise TypeError(f"a {type(target).__name__} takes no items by key")
        if len(values) % 2:
            raise ValueError("a key has no value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[plain_key(key)] = value

    def _dict(self, values: list[Any]) -> None:
        self._stack.append({})
        self._set_items(values)

    # Objects

    def _global(self, names: str) -> None:
        module, _, name = names.partition(" ")
        self._stack.append(self._vocabulary.find(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise TypeError("a name is no text")
        self._stack.append(self._vocabulary.find(module, name))

    def _apply(self, method: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        arguments, function = self._pop(), self._pop()
        if type(arguments) is not tuple:
            raise TypeError("the arguments of a call are no tuple")
        self._stack.append(method(function, arguments))

    def _set_state(self, _: Any) -> None:
        state = self._pop()
        self._vocabulary.set_state(self._top(), state)

    _INSTRUCTIONS: ClassVar[dict[str, Callable[[Any, Any], None]]] = {
        **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda self, _: None),
        "POP": lambda self, _: self._pop(),
        "POP_MARK": lambda self, _: self._pop_to_mark(),
        "DUP": lambda self, _: self._stack.append(self._top()),
        "MARK": lambda self, _: self._marks.append(len(self._stack)),
        **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _put),
        **dict.fromkeys(
            ("GET", "BINGET", "LONG_BINGET"),
            lambda self, index: self._stack.append(self._memo[index]),
        ),
        "MEMOIZE": lambda self, _: self._put(len(self._memo)),
        "NONE": lambda self, _: self._stack.append(None),
        "NEWTRUE": lambda self, _: self._stack.append(True),
        "NEWFALSE": lambda self, _: self._stack.append(False),
        "EMPTY_LIST": lambda self, _: self._stack.append([]),
        "EMPTY_DICT": lambda self, _: self._stack.append({}),
        "EMPTY_SET": lambda self, _: self._stack.append(set()),
        "EMPTY_TUPLE": lambda self, _: self._stack.append(()),
        "LIST": lambda self, _: self._stack.append(self._pop_to_mark()),
        "DICT": lambda self, _: self._dict(self._pop_to_mark()),
        "TUPLE": lambda self, _: self._stack.append(tuple(self._pop_to_mark())),
        "TUPLE1": lambda self, _: self._pop_tuple(1),
        "TUPLE2": lambda self, _: self._pop_tuple(2),
        "TUPLE3": lambda self, _: self._pop_tuple(3),
        "FROZENSET": lambda self, _: self._stack.append(
            frozenset(map(plain_key, self._pop_to_mark()))
        ),
        "APPEND": lambda self, _: self._append([self._pop()]),
        "APPENDS": lambda self, _: self._append(self._pop_to_mark()),
        "SETITEM": lambda self, _: self._set_items([self._pop(), self._pop()][::-1]),
        "SETITEMS": lambda self, _: self._set_items(self._pop_to_mark()),
        "ADDITEMS": lambda self, _: self._add(self._pop_to_mark()),
        "GLOBAL": _global,
        "STACK_GLOBAL": _stack_global,
        "REDUCE": lambda self, _: self._apply(self._vocabulary.call),
        "NEWOBJ": lambda self, _: self._apply(self._vocabulary.create),
        "BUILD": _set_state,
    }


#: Instructions whose argument is the value.
_CONSTANTS = frozenset(
    {
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
        "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
        "BYTEARRAY8", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    }
)  # fmt: skip


def _checked_constant(value: Any) -> Any:
    if type(value) is int and value.bit_length() > _MAX_BITS:
        raise ValueError(f"an integer of {value.bit_length()} bits")
    return value


def plain_key(key: Any) -> Any:
    """A key of a dict or item of a set: plain, or a tuple of such.

    To hash a deep one may crash; integers of more than 64 bits may all have the same hash.
    """
    parts = key if type(key) is tuple else (key,)
    for part in parts:
        if type(part) not in _PLAIN_KEYS or (type(part) is int and part.bit_length() > 64):
            raise TypeError(f"a {type(part).__name__} as a key")
    return key


def refused_name(where: str, module: str, name: str) -> FileFormatError:
    """The error for a name that is not in the vocabulary."""
    return FileFormatError(
        where,
        f"they name {shorten(module)}.{shorten(name)}, which is not loaded",
        because="such files may run anything; only arrays, numbers, containers, "
        "optimizers and schedulers are read",
        hint="define or import the optimizer's or scheduler's class first",
    )
