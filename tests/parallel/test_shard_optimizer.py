"""``shard_optimizer``: each device holds and computes its part of the optimizer's state."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax as _optax
import pytest

import executorkit as mx
from executorkit.errors import NotSupportedError
from executorkit.parallel._state_sharding import ShardedState
from tests.parallel._job_programs import JobStep, join

optax: Any = _optax  # whose types of functions are narrower than what it takes
DEVICES, ROWS = 4, 16
CONTEXTS = [mx.cpu(k) for k in range(DEVICES)]


def _network(dtype: str = "float32") -> Any:
    """Parameters of 35, 7, 7, 7, 21 and 3 elements: the last has fewer than there are devices."""
    x = mx.sym.cast(mx.sym.Variable("data"), dtype)
    x = mx.sym.FullyConnected(x, num_hidden=7, name="fc1")
    x = mx.sym.BatchNorm(mx.sym.tanh(x), name="bn", fix_gamma=False)
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(mx.sym.cast(x, "float32"), name="softmax")


def _module(shard: bool, optimizer: Any = None, dtype: str = "float32", **options: Any) -> Any:
    with mx.program.options(shard_optimizer=shard):
        module = mx.mod.Module(_network(dtype), context=CONTEXTS)
        module.bind([("data", (ROWS, 5))], [("softmax_label", (ROWS,))])
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    if optimizer is not None:
        options = {"learning_rate": 0.05, "rescale_grad": 1 / ROWS, **options}
        module.init_optimizer("device", optimizer, options)
    return module


def _batches(count: int) -> list[Any]:
    random = np.random.RandomState(0)
    return [
        mx.io.DataBatch(
            [mx.nd.array(random.randn(ROWS, 5))], [mx.nd.array(random.randint(0, 3, ROWS))]
        )
        for _ in range(count)
    ]


def _train(module: Any, count: int = 3) -> Any:
    for batch in _batches(count):
        module.forward_backward(batch)
        module.update()
    return module


def _parameters(module: Any) -> dict[str, np.ndarray]:
    args, aux = module.get_params()
    return {n: x.asnumpy() for n, x in {**args, **aux}.items()}


def _updater(trained: Any) -> Any:
    return (
        trained._updater
        if isinstance(trained, mx.training.Step)
        else trained._module_optimizer.updater
    )


def _cells(trained: Any) -> list[Any]:
    states = _updater(trained).replicated_states
    return jax.tree.leaves([s.arrays for _, s in sorted(states.items())])


def _states(trained: Any) -> list[np.ndarray]:
    states = _updater(trained).states
    return [x.asnumpy() for x in jax.tree.leaves([s for _, s in sorted(states.items())])]


def _assert_equal(actual: Any, expected: Any, to_the_last_bit: bool = True) -> None:
    for name, ours in actual.items():
        if to_the_last_bit:
            np.testing.assert_array_equal(ours, expected[name], err_msg=name)
        else:
            np.testing.assert_allclose(ours, expected[name], rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sgd", {"momentum": 0.9, "wd": 0.01, "clip_gradient": 0.1}),
        ("adam", {}),
        ("rmsprop", {"centered": True}),
        ("ftrl", {}),
        ("nadam", {}),
        ("lamb", {}),
    ],
)
def test_mxnets_optimizers_compute_of_sharded_states_what_they_compute_whole(name, options):
    whole, divided = (_train(_module(shard, name, **options)) for shard in (False, True))
    _assert_equal(_parameters(divided), _parameters(whole), name != "lamb")
    for ours, theirs in zip(_states(divided), _states(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    for cell in _cells(divided):
        assert isinstance(cell, ShardedState) == (cell.shape != (3,))
    held = sum(c.stacked_value.nbytes for c in _cells(divided) if isinstance(c, ShardedState))
    size = sum(np.prod(c.shape) * 4 for c in _cells(divided) if isinstance(c, ShardedState))
    assert held <= 1.25 * size  # of all devices together; zeros make the parts equal
    (step,) = [f for f in divided.core.pmapped.program.functions if f.name == "step" and f.traces]
    assert step.traces == 1


def _step(shard: bool, transformation: Any, **options: Any) -> Any:
    step = mx.training.Step(_module(shard), transformation, rescale_grad=1 / ROWS, **options)
    for batch in _batches(3):
        step(data=batch.data[0], softmax_label=batch.label[0])
    return step


def _centred() -> Any:
    """Gradients without their mean: a reduction of the whole and its number of elements."""

    def update(grads, state, params=None):
        return jax.tree.map(lambda g: -0.1 * (g - g.mean()) * (g.ndim + 1), grads), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


def _by_rows() -> Any:
    """Updates by sums of rows, which a part does not have."""
    return optax.chain(
        optax.trace(0.9),
        optax.GradientTransformation(
            lambda params: optax.EmptyState(),
            lambda grads, state, params=None: (
                jax.tree.map(lambda g: -0.1 * jnp.cumsum(g, -1), grads), state,
            ),
        ),
    )  # fmt: skip


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize(
    "transformation",
    [
        optax.adamw(1e-2, mask=lambda params: {n: p.ndim > 1 for n, p in params.items()}),
        optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2)),
        optax.lamb(1e-2),
        optax.chain(optax.trace(0.9), _centred()),
        _by_rows(),
    ],
    ids=["adamw", "clipped", "lamb", "centred", "by rows"],
)
def test_optax_computes_the_same(transformation):
    whole, divided = (_step(shard, transformation) for shard in (False, True))
    _assert_equal(divided.params, whole.params, to_the_last_bit=False)
    for ours, theirs in zip(
        *map(jax.tree.leaves, (divided.opt_state, whole.opt_state)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    assert any(isinstance(cell, ShardedState) for cell in _cells(divided))


@pytest.mark.usefixtures("fresh_programs")
def test_a_scaled_loss_that_overflows_changes_nothing():
    scale = mx.training.LossScale(2.0**127)
    options = {"loss_scale": scale, "compute_dtype": "float16"}
    whole, divided = (_step(shard, optax.adam(1e-2), **options) for shard in (False, True))
    assert float(divided.opt_state[0]) == float(whole.opt_state[0]) < 2.0**127
    # On a processor without AVX-512 one of 35 elements was seen to differ by its last bit.
    for name, parameter in whole.params.items():
        np.testing.assert_allclose(divided.params[name], parameter, rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("fresh_programs")
def test_master_weights_of_half_precision_are_divided():
    options = {"momentum": 0.9, "multi_precision": True, "dtype": "float16"}
    whole, divided = (_train(_module(shard, "sgd", **options)) for shard in (False, True))
    _assert_equal(_parameters(divided), _parameters(whole))
    kinds = {
        (c.dtype.name, isinstance(c, ShardedState)) for c in _cells(divided) if c.shape == (7, 5)
    }
    assert kinds == {("float32", True)}


@pytest.mark.usefixtures("fresh_programs")
def test_the_state_is_scattered_and_gathered():
    module = _train(_module(True, "adam"), 1)
    (step,) = [f for f in module.core.pmapped.program.functions if f.name == "step" and f.traces]
    text = step.lower(*step.avals).as_text()
    divided = 5  # of the six parameters
    assert len(re.findall(r"stablehlo\.reduce_scatter", text)) == divided
    assert len(re.findall(r"stablehlo\.all_reduce", text)) == 1
    compiled = step.compile(*step.avals).as_text()
    assert len(re.findall(r" all-gather(-start)?\(", compiled)) == divided
    assert len(re.findall(r" all-reduce(-start)?\(", compiled)) == 1


def test_each_device_holds_its_part_of_the_states_only():
    module = _train(_module(True, "adam"), 1)
    held = dict.fromkeys(jax.devices()[:DEVICES], 0)
    for cell in _cells(module):
        parts = cell.value.addressable_shards
        assert {part.data.size for part in parts} == {parts[0].data.size}
        for part in parts:
            held[part.device] += part.data.size
    # Mean and variance; of the last parameter every device holds all three elements.
    assert set(held.values()) == {2 * (2 * 5 + 2 + 2 + 2 + 3 * 2 + 3)}


def test_states_can_be_read_written_saved_and_loaded(tmp_path):
    whole, divided = (_train(_module(shard, "adam"), 2) for shard in (False, True))
    paths = []
    for module in (whole, divided):
        states = _updater(module).states
        for mean, _ in states.values():
            mean *= 2
        paths.append(tmp_path / f"{len(paths)}.states")
        _train(module, 2)
        module.save_optimizer_states(str(paths[-1]))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    _assert_equal(_parameters(divided), _parameters(whole))
    for module in (whole, divided):
        _train(module, 1)
        module.load_optimizer_states(str(paths[0]))
        _train(module, 2)
    _assert_equal(_parameters(divided), _parameters(whole))


def test_a_step_saves_and_restores(tmp_path):
    step = _step(True, optax.adam(1e-2))
    step.save(tmp_path / "net", 1)
    expected = [np.asarray(x) for x in jax.tree.leaves(step.opt_state)]
    other = _step(True, optax.adam(1e-2))
    other.restore(tmp_path / "net", 1)
    for ours, theirs in zip(jax.tree.leaves(other.opt_state), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for each in (step, other):
        for batch in _batches(2):
            each(data=batch.data[0], softmax_label=batch.label[0])
    _assert_equal(other.params, step.params)


@pytest.mark.usefixtures("fresh_programs")
def test_the_step_of_a_job_divides():
    whole = join(_module(False, "adam"))
    divided = join(_module(True, "adam"))
    for module in (whole, divided):
        _train(module)
    _assert_equal(_parameters(divided), _parameters(whole), to_the_last_bit=False)
    assert sum(isinstance(cell, ShardedState) for cell in _cells(divided)) == 10
    assert JobStep.of(divided).function.traces == 1


def test_gradients_that_somebody_has_read_update_by_parts():
    modules = [join(_module(True, "adam")) for _ in range(2)]
    for batch in _batches(3):
        for k, module in enumerate(modules):
            module.set_keep_gradients(bool(k))
            module.forward_backward(batch)
            if k:
                module.core.grad_arrays[2][0].asnumpy()
            module.update()
    _assert_equal(*map(_parameters, modules), to_the_last_bit=False)


def test_devices_that_do_not_run_one_program_are_refused():
    with mx.program.options(shard_optimizer=True):
        module = mx.mod.Module(_network(), context=[mx.cpu(0), mx.cpu(1), mx.cpu(0)])
        module.bind([("data", (9, 5))], [("softmax_label", (9,))])
    module.init_params(mx.init.Xavier())
    with pytest.raises(NotSupportedError, match=r"shard_optimizer.*do not run one program"):
        mx.training.Step(module, optax.adam(1e-2))
    wrong: Any = 2
    with pytest.raises(ValueError, match="options: shard_optimizer: 2, expected True or False"):
        mx.program.Options(shard_optimizer=wrong)


def test_one_device_keeps_its_state_whole():
    with mx.program.options(shard_optimizer=True):
        module = mx.mod.Module(_network(), context=mx.cpu())
        module.bind([("data", (ROWS, 5))], [("softmax_label", (ROWS,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer("local", "adam")
    assert all(np.isfinite(x).all() for x in _parameters(_train(module)).values())
