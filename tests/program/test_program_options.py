"""Options of bound programs: precision, and rematerialization in backward."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax
import pytest

import executorkit as mx

ROWS, WIDTH, DEPTH = 512, 32, 16


def _chain() -> Any:
    x = mx.sym.Variable("data")
    for i in range(DEPTH):
        x = mx.sym.FullyConnected(x, num_hidden=WIDTH, no_bias=True, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="tanh", name=f"tanh{i}")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _executor(**options: Any) -> Any:
    executor = _chain().simple_bind(mx.cpu(), data=(ROWS, WIDTH), **options)
    rng = np.random.default_rng(0)
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape) * 0.2
    return executor


def _step(executor: Any) -> list[np.ndarray]:
    executor.forward(is_train=True)
    executor.backward()
    return [g.asnumpy() for g in executor.grad_arrays]


def test_rematerialized_values_take_no_memory_between_forward_and_backward():
    plain, remat = _executor(), _executor(remat="full")
    for ours, expected in zip(_step(remat), _step(plain), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-4, 1e-6)
    saved, less = (e.program.memory()["temporaries"] for e in (plain, remat))
    assert saved >= DEPTH * ROWS * WIDTH * 4  # every activation
    assert less < 0.75 * saved


def test_iterations_of_a_recurrence_are_rematerialized_one_by_one():
    cell = mx.rnn.LSTMCell(WIDTH, prefix="lstm_")
    outputs, _ = cell.unroll(24, mx.sym.Variable("data"), merge_outputs=True)
    net = mx.sym.MakeLoss(mx.sym.mean(outputs))
    runs = []
    for remat in (None, "full"):
        executor = net.simple_bind(mx.cpu(), data=(ROWS, 24, WIDTH), remat=remat)
        rng = np.random.default_rng(0)
        for array in executor.arg_arrays:
            array[:] = rng.standard_normal(array.shape) * 0.2
        runs.append((_step(executor), executor.program.memory()["temporaries"]))
    (expected, saved), (ours, less) = runs
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-6)
    assert less < 0.8 * saved


def test_a_step_takes_less_memory_too():
    batch = np.zeros((ROWS, WIDTH), np.float32)
    peaks = []
    for remat in (None, "full"):
        step = mx.training.Step(_executor(), optax.sgd(0.1), remat=remat)
        step(data=batch)
        peaks.append(step.analyse().memory["peak"])
    assert peaks[1] < 0.75 * peaks[0]


def test_executors_keep_the_options_of_their_bind():
    policy = jax.checkpoint_policies.dots_saveable
    executor = _executor(compute_dtype="bfloat16", remat=policy)
    expected = mx.program.Options("bfloat16", policy)
    assert executor.program.options == expected
    assert executor.reshape(data=(4, WIDTH), partial_shaping=True).program.options == expected
    args = executor.arg_arrays
    bound = executor.symbol.bind(mx.cpu(), args, compute_dtype="float16", remat="mirror")
    assert bound.program.options == mx.program.Options("float16", "mirror")
    assert bound.arg_arrays[0].dtype == np.float32
    with mx.program.options(remat="full"):
        inside = executor.symbol.bind(mx.cpu(), args, compute_dtype="float16")
    assert inside.program.options == mx.program.Options("float16", "full")
    assert executor.symbol.bind(mx.cpu(), args).program.options == mx.program.Options()


@pytest.mark.parametrize("devices", [1, 2])
def test_modules_and_their_steps_keep_their_options(devices):
    contexts = [mx.cpu(i) for i in range(devices)]
    module = mx.mod.Module(_chain(), context=contexts, compute_dtype="bfloat16", remat="mirror")
    module.bind([("data", (8, WIDTH))], [("softmax_label", (8,))])
    expected = mx.program.Options("bfloat16", "mirror")

    def bound() -> Any:
        core = module.core
        return (core.pmapped.program if core.pmapped else core.execs[0].program).options

    assert bound() == expected
    module.reshape([("data", (4, WIDTH))], [("softmax_label", (4,))])
    assert bound() == expected

    def program_of(step: Any) -> Any:
        (runnable,) = step._backend._runnables
        return runnable.program

    step = mx.training.Step(module, optax.sgd(0.1))
    assert program_of(step).options == expected
    step = mx.training.Step(module, optax.sgd(0.1), compute_dtype="float16")
    assert program_of(step).options == mx.program.Options("float16", "mirror")


def test_buckets_share_their_options():
    def bucket(width: int) -> Any:
        return _chain(), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(bucket, WIDTH, remat="full")
    module.bind([("data", (8, WIDTH))], [("softmax_label", (8,))])
    assert module.core.execs[0].program.options.remat == "full"


def test_unknown_values_of_options_are_refused_before_anything_is_bound():
    net = _chain()
    with pytest.raises(ValueError, match="compute_dtype: 'int8', expected 'bfloat16'"):
        net.simple_bind(mx.cpu(), data=(2, WIDTH), compute_dtype="int8")
    with pytest.raises(ValueError, match="remat: 'some', expected 'mirror'"):
        net.simple_bind(mx.cpu(), data=(2, WIDTH), remat="some")


def test_states_that_operators_share_do_not_depend_on_rematerialization():
    """Each is updated by the operators in the order of backward, from values that are saved."""
    shared = [mx.sym.Variable(n) for n in ("gamma", "beta", "mean", "var")]
    batch_norm: Any = mx.sym.BatchNorm
    x = mx.sym.Variable("data")
    for i in range(3):
        x = x + mx.sym.tanh(batch_norm(x * (i + 2), *shared, fix_gamma=False, momentum=0.5))
    states = []
    for remat in (None, "mirror", "full"):
        executor = x.simple_bind(mx.cpu(), data=(5, 3), remat=remat)
        for i, array in enumerate(executor.arg_arrays):
            array[:] = np.sin(np.arange(array.size) * (i + 1)).reshape(array.shape)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((5, 3)))
        states.append([a.asnumpy() for a in executor.aux_arrays])
    for other in states[1:]:
        np.testing.assert_allclose(other, states[0], rtol=1e-5)


def test_an_unknown_option_is_named():
    with (
        pytest.raises(TypeError, match="option 'shard_optimiser'\n  try: 'shard_optimizer'"),
        mx.program.options(shard_optimiser=True),
    ):
        pass


@pytest.mark.parametrize("infers_first", [False, True])
@pytest.mark.parametrize("interpret", ["0", "1"])
def test_the_computed_dtypes_do_not_depend_on_the_first_call(infers_first, interpret, monkeypatch):
    """Which arguments have gradients is asked with the operators' own rules, in inference too."""
    monkeypatch.setenv("EXECUTORKIT_INTERPRET", interpret)
    product = mx.sym.broadcast_mul(mx.sym.Variable("data"), mx.sym.Variable("w"))
    with mx.program.fresh_caches(), mx.program.options(compute_dtype="bfloat16"):
        executor = mx.sym.contrib.round_ste(product).simple_bind(
            mx.cpu(), data=(1, 3), w=(1, 1), grad_req={"data": "null", "w": "write"}
        )
        executor.arg_dict["data"][:] = [[1001, 1003, 1005]]
        executor.arg_dict["w"][:] = 1
        for train in (False, True) if infers_first else (True, False):
            result = executor.forward(is_train=train)[0]
            np.testing.assert_array_equal(result.asnumpy(), [[1000, 1004, 1004]])
            if train:
                executor.backward(mx.nd.ones((1, 3)))
        assert executor.grad_dict["w"].asscalar() == 3008


def test_inference_in_another_dtype_of_an_operator_that_only_its_own_rule_differentiates():
    data, w = mx.sym.Variable("data"), mx.sym.Variable("w")
    pooled = mx.sym.ROIPooling(
        mx.sym.broadcast_mul(data, w),
        mx.sym.Variable("rois"),
        pooled_size=(2, 2),
        spatial_scale=1.0,
    )
    with mx.program.options(compute_dtype="bfloat16"):
        executor = pooled.simple_bind(
            mx.cpu(), grad_req="null", data=(1, 4, 4, 4), w=(1, 1, 1, 1), rois=(1, 5)
        )
    executor.arg_dict["w"][:] = 1
    executor.arg_dict["data"][:] = 2
    executor.arg_dict["rois"][:] = [[0, 0, 0, 3, 3]]
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.full((1, 4, 2, 2), 2))


@pytest.mark.parametrize("grad_req", ["null", "write"])
def test_another_dtype_of_a_gluon_network_whose_parameters_declare_theirs(grad_req):
    net = mx.gluon.nn.HybridSequential()
    net.add(
        mx.gluon.nn.Conv2D(8, 1, in_channels=3),
        mx.gluon.nn.BatchNorm(in_channels=8),
        mx.gluon.nn.Dense(4, in_units=128),
    )
    symbol = net(mx.sym.Variable("data"))
    x = np.random.default_rng(0).uniform(-1, 1, (2, 3, 4, 4))
    results = []
    for dtype in (None, "bfloat16"):
        executor = symbol.simple_bind(
            mx.cpu(), grad_req=grad_req, data=x.shape, compute_dtype=dtype
        )
        for i, array in enumerate(executor.arg_arrays):
            array[:] = np.random.default_rng(i).uniform(-0.5, 0.5, array.shape)
        for array in executor.aux_arrays:
            array[:] = 1
        results.append(executor.forward(data=mx.nd.array(x))[0].asnumpy())
    assert np.abs(results[0] - results[1]).max() > 0
    np.testing.assert_allclose(*results, atol=0.05)
