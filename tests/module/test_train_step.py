"""Forward, backward, the sum over devices and the update of a module as one program."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import GradientConsumedError

pytestmark = pytest.mark.usefixtures("fresh_programs")

CONTEXTS = {
    "one": mx.cpu(),
    "two": [mx.cpu(0), mx.cpu(1)],
    "uneven": [mx.cpu(0), mx.cpu(1), mx.cpu(2)],
    "repeated": [mx.cpu(0), mx.cpu(0)],
}
ROWS = 8


def _net() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _module(where: str, optimizer: Any = "sgd", **params: Any) -> Any:
    mx.program.clear_cache()
    mx.random.seed(0)
    module = mx.mod.Module(_net(), context=CONTEXTS[where])
    module.bind([("data", (ROWS, 5))], [("softmax_label", (ROWS,))])
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(optimizer=optimizer, optimizer_params=params)
    return module


def _batch(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    data, label = rng.standard_normal((ROWS, 5)), rng.integers(0, 3, ROWS)
    return mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)])


def _step(module: Any, seed: int, look: str = "") -> None:
    module.forward(_batch(seed), is_train=True)
    if look == "outputs":
        module.get_outputs()[0].wait_to_read()
    module.backward()
    if look == "gradients":
        module._exec_group.grad_arrays[0][0].wait_to_read()
    module.update()


def _contents(module: Any) -> list[np.ndarray]:
    """Parameters, auxiliary states, every device's gradients and the optimizer's states."""
    args, aux = module.get_params()
    grads = [g for arrays in module._exec_group.grad_arrays for g in arrays]
    states = jax.tree.leaves(module._updater.states)
    return [a.asnumpy() for a in (*args.values(), *aux.values(), *grads, *states)]


def _traced_functions(module: Any) -> dict[str, int]:
    group = module.core
    programs = [group.pmapped.program] if group.pmapped else [group.execs[0].program]
    return {f.name: f.traces for p in programs for f in p.functions if f.traces}


OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    ("adam", {"learning_rate": 0.01}),
    ("sgld", {"learning_rate": 0.01}),
]


@pytest.mark.parametrize(("name", "params"), OPTIMIZERS)
@pytest.mark.parametrize("where", ["one", "two"])
@pytest.mark.usefixtures("compiled")
def test_steps_are_one_program_with_the_values_of_separate_ones(where, name, params):
    fused, separate = _module(where, name, **params), None
    for i in range(3):
        _step(fused, i)
    assert _traced_functions(fused) == {"step": 1}
    separate = _module(where, name, **params)
    for i in range(3):
        _step(separate, i, "outputs" if i == 1 else "gradients")
    assert "step" not in _traced_functions(separate)
    for ours, expected in zip(_contents(fused), _contents(separate), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)


def test_a_step_may_have_as_many_arrays_as_arguments():
    """Four weights, a batch with two labels, and the numbers: as many as a step's arguments."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    x = mx.sym.FullyConnected(x, num_hidden=2, name="fc2")
    heads = mx.sym.Group([mx.sym.SoftmaxOutput(x, name=n) for n in ("a", "b")])
    names, contexts = ("a_label", "b_label"), [mx.cpu(0), mx.cpu(1)]
    module = mx.mod.Module(heads, label_names=names, context=contexts)
    module.bind([("data", (4, 3))], [(name, (4,)) for name in names])
    module.init_params(mx.init.Constant(0.1))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    ones = mx.nd.ones((4,))
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 3))], [ones, ones]))
    module.update()
    bias = module.get_params()[0]["fc2_bias"].asnumpy()
    np.testing.assert_allclose(bias, [-0.5, 0.5], 1e-6)
    assert _traced_functions(module) == {"step": 1}


def test_a_batch_that_is_on_the_only_device_is_not_copied():
    module, batch, metric = _module("one", "sgd"), _batch(), mx.metric.create("acc")
    labels_seen = []
    metric.update = lambda labels, preds: labels_seen.extend(labels)
    module.forward(batch, is_train=True)
    module.update_metric(metric, batch.label)
    inputs = module._exec_group.execs[0].arg_dict
    assert inputs["data"].jax is batch.data[0].jax
    (label,) = labels_seen
    assert label is batch.label[0]
    before = batch.data[0].asnumpy()
    inputs["data"][:] = 0
    np.testing.assert_array_equal(batch.data[0].asnumpy(), before)


@pytest.mark.parametrize("where", ["two", "uneven", "repeated"])
def test_several_devices_train_as_one_without_batch_statistics(where):
    def run(where: str) -> list[np.ndarray]:
        mx.random.seed(0)
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=CONTEXTS[where])
        module.bind([("data", (ROWS, 5))], [("softmax_label", (ROWS,))])
        module.init_params(mx.init.Uniform(0.5))
        module.init_optimizer(optimizer="adam", kvstore="device")
        for i in range(3):
            _step(module, i)
        return [a.asnumpy() for a in module.get_params()[0].values()]

    for ours, expected in zip(run(where), run("one"), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)


def test_reading_now_and_then_keeps_the_devices_in_step():
    module = _module("two", "sgd", learning_rate=0.1, momentum=0.9)
    for i, look in enumerate(["", "gradients", "", "outputs", "", ""]):
        _step(module, i, look)
    for arrays in (*module._exec_group.param_arrays,):
        np.testing.assert_array_equal(arrays[0].asnumpy(), arrays[1].asnumpy())
    single = _module("two", "sgd", learning_rate=0.1, momentum=0.9)
    for i in range(6):
        _step(single, i)
    for ours, expected in zip(_contents(module), _contents(single), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-6)


def test_states_that_are_loaded_reach_all_devices(tmp_path):
    module = _module("two", "sgd", learning_rate=0.1, momentum=0.9)
    _step(module, 0)
    module.save_optimizer_states(str(tmp_path / "states"))
    args, aux = ({n: a.copy() for n, a in arrays.items()} for arrays in module.get_params())
    _step(module, 1)
    expected = _contents(module)
    other = _module("two", "sgd", learning_rate=0.1, momentum=0.9)
    _step(other, 5)
    other.set_params(args, aux)
    other.load_optimizer_states(str(tmp_path / "states"))
    _step(other, 1)
    # Moving averages are saved as the mean over the devices, and go on from that.
    for ours, value in zip(_contents(other), expected, strict=True):
        np.testing.assert_allclose(ours, value, 1e-6, 1e-8)
    for arrays in other._exec_group.param_arrays:
        np.testing.assert_array_equal(arrays[0].asnumpy(), arrays[1].asnumpy())


def test_an_optimizer_that_overrides_update_is_called():
    class Mine(mx.optimizer.Adam):
        calls = 0

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            Mine.calls += 1
            weight[:] = weight - 0.5 * grad

    module = _module("two", Mine(rescale_grad=1 / ROWS))
    _step(module, 0)
    assert Mine.calls == 6
    assert "step" not in _traced_functions(module)


def _fit(callback: Any) -> Any:
    rng = np.random.default_rng(0)
    data, label = rng.standard_normal((24, 5)), rng.integers(0, 3, 24)
    module = mx.mod.Module(_net())
    module.fit(
        mx.io.NDArrayIter(data, label, ROWS),
        num_epoch=1,
        initializer=mx.init.Xavier(),
        batch_end_callback=callback,
    )
    return module


@pytest.mark.parametrize("where", ["one", "two"])
def test_fit_updates_weights_in_place(where, monkeypatch):
    copies = []
    monkeypatch.setattr(
        "executorkit.program._donation.copied", lambda x: copies.append(x.shape) or x.copy()
    )
    module = mx.mod.Module(_net(), context=CONTEXTS[where])
    batches = mx.io.NDArrayIter(np.ones((6 * ROWS, 5)), np.zeros(6 * ROWS), ROWS)
    counts = []
    # The first step finds weights that the parameters' initial values share.
    module.fit(batches, num_epoch=1, batch_end_callback=lambda _: counts.append(len(copies)))
    assert len(counts) == 6
    assert counts == [counts[0]] * 6


def test_fit_discards_gradients_and_says_so():
    module = _fit(mx.callback.Speedometer(ROWS, 2))
    with pytest.raises(GradientConsumedError, match="a callback of your own keeps gradients"):
        module._exec_group.grad_arrays[0][0].asnumpy()


def test_fit_keeps_gradients_for_callbacks_of_the_users():
    norms = []

    def note(param: Any) -> None:
        grads = param.locals["self"]._exec_group.grad_arrays
        norms.append(float(np.abs(grads[0][0].asnumpy()).sum()))

    _fit([note, mx.callback.Speedometer(ROWS, 2)])
    assert len(norms) == 3
    assert all(n > 0 for n in norms)
