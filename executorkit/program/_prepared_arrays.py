"""Prepared arrays: what inference computes once from arrays that stay, kept as long as these live.

A set of prepared arrays belongs to the identity of the arrays that it was computed from: arrays
are immutable, so that a written weight is another array. When one of them is freed, the set is.
Sets of all programs together are bounded in bytes; a set for which there is no room is not made, so
that two that do not fit together never take turns.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ._code_cache import CodeCache
from ._environment_settings import bytes_of

#: Maximum memory of all prepared arrays where the environment does not say otherwise, in bytes.
_DEFAULT_BYTES = 1 << 30
#: The environment variable with that maximum, in bytes.
_VARIABLE = "EXECUTORKIT_PREPARED_BYTES"
#: Maximum number of sets.
_MAX_SETS = 256
#: Number of uses of other sets after which a set that was not used makes room.
_IDLE_USES = 256

Identities = tuple[int, ...]


def identities(arrays: Iterable[Any]) -> Identities:
    """The identities of arrays, which are theirs as long as they live."""
    return tuple(map(id, arrays))


class Watch:
    """Calls a function once, when the first of some arrays is freed."""

    __slots__ = ("__weakref__", "_references")

    def __init__(self, arrays: Iterable[Any], on_freed: Callable[[], object]) -> None:
        def freed(_: object) -> None:
            on_freed()

        self._references = [weakref.ref(x, freed) for x in {id(x): x for x in arrays}.values()]


class PreparedArrays:
    """The results of a first stage for one set of arrays.

    arrays
        None once the set was dropped.
    uses
        number of calls that have used it.
    """

    in_use = False

    def __init__(self, arrays: Sequence[Any], n_bytes: int) -> None:
        self.arrays: tuple[Any, ...] | None = tuple(arrays)
        self.last_use = 0
        self.uses = 0
        self._n_bytes = n_bytes

    @property
    def code_bytes(self) -> int:
        """The size of the arrays in bytes."""
        return 0 if self.arrays is None else self._n_bytes

    def clear(self) -> None:
        """Drops the arrays."""
        self.arrays = None


class PreparedCache(CodeCache[PreparedArrays]):
    """The prepared arrays of this process, bounded by bytes."""

    def __init__(self) -> None:
        super().__init__("prepared", _MAX_SETS, 0.0)
        self._limit_bytes: int | None = None
        self._watches: dict[Hashable, Watch] = {}
        #: Keys of sets whose sources were freed.
        self._freed: deque[Hashable] = deque()

    @property
    def limit_bytes(self) -> int:
        """Maximum memory of all prepared arrays, in bytes; 0 means that nothing is prepared."""
        if self._limit_bytes is None:
            self._limit_bytes = bytes_of(_VARIABLE, _DEFAULT_BYTES, may_be_zero=True)
        return self._limit_bytes

    def set_limit_bytes(self, limit: int) -> None:
        """Bounds the memory; sets beyond it are dropped, those first that were not used longest."""
        self._limit_bytes = limit
        self.trim()

    def use(self, prepared: PreparedArrays) -> tuple[Any, ...] | None:
        """Counts a use of a set; its arrays."""
        prepared.uses += 1
        self._uses += 1
        prepared.last_use = self._uses
        return prepared.arrays

    def make_room(self, n_bytes: int) -> bool:
        """True if there is room for ``n_bytes``, once sets that stay unused are dropped."""
        self._drop_freed()
        idle = [key for key in self._by_last_use() if self._is_idle(key)]
        while idle and self.bytes + n_bytes > self.limit_bytes:
            self._discard(idle.pop(0))
        return self.bytes + n_bytes <= self.limit_bytes

    def _is_idle(self, key: Hashable) -> bool:
        return self._uses - self._entries[key].last_use > _IDLE_USES

    def store(self, key: Hashable, prepared: PreparedArrays, sources: Iterable[Any]) -> None:
        """Adds a set that was computed from ``sources``, until one of these is freed."""
        self._drop_freed()
        self.get_or_make(key, lambda: prepared)

        # Arrays are freed anywhere, in other threads too: the entry goes later.
        def free() -> None:
            prepared.clear()
            self._freed.append(key)

        self._watches[key] = Watch(sources, free)

    def _drop_freed(self) -> None:
        """Drops the entries whose sources were freed."""
        while self._freed:
            key = self._freed.popleft()
            prepared = self._entries.get(key)
            if prepared is not None and prepared.arrays is None:
                self._discard(key)

    def _discard(self, key: Hashable) -> None:
        self._watches.pop(key, None)
        self._entries.pop(key).clear()


prepared_arrays = PreparedCache()
