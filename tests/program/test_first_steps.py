"""First steps of a training are interpreted; their number depends on the program alone."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit.program import MAX_AGE, MAX_TRAININGS, clear_cache

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


@pytest.mark.parametrize("look", [False, True])
def test_a_training_of_a_few_steps_compiles_nothing(look, compilations, monkeypatch):
    mx.nd.random.uniform(shape=(2,))  # compiles what makes keys
    compilations.clear()
    interpreted = _train(_executor(), 3, look)
    assert compilations == []
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", "0")
    compiled = _train(_executor(), 3, look)
    expected = {"forward_train", "backward", "updated"} if look else {"step"}
    assert expected <= set(compilations)
    assert interpreted != compiled  # or the tests below would notice nothing
    pairs = (np.frombuffer(x, np.float32) for x in (interpreted, compiled))
    np.testing.assert_allclose(*pairs, rtol=1e-3, atol=1e-4)


def test_the_compiled_program_takes_over_at_an_age(compilations):
    executor = _executor()
    _train(executor, MAX_AGE + 3)
    assert compilations.count("step") == 1
    assert executor.program.traces == 1
    _train(_executor(), MAX_AGE + 3)
    assert compilations.count("step") == 1


@pytest.mark.parametrize("look", [False, True])
def test_a_repetition_is_equal_to_the_last_bit(look):
    first = _train(_executor(), MAX_AGE + 3, look)
    assert _train(_executor(), MAX_AGE + 3, look) == first
    clear_cache()
    assert _train(_executor(), MAX_AGE + 3, look) == first


def test_it_does_not_matter_what_others_have_compiled():
    first = _train(_executor(), 3)
    _executor().compile(is_train=True)
    _train(_executor(), MAX_AGE + 1)
    assert _train(_executor(), 3) == first


def _gradient_steps(executor: Any, steps: int) -> list[bytes]:
    gradients = []
    for _ in range(steps):
        executor.forward(is_train=True, **_batches(executor.arg_dict["data"].shape[0])[0])
        executor.backward()
        gradients.append(executor.grad_dict["fc1_weight"].asnumpy().tobytes())
    return gradients


def test_an_executor_counts_its_own_steps(compilations):
    mx.random.seed(1)
    first = _gradient_steps(_executor(), MAX_AGE + 2)
    assert compilations == ["forward_backward_train"]
    mx.random.seed(1)
    assert _gradient_steps(_executor(), MAX_AGE + 2) == first


def test_a_reshaped_executor_goes_on_with_the_count(compilations):
    executor = _executor()
    for _ in range(MAX_AGE):
        _gradient_steps(executor, 1)
        executor = executor.reshape(data=(8, 19), softmax_label=(8,))
    _gradient_steps(executor, 1)
    assert compilations == ["forward_backward_train"]
    executor = executor.reshape(data=(6, 19), softmax_label=(6,))
    _gradient_steps(executor, 1)
    assert compilations == ["forward_backward_train"] * 2


def test_steps_that_nobody_computes_do_not_count():
    mx.random.seed(1)
    first = _gradient_steps(_executor(), 3)
    executor = _executor()
    for _ in range(MAX_AGE + 1):
        executor.forward(is_train=True, **_batches()[0])
    assert executor.training.age == 0
    mx.random.seed(1)
    assert _gradient_steps(executor, 3) == first


def test_programs_that_somebody_asked_for_are_used_at_once(compilations):
    executor = _executor()
    executor.compile(is_train=True)
    assert executor.training.age is None
    count = len(compilations)
    _gradient_steps(executor, 2)
    assert len(compilations) == count
    assert executor.reshape(data=(4, 19), softmax_label=(4,)).training.age is None


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
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_resumed_module_goes_on_bit_for_bit(tmp_path, optimizer, fresh):
    """Interrupted among the first steps, and just after them."""
    last, prefix = MAX_AGE + 3, str(tmp_path / "net")
    mx.random.seed(5)
    np.random.seed(5)
    module = mx.mod.Module(_net())
    save = mx.callback.module_checkpoint(module, prefix, save_optimizer_states=True)
    _fit(module, range(last), optimizer, epoch_end_callback=save)
    for epoch in (1, 2, MAX_AGE // 2 + 1, MAX_AGE, MAX_AGE + 1):
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


@pytest.mark.parametrize("steps", [5, 20, MAX_AGE + 5])
def test_separate_steps_of_a_resumed_module_go_on_bit_for_bit(tmp_path, steps):
    """The age of its executors is that of the optimizer, not their own."""
    module = _module()
    _looked(module, steps)
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


@pytest.mark.parametrize("make", [lambda: optax.sgd(0.05), lambda: mx.optimizer.SGD(momentum=0.9)])
@pytest.mark.parametrize("steps", [1, 2, MAX_AGE + 1])
def test_a_restored_step_goes_on_bit_for_bit(tmp_path, steps, make):
    """Optax's SGD has no state that tells the number of steps: the file does."""

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


def test_a_file_without_the_number_of_steps_is_of_a_compiled_training(tmp_path, compilations):
    step = mx.training.Step(_executor(), optax.sgd(0.05))
    step(**_batches()[0])[0].wait_to_read()
    assert compilations == []
    step.save(tmp_path / "net", 1)
    path = Path(tmp_path / "net-0001.step")
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    assert header.pop("steps") == 1
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    step.restore(tmp_path / "net", 1)
    step(**_batches()[0])[0].wait_to_read()
    assert "step" in compilations


def test_a_script_that_binds_for_each_batch_ends_up_with_a_compiled_program(compilations):
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.LinearRegressionOutput(data, mx.sym.var("label"))
    arrays = {n: mx.nd.ones(s) for n, s in [("data", (2, 5)), ("fc_weight", (3, 5))]}
    arrays |= {"fc_bias": mx.nd.ones(3), "label": mx.nd.ones((2, 3))}
    gradients = []
    zeros = {n: np.zeros(a.shape) for n, a in arrays.items()}
    compilations.clear()
    for number in range(MAX_TRAININGS + 3):
        executor = net.bind(mx.cpu(), arrays, {n: mx.nd.array(z) for n, z in zeros.items()})
        executor.forward(is_train=True)
        executor.backward()
        gradients.append(executor.grad_dict["fc_weight"].asnumpy())
        assert compilations == ([] if number < MAX_TRAININGS else ["forward_backward_train"])
    np.testing.assert_allclose(gradients, np.stack([gradients[0]] * len(gradients)), rtol=1e-6)


def test_equal_parameters_that_are_updated_one_by_one_are_one_training(compilations):
    def train() -> bytes:
        updater = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.01, wd=1e-3))
        rng = np.random.default_rng(0)
        weights = [mx.nd.array(rng.normal(size=(4, 4))) for _ in range(MAX_TRAININGS + 2)]
        for _ in range(2):
            for i, weight in enumerate(weights):
                updater(i, mx.nd.array(rng.normal(size=(4, 4))), weight)
        return b"".join(w.asnumpy().tobytes() for w in weights)

    compilations.clear()
    assert train() == train()
    assert compilations == []
