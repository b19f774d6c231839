"""Inference in two stages: what depends on arrays that stay from call to call is computed once.

The arguments of a call are fed (data, whatever changes) or stay (parameters and auxiliary states).
For arrays of certain shapes the program is split (:func:`executorkit.lowering.two_stages`) in two:
the first stage, ``prepare``, folds batch normalisation into weights, turns and packs them; the
second, ``infer_prepared``, runs at every call.

The first arrays of an executor without gradients are prepared at its first call, so that one
program is traced and compiled instead of two. Others are prepared at the second call with them:
weights that change at every call (an evaluation after each step of training) are not worth it. If a
set was replaced after few uses, the next one needs more calls. Once a set is prepared, data of
other sizes is at its second call: the whole program is traced once for all sizes, the second stage
for each. These are fixed counts, so that a run repeats bit for bit. All other calls run the whole
program, whose results are the same but for rounding.

A set of prepared arrays belongs to the identity of the arrays that it was computed from: arrays
are immutable, so that a written weight is another array. When one of them is freed, the set is.
Sets of all programs together are bounded in bytes; a set without room is not made, so that two sets
that do not fit together never take turns.
"""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._support.annotations import Key, Operands, Raw, Tree
from .._support.garbage_collection import paused_collection
from ..errors import NotFingerprintableError
from ..jax_internals import in_x64
from ..jaxprs import FlatProgram
from ..lowering import Graph, Stages, memoize, two_stages
from ..ops.nn.conv_kernels import native_convolution
from ..ops.schema.traits import MATMUL
from ..ops.tracing import this_process_only
from . import disk_cache
from ._background_tasks import submit
from ._code_cache import CodeCache
from ._compiled_function import CompiledFunction
from ._program_options import Options, bytes_of, chosen
from ._train_step import Arrays

#: Minimum size in bytes of the arrays that stay for which a program is split by itself.
MIN_BYTES = 1 << 20
#: Number of calls with the same arrays, the one that prepares included, but for the first arrays of
#: an executor without gradients, which one call prepares.
_FIRST_CALLS, _MAX_CALLS = 2, 64
#: A set that was used less often than this was not worth its preparation.
_WORTH_USES = 8
#: Maximum memory of all prepared arrays where the environment does not say otherwise, in bytes.
_DEFAULT_BYTES = 1 << 30
#: Maximum number of prepared sets in all.
_MAX_SETS = 256
#: Number of uses of other sets after which a set that was not used makes room.
_IDLE_USES = 256

Identities = tuple[int, ...]


def _identities(arrays: Iterable[Raw]) -> Identities:
    return tuple(map(id, arrays))


class State(Enum):
    """State of inference with a set of arrays that stay."""

    #: There were too few calls with them, or room is missing: the whole program runs.
    COUNTING = auto()
    #: Prepared arrays are there.
    READY = auto()
    #: They are too small, or nothing depends on them alone: the whole program runs, for good.
    NOT_WORTH_IT = auto()


class FedArguments:
    """The arguments of an executor that are fed; all others are expected to stay, from the first
    call on if it is never ``trained``. Fed are data and labels (``inputs``), the arguments of
    ``forward``, and arguments that two successive calls of inference find changed while most were
    not. Each executor has its own, so that a run repeated with a new one repeats bit for bit."""

    def __init__(self, names: Sequence[str], inputs: Iterable[str], trained: bool) -> None:
        self._all_names = names
        self._names = frozenset(inputs)
        #: Positions of the fed arguments; empty if none is known.
        self.positions = frozenset(i for i, name in enumerate(names) if name in self._names)
        #: The layout of the executor's calls, once there was one.
        self.layout: _Layout | None = None
        #: NOT_WORTH_IT stays: shapes do not change, and where more is fed, less stays.
        self.state = State.COUNTING
        self._changed: frozenset[int] = frozenset()
        self._previous: list[Raw] = []
        #: Number of calls with the same arrays, the one that prepares included.
        self.calls_needed = _FIRST_CALLS if trained else 1
        #: The arrays that were prepared last.
        self.latest: PreparedArrays | None = None

    def add(self, names: Collection[str]) -> None:
        if not self._names.issuperset(names):
            self._names = self._names.union(names)
            self._extend(i for i, name in enumerate(self._all_names) if name in names)

    def _extend(self, positions: Iterable[int]) -> None:
        self.positions = self.positions.union(positions)
        self.layout = None

    def observe(self, args: Arrays) -> None:
        """Notes the arguments that have changed since the call before."""
        pairs = enumerate(zip(self._previous, args, strict=False))
        changed = frozenset(i for i, (previous, x) in pairs if previous() is not x)
        if 2 * len(changed) < len(args) and changed & self._changed:
            self._extend(changed & self._changed)
        self._changed = changed
        self._previous = [weakref.ref(x) for x in args]

    def confirm(self) -> None:
        """Notes a call that found the other arguments unchanged."""
        self._changed = frozenset()

    def note_new_set(self) -> None:
        """Asks for more calls with a new set where the latest prepared one was of little use."""
        latest = self.latest
        if latest is None:
            return
        if latest.uses >= _MAX_CALLS:
            self.calls_needed = _FIRST_CALLS
        elif latest.arrays is None and latest.uses < _WORTH_USES:
            self.calls_needed = min(2 * max(self.calls_needed, _FIRST_CALLS), _MAX_CALLS)
            self.latest = None


class _Border(NamedTuple):
    """The arrays between the stages of a program and around them (see :class:`Stages`)."""

    sources: tuple[int, ...]
    fed: tuple[int, ...]
    held: tuple[int, ...]
    #: Shapes and dtypes of the prepared arrays.
    prepared: tuple[jax.ShapeDtypeStruct, ...]
    #: Distinguishes the first stages of different computations and sources.
    preparation: Hashable

    @property
    def prepared_bytes(self) -> int:
        return sum(math.prod(x.shape) * x.dtype.itemsize for x in self.prepared)

    @staticmethod
    def of(stages: Stages) -> _Border | None:
        prepared = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in stages.prepare.outputs]
        preparation = stages.preparation or object()
        positions = stages.sources, stages.fed, stages.held
        return _Border(*positions, tuple(prepared), preparation) if prepared else None

    def to_json(self) -> Any:
        """Returns JSON's types; NotFingerprintableError where other processes cannot use them."""
        if type(self.preparation) is not str or not all(
            isinstance(x.dtype, np.dtype) for x in self.prepared
        ):
            raise NotFingerprintableError("a first stage that holds arrays, or prepares keys")
        prepared = [(x.shape, x.dtype.name) for x in self.prepared]
        return self.sources, self.fed, self.held, prepared, self.preparation

    @staticmethod
    def from_json(answer: Any) -> _Border:
        sources, fed, held, prepared, preparation = answer
        arrays = [jax.ShapeDtypeStruct(tuple(s), jnp.dtype(name)) for s, name in prepared]
        return _Border(tuple(sources), tuple(fed), tuple(held), tuple(arrays), preparation)


class _Split(NamedTuple):
    border: _Border
    prepare: CompiledFunction
    run: CompiledFunction


class _Entry:
    __slots__ = ("calls", "prepared", "split", "state", "watch")

    #: The program, and the set's prepared arrays; of a set that is ready.
    split: _Split
    prepared: PreparedArrays

    def __init__(self, state: State, calls: Iterator[int], watch: _Watch) -> None:
        self.state = state
        #: Counts the calls of all layouts with the set, until it is ready.
        self.calls = calls
        self.watch = watch


def _bytes_without(arrays: Arrays, fed: frozenset[int]) -> int:
    return sum([x.size * x.dtype.itemsize for i, x in enumerate(arrays) if i not in fed])


class _Layout:
    def __init__(self, arrays: Arrays, fed: frozenset[int], platform: str) -> None:
        self.avals = tuple([jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays])
        self.platform = platform
        keys = (i for i, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key))
        #: Positions of the arrays that are fed, with the random key, and of the arrays that stay.
        self.fed = (*sorted(fed), *keys)
        self.staying = tuple(i for i in range(len(arrays)) if i not in self.fed)
        #: The sets of arrays that stay, by their identities.
        self.entries: dict[Identities, _Entry] = {}


class PreparedInference:
    """Inference of a program, in two stages where that is worth it. ``evaluate`` gives the outputs
    as a pure function, ``whole`` is the compiled function that runs otherwise. ``jit(stage, name,
    facts)`` compiles a flat program, which ``stage`` returns, of lists of arrays; the facts
    distinguish it, and ``question(facts, platform)`` in every process. ``always`` prepares arrays
    however small they are, ``is_native`` has the kernel in C take convolutions; ``prepares`` counts
    prepared sets."""

    def __init__(
        self,
        graph: Graph,
        evaluate: Callable[[Arrays, Arrays, Key], Operands],
        whole: CompiledFunction,
        jit: Callable[[Callable[[], FlatProgram], str, Hashable], CompiledFunction],
        question: Callable[[Hashable, str], Hashable],
        always: bool,
        is_native: bool,
    ) -> None:
        self._evaluate = evaluate
        self._whole = whole
        self._jit = jit
        self._question = question
        self._native = is_native
        self._min_bytes = 0 if always else MIN_BYTES
        self._n_args = len(graph.args)
        self._n_arrays = self._n_args + len(graph.aux)
        self._lock = threading.RLock()
        self._layouts: dict[Hashable, _Layout] = {}
        #: None where there is nothing to prepare.
        self._splits: dict[_Layout, _Split | None] = {}
        self.prepares = 0

    @property
    def functions(self) -> list[CompiledFunction]:
        """The compiled functions of both stages, the latest first."""
        splits = [split for split in reversed(self._splits.values()) if split is not None]
        return [*(s.run for s in splits), *dict.fromkeys(s.prepare for s in splits)]

    @property
    def prepared_bytes(self) -> int:
        entries = [e for layout in self._layouts.values() for e in list(layout.entries.values())]
        sets = {id(e.prepared): e.prepared for e in entries if e.state is State.READY}
        return sum(prepared.code_bytes for prepared in sets.values())

    def __call__(self, args: Arrays, aux: Arrays, key: Key, fed: FedArguments) -> Tree:
        if not fed.positions:
            fed.observe(args)
            return self._whole(args, aux, key)
        arrays = (*args, *aux) if key is None else (*args, *aux, key)
        layout = fed.layout
        if layout is None:
            if _bytes_without(arrays[: self._n_arrays], fed.positions) < self._min_bytes:
                fed.state = State.NOT_WORTH_IT
                return self._whole(args, aux, key)
            layout = fed.layout = self._layout(arrays, fed.positions)
        staying = [arrays[i] for i in layout.staying]
        identities = _identities(staying)
        entry = layout.entries.get(identities)
        if entry is None:
            entry = self._new_entry(layout, staying, identities, fed)
        if entry.state is not State.READY or entry.prepared.arrays is None:
            self._count(entry, layout, arrays, fed)
            if entry.state is State.READY:
                self._whole.note_sizes(args, aux, key)
        prepared = prepared_arrays.use(entry.prepared) if entry.state is State.READY else None
        if prepared is None:
            fed.state = entry.state
            fed.observe(args)
            return self._whole(args, aux, key)
        fed.confirm()
        split = entry.split
        held = [arrays[i] for i in split.border.held]
        return split.run([arrays[i] for i in layout.fed], held, prepared), ()

    def calls(
        self, args: Arrays, aux: Arrays, key: Key, fed: frozenset[int]
    ) -> list[tuple[CompiledFunction, Operands]]:
        """Returns both functions with abstract arguments; empty if one stage is better."""
        arrays = (*args, *aux) if key is None else (*args, *aux, key)
        layout = self._layout(arrays, fed)
        is_large = _bytes_without(arrays[: self._n_arrays], fed) >= self._min_bytes
        with self._lock:
            split = self._split(layout) if fed and is_large else None
        if split is None:
            return []
        border, sharding = split.border, arrays[0].sharding
        prepared = tuple(
            jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in border.prepared
        )
        groups = border.sources, border.fed, border.held
        sources, fed_arrays, held = ([arrays[i] for i in positions] for positions in groups)
        return [(split.prepare, (sources,)), (split.run, (fed_arrays, held, prepared))]

    def _layout(self, arrays: Arrays, fed: frozenset[int]) -> _Layout:
        platform = next(iter(arrays[0].sharding.device_set)).platform
        key = fed, platform, tuple([(x.shape, x.dtype) for x in arrays])
        with self._lock:
            layouts = self._layouts
            return layouts.get(key) or memoize(layouts, key, _Layout(arrays, fed, platform))

    def _new_entry(
        self, layout: _Layout, staying: list[Any], identities: Identities, fed: FedArguments
    ) -> _Entry:
        with self._lock:
            known = (other.entries.get(identities) for other in self._layouts.values())
            entries = [entry for entry in known if entry is not None]
            if not entries:
                fed.note_new_set()
                calls = itertools.count(1)
            elif any(entry.state is State.READY for entry in entries):
                calls = itertools.count(fed.calls_needed - 1)  # sizes that may not come again
            else:
                calls = entries[0].calls
            watch = _Watch(staying, lambda: layout.entries.pop(identities, None))
            return memoize(layout.entries, identities, _Entry(State.COUNTING, calls, watch))

    def _count(self, entry: _Entry, layout: _Layout, arrays: Arrays, fed: FedArguments) -> None:
        with self._lock, paused_collection():
            if entry.state is State.NOT_WORTH_IT:
                return
            entry.state = State.COUNTING
            if next(entry.calls) < fed.calls_needed or prepared_arrays.limit_bytes == 0:
                return
            split = self._split(layout)
            if split is None:
                entry.state = State.NOT_WORTH_IT
                return
            prepared = self._prepared(split, arrays)
            if prepared is not None:
                fed.latest = prepared
                entry.split, entry.prepared, entry.state = split, prepared, State.READY

    def _split(self, layout: _Layout) -> _Split | None:
        if layout not in self._splits:
            memoize(self._splits, layout, self._new_split(layout))
        return self._splits[layout]

    def _new_split(self, layout: _Layout) -> _Split | None:
        n_args, n_arrays = self._n_args, self._n_arrays

        def evaluate(*arrays: Raw) -> Operands:
            key = arrays[n_arrays] if len(arrays) > n_arrays else None
            return self._evaluate(arrays[:n_args], arrays[n_args:n_arrays], key)

        avals = layout.avals
        stays = [i in layout.staying for i in range(len(avals))]

        @cache
        def stages() -> Stages:
            if is_native:
                submit(native_convolution.available)  # beside the first calls
            with this_process_only(native="fused" if is_native else None):
                return in_x64(two_stages)(evaluate, avals, stays, layout.platform)

        is_native = self._native and layout.platform == "cpu"
        facts = layout.fed, tuple([(x.shape, str(x.dtype)) for x in avals]), is_native
        border = self._border(facts, layout.platform, stages)
        if border is None:
            return None
        splits = (split for split in self._splits.values() if split is not None)
        equal = (s.prepare for s in splits if s.border.preparation == border.preparation)
        prepare = next(equal, None)
        if prepare is None:
            prepare = self._jit(lambda: stages().prepare, "prepare", facts)
        return _Split(border, prepare, self._jit(lambda: stages().run, "infer_prepared", facts))

    def _border(
        self, facts: Hashable, platform: str, stages: Callable[[], Stages]
    ) -> _Border | None:
        """Returns the border of the stages, traced unless the disk cache has the answer."""
        traced: list[_Border | None] = []

        def find() -> Any:
            traced.append(_Border.of(stages()))
            return None if traced[0] is None else traced[0].to_json()

        try:
            answer = disk_cache.cached_answer(lambda: self._question(facts, platform), find)
        except NotFingerprintableError:
            return traced[0]
        return traced[0] if traced else answer and _Border.from_json(answer)

    def _prepared(self, split: _Split, arrays: Arrays) -> PreparedArrays | None:
        border = split.border
        sources = [arrays[i] for i in border.sources]
        key = border.preparation, _identities(sources)
        prepared = prepared_arrays.get(key)
        if prepared is not None and prepared.arrays is None:
            prepared = None
        if prepared is None and prepared_arrays.make_room(border.prepared_bytes):
            prepared = PreparedArrays(split.prepare(sources), border.prepared_bytes, sources)
            prepared_arrays.get_or_make(key, lambda: prepared)
            self.prepares += 1
        return prepared


def prepared_inference(
    graph: Graph,
    options: Options,
    evaluate: Callable[[Arrays, Arrays, Key], Operands],
    whole: CompiledFunction,
    jit: Callable[[Callable[[], FlatProgram], str, Hashable], CompiledFunction],
    question: Callable[[Hashable, str], Hashable],
    is_native: bool,
) -> PreparedInference | None:
    """Returns the prepared inference of a program; None where it is not wanted, or useless."""
    choice = chosen(options.prepare, "EXECUTORKIT_PREPARE")
    if choice is False or graph.has_effects or graph.checks_values:
        return None
    if not choice and not any(MATMUL in step.op.traits for step in graph.steps):
        return None
    return PreparedInference(
        graph, evaluate, whole, jit, question, always=choice is True, is_native=is_native
    )


class _Watch:
    __slots__ = ("_references",)

    def __init__(self, arrays: Iterable[Raw], on_freed: Callable[[], object]) -> None:
        self._references = [weakref.ref(x, lambda _: on_freed()) for x in arrays]


class PreparedArrays:
    """The results of a first stage for one set of arrays."""

    in_use = False

    def __init__(self, arrays: Arrays, n_bytes: int, sources: Iterable[Raw]) -> None:
        #: None once the set was dropped, or one of its sources was freed.
        self.arrays: Operands | None = tuple(arrays)
        self.last_use = 0
        #: Number of calls that have used it.
        self.uses = 0
        self._n_bytes = n_bytes
        # Arrays are freed anywhere, in other threads too: an entry of the cache goes later.
        self._watch = _Watch(sources, self.clear)

    @property
    def code_bytes(self) -> int:
        return 0 if self.arrays is None else self._n_bytes

    def clear(self) -> None:
        self.arrays = None


class PreparedCache(CodeCache[PreparedArrays]):
    def __init__(self) -> None:
        super().__init__("prepared", _MAX_SETS, 0.0)
        self._limit_bytes: int | None = None

    @property
    def limit_bytes(self) -> int:
        """Maximum memory of all prepared arrays, in bytes; 0 means that nothing is prepared."""
        if self._limit_bytes is None:
            variable = "EXECUTORKIT_PREPARED_BYTES"
            self._limit_bytes = bytes_of(variable, _DEFAULT_BYTES, may_be_zero=True)
        return self._limit_bytes

    def set_limit_bytes(self, limit: int) -> None:
        self._limit_bytes = limit
        self.trim()

    def use(self, prepared: PreparedArrays) -> Operands | None:
        prepared.uses += 1
        self._uses += 1
        prepared.last_use = self._uses
        return prepared.arrays

    def make_room(self, n_bytes: int) -> bool:
        """Drops idle sets where room is needed; tells whether ``n_bytes`` fit."""
        entries = self._entries
        for key in self._by_last_use():
            is_idle = self._uses - entries[key].last_use > _IDLE_USES
            is_full = self.bytes + n_bytes > self.limit_bytes
            if entries[key].arrays is None or (is_idle and is_full):
                self._drop(key)
        return self.bytes + n_bytes <= self.limit_bytes


prepared_arrays = PreparedCache()
native_convolution.answer = disk_cache.cached_answer
