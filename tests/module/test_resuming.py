"""A run that is resumed from a checkpoint goes on bit for bit where the first one went."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx

# That parameters are loaded, and not initialised again, is warned of, as in MXNet.
pytestmark = pytest.mark.filterwarnings("ignore:init_params:UserWarning")

ROWS, EPOCHS, SAVED = 8, 4, 2

OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.02},
    "nadam": {"learning_rate": 0.02},
    "sgld": {"learning_rate": 0.01},
}
SCHEDULES = {
    "factor": lambda lr: mx.lr_scheduler.FactorScheduler(3, 0.8, base_lr=lr),
    "cosine": lambda lr: mx.lr_scheduler.CosineScheduler(12, lr, 0.001, warmup_steps=4),
}


def _net(batch_norm: bool) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=12, name="fc1")
    if batch_norm:
        net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh"), p=0.4)
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _data() -> Any:
    rng = np.random.default_rng(0)
    return mx.io.NDArrayIter(rng.standard_normal((30, 5)), rng.integers(0, 3, 30), ROWS)


def _fit(module: Any, optimizer: str, schedule: str, **options: Any) -> list[float]:
    """Trains; returns the loss of each step."""
    losses: list[float] = []
    params = OPTIMIZERS[optimizer]
    params = {**params, "lr_scheduler": SCHEDULES[schedule](params["learning_rate"])}

    def note(param: Any) -> None:
        losses.append(param.eval_metric.get()[1])
        param.eval_metric.reset()

    module.fit(
        _data(),
        eval_metric="ce",
        optimizer=optimizer,
        optimizer_params=params,
        initializer=mx.init.Xavier(),
        batch_end_callback=note,
        num_epoch=EPOCHS,
        **options,
    )
    return losses


def _everything(module: Any) -> list[np.ndarray]:
    args, aux = module.get_params()
    states = jax.tree.leaves(module._updater.states)
    return [a.asnumpy() for a in (*args.values(), *aux.values(), *states)]


CASES = [
    ("sgd", "factor", 1, True),
    ("sgd", "factor", 2, False),
    ("adam", "cosine", 1, True),
    ("adam", "factor", 2, False),
    ("nadam", "factor", 1, False),
    ("sgld", "cosine", 1, False),
]


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize(("optimizer", "schedule", "devices", "batch_norm"), CASES)
def test_resumed_runs_take_the_same_steps(tmp_path, optimizer, schedule, devices, batch_norm):
    contexts = [mx.cpu(i) for i in range(devices)]
    prefix = str(tmp_path / "net")
    mx.random.seed(5)
    np.random.seed(5)
    uninterrupted = mx.mod.Module(_net(batch_norm), context=contexts)
    save = mx.callback.module_checkpoint(uninterrupted, prefix, save_optimizer_states=True)
    losses = _fit(uninterrupted, optimizer, schedule, epoch_end_callback=save)

    # Another process would begin with other numbers.
    mx.random.seed(99)
    mx.nd.random.uniform(shape=(3,)).wait_to_read()
    resumed = mx.mod.Module.load(prefix, SAVED, load_optimizer_states=True, context=contexts)
    assert _fit(resumed, optimizer, schedule, begin_epoch=SAVED) == losses[len(losses) // 2 :]
    for ours, expected in zip(_everything(resumed), _everything(uninterrupted), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_dropout_draws_other_numbers_without_the_states(tmp_path):
    """The test above would notice if the random state were not restored."""
    prefix = str(tmp_path / "net")
    mx.random.seed(5)
    np.random.seed(5)
    uninterrupted = mx.mod.Module(_net(False))
    save = mx.callback.module_checkpoint(uninterrupted, prefix)
    losses = _fit(uninterrupted, "sgld", "factor", epoch_end_callback=save)
    mx.random.seed(99)
    resumed = mx.mod.Module.load(prefix, SAVED)
    assert _fit(resumed, "sgld", "factor", begin_epoch=SAVED) != losses[len(losses) // 2 :]


def _trained_once(count: int, store: Any, optimizer: str = "adam") -> Any:
    module = mx.mod.Module(_net(False), context=[mx.cpu(i) for i in range(count)])
    data = _data()
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=store, optimizer=optimizer)
    module.forward_backward(next(data))
    module.update()
    return module


def _states(module: Any, count: int, k: int) -> dict[str, Any]:
    """The states and the count of each parameter on device k."""
    optimizer = module._optimizer
    by_name: dict[str, Any] = {}
    for name, i in module._module_optimizer.indices.items():
        index = i if count == 1 else i * count + k
        counts = optimizer._all_index_update_counts[k if count > 1 else 0]
        states = [a.asnumpy() for a in jax.tree.leaves(module._updater.states[index])]
        by_name[name] = [*states, counts[index]]
    return by_name


#: Devices and store of the module that saves, devices and store of the one that loads.
PER_DEVICE = [
    (1, "local", 2, None),
    (2, "local", 2, None),
    (2, None, 1, "local"),
    (2, None, 2, "local"),
]


@pytest.mark.parametrize(("saved", "store", "loading", "other"), [*PER_DEVICE, (2, None, 2, None)])
def test_states_are_found_by_devices_with_and_without_a_store(
    tmp_path, saved, store, loading, other
):
    """MXNet numbers a parameter's states i with one device, i * devices + k with several that have
    no store, and names them with one; in MXNet a module of another kind does not find them."""
    path = str(tmp_path / "net.states")
    first = _trained_once(saved, store)
    first.save_optimizer_states(path)
    second = _trained_once(loading, other)
    second.load_optimizer_states(path)
    saved_states = [_states(first, saved if store is None else 1, k) for k in range(saved)]
    for k in range(loading if other is None else 1):
        states = _states(second, loading if other is None else 1, k)
        expected = saved_states[k if store is None else 0]
        assert list(states) == list(expected)
        for name, values in states.items():
            for ours, value in zip(values, expected[name], strict=True):
                np.testing.assert_array_equal(ours, value)
    data = _data()
    second.forward_backward(next(data))
    second.update()
    names = second._updater.states
    assert len({id(a) for i in names for a in jax.tree.leaves(names[i])}) == 2 * len(names)
