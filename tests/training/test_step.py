"""One optax step as one program: the values of a loop by hand, on one device and on several."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import executorkit as mx
from executorkit.errors import FileFormatError
from executorkit.training import LossScale, Step, StepError

from ..display._html import checked

ROWS = 8
NAMES = ("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias")


def _net() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = dict(zip(_net().list_arguments(), _net().infer_shape(data=(ROWS, 5))[0], strict=True))
    values = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    return {**values, "softmax_label": rng.integers(0, 3, ROWS).astype(np.float32)}


def _batch() -> dict[str, np.ndarray]:
    values = _values()
    return {"data": values["data"], "softmax_label": values["softmax_label"]}


def _executor(**kwargs: Any) -> Any:
    executor = _net().simple_bind(mx.cpu(), data=(ROWS, 5), **kwargs)
    executor.set_params({n: v for n, v in _values().items() if n in NAMES})
    return executor


def _module(devices: Any) -> Any:
    contexts = [mx.cpu(i) for i in range(devices)] if isinstance(devices, int) else devices
    module = mx.mod.Module(_net(), context=contexts)
    module.bind([("data", (ROWS, 5))], [("softmax_label", (ROWS,))])
    module.init_params(arg_params={n: mx.nd.array(_values()[n]) for n in NAMES})
    return module


TRANSFORMATIONS = {
    "adam": optax.adam(1e-2),
    "schedule": optax.chain(
        optax.clip_by_global_norm(1.0), optax.sgd(optax.cosine_decay_schedule(0.1, 10), 0.9)
    ),
    "labels": optax.multi_transform(
        {"w": optax.adamw(1e-2), "b": optax.sgd(0.1)},
        {n: "w" if n.endswith("weight") else "b" for n in NAMES},
    ),
    "several": optax.MultiSteps(optax.adam(1e-2), 2).gradient_transformation(),
    "average": optax.chain(optax.sgd(0.1), optax.ema(0.9)),
}


def _by_hand(tx: Any, steps: int) -> dict[str, np.ndarray]:
    executor = _executor()
    state = tx.init(executor.params())
    for _ in range(steps):
        executor.forward(is_train=True, **_batch())
        executor.backward()
        params = executor.params()
        updates, state = tx.update(executor.grads(), state, params)
        executor.set_params(optax.apply_updates(params, updates))
    return {n: np.array(v) for n, v in executor.params().items()}


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize("devices", [0, 1, 2])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_steps_are_one_program_with_the_values_of_a_loop_by_hand(name, devices):
    tx = TRANSFORMATIONS[name]
    step = Step(_module(devices) if devices else _executor(), tx)
    for _ in range(4):
        (out,) = step(**_batch())
    assert step.traces == 1
    assert out.shape == (ROWS, 3)
    np.testing.assert_allclose(out.asnumpy().sum(1), 1, 1e-5)
    for n, expected in _by_hand(tx, 4).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-4, 1e-6, err_msg=n)


@pytest.mark.parametrize("contexts", [[0, 1, 2], [0, 0]])
@pytest.mark.parametrize("name", ["adam", "schedule"])
def test_slices_that_are_no_one_program_give_the_same(name, contexts):
    tx = TRANSFORMATIONS[name]
    step = Step(_module([mx.cpu(i) for i in contexts]), tx)
    for _ in range(4):
        (out,) = step(**_batch())
    assert out.shape == (ROWS, 3)
    np.testing.assert_allclose(out.asnumpy().sum(1), 1, 1e-5)
    for n, expected in _by_hand(tx, 4).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-4, 1e-6, err_msg=n)
    for arrays in step.feeder.core.arg_arrays[1:-1]:
        for array in arrays[1:]:
            np.testing.assert_array_equal(array.asnumpy(), arrays[0].asnumpy())
    assert step.analyse().memory is None


def test_uneven_slices_take_head_gradients_loss_scales_and_states():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    data, heads = np.arange(15, dtype=np.float32).reshape(5, 3), np.ones((5, 2), np.float32)
    results = []
    for contexts in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        module = mx.mod.Module(net, label_names=None, context=contexts)
        module.bind([("data", (5, 3))])
        params = {"fc_weight": np.ones((2, 3)), "bn_gamma": np.ones(2), "bn_beta": np.zeros(2)}
        module.init_params(arg_params={n: mx.nd.array(v) for n, v in params.items()})
        step = Step(module, optax.sgd(0.1), out_grads=mx.nd.array(heads), loss_scale=8.0)
        step(data=data)
        results.append(step)
    one, two = results
    # Gradients through statistics of the whole batch and of its slices differ; these do not.
    np.testing.assert_allclose(two.params["bn_beta"], one.params["bn_beta"], 1e-6)
    np.testing.assert_allclose(two.params["bn_beta"], [-0.5, -0.5], 1e-6)
    assert [a.asnumpy().tolist() for a in two.feeder.core.aux_arrays[0]] != [[0, 0], [0, 0]]


def test_options_equal_optax_transformations():
    tx = optax.sgd(0.1)
    chained = optax.chain(optax.scale(1 / ROWS), optax.clip_by_global_norm(0.5), tx)
    step = Step(_executor(), tx, rescale_grad=1 / ROWS, clip_global_norm=0.5)
    for _ in range(3):
        step(**_batch())
    for n, expected in _by_hand(chained, 3).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-4, 1e-6)
    step = Step(_executor(), tx, accumulate=3)
    for _ in range(3):
        step(**_batch())
    for n, expected in _by_hand(tx, 1).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-4, 1e-6)


@pytest.mark.parametrize("devices", [0, 2, 3])
def test_mxnets_optimizers_step_as_their_updater_does(devices):
    optimizer = mx.optimizer.create("adam", learning_rate=0.01, rescale_grad=1 / ROWS)
    step = Step(_module(devices) if devices else _executor(), optimizer)
    executor = _executor()
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=0.01,
                                                           rescale_grad=1 / ROWS))  # fmt: skip
    for _ in range(3):
        step(**_batch())
        executor.forward(is_train=True, **_batch())
        executor.backward()
        for i, n in enumerate(NAMES):
            updater(i, executor.grad_dict[n], executor.arg_dict[n])
    assert optimizer.num_update == 3
    for n in NAMES:
        np.testing.assert_allclose(step.params[n], executor.params()[n], 1e-5, 1e-7)


def test_the_step_gives_its_memory_back():
    step = Step(_executor(), optax.adam(1e-2))
    assert step.analyse().memory is None
    step(**_batch())
    memory = step.analyse().memory
    assert memory is not None
    state = sum(x.nbytes for x in jax.tree.leaves((step.params, step.opt_state)))
    assert memory["aliased"] >= state


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_goes_about_where_full_precision_goes(dtype):
    scale = LossScale(2.0**10) if dtype == "float16" else None
    step = Step(_executor(), optax.sgd(0.01), compute_dtype=dtype, loss_scale=scale)
    for _ in range(4):
        (out,) = step(**_batch())
    assert out.dtype == np.float32
    for n, expected in _by_hand(optax.sgd(0.01), 4).items():
        assert step.params[n].dtype == jnp.float32
        np.testing.assert_allclose(step.params[n], expected, 0.02, 0.02)


def test_a_loss_scale_that_overflows_is_halved_and_changes_no_parameter():
    step = Step(_executor(), optax.sgd(0.01), compute_dtype="float16", loss_scale=2.0**40)
    step(**_batch())
    scale, good, _ = step.opt_state
    assert (float(scale), int(good)) == (2.0**39, 0)
    for n in NAMES:
        np.testing.assert_array_equal(step.params[n], _values()[n])
    step = Step(_executor(), optax.sgd(0.01), loss_scale=LossScale(8.0, period=2))
    for _ in range(2):
        step(**_batch())
    assert float(step.opt_state[0]) == 16
    for n, expected in _by_hand(optax.sgd(0.01), 2).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-5, 1e-6)


@pytest.mark.parametrize("devices", [0, 2, 3])
@pytest.mark.parametrize("optimizer", ["adam", optax.adam(1e-2)], ids=["mxnet", "optax"])
def test_a_restored_step_goes_on_bit_for_bit(tmp_path, optimizer, devices):
    def made() -> Step:
        return Step(_module(devices) if devices else _executor(), optimizer)

    step = made()
    for _ in range(2):
        step(**_batch())
    step.save(tmp_path / "run", 2)
    step(**_batch())
    other = made()
    other.restore(tmp_path / "run", 2)
    other(**_batch())
    for n in NAMES:
        np.testing.assert_array_equal(other.params[n], step.params[n])


def test_a_state_of_another_optimizer_is_refused_and_changes_nothing(tmp_path):
    step = Step(_executor(), optax.adam(1e-2))
    step.save(tmp_path / "run", 1)
    other = Step(_executor(), optax.sgd(1e-2))
    other(**_batch())
    before = other.params
    with pytest.raises(FileFormatError, match="paths of the optimizer's state"):
        other.restore(tmp_path / "run", 1)
    (tmp_path / "run-0001.step").write_bytes(b"no archive")
    with pytest.raises(FileFormatError, match="not the state of an optax step"):
        step.restore(tmp_path / "run", 1)
    for n in NAMES:
        np.testing.assert_array_equal(other.params[n], before[n])


def test_errors_name_the_way_out():
    with pytest.raises(StepError, match=r"module\.bind"):
        Step(mx.mod.Module(_net()), optax.sgd(0.1))
    with pytest.raises(StepError, match=r"optax\.adam"):
        Step(_executor(), 0.1)
    with pytest.raises(StepError, match="no parameter to train"):
        Step(_executor(grad_req="null"), optax.sgd(0.1))
    with pytest.raises(StepError, match="no argument is called 'dta'"):
        Step(_executor(), optax.sgd(0.1), inputs=["dta"])
    with pytest.raises(StepError, match="rescale_grad"):
        Step(_executor(), "sgd", rescale_grad=0.5)
    step = Step(_executor(), optax.sgd(0.1))
    with pytest.raises(StepError, match="'fc1_bias': it is a parameter"):
        step(fc1_bias=np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="'data'"):
        step(data=np.zeros((3, 5), np.float32))
    with mx.AttrScope(ctx_group="a"):
        grouped = _net()
    partitioned = grouped.simple_bind(mx.cpu(), data=(ROWS, 5), group2ctx={"a": mx.cpu(1)})
    with pytest.raises(StepError, match="group2ctx or Python operators"):
        Step(partitioned, optax.sgd(0.1))


@pytest.mark.parametrize("remat", ["mirror", "full", jax.checkpoint_policies.dots_saveable])
def test_rematerialisation_changes_no_value(remat):
    step = Step(_executor(), optax.sgd(0.1), remat=remat)
    step(**_batch())
    for n, expected in _by_hand(optax.sgd(0.1), 1).items():
        np.testing.assert_allclose(step.params[n], expected, 1e-5, 1e-6)


@pytest.mark.usefixtures("fresh_programs")
def test_forced_mirroring_keeps_less_for_backward():
    def residuals(mirror: bool) -> tuple[int, np.ndarray]:
        with mx.AttrScope(force_mirroring=str(mirror)):
            net = mx.sym.Variable("data")
            for _ in range(6):
                net = mx.sym.sin(net)
        executor = net.simple_bind(mx.cpu(), data=(64,))
        executor.forward(is_train=True, data=np.linspace(0, 1, 64, dtype=np.float32))
        executor.outputs[0].wait_to_read()
        state: Any = executor.last_step.state
        arrays = jax.tree.leaves(state.residuals)
        executor.backward(mx.nd.ones(64))
        return sum(a.size for a in arrays), executor.grad_arrays[0].asnumpy()

    (few, ours), (many, expected) = residuals(True), residuals(False)
    assert few < many
    np.testing.assert_allclose(ours, expected, 1e-5)


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="'bfloat16', 'float16' or None"):
        Step(_executor(), optax.sgd(0.1), compute_dtype="int8")
    with pytest.raises(ValueError, match="'mirror', 'full'"), mx.program.options(remat="some"):
        pass


def test_labels_and_indices_are_not_cast():
    net = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=1000, output_dim=4, name="embed")
    net = mx.sym.FullyConnected(net, num_hidden=600, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    with mx.program.options(compute_dtype="bfloat16"):
        executor = net.simple_bind(mx.cpu(), data=(2,), grad_req="write")
    executor.arg_dict["embed_weight"][:] = np.arange(4000, dtype=np.float32).reshape(1000, 4)
    executor.forward(is_train=True, data=np.array([997, 3], np.float32),
                     softmax_label=np.array([513, 1], np.float32))  # fmt: skip
    executor.backward()
    rows = np.flatnonzero(np.abs(executor.grad_dict["fc_bias"].asnumpy()) > 0.4)
    assert 513 in rows
    executor.arg_dict["fc_weight"][:] = 1
    executor.forward(is_train=True)
    executor.backward()
    touched = np.flatnonzero(executor.grad_dict["embed_weight"].asnumpy().any(axis=1))
    assert set(touched) <= {3, 997}


@pytest.mark.parametrize("devices", [1, 2])
def test_the_view_of_a_step_shows_its_optimizer_and_target(devices):
    target = _executor() if devices == 1 else _module(devices)
    step = Step(target, optax.adam(0.1))
    checked(step._repr_html_())
    step(**_batch())
    words = checked(step._repr_html_())
    assert "1 compilation," in words
    assert "[0].mu['" in words
    assert ("2 devices run one mapped program" in words) == (devices == 2)
    assert "Adam" in checked(Step(target, "adam")._repr_html_())
    # A view leaves the state to the next step, which takes it over.
    assert step.traces == 1
    step(**_batch())
    assert step.traces == 1
