"""Interpreted steps leave their results in the host's memory, until a program reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, gluon
from executorkit.program import HostContents, HostResult

#: A step after the compiled program has taken over.
COMPILED = 52
#: What a script does to the network after recording, after backward, and after the update.
Hook = Callable[["Training"], object]

pytestmark = pytest.mark.usefixtures("automatic")


class Training:
    """A network of dense layers with BatchNorm, trained by SGD with momentum. Those of another
    ``width`` have not run yet."""

    def __init__(self, width: int, optimizer: str = "sgd") -> None:
        mx.random.seed(3)
        self.net = gluon.nn.HybridSequential()
        self.net.add(
            gluon.nn.Dense(width, activation="tanh", in_units=5),
            gluon.nn.BatchNorm(in_channels=width),
            gluon.nn.Dense(3, in_units=width),
        )
        self.net.initialize(mx.init.Xavier())
        self.net.hybridize()
        options = {"learning_rate": 0.1} | ({"momentum": 0.9} if optimizer == "sgd" else {})
        self.parameters = list(self.net.collect_params().values())
        self.trainer = gluon.Trainer(self.parameters, optimizer, options)
        self.loss = gluon.loss.L2Loss()
        self.arrays = np.random.default_rng(0).normal(size=(2, 4, 6, 5)).astype("float32")

    @property
    def weight(self) -> Any:
        return self.net[0].weight.data()

    @property
    def states(self) -> list[Any]:
        states = self.trainer._updaters[0].states.values()
        return [x for s in states for x in (s if isinstance(s, tuple) else (s,))]

    @property
    def trained(self) -> list[Any]:
        return [p for p in self.parameters if p.grad_req != "null"]

    def step(self, number: int, hooks: Sequence[Hook | None] = (None, None, None)) -> Any:
        x, y = (mx.nd.array(a[number % 4]) for a in self.arrays)
        with autograd.record():
            loss = self.loss(self.net(x), y[:, :3])
        _call(hooks[0], self)
        loss.backward()
        _call(hooks[1], self)
        self.trainer.step(6)
        _call(hooks[2], self)
        return loss

    def run(self, steps: int, *hooks: Hook | None) -> list[np.ndarray]:
        losses = [self.step(n, hooks or (None, None, None)) for n in range(steps)]
        values = [p.data() for p in self.parameters] + self.states
        return [a.asnumpy() for a in (losses[-1], *values)]


def _call(hook: Hook | None, training: Training) -> None:
    if hook is not None:
        hook(training)


def _on_host(array: Any) -> bool:
    return isinstance(array.storage.producer, HostResult)


def test_weights_states_gradients_and_losses_stay_on_the_host_until_programs_take_over():
    training = Training(9)
    loss = training.step(0)
    weights = [p.data() for p in training.trained]
    arrays = [loss, *weights, *training.states]
    assert all(map(_on_host, arrays))
    kept = training.weight.storage.producer.host
    before = kept.copy()
    values = [a.asnumpy() for a in arrays]
    assert all(map(_on_host, arrays))
    values[1][:] = 7  # a copy
    training.step(1)
    np.testing.assert_array_equal(kept, before)
    assert kept is not training.weight.storage.producer.host
    for n in range(2, COMPILED):
        training.step(n)
    assert not any(map(_on_host, weights + training.states))


READERS: dict[str, Hook] = {
    "a copy": lambda t: t.weight.asnumpy(),
    "an array of JAX": lambda t: t.weight.jax,
    "a part": lambda t: t.weight[1:3].asnumpy(),
    "a small call": lambda t: (t.weight * 2).asnumpy(),
    "a product": lambda t: mx.nd.dot(t.weight, mx.nd.ones((5, 300))).wait_to_read(),
    "all weights": lambda t: [p.data().jax for p in t.trained],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_a_read_anywhere_changes_nothing(reader, place):
    hooks: list[Hook | None] = [None, None, None]
    hooks[place] = READERS[reader]
    for wanted, value in zip(Training(10).run(4), Training(10).run(4, *hooks), strict=True):
        np.testing.assert_allclose(value, wanted, 1e-5, 1e-6)


def test_reads_after_a_step_change_nothing():
    def read(training: Training) -> None:
        for state in training.states:
            assert state.jax.shape == state.shape
        assert training.net(mx.nd.ones((2, 5))).shape == (2, 3)
        mx.nd.waitall()

    for wanted, value in zip(
        Training(11).run(4), Training(11).run(4, None, None, read), strict=True
    ):
        np.testing.assert_allclose(value, wanted, 1e-5, 1e-6)


def test_an_update_stays_a_part_of_the_step_though_a_weight_was_read(compilations):
    training = Training(12)
    training.run(COMPILED, lambda t: t.weight.jax, None, None)
    assert compilations.count("step") == 1
    assert "updated" not in compilations


def test_what_scripts_hold_is_never_changed():
    """Arrays of JAX, and memory that is lent by DLPack, by interpreted steps and by programs."""
    training, held = Training(13), []

    def hold(training: Training) -> None:
        for array in (training.weight, *training.states):
            value = array.jax
            lent = np.from_dlpack(value)
            held.append((value, lent, np.array(value)))

    training.run(COMPILED, None, None, hold)
    assert len(held) > COMPILED
    for value, lent, wanted in held:
        np.testing.assert_array_equal(value, wanted)
        np.testing.assert_array_equal(lent, wanted)


def test_writes_between_steps_reach_the_next_step_alone():
    """A whole write, a write to a part, and a weight that another array shares."""

    def run(through_arrays: bool) -> list[np.ndarray]:
        training = Training(14)

        def write(training: Training) -> None:
            weight, state = training.weight, training.states[0]
            if through_arrays:  # nothing is on the host any more
                assert weight.jax.shape == weight.shape
                assert state.jax.shape == state.shape
            shared = weight.detach()
            weight[1:3] = 0.5
            assert (shared.asnumpy()[1:3] == 0.5).all()
            state[:] = state * 0.5
            training.net[2].bias.set_data(mx.nd.ones(3))

        return training.run(5, None, None, write)

    for value, wanted in zip(run(False), run(True), strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_a_graph_that_is_retained_keeps_the_contents_of_its_forward():
    def run(makes: bool) -> list[np.ndarray]:
        training, gradients = Training(15), []
        x = mx.nd.array(training.arrays[0, 0])
        training.step(0)
        for _ in range(COMPILED):
            with autograd.record():
                loss = (training.net(x) ** 2).sum()
            if makes:
                mx.nd.waitall()
            loss.backward(retain_graph=True)
            training.trainer.step(6)
            loss.backward()  # by the weights before the step
            gradients.append(training.weight.grad.asnumpy())
        return gradients

    for value, wanted in zip(run(False), run(True), strict=True):
        np.testing.assert_allclose(value, wanted, 2e-3, 1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_program_goes_on_where_interpreted_steps_end(optimizer):
    with mx.program.options(deterministic=True):
        wanted = Training(16 + len(optimizer), optimizer).run(COMPILED)
    for value, expected in zip(
        Training(16 + len(optimizer), optimizer).run(COMPILED), wanted, strict=True
    ):
        np.testing.assert_allclose(value, expected, 2e-3, 1e-4)


def test_a_step_that_fails_gives_contents_on_the_host_back(monkeypatch):
    training, plain = Training(17), Training(17)
    training.step(0)
    before = [a.asnumpy() for a in (training.weight, *training.states)]

    def fail(*args: Any) -> Any:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr("executorkit.jaxpr_interpreter.Plan.run", fail)
        with pytest.raises(MemoryError):
            training.step(1)
    for array, wanted in zip((training.weight, *training.states), before, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), wanted)
    for value, wanted in zip(training.run(3), plain.run(1) and plain.run(3), strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_a_thread_may_read_while_another_trains():
    training, ended, problems = Training(18), threading.Event(), []

    def read() -> None:
        try:
            while not ended.is_set():
                for parameter in training.parameters:
                    value = parameter.data()
                    assert np.isfinite(value.asnumpy()).all()
                    assert value.detach().jax.shape == value.shape
        except BaseException as error:
            problems.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    values = training.run(COMPILED)
    ended.set()
    reader.join()
    assert not problems
    for value, wanted in zip(values, Training(18).run(COMPILED), strict=True):
        np.testing.assert_allclose(value, wanted, 2e-3, 1e-4)


def test_an_executor_and_its_updater_leave_results_on_the_host():
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    executor = mx.sym.LinearRegressionOutput(data, name="out").simple_bind(mx.cpu(), data=(4, 2))
    weight, grad = executor.arg_dict["fc_weight"], executor.grad_dict["fc_weight"]
    weight[:] = 1
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    for _ in range(3):
        executor.forward(is_train=True, data=np.ones((4, 2)), out_label=np.zeros((4, 3)))
        executor.backward()
        updater(0, grad, weight)
        assert executor.outputs[0].asnumpy().shape == (4, 3)
        assert _on_host(weight)
    inferred = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_allclose(inferred, (weight.asnumpy().sum(1) + 0)[None] * np.ones((4, 1)))


def test_contents_are_made_once_and_keep_no_second_copy():
    contents = HostContents(np.arange(3, dtype="float32"), mx.cpu())
    assert (contents.shape, contents.dtype) == ((3,), np.float32)
    array = contents.make()
    assert contents.make() is array
    assert contents.host is None
    assert isinstance(array, jax.Array)
    np.testing.assert_array_equal(contents.read(), [0, 1, 2])
