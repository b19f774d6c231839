"""Ways of training by ``autograd``, and exceptions at any event of one of their steps.

A step consists of parts: record, backward, read, update. Each is atomic, so that after an exception
the state has to be one of those between two parts; then the training goes on with the parts that
are missing. A second training, in which the state is read after each part, is never interrupted:
other programs compute it, so that numbers are compared but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import executorkit as mx
from executorkit import autograd
from tests._tools.interrupts import Interrupter, adam, as_numpy, differences, optimizer_state

#: Files with scopes. Python has no handler in place between a block and the call of its scope's
#: exit, nor at the first and the last bytecode of that: modes may stay, and nothing else.
BORDERS = ("_scopes.py", "recorded_ways.py")
BATCHES, ROWS, FEATURES, UNITS = 5, 4, 3, 3


class RecordedTraining:
    """Two layers with BatchNorm and Dropout in between, trained by Adam: record, backward, update.

    shapes
        the shapes of the parameters.
    """

    request = "write"
    shapes: Mapping[str, tuple[int, ...]] = MappingProxyType(
        {"w1": (UNITS, FEATURES), "gamma": (UNITS,), "beta": (UNITS,), "w2": (2, UNITS), "b2": (2,)}
    )

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.data = mx.nd.array(rng.normal(size=(BATCHES, ROWS, FEATURES)))
        self.labels = mx.nd.array(rng.integers(0, 2, (BATCHES, ROWS)))
        self.weights = {n: mx.nd.array(rng.normal(size=s)) for n, s in self.shapes.items()}
        self.states = {"mean": mx.nd.zeros((UNITS,)), "var": mx.nd.ones((UNITS,))}
        for weight in self.weights.values():
            weight.attach_grad(self.request)
        self.optimizer = adam()
        self.updater = mx.optimizer.get_updater(self.optimizer)
        self.loss: Any = None
        mx.random.seed(3)

    def losses(self, number: int) -> mx.nd.NDArray:
        """The recorded losses of a batch."""
        w, states, batch = self.weights, self.states, number % BATCHES
        x = mx.nd.FullyConnected(self.data[batch], w["w1"], num_hidden=UNITS, no_bias=True)
        x = mx.nd.BatchNorm(
            x, w["gamma"], w["beta"], states["mean"], states["var"], fix_gamma=False
        )
        x = mx.nd.Dropout(mx.nd.tanh(x), p=0.3)
        x = mx.nd.FullyConnected(x, w["w2"], w["b2"], num_hidden=2)
        return mx.nd.softmax_cross_entropy(x, self.labels[batch])

    def record(self, number: int) -> None:
        """Records a batch."""
        with autograd.record():
            loss = self.losses(number)
        self.loss = loss

    def backward(self, number: int) -> None:
        """Computes the gradients."""
        self.loss.backward()

    def update(self, number: int) -> None:
        """Updates all weights by one call."""
        weights = list(self.weights.values())
        self.updater(list(range(len(weights))), [w.grad for w in weights], weights)

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        """The parts of a step."""
        return self.record, self.backward, self.update

    def step(self, number: int) -> None:
        """Takes a step."""
        for part in self.parts:
            part(number)

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        state = {
            "weights": as_numpy(self.weights),
            "grads": [w.grad.asnumpy() for w in self.weights.values()],
            "statistics": as_numpy(self.states),
            "random": mx.random.get_state(),
            "flags": [autograd.is_recording(), autograd.is_training()],
        }
        return state | optimizer_state(self.optimizer, self.updater.states)


class Read(RecordedTraining):
    """The loss is read between backward and update."""

    def read(self, number: int) -> None:
        """Reads the loss."""
        assert np.isfinite(self.loss.asnumpy()).all()

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        return self.record, self.backward, self.read, self.update


class Averaged(RecordedTraining):
    """The loss is added to a sum before backward, and its square before the update."""

    def __init__(self) -> None:
        super().__init__()
        self.sum = mx.nd.zeros((1,))

    def add(self, number: int) -> None:
        """Adds the loss to the sum."""
        self.sum += self.loss

    def add_square(self, number: int) -> None:
        """Adds its square to the sum."""
        self.sum = self.sum + self.loss**2

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        return self.record, self.add, self.backward, self.add_square, self.update

    def state(self) -> dict[str, Any]:
        return super().state() | {"sum": self.sum.asnumpy()}


class ReadInside(RecordedTraining):
    """A value is read while others are recorded."""

    def losses(self, number: int) -> mx.nd.NDArray:
        loss = super().losses(number)
        scale = 2.0 if loss.asscalar() > 0 else 1.0
        return loss * scale


class Retained(RecordedTraining):
    """Two backwards through one graph, which change BatchNorm's statistics twice."""

    def first(self, number: int) -> None:
        """Differentiates, and keeps the graph."""
        self.loss.backward(retain_graph=True)

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        return self.record, self.first, self.backward, self.update


class Added(RecordedTraining):
    """Gradients of two batches are added before each update."""

    request = "add"

    def other(self, number: int) -> None:
        """Records the second batch."""
        self.record(number + 1)

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        return self.record, self.backward, self.other, self.backward, self.update


class Adversaries(RecordedTraining):
    """A discriminator is trained on what a generator makes, without gradients for this; then it."""

    shapes = MappingProxyType(
        {"w1": (UNITS, FEATURES), "b1": (UNITS,), "w2": (1, UNITS), "b2": (1,)}
    )

    def losses(self, number: int) -> mx.nd.NDArray:
        w, batch = self.weights, number % BATCHES
        self.fake = mx.nd.FullyConnected(self.data[batch], w["w1"], w["b1"], num_hidden=UNITS)
        return self.judged(self.fake.detach()).mean()

    def judged(self, x: mx.nd.NDArray) -> mx.nd.NDArray:
        """The discriminator's losses."""
        w = self.weights
        return mx.nd.FullyConnected(mx.nd.Dropout(x, p=0.3), w["w2"], w["b2"], num_hidden=1).tanh()

    def _update(self, positions: Sequence[int]) -> None:
        weights = list(self.weights.values())
        chosen = [weights[i] for i in positions]
        self.updater(list(positions), [w.grad for w in chosen], chosen)

    def update_discriminator(self, number: int) -> None:
        """Updates the discriminator's weights."""
        self._update((2, 3))

    def record_generator(self, number: int) -> None:
        """Records the loss of the generator, through the new discriminator."""
        with autograd.record():
            loss = -self.judged(self.fake).mean()
        self.loss = loss

    def update_generator(self, number: int) -> None:
        """Updates the generator's weights."""
        self._update((0, 1))

    @property
    def parts(self) -> Sequence[Callable[[int], None]]:
        return (
            self.record,
            self.backward,
            self.update_discriminator,
            self.record_generator,
            self.backward,
            self.update_generator,
        )


class Penalized(RecordedTraining):
    """A loss with the squares of gradients in it, which are recorded."""

    shapes = MappingProxyType({"w1": (UNITS, FEATURES), "b1": (UNITS,)})

    def losses(self, number: int) -> mx.nd.NDArray:
        w, batch = self.weights, number % BATCHES
        x = mx.nd.FullyConnected(self.data[batch], w["w1"], w["b1"], num_hidden=UNITS)
        loss = (x.tanh() ** 2).sum()
        (grad,) = autograd.grad(loss, w["w1"], create_graph=True)
        return loss + (grad**2).sum()


class _Doubled(autograd.Function):
    def forward(self, x: Any) -> Any:
        return x * 2

    def backward(self, head: Any) -> Any:
        return head * 2


class WithFunction(RecordedTraining):
    """A user's function in the middle."""

    shapes = MappingProxyType(
        {"w1": (UNITS, FEATURES), "b1": (UNITS,), "w2": (1, UNITS), "b2": (1,)}
    )

    def losses(self, number: int) -> mx.nd.NDArray:
        w, batch = self.weights, number % BATCHES
        x = mx.nd.FullyConnected(self.data[batch], w["w1"], w["b1"], num_hidden=UNITS)
        x = _Doubled()(mx.nd.Dropout(x, p=0.3))
        return mx.nd.FullyConnected(x, w["w2"], w["b2"], num_hidden=1).tanh().sum()


#: Ways of training by name.
WAYS: dict[str, Callable[[], RecordedTraining]] = {
    "update": RecordedTraining,
    "read": Read,
    "averaged": Averaged,
    "read inside": ReadInside,
    "retained": Retained,
    "added": Added,
    "adversaries": Adversaries,
    "penalized": Penalized,
    "function": WithFunction,
}


def distinct(state: Any, other: Any, path: str = "") -> list[str]:
    """Paths at which two states differ, by more than rounding."""
    if isinstance(state, dict):
        return [d for k in state for d in distinct(state[k], other.get(k), f"{path}/{k}")]
    if isinstance(state, list) and len(state) == len(other):
        pairs = zip(state, other, strict=True)
        return [d for i, (x, y) in enumerate(pairs) for d in distinct(x, y, f"{path}/{i}")]
    if isinstance(state, np.ndarray):
        return [] if np.allclose(state, other, 1e-4, 1e-5) else differences(state, other, path)
    return [] if state == other else [path]


class Boundaries:
    """The states of a training that is never interrupted, before each part and after the last."""

    def __init__(self, make: Callable[[], RecordedTraining]) -> None:
        random = mx.random.get_state()
        self._training = make()
        self._random = mx.random.get_state()
        self._steps: list[list[dict[str, Any]]] = []
        mx.random.set_state(random)

    def of_step(self, number: int) -> list[dict[str, Any]]:
        """The states of a step; those before it are computed first."""
        random = mx.random.get_state()
        mx.random.set_state(self._random)
        training = self._training
        while len(self._steps) <= number:
            states = [training.state()]
            for part in training.parts:
                part(len(self._steps))
                states.append(training.state())
            self._steps.append(states)
        self._random = mx.random.get_state()
        mx.random.set_state(random)
        return self._steps[number]


def interrupt_parts(
    make: Callable[[], RecordedTraining], positions: Sequence[int], warm: int = 2, **event: Any
) -> tuple[int, list[str]]:
    """Trains with an exception in each step, at these events one after the other.

    Returns the number of exceptions that were raised, and a text for each after which the state was
    none of those between parts, or the training could not go on. Positions beyond the events of a
    step are left out.
    """
    boundaries = Boundaries(make)

    def warmed() -> RecordedTraining:
        autograd.set_recording(False)
        autograd.set_training(False)
        training = make()
        for number in range(warm):
            training.step(number)
        return training

    training, number, raised, wrong = warmed(), warm, 0, []
    for at in positions:
        interrupter = Interrupter(at, **event)
        states = boundaries.of_step(number)
        started: list[int] = []

        def step(number: int = number, started: list[int] = started) -> None:
            for i, part in enumerate(training.parts):  # noqa: B023
                started.append(i)
                part(number)

        if not interrupter.run(step):
            number += 1
            break
        raised += 1
        assert interrupter.place is not None
        if Path(interrupter.place[0]).name in BORDERS:
            autograd.set_recording(False)
            autograd.set_training(False)
        state = training.state()
        found = [distinct(state, s) for s in states]
        # The part that was interrupted has come about, or not.
        done = started[-1] if started else 0
        fits = [k for k in (done, done + 1) if not found[k]]
        if not fits:
            wrong.append(f"event {at} at {interrupter.place}: {min(found, key=len)[:5]}")
            training, number = warmed(), warm
            continue
        try:
            _go_on(training, number, done, fits[0], states)
        except Exception as error:
            wrong.append(f"event {at} at {interrupter.place}: {error!r:.200} after part {fits}")
            training, number = warmed(), warm
            continue
        late = distinct(training.state(), states[-1])
        number += 1
        if late:
            wrong.append(f"event {at} at {interrupter.place}: at the end of the step {late[:5]}")
            training, number = warmed(), warm
    return raised, wrong


def _go_on(
    training: RecordedTraining, number: int, last: int, done: int, states: Sequence[Any]
) -> None:
    """Runs the parts that are missing after the first ``done``; ``last`` was interrupted. If it
    records it runs again, since its result is lost: random streams return to where they were."""
    parts = training.parts
    if parts[last].__name__.startswith(("record", "other")):
        done = last
        mx.random.set_state(states[done]["random"])
    for part in parts[done:]:
        part(number)
