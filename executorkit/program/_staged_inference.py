"""Inference in two stages: what depends on arrays that stay from call to call is computed once.

The arguments of a call are fed (data, whatever changes) or stay (parameters and auxiliary states).
For fed arguments of certain shapes the program is split (:func:`executorkit.lowering.two_stages`):
the first stage, ``prepare``, folds batch normalisation into weights, turns and packs them; the
second, ``infer_prepared``, runs at every call.

Arrays are prepared when a program meets them for the second time: weights that change at every call
(an evaluation after each step of training) are not worth it, nor is a single call. If a set was
replaced after few uses, more calls have to be seen before the next one is prepared. These are fixed
counts, so that a run repeats bit for bit. All other calls run the whole program, whose results are
the same but for rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..lowering import Stages, memoize, two_stages
from ._environment_settings import chosen
from ._jit import InstrumentedJit
from ._prepared_arrays import Identities, PreparedArrays, Watch, identities, prepared_arrays
from ._train_step import Arrays

#: Minimum size in bytes of the arrays that stay for which a program is split by itself.
MIN_BYTES = 1 << 20
#: Number of calls with the same arrays, the one that prepares included.
_FIRST_CALLS, _MAX_CALLS = 2, 64
#: A set that was used less often than this was not worth its preparation.
_WORTH_USES = 8
#: Maximum number of splits of a program, and of sets of arrays that it has met.
_MAX_SPLITS, _MAX_SETS = 64, 16
#: The environment variable that forces or forbids prepared arrays.
_VARIABLE = "EXECUTORKIT_PREPARE"


def preparation_choice(option: bool | None) -> bool | None:
    """True where arrays are prepared however small they are, False where never, None by their size.

    ``option`` is that of a program; None leaves it to the environment.
    """
    return chosen(option, _VARIABLE)


class _Layout:
    """Positions of the arrays of a call: fed ones, with the random key, and those that stay.

    worth
        whether those that stay are large enough.
    """

    __slots__ = ("fed", "staying", "worth")

    def __init__(self, fed: frozenset[int], arrays: Arrays, has_key: bool, min_bytes: int) -> None:
        count = len(arrays)
        self.fed = (*sorted(fed), *((count - 1,) if has_key else ()))
        self.staying = tuple(sorted(set(range(count)) - set(self.fed)))
        n_bytes = sum(arrays[i].size * arrays[i].dtype.itemsize for i in self.staying)
        self.worth = n_bytes >= min_bytes


class _StagedFunction(NamedTuple):
    """A program split for arguments of certain shapes, and its two compiled functions."""

    stages: Stages
    prepare: InstrumentedJit
    run: InstrumentedJit


class _Ready(NamedTuple):
    """All that a call with certain arrays needs."""

    function: _StagedFunction
    prepared: PreparedArrays
    watch: Watch


class InferenceHistory:
    """The arguments of an executor that are fed, and the use of what was prepared for it.

    It belongs to an executor, so that a run that is repeated with a new one repeats bit for bit.

    fed
        positions of the arguments that do not stay.
    calls_needed
        number of calls with the same arrays, the one that prepares included.
    worth
        False once the arrays that stay were found too small.
    """

    __slots__ = ("_latest", "calls_needed", "fed", "worth")

    def __init__(self, fed: Iterable[int]) -> None:
        self.fed = frozenset(fed)
        self.calls_needed = _FIRST_CALLS
        self.worth = True
        self._latest: PreparedArrays | None = None

    def note_new_set(self) -> None:
        """Asks for more calls with a new set where the latest prepared one was of little use."""
        latest = self._latest
        if latest is None:
            return
        if latest.uses >= _MAX_CALLS:
            self.calls_needed = _FIRST_CALLS
        elif latest.arrays is None and latest.uses < _WORTH_USES:
            self.calls_needed = min(2 * self.calls_needed, _MAX_CALLS)
            self._latest = None

    def note_prepared(self, prepared: PreparedArrays) -> None:
        """Notes a set that was prepared for a call."""
        self._latest = prepared


class _Met(NamedTuple):
    """The number of calls with a set of arrays."""

    calls: list[int]
    watch: Watch


class StagedInference:
    """Runs inference of a program in two stages where that is worth it.

    evaluate
        the outputs as a pure function of arguments, auxiliary states and key, to be traced.
    jit
        makes the compiled form of a function: ``jit(function, name, facts)``; the facts distinguish
        it from others of that name.
    always
        splits programs however small their arrays are.
    prepares
        number of times that a set of arrays was prepared.
    """

    def __init__(
        self,
        evaluate: Callable[[Arrays, Arrays, Any], tuple[Any, ...]],
        jit: Callable[[Callable[..., Any], str, Hashable], InstrumentedJit],
        always: bool,
    ) -> None:
        self._evaluate = evaluate
        self._jit = jit
        self._min_bytes = 0 if always else MIN_BYTES
        self._lock = threading.RLock()
        self._layouts: dict[Hashable, _Layout] = {}
        #: By layout and the shapes of all arrays; None where there is nothing to prepare.
        self._functions: dict[Hashable, _StagedFunction | None] = {}
        self._prepare_functions: dict[Hashable, InstrumentedJit] = {}
        self._ready: dict[Hashable, _Ready] = {}
        self._met: dict[Identities, _Met] = {}
        self.prepares = 0

    @property
    def functions(self) -> list[InstrumentedJit]:
        """The compiled functions of both stages, the latest first."""
        runs = [f.run for f in self._functions.values() if f is not None]
        return [*reversed(runs), *reversed(self._prepare_functions.values())]

    @property
    def prepared_bytes(self) -> int:
        """The size of the prepared arrays that its calls use at present, in bytes."""
        sets = {id(r.prepared): r.prepared for r in list(self._ready.values())}
        return sum(prepared.code_bytes for prepared in sets.values())

    def __call__(
        self, args: Arrays, aux: Arrays, key: Any, history: InferenceHistory
    ) -> tuple[Any, ...] | None:
        """The outputs; None if the call is not worth two stages, or not yet."""
        arrays = (*args, *aux) if key is None else (*args, *aux, key)
        layout = self._layout(arrays, key, history.fed)
        if not layout.worth:
            history.worth = False
            return None
        staying = [arrays[i] for i in layout.staying]
        fed_arrays = [arrays[i] for i in layout.fed]
        shapes = tuple([(x.shape, x.dtype) for x in fed_arrays])
        call = layout, shapes, identities(staying)
        ready = self._ready.get(call)
        prepared = None if ready is None else prepared_arrays.use(ready.prepared)
        if ready is None or prepared is None:
            ready = self._make_ready(arrays, len(args), layout, staying, call, history)
            prepared = None if ready is None else prepared_arrays.use(ready.prepared)
        if ready is None or prepared is None:
            return None
        held = [arrays[i] for i in ready.function.stages.held]
        return ready.function.run(fed_arrays, held, prepared)

    def calls(
        self, args: Arrays, aux: Arrays, key: Any, fed: frozenset[int]
    ) -> list[tuple[InstrumentedJit, tuple[Any, ...]]]:
        """Both functions with abstract arguments, for arguments and states of such shapes and
        devices; empty if they are not worth two stages."""
        arrays = (*args, *aux) if key is None else (*args, *aux, key)
        layout = self._layout(arrays, key, fed)
        with self._lock:
            worth = fed and layout.worth
            function = self._function(arrays, len(args), layout) if worth else None
        if function is None:
            return []
        stages, sharding = function.stages, arrays[0].sharding
        prepared = tuple(
            jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=sharding)
            for v in stages.prepare.outputs
        )
        sources, fed_arrays, held = (
            [arrays[i] for i in positions]
            for positions in (stages.sources, stages.fed, stages.held)
        )
        return [(function.prepare, (sources,)), (function.run, (fed_arrays, held, prepared))]

    def _layout(self, arrays: Arrays, key: Any, fed: frozenset[int]) -> _Layout:
        layout = self._layouts.get((fed, key is None))
        if layout is None:
            layout = _Layout(fed, arrays, key is not None, self._min_bytes)
            memoize(self._layouts, (fed, key is None), layout)
        return layout

    def _make_ready(
        self, arrays: Arrays, n_args: int, layout: _Layout, staying: list[Any], call: Hashable,
        history: InferenceHistory,
    ) -> _Ready | None:  # fmt: skip
        """Splits the program and prepares arrays, unless this set has not been met often enough."""
        with self._lock:
            if not self._is_met(staying, history) or prepared_arrays.limit_bytes == 0:
                return None
            function = self._function(arrays, n_args, layout)
            prepared = None if function is None else self._prepared(function, arrays)
            if function is None or prepared is None:
                return None
            history.note_prepared(prepared)
            watch = Watch(staying, lambda: self._ready.pop(call, None))
            return memoize(self._ready, call, _Ready(function, prepared, watch))

    def _is_met(self, staying: list[Any], history: InferenceHistory) -> bool:
        """Counts a call; True if there were enough with these arrays."""
        key = identities(staying)
        met = self._met.get(key)
        if met is None:
            history.note_new_set()
            met = _Met([0], Watch(staying, lambda: self._met.pop(key, None)))
            memoize(self._met, key, met, _MAX_SETS)
        met.calls[0] += 1
        return met.calls[0] >= history.calls_needed

    def _function(self, arrays: Arrays, n_args: int, layout: _Layout) -> _StagedFunction | None:
        """The split program for arrays of these shapes; None where there is nothing to prepare."""
        avals = tuple([jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays])
        platform = next(iter(arrays[0].sharding.device_set)).platform
        key = layout, platform, tuple([(x.shape, x.dtype) for x in avals])
        if key not in self._functions:
            function = self._split(avals, n_args, layout, platform)
            memoize(self._functions, key, function, _MAX_SPLITS)
        return self._functions[key]

    def _split(
        self, avals: tuple[Any, ...], n_args: int, layout: _Layout, platform: str
    ) -> _StagedFunction | None:
        has_key = jnp.issubdtype(avals[-1].dtype, jax.dtypes.prng_key)

        def evaluate(*arrays: Any) -> tuple[Any, ...]:
            key = arrays[-1] if has_key else None
            aux = arrays[n_args:-1] if has_key else arrays[n_args:]
            return self._evaluate(arrays[:n_args], aux, key)

        stays = [i in layout.staying for i in range(len(avals))]
        with jax.enable_x64(True):
            stages = two_stages(evaluate, avals, stays, platform)
        if not stages.prepare.outputs:
            return None
        facts = layout.fed, tuple([(x.shape, str(x.dtype)) for x in avals])
        prepare = self._prepare_functions.get(stages.preparation)
        if prepare is None:
            prepare = self._jit(lambda sources: stages.prepare(*sources), "prepare", facts)
            memoize(self._prepare_functions, stages.preparation, prepare, _MAX_SPLITS)

        def run(fed: Arrays, held: Arrays, prepared: Arrays) -> tuple[Any, ...]:
            return stages.run(*fed, *held, *prepared)

        return _StagedFunction(stages, prepare, self._jit(run, "infer_prepared", facts))

    def _prepared(self, function: _StagedFunction, arrays: Arrays) -> PreparedArrays | None:
        """The prepared arrays for these ones; None if there is no room."""
        stages = function.stages
        sources = [arrays[i] for i in stages.sources]
        key = stages.preparation, identities(sources)
        prepared = prepared_arrays.get(key)
        if prepared is not None and prepared.arrays is None:
            prepared = None
        if prepared is None and prepared_arrays.make_room(stages.prepared_bytes):
            prepared = PreparedArrays(function.prepare(sources), stages.prepared_bytes)
            prepared_arrays.store(key, prepared, sources)
            self.prepares += 1
        return prepared
