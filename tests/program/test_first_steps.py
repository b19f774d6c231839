"""First steps of a training are interpreted by the same count as other calls, for each signature.

``EXECUTORKIT_DETERMINISTIC=1``: all trainings are equal to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit.program import clear_cache

#: The call that is the first to run the compiled form of a small program.
TAKES_OVER = 48

# That parameters are loaded, and not initialised again, is warned of, as in MXNet.
pytestmark = [
    pytest.mark.filterwarnings("ignore:init_params:UserWarning"),
    pytest.mark.usefixtures("automatic"),
]


def _net(dropout: float = 0.3) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=24, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh"), p=dropout)
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(net, num_hidden=4, name="fc2"), name="softmax"
    )


def _batches(rows: int = 8, count: int = 5) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        {"data": rng.normal(size=(rows, 19)), "softmax_label": rng.integers(0, 4, rows)}
        for _ in range(count)
    ]


def _executor() -> mx.executor.Executor:
    executor = _net().simple_bind(mx.cpu(), data=(8, 19))
    rng = np.random.default_rng(1)
    for array in executor.arg_arrays:
        array[:] = rng.normal(size=array.shape)
    return executor


def _train(executor: Any, steps: int, look: bool = False) -> bytes:
    """Trains by an updater; returns everything that was computed."""
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.05, momentum=0.9))
    names = [n for n in executor.arg_dict if n not in ("data", "softmax_label")]
    mx.random.seed(7)
    results = []
    batches = _batches()
    for number in range(steps):
        batch = batches[number % len(batches)]
        executor.forward(is_train=True, **batch)
        if look:
            results.append(executor.outputs[0].asnumpy())
        executor.backward()
        updater(
            list(range(len(names))),
            [executor.grad_dict[n] for n in names],
            [executor.arg_dict[n] for n in names],
        )
        results.append(executor.outputs[0].asnumpy())
    results += [a.asnumpy() for a in (*executor.arg_arrays, *executor.aux_arrays)]
    return b"".join(x.tobytes() for x in results)


def test_random_keys_of_a_recurrence_that_backward_needs_compile_nothing(compilations):
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3, prefix="rnn_"), zoneout_states=0.5)
    outputs = cell.unroll(19, mx.sym.var("data"), merge_outputs=True)[0]
    executor = outputs.simple_bind(mx.cpu(), data=(2, 19, 3))
    for array in executor.arg_arrays:
        array[:] = 0.5
    compilations.clear()
    executor.forward(is_train=True)
    assert executor.outputs[0].asnumpy().any()
    executor.backward(mx.nd.ones((2, 19, 3)))
    assert executor.grad_dict["rnn_h2h_weight"].asnumpy().all()
    assert compilations == []


@pytest.mark.parametrize("look", [False, True])
def test_a_training_of_a_few_steps_compiles_nothing(look, compilations):
    mx.nd.random.uniform(shape=(2,))  # compiles what makes keys
    compilations.clear()
    interpreted = _train(_executor(), 3, look)
    assert compilations == []
    with mx.program.options(deterministic=True):
        compiled = _train(_executor(), 3, look)
    expected = {"forward_train", "backward", "updated"} if look else {"step"}
    assert expected <= set(compilations)
    assert interpreted != compiled  # or the tests below would notice nothing
    pairs = (np.frombuffer(x, np.float32) for x in (interpreted, compiled))
    np.testing.assert_allclose(*pairs, rtol=1e-3, atol=1e-4)


def test_the_compiled_step_takes_over_at_a_fixed_call(compilations):
    executor = _executor()
    _train(executor, TAKES_OVER + 1)
    assert compilations.count("step") == 1
    assert executor.program.traces == 1
    _train(_executor(), 3)
    assert compilations.count("step") == 1


def _gradient_steps(executor: Any, steps: int) -> list[bytes]:
    gradients = []
    for _ in range(steps):
        executor.forward(is_train=True, **_batches(executor.arg_dict["data"].shape[0])[0])
        executor.backward()
        gradients.append(executor.grad_dict["fc1_weight"].asnumpy().tobytes())
    return gradients


def test_executors_of_equal_shapes_share_the_count(compilations):
    executor = _executor()
    for _ in range(TAKES_OVER - 1):
        _gradient_steps(executor, 1)
        executor = executor.reshape(data=(8, 19), softmax_label=(8,))
    _gradient_steps(executor, 1)
    assert compilations == ["forward_backward_train"]
    executor = executor.reshape(data=(6, 19), softmax_label=(6,))
    _gradient_steps(executor, 1)
    assert compilations == ["forward_backward_train"]


def test_steps_that_nothing_reads_do_not_count(compilations):
    executor = _executor()
    for _ in range(TAKES_OVER + 1):
        executor.forward(is_train=True, **_batches()[0])
    _gradient_steps(executor, 3)
    assert compilations == []


def test_programs_that_were_compiled_ahead_are_used_at_once(compilations):
    executor = _executor()
    executor.compile(is_train=True)
    count = len(compilations)
    assert count
    _gradient_steps(executor, 2)
    assert len(compilations) == count


def test_large_programs_of_training_are_compiled_at_once(compilations):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3000, name="fc")
    executor = mx.sym.LinearRegressionOutput(net, name="out").simple_bind(
        mx.cpu(), data=(800, 3000)
    )
    executor.forward(is_train=True)
    executor.backward()
    executor.grad_arrays[1].wait_to_read()
    assert compilations == ["forward_backward_train"]


@pytest.mark.parametrize("devices", [1, 2])
def test_groups_of_devices_compile_at_once(devices, compilations):
    module = mx.mod.Module(_net(), context=[mx.cpu(i) for i in range(devices)])
    module.bind([("data", (8, 19))], [("softmax_label", (8,))])
    module.init_params()
    module.init_optimizer()
    module.forward_backward(_as_batch(_batches()[0]))
    module.update()
    module.get_outputs()[0].wait_to_read()
    assert ("step" in compilations) == (devices > 1)


def test_a_script_that_binds_for_each_batch_ends_up_with_a_compiled_program(compilations):
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.LinearRegressionOutput(data, mx.sym.var("label"))
    arrays = {n: mx.nd.ones(s) for n, s in [("data", (2, 5)), ("fc_weight", (3, 5))]}
    arrays |= {"fc_bias": mx.nd.ones(3), "label": mx.nd.ones((2, 3))}
    gradients = []
    zeros = {n: np.zeros(a.shape) for n, a in arrays.items()}
    compilations.clear()
    for _ in range(TAKES_OVER + 2):
        executor = net.bind(mx.cpu(), arrays, {n: mx.nd.array(z) for n, z in zeros.items()})
        executor.forward(is_train=True)
        executor.backward()
        gradients.append(executor.grad_dict["fc_weight"].asnumpy())
    assert compilations == ["forward_backward_train"]
    np.testing.assert_allclose(gradients, np.stack([gradients[0]] * len(gradients)), rtol=1e-6)


# -- equal to the last bit -------------------------------------------------------------------------


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("look", [False, True])
def test_a_repetition_is_equal_to_the_last_bit(look, compilations):
    first = _train(_executor(), 4, look)
    assert compilations
    assert _train(_executor(), 4, look) == first
    clear_cache()
    assert _train(_executor(), 4, look) == first


def _as_batch(batch: dict[str, np.ndarray]) -> Any:
    arrays = [mx.nd.array(x) for x in batch.values()]
    return mx.io.DataBatch(arrays[:1], arrays[1:])


def _fit(module: Any, epochs: range, optimizer: str, **options: Any) -> None:
    """Epochs of one update each."""
    rng = np.random.default_rng(0)
    data = mx.io.NDArrayIter(rng.normal(size=(8, 19)), rng.integers(0, 4, 8), 8)
    module.fit(
        data,
        optimizer=optimizer,
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(),
        begin_epoch=epochs.start,
        num_epoch=epochs.stop,
        **options,
    )


def _parameters(module: Any) -> list[bytes]:
    args, aux = module.get_params()
    return [a.asnumpy().tobytes() for a in (*args.values(), *aux.values())]


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_resumed_module_goes_on_bit_for_bit(tmp_path, optimizer, fresh):
    last, prefix = 7, str(tmp_path / "net")
    mx.random.seed(5)
    np.random.seed(5)
    module = mx.mod.Module(_net())
    save = mx.callback.module_checkpoint(module, prefix, save_optimizer_states=True)
    _fit(module, range(last), optimizer, epoch_end_callback=save)
    for epoch in (1, 2, last - 1):
        if fresh:
            clear_cache()
        mx.random.seed(99)
        resumed = mx.mod.Module.load(prefix, epoch, load_optimizer_states=True)
        _fit(resumed, range(epoch, last), optimizer)
        assert _parameters(resumed) == _parameters(module), epoch


def _looked(module: Any, steps: int) -> None:
    """Steps in which outputs are looked at before backward, so that no update is fused."""
    for number in range(steps):
        module.forward(_as_batch(_batches()[number % 5]), is_train=True)
        module.get_outputs()[0].wait_to_read()
        module.backward()
        module.update()


def _module(optimizer: str = "adam") -> Any:
    module = mx.mod.Module(_net())
    module.bind([("data", (8, 19))], [("softmax_label", (8,))])
    mx.random.seed(3)
    np.random.seed(3)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer=optimizer)
    return module


@pytest.mark.usefixtures("deterministic")
def test_separate_steps_of_a_resumed_module_go_on_bit_for_bit(tmp_path):
    module = _module()
    _looked(module, 5)
    module.save_checkpoint(str(tmp_path / "net"), 0, save_optimizer_states=True)
    resumed = mx.mod.Module.load(str(tmp_path / "net"), 0, load_optimizer_states=True)
    resumed.bind([("data", (8, 19))], [("softmax_label", (8,))])
    resumed.init_params()
    resumed.init_optimizer(optimizer="adam")
    state = mx.random.get_state()
    _looked(module, 4)
    mx.random.set_state(state)
    _looked(resumed, 4)
    assert _parameters(resumed) == _parameters(module)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("make", [lambda: optax.sgd(0.05), lambda: mx.optimizer.SGD(momentum=0.9)])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_restored_step_goes_on_bit_for_bit(tmp_path, steps, make):
    def take(step: Any, count: int) -> list[bytes]:
        batches = _batches() * count
        return [step(**batches[n])[0].asnumpy().tobytes() for n in range(count)]

    mx.random.seed(3)
    step = mx.training.Step(_executor(), make())
    take(step, steps)
    step.save(tmp_path / "net", steps)
    others = take(step, 3)
    restored = mx.training.Step(_executor(), make())
    restored.restore(tmp_path / "net", steps)
    assert take(restored, 3) == others


@pytest.mark.usefixtures("deterministic")
def test_parameters_that_are_updated_one_by_one_are_equal_in_a_repetition():
    def train() -> bytes:
        updater = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.01, wd=1e-3))
        rng = np.random.default_rng(0)
        weights = [mx.nd.array(rng.normal(size=(4, 4))) for _ in range(3)]
        for _ in range(2):
            for i, weight in enumerate(weights):
                updater(i, mx.nd.array(rng.normal(size=(4, 4))), weight)
        return b"".join(w.asnumpy().tobytes() for w in weights)

    assert train() == train()


def test_the_option_makes_runs_equal():
    with mx.program.options(deterministic=True):
        assert _train(_executor(), 3) == _train(_executor(), 3)


def test_the_option_is_checked():
    with pytest.raises(ValueError, match="options: deterministic"):
        mx.program.options(deterministic="yes").__enter__()
