"""TapeSegments: recorded calls through which gradients flow together.

A segment has leaves, values that it starts from, and values that its calls compute. An array that
belongs to a recorded graph has a :class:`RecordedValue` as its entry. A leaf may be a value of an
earlier segment, to which gradients then go on.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from .._support.annotations import NumberedArrays, Raw
from ..arrays.storage import Storage
from ..calls.recording import Variable
from ..context import Context
from ..ndarray import NDArray


class Status(Enum):
    RECORDING = "calls are added"
    CLOSED = "its values are computed, or wait for one program"
    USED_UP = "nothing can be differentiated any more"


_USED_UP = Status.USED_UP


class RecordedValue:
    """The entry of an array that a recorded call computes: value ``number`` of ``segment``.
    ``storage`` has the contents as recorded. ``base`` is, for a view of elements that no call
    computes, the version of their storage at recording."""

    __slots__ = ("base", "number", "segment", "storage")

    def __init__(
        self, segment: TapeSegment, number: int, storage: Storage, base: int | None = None
    ) -> None:
        self.segment = segment
        self.number = number
        self.storage = storage
        self.base = base

    @property
    def is_live(self) -> bool:
        segment = self.segment
        return segment.status is not _USED_UP and self.number not in segment.used


#: A leaf: a variable, a value of an earlier segment, or a constant.
LeafEntry = Variable | RecordedValue | None


class Gradients(NamedTuple):
    """Gradients of leaves by position in the segment, and auxiliary states with new contents."""

    leaves: Sequence[tuple[int, Raw]]
    states: Sequence[tuple[NDArray, Raw]] = ()


_numbers = itertools.count()


class TapeSegment(ABC):
    """Recorded calls, computed together on one context; later segments have larger numbers.
    ``used`` are the values that a backward has used up while others can be differentiated. ``lock``
    is held by the thread that changes the segment."""

    __slots__ = (
        "__weakref__", "context", "leaf_entries", "lock", "number", "status", "used",
    )  # fmt: skip

    def __init__(self, context: Context, lock: threading.RLock) -> None:
        self.context = context
        self.number = next(_numbers)
        self.status = Status.RECORDING
        self.leaf_entries: list[LeafEntry] = []
        self.used: set[int] = set()
        self.lock = lock

    def can_differentiate(self, number: int) -> bool:
        return self.status is not _USED_UP and number not in self.used

    def leads_to_variables(self, entry: RecordedValue) -> bool:
        number = entry.number
        return self.can_differentiate(number) and bool(self.reached((number,)).leaves)

    @abstractmethod
    def reached(self, heads: Sequence[int]) -> Reached:
        """Returns the values and leaves that the gradients of some values flow through."""

    @abstractmethod
    def gradients(self, heads: NumberedArrays, train_mode: bool) -> Gradients:
        """Returns gradients of leaves for head gradients of values; stores nothing. Without
        ``train_mode`` calls that change states are differentiated as in inference."""

    @abstractmethod
    def recorded_gradients(
        self, heads: Mapping[int, NDArray], train_mode: bool
    ) -> Sequence[tuple[int, NDArray]]: ...

    @abstractmethod
    def use_up(self, heads: Sequence[int]) -> None: ...


class Reached(NamedTuple):
    """Values and leaves that the gradients of some values flow through, by number and by position.
    ``values`` include the heads, ``states`` are leaves that backward changes."""

    values: frozenset[int]
    leaves: tuple[int, ...]
    states: frozenset[int] = frozenset()
