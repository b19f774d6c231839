"""Trainers: steps as parts of programs, optax, files, interrupts, several contexts."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit import autograd, gluon
from executorkit.errors import (
    ArgumentValueError,
    FileFormatError,
    NotSupportedError,
    RefusedCallError,
)
from tests._tools.golden import GOLDEN
from tests._tools.interrupts import as_numpy, optimizer_state
from tests._tools.processes import run_processes
from tests._tools.work import count_calls
from tests.autograd.recorded_ways import RecordedTraining, interrupt_parts
from tests.autograd.test_recorded_programs import programs_of
from tests.gluon.trainer_worker import TRAININGS, train
from tests.golden.gluon_scripts.trainer import MODES, backward, trainer_of
from tests.golden.make_trainer import trained

#: GroupAdaGrad updates matrices only.
OPTIMIZERS = sorted(
    name
    for name in mx.optimizer.Optimizer.opt_registry
    if name != "groupadagrad" and not name.startswith("_")
)
SHAPES = {"w1": (8, 6), "b1": (8,), "w2": (3, 8), "b2": (3,)}
CONTEXTS = (mx.cpu(0), mx.cpu(1))


class Network:
    """Two layers; each context has rows of its own."""

    trainer: gluon.Trainer

    def __init__(self, contexts: Sequence[mx.Context] = CONTEXTS[:1]) -> None:
        rng = np.random.default_rng(1)
        self.contexts = list(contexts)
        self.parameters = [gluon.Parameter(n, shape=s) for n, s in SHAPES.items()]
        for parameter in self.parameters:
            parameter.initialize(ctx=self.contexts)
            parameter.set_data(mx.nd.array(rng.uniform(-0.5, 0.5, parameter.shape)))
        self.batches = [mx.nd.array(rng.normal(size=(5, 6)), ctx=c) for c in self.contexts]

    def losses(self, scale: float = 1.0) -> list[Any]:
        """The recorded loss of each context."""
        losses = []
        with autograd.record():
            for context, x in zip(self.contexts, self.batches, strict=True):
                w1, b1, w2, b2 = (p.data(context) for p in self.parameters)
                x = mx.nd.tanh(mx.nd.FullyConnected(x * scale, w1, b1, num_hidden=8))
                losses.append(mx.nd.FullyConnected(x, w2, b2, num_hidden=3).square().sum())
        return losses

    def backward(self) -> None:
        """Gradients of the losses."""
        autograd.backward(self.losses())

    def values(self) -> list[np.ndarray]:
        """Parameters on all contexts."""
        return [x.asnumpy() for p in self.parameters for x in p.list_data()]


def training(optimizer: Any, *arguments: Any, **options: Any) -> tuple[Network, Any]:
    """A network, which has its trainer, and the function that takes a step."""
    net = Network()
    net.trainer = trainer = gluon.Trainer(net.parameters, optimizer, *arguments, **options)

    def step(rows: int = 5) -> None:
        net.backward()
        trainer.step(rows)

    return net, step


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("name", [*OPTIMIZERS, "optax", "store", "no store"])
def test_a_step_is_one_program_and_copies_nothing(name):
    options = {"store": {"kvstore": mx.kv.create("device")}, "no store": {"kvstore": None}}
    optimizer: Any = optax.adamw(1e-2) if name == "optax" else name
    _, step = training("adam" if name in options else optimizer, **options.get(name, {}))
    for _ in range(3):
        step()
    assert programs_of(step) == (1, 0)


@pytest.mark.usefixtures("fresh_programs", "compiled")
@pytest.mark.parametrize("optimizer", ["adam", optax.adamw(1e-2)])
def test_other_batch_sizes_compile_nothing(optimizer):
    _, step = training(optimizer)
    step()
    before = mx.program.cache_info().traces
    step(3)
    assert mx.program.cache_info().traces == before


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_an_updater_to_the_last_bit(name):
    mx.random.seed(1)
    net, step = training(name, {"learning_rate": 0.1, "wd": 0.01} if name != "test" else {})
    for _ in range(3):
        step()
    mx.random.seed(1)
    options = {"learning_rate": 0.1, "wd": 0.01} if name != "test" else {}
    other = Network()
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, rescale_grad=0.2, **options))
    for _ in range(3):
        other.backward()
        arrays = [p.data() for p in other.parameters]
        updater([*range(4)], [p.grad() for p in other.parameters], arrays)
    for a, b in zip(net.values(), other.values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_costs_little_python_of_its_own():
    """Calls of functions in a step beyond those of the updater: none per parameter but one."""
    net, _ = training("sgd")
    trainer = net.trainer
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    indices = [*range(4)]
    grads, weights = [p.grad() for p in net.parameters], [p.data() for p in net.parameters]
    for _ in range(3):
        net.backward()
        trainer.step(5)
        net.backward()
        updater(indices, grads, weights)
    net.backward()
    alone = count_calls(updater, indices, grads, weights)
    net.backward()
    assert count_calls(trainer.step, 5) - alone < 60


# optax


def by_optax(transformation: Any, net: Network, steps: int) -> list[np.ndarray]:
    """Parameters after steps in optax's own words."""
    params: Any = {p.name: p.data().jax for p in net.parameters}
    state = transformation.init(params)
    for _ in range(steps):
        net.backward()
        grads = {p.name: p.grad().jax / 5 for p in net.parameters}
        updates, state = transformation.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        for p in net.parameters:
            p.set_data(params[p.name])
    return [np.asarray(params[name]) for name in SHAPES]


@pytest.mark.parametrize(
    "transformation",
    [
        optax.adamw(1e-2),
        optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(optax.linear_schedule(0.1, 0.0, 3))),
        optax.masked(optax.sgd(0.1), {n: n.startswith("w") for n in SHAPES}),
    ],
)
def test_optax_sees_parameters_by_name(transformation):
    net, step = training(transformation)
    for _ in range(3):
        step()
    for a, b in zip(net.values(), by_optax(transformation, Network(), 3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_optax_on_two_contexts_sums_gradients():
    net = Network(CONTEXTS)
    net.batches[1][:] = net.batches[0].as_in_context(CONTEXTS[1])
    trainer = gluon.Trainer(net.parameters, optax.adamw(1e-2))
    other, step = training(optax.adamw(1e-2))
    for _ in range(3):
        net.backward()
        trainer.step(10)
        step()
    for k in range(2):
        for a, b in zip(net.values()[k::2], other.values(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_rates_of_optax():
    injected = optax.inject_hyperparams(optax.adam)
    net = Network()
    trainer = gluon.Trainer(net.parameters, injected(learning_rate=0.5))
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.0)
    before = net.values()
    net.backward()
    trainer.step(1)
    np.testing.assert_array_equal(net.values()[0], before[0])
    plain = gluon.Trainer(net.parameters, optax.adam(0.1))
    assert plain.optimizer.init is not None
    for action in (lambda: plain.learning_rate, lambda: plain.set_learning_rate(0.1)):
        with pytest.raises(RefusedCallError, match="keeps no learning rate"):
            action()


@pytest.mark.usefixtures("one_way")
def test_states_of_optax_are_resumed(tmp_path):
    path = tmp_path / "x.states"
    net, step = training(optax.adam(0.1))
    trainer = net.trainer
    for _ in range(2):
        step()
    trainer.save_states(path)
    other, other_step = training(optax.adam(0.1))
    for p, q in zip(net.parameters, other.parameters, strict=True):
        q.set_data(p.data())
    other.trainer.load_states(path)
    step()
    other_step()
    for a, b in zip(net.values(), other.values(), strict=True):
        np.testing.assert_array_equal(a, b)
    stranger = gluon.Trainer(other.parameters, optax.sgd(0.1, momentum=0.9))
    with pytest.raises(FileFormatError, match="another transformation"):
        stranger.load_states(path)
    with pytest.raises(FileFormatError, match="do not belong to an optax transformation"):
        stranger.load_states(GOLDEN / "data" / "trainer.states")


def test_optax_updates_all_of_its_parameters():
    net, step = training(optax.adam(0.1))
    step()
    trainer = net.trainer
    net.parameters[3].grad_req = "null"
    net.backward()
    with pytest.raises(NotSupportedError, match="3 parameters are to be updated"):
        trainer.step(5)
    twins = [gluon.Parameter("a", shape=(2,)) for _ in range(2)]
    for twin in twins:
        twin.initialize()
        backward(mx, twin)
    with pytest.raises(ArgumentValueError, match="the same name"):
        gluon.Trainer(twins, optax.sgd(0.1)).step(1)
    with pytest.raises(ArgumentValueError, match="update_on_kvstore"):
        gluon.Trainer(Network(CONTEXTS).parameters, optax.sgd(1), update_on_kvstore=True).step(1)


# Errors


def test_errors_say_what_to_do():
    parameters, trainer = trainer_of(mx)
    with pytest.raises(UserWarning) as stale:
        trainer.step(1)
    assert str(stale.value) == (
        "Trainer.step: the gradient of 'a' on cpu(0) has not been computed by backward since the "
        "last step\n"
        "  because a parameter that no loss depends on keeps an old gradient\n"
        "  try: ignore_stale_grad=True updates the others, grad_req='null' leaves it out"
    )
    _, sums = trainer_of(mx, "on store")
    for action in (sums.allreduce_grads, lambda: sums.update(1)):
        with pytest.raises(AssertionError, match="update_on_kvstore=False"):
            action()
    with pytest.raises(TypeError, match="a float, expected a name or an Optimizer"):
        gluon.Trainer(parameters, 0.1)
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5)
    _, scheduled = trainer_of(mx, optimizer_params={"lr_scheduler": schedule})
    with pytest.raises(UserWarning, match="lr_scheduler"):
        scheduled.set_learning_rate(1)


def test_it_shows_itself():
    assert repr(trainer_of(mx)[1]).startswith("<Trainer: <SGD")
    assert repr(gluon.Trainer(Network(CONTEXTS).parameters, optax.sgd(1))) == (
        "<Trainer: optax, 4 parameters, 2 contexts>"
    )


def test_own_optimizers_and_their_reductions():
    """A class that overrides ``update`` is called, and so is a trainer's own sum."""
    seen: list[Any] = []

    class Own(mx.optimizer.Optimizer):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append(index)
            weight -= 0.5 * grad * self.rescale_grad

    class OwnTrainer(gluon.Trainer):
        def _allreduce_grads(self) -> None:
            seen.append("reduced")
            super()._allreduce_grads()

    parameters, _ = trainer_of(mx)
    trainer = OwnTrainer(parameters, Own())
    backward(mx, *parameters)
    trainer.step(2)
    assert seen == ["reduced", 0, 1]
    assert parameters[0].data().asnumpy().tolist() == [0.75, 0.75]


# Files


def test_a_file_of_mxnet_is_read(tmp_path):
    expected, trainer = trained(mx)
    _, other = trainer_of(mx)
    other.load_states(GOLDEN / "data" / "trainer.states")
    assert other.optimizer.momentum == trainer.optimizer.momentum == 0.5
    assert other.optimizer._all_index_update_counts == trainer.optimizer._all_index_update_counts
    assert dict(other.optimizer.param_dict) == dict(enumerate(other._params))
    for i, state in trainer._updaters[0].states.items():
        np.testing.assert_array_equal(other._updaters[0].states[i].asnumpy(), state.asnumpy())
    for content in (b"", b"abc"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(FileFormatError):
            other.load_states(tmp_path / "x")
    assert expected[0].data().asnumpy().tolist() == [-1.5, -1.5]


# Interrupts


class TrainerTraining(RecordedTraining):
    """``Trainer.step`` by Adam; its parts are backward and the step."""

    mode = "one"

    def __init__(self) -> None:
        contexts, options = MODES[self.mode]
        self.net = Network(CONTEXTS[:contexts])
        schedule = mx.lr_scheduler.FactorScheduler(2, 0.9)
        arguments = {"learning_rate": 0.01, "lr_scheduler": schedule}
        self.trainer = gluon.Trainer(self.net.parameters, "adam", arguments, **options)
        mx.random.seed(3)

    def record(self, number: int) -> None:
        """Records the losses."""
        self.loss = self.net.losses(1 + number % 3)

    def backward(self, number: int) -> None:
        """Computes the gradients."""
        autograd.backward(self.loss)

    def update(self, number: int) -> None:
        """Takes the step."""
        self.trainer.step(5)

    def state(self) -> dict[str, Any]:
        """Everything that a step changes."""
        trainer = self.trainer
        states = [u.states for u in trainer._updaters]
        if trainer._kvstore is not None and trainer._update_on_kvstore:
            states = [trainer._kvstore._updater_func.states]
        return {
            "weights": self.net.values(),
            "grads": [as_numpy(g) for p in self.net.parameters for g in p.list_grad()],
            "random": mx.random.get_state(),
            "flags": [autograd.is_recording(), autograd.is_training()],
            "fresh": [x._fresh_grad for p in self.net.parameters for x in p.list_data()],
        } | optimizer_state(trainer.optimizer, dict(enumerate(states)))


WAYS = {mode: type("Way", (TrainerTraining,), {"mode": mode}) for mode in MODES}


@pytest.mark.usefixtures("one_way")
@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_leaves_the_state_before_a_part_or_after_it(mode):
    """At a few places of a step here; the soak test takes all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raised, wrong = interrupt_parts(WAYS[mode], range(1, 10**6, 397))
    assert raised >= 5
    assert not wrong


def test_the_step_of_each_context_is_one_program():
    net = Network(CONTEXTS)
    trainer = gluon.Trainer(net.parameters, "adam", kvstore=None)

    def step() -> None:
        for context, data in zip(net.contexts, net.batches, strict=True):
            w, b = (p.data(context) for p in net.parameters[:2])
            with autograd.record():
                loss = mx.nd.FullyConnected(data, w, b, num_hidden=8).square().sum()
            loss.backward()
        trainer.step(10, ignore_stale_grad=True)

    for _ in range(3):
        step()
    assert programs_of(step) == (2, 0)


@pytest.mark.parametrize("mode", MODES)
def test_a_copy_trains_on_by_itself(mode):
    parameters, trainer = trainer_of(mx, mode, optimizer_params={"learning_rate": 1.0})
    backward(mx, *parameters)
    trainer.step(1)
    before = parameters[0].data(mx.cpu(0)).asnumpy()
    copied = copy.deepcopy(trainer)
    (twin, _) = copied._params
    backward(mx, *copied._params)
    copied.step(1)
    change = 1 if mode in ("one", "apart") else 3
    assert twin.data(mx.cpu(0)).asnumpy().tolist() == (before - change).tolist()
    assert parameters[0].data(mx.cpu(0)).asnumpy().tolist() == before.tolist()


@pytest.fixture(scope="module")
def processes() -> list[dict[str, Any]]:
    """The trainings of two processes, by name."""
    return run_processes("tests/gluon/trainer_worker.py", 2)


@pytest.mark.processes
@pytest.mark.parametrize("name", TRAININGS)
def test_processes_train_as_one(name, processes, monkeypatch):
    """Two processes of these devices do what one process does, with one program a step."""
    devices, on_store = TRAININGS[name]
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", str(int(on_store)))
    expected = train(mx, devices, 0, 1)
    assert expected["workers"] == 1
    for result in (rank[name] for rank in processes):
        assert (result["workers"], result["on store"]) == (2, on_store)
        # Forward, backward, the message with the sums and the update are one program.
        assert [p for p in result["programs"] if p != "_leading_axis"] == ["step"]
        for weight in result["weight"]:
            np.testing.assert_allclose(weight, expected["weight"][0], rtol=1e-4, atol=1e-6)


def _set_multiplier(net: Any) -> None:
    net[0].weight.lr_mult = 0.5


def _without_gradient(net: Any) -> None:
    net[0].bias.grad_req = "null"


def _with_hook(net: Any) -> None:
    net[0].register_forward_hook(lambda *_: None)
    net.register_forward_pre_hook(lambda *_: None)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.initialize(mx.init.One(), force_reinit=True),
        lambda net: net.collect_params().reset_ctx(mx.cpu(1)),
        lambda net: net.cast("float64"),
        lambda net: net[1].weight.set_data(mx.nd.ones((3, 8))),
        lambda net: net.hybridize(not net._active),
        _set_multiplier,
        _without_gradient,
        _with_hook,
    ],
)
def test_what_changes_between_steps_counts_at_once(
    change: Callable[[Any], None], hybridize: bool
) -> None:
    """Gradients of a network of two layers and the L2 loss are known in closed form."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8, in_units=5), mx.gluon.nn.Dense(3, in_units=8))
    net.initialize(mx.init.Uniform(1))
    net.hybridize(hybridize)
    loss_function = mx.gluon.loss.L2Loss()
    loss_function.hybridize(hybridize)
    parameters = list(net.collect_params().values())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    rng = np.random.default_rng(0)
    x, t = rng.random((4, 5)), rng.random((4, 3))
    for n in range(4):
        if n == 2:
            change(net)
        weight = parameters[0].data()
        options = {"ctx": weight.context, "dtype": weight.dtype}
        with mx.autograd.record():
            with mx.autograd.pause(train_mode=True):
                assert not mx.autograd.is_recording()
            loss = loss_function(net(mx.nd.array(x, **options)), mx.nd.array(t, **options))
        w1, b1, w2, b2 = [p.data().asnumpy() for p in parameters]
        loss.backward()
        trainer.step(4)
        h = x @ w1.T + b1
        d = (h @ w2.T + b2 - t) / 3
        grads = [(d @ w2).T @ x, (d @ w2).sum(0), d.T @ h, d.sum(0)]
        for p, before, grad in zip(parameters, [w1, b1, w2, b2], grads, strict=True):
            rate = 0.1 / 4 * p.lr_mult if p.grad_req != "null" else 0.0
            np.testing.assert_allclose(
                p.data().asnumpy(), before - rate * grad, rtol=1e-4, atol=1e-5
            )
