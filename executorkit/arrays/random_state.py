"""The state behind random operators: one stream of PRNG keys per context, all seeded by ``seed``.

A key is made on the host, from the stream's 64-bit start and a counter. Threefry, JAX's generator,
makes unrelated numbers from consecutive keys. The numbers are not MXNet's, but as in MXNet the same
seed gives the same numbers on every run, even in a process never seeded; each context has its own.
"""

from __future__ import annotations

import operator
import threading

import jax
import numpy as np

from ..context import Context, current_context
from ..errors import ArgumentValueError
from .values import to_device

_MASK = 2**64 - 1

#: The seed, and for each context that has drawn: device type, number, position in its stream.
State = tuple[int, tuple[tuple[str, int, int], ...]]


class _Stream:
    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def draw(self) -> int:
        number = self.position
        self.position = number + 1
        return number


class _Streams:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset(0, {})

    def reset(self, state: int, running: dict[Context, _Stream]) -> None:
        with self.lock:
            self.state = state
            self.running = running

    def start(self, context: Context, state: int, device: int) -> _Stream:
        words = np.random.SeedSequence((state & _MASK, 1 + device)).generate_state(1, np.uint64)
        with self.lock:
            return self.running.setdefault(context, _Stream(int(words[0])))


_streams = _Streams()


class StreamPositions:
    """The position of every context's stream, to return to after a failed step."""

    __slots__ = ("_positions",)

    def __init__(self) -> None:
        streams = _streams.running.items()
        self._positions = {context: (stream, stream.position) for context, stream in streams}

    def rewind(self) -> None:
        with _streams.lock:
            for context, stream in list(_streams.running.items()):
                known, position = self._positions.get(context, (None, 0))
                if stream is known:
                    stream.position = position
                elif known is None:
                    del _streams.running[context]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Seeds the random operators of every context, or of one.

    After ``seed(7)`` contexts with different device numbers give different numbers; after ``seed(7,
    ctx)`` every context gives the numbers of device 0 after ``seed(7)``. First runs of a network
    may differ from later ones in the last bits; ``EXECUTORKIT_DETERMINISTIC=1`` makes all equal.
    """
    try:
        state = operator.index(seed_state)
    except TypeError:
        problem = f"seed_state is {seed_state!r}, expected an integer"
        raise ArgumentValueError("seed", problem) from None
    if isinstance(ctx, str) and ctx == "all":
        _streams.reset(state, {})
    else:
        context = Context(ctx)
        with _streams.lock:
            _streams.running.pop(context, None)
        _streams.start(context, state, 0)


def get_state() -> State:
    """Returns the seed and each context's position in its stream, plain numbers for
    :func:`set_state`. Not in MXNet."""
    with _streams.lock:
        following = {context: stream.position for context, stream in _streams.running.items()}
    positions = sorted((c.device_type, c.device_id, n & _MASK) for c, n in following.items())
    return _streams.state, tuple(positions)


def set_state(state: State) -> None:
    """Makes the random operators continue from a state that :func:`get_state` returned."""
    try:
        start, positions = state
        running = {
            Context(kind, operator.index(number)): _Stream(operator.index(following))
            for kind, number, following in positions
        }
        start = operator.index(start)
    except (TypeError, ValueError):
        problem = f"{state!r}, expected what get_state() returned"
        raise ArgumentValueError("set_state", problem) from None
    _streams.reset(start, running)


def next_key(ctx: Context | None = None) -> jax.Array:
    """Returns a new PRNG key for one call, on the device of ``ctx`` (default: the current)."""
    context = current_context() if ctx is None else ctx
    # Without a compiled function: its compilation would cost what 10,000 draws save.
    return wrap_key(to_device(next_key_data(context), context.device))


def next_key_data(context: Context) -> np.ndarray:
    stream = _streams.running.get(context)
    if stream is None:
        stream = _streams.start(context, _streams.state, context.device_id)
    number = stream.draw() & _MASK
    return np.array((number >> 32, number & 0xFFFFFFFF), np.uint32)


def wrap_key(key_data: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(key_data, impl="threefry2x32")
