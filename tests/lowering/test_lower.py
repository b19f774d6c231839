"""The lowered function under JAX's transformations, and the names it leaves in errors and HLO."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import executorkit as mx
from executorkit import ops
from executorkit.ops.schema import operator_registry
from executorkit.symbol.node import Node

pytestmark = pytest.mark.smoke


def _net():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    net = mx.sym.BatchNorm(mx.sym.tanh(net, name="act"), name="bn", fix_gamma=False, momentum=0.5)
    net = mx.sym.Dropout(net, p=0.5, name="drop")
    return mx.sym.FullyConnected(net, num_hidden=2, name="fc2")


def _arrays(net, **shapes):
    rng = np.random.default_rng(0)
    args, _, aux = net.infer_shape(**shapes)

    def arrays(names, shapes):
        pairs = zip(names, shapes, strict=True)
        return {n: jnp.asarray(rng.uniform(0.5, 1, s), "float32") for n, s in pairs}

    return arrays(net.list_arguments(), args), arrays(net.list_auxiliary_states(), aux)


def _bound(net, args, aux, **shapes):
    executor = net.simple_bind(mx.cpu(), **shapes)
    for name, array in {**args, **aux}.items():
        {**executor.arg_dict, **executor.aux_dict}[name][:] = np.asarray(array)
    return executor


def test_to_jax_equals_the_executor():
    net = _net()
    args, aux = _arrays(net, data=(3, 5))
    (out,), new_aux = jax.jit(net.to_jax())(args, aux)
    executor = _bound(net, args, aux, data=(3, 5))
    np.testing.assert_allclose(out, executor.forward()[0].asnumpy(), 1e-5)
    assert list(new_aux) == ["bn_moving_mean", "bn_moving_var"]
    for name, value in new_aux.items():
        np.testing.assert_array_equal(value, aux[name])


def test_training_returns_new_statistics_and_needs_a_key():
    net = _net()
    args, aux = _arrays(net, data=(3, 5))
    f = net.to_jax()
    with pytest.raises(mx.base.MXNetError) as caught:
        f(args, aux, is_train=True)
    assert str(caught.value) == (
        "node 'drop' (Dropout): it draws random numbers\n  try: pass a key: jax.random.key(0)"
    )
    step = jax.jit(lambda args, aux, key: f(args, aux, key, is_train=True))
    (one,), new_aux = step(args, aux, jax.random.key(1))
    (two,), _ = step(args, aux, jax.random.key(2))
    assert (one != two).any()
    assert (new_aux["bn_moving_mean"] != aux["bn_moving_mean"]).any()


def test_gradients_by_jax_are_those_of_backward():
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3), name="out"
    )
    args, aux = _arrays(net, data=(4, 5))
    args["out_label"] = jnp.asarray([0.0, 1, 2, 0])
    f = net.to_jax()
    grads = jax.jit(jax.grad(lambda args: f(args)[0][0].sum()))(args)
    executor = _bound(net, args, aux, data=(4, 5))
    executor.forward(is_train=True)
    executor.backward()
    for name, grad in executor.grad_dict.items():
        np.testing.assert_allclose(grads[name], grad.asnumpy(), 1e-5, 1e-6)


def test_vmap_maps_over_examples():
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc", flatten=False)
    args, _ = _arrays(net, x=(6, 1, 3))
    f = net.to_jax()
    (mapped,), _ = jax.vmap(f, in_axes=({"x": 0, "fc_weight": None, "fc_bias": None},))(args)
    (whole,), _ = f(args)
    np.testing.assert_allclose(mapped, whole, 1e-5)


def test_vmap_of_gradients_gives_one_gradient_per_example():
    net = mx.sym.sum(mx.sym.square(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2)))
    args, _ = _arrays(net, x=(1, 3))
    (weight,) = (n for n in args if n.endswith("weight"))
    f = net.to_jax()

    def loss(w, x):
        return f({**args, weight: w, "x": x})[0][0].sum()

    xs = jnp.asarray(np.random.default_rng(1).normal(size=(4, 1, 3)), "float32")
    each = jax.vmap(jax.grad(loss), in_axes=(None, 0))(args[weight], xs)
    np.testing.assert_allclose(each[2], jax.grad(loss)(args[weight], xs[2]), 1e-5)
    assert each.shape == (4, 2, 3)


def test_shard_map_runs_a_slice_of_the_batch_on_each_device():
    net = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc"))
    args, _ = _arrays(net, x=(8, 3))
    f = net.to_jax()
    mesh = Mesh(np.array(jax.devices()[:4]), ("batch",))
    spec = PartitionSpec("batch")
    sharded = jax.jit(
        jax.shard_map(
            lambda x, parameters: f({**parameters, "x": x})[0][0],
            mesh=mesh,
            in_specs=(spec, PartitionSpec()),
            out_specs=spec,
        )
    )
    parameters = {n: a for n, a in args.items() if n != "x"}
    out = sharded(args["x"], parameters)
    np.testing.assert_allclose(out, f(args)[0][0], 1e-5)
    assert len(out.sharding.device_set) == 4


def test_missing_arrays_are_named():
    f = _net().to_jax()
    with pytest.raises(mx.base.MXNetError) as caught:
        f({"data": jnp.ones((2, 3))})
    assert str(caught.value) == (
        "to_jax function: missing arguments: fc1_weight, fc1_bias, bn_gamma, bn_beta, "
        "fc2_weight, fc2_bias; missing auxiliary states: bn_moving_mean, bn_moving_var"
    )


def test_a_variable_is_a_function_too():
    (out,), _ = mx.sym.Variable("x").to_jax()({"x": jnp.arange(3)})
    np.testing.assert_array_equal(out, [0, 1, 2])


def test_the_users_own_64_bit_setting_is_left_alone():
    before = jax.config.read("jax_enable_x64")
    executor = (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(), type_dict={"x": "float64"}, x=(2,))
    assert executor.forward()[0].dtype == np.float64
    assert jax.config.read("jax_enable_x64") == before
    assert jnp.ones(2).dtype == np.float32


def test_node_names_stand_in_the_program():
    net = _net()
    args, aux = _arrays(net, data=(3, 5))
    f = net.to_jax()
    text = jax.jit(f).lower(args, aux).as_text(debug_info=True)
    assert all(f"{name}/" in text for name in ("fc1", "act", "bn", "fc2"))
    gradient = jax.jit(jax.grad(lambda args: f(args, aux)[0][0].sum()))
    compiled = gradient.lower(args).compile().as_text()
    assert compiled is not None
    assert "fc1" in compiled


@pytest.fixture
def failing(monkeypatch):
    """An operator whose function fails when it is traced, after its shapes were inferred."""

    monkeypatch.setattr(operator_registry, "_OPS", dict(ops.all_names()))

    def infer_shape(shapes, params):
        shapes.same()

    @ops.register("test_lowering_fails", infer_shape=infer_shape)
    def fails(data: jax.Array, *, factor: float = 2.0) -> jax.Array:
        """Fails in the traced function, for inputs of more than one element."""
        if data.shape[0] > 1:
            raise FloatingPointError("no luck")
        return data * factor


def test_errors_in_tracing_say_in_which_node(failing):
    op = ops.lookup("test_lowering_fails")
    x = Node(None, "x", {})
    node = Node(op, "culprit", {}, op.parse({}), ((x, 0),))
    net = mx.sym.Symbol(((node, 0),))
    with pytest.raises(FloatingPointError, match="no luck") as caught:
        net.to_jax()({"x": jnp.ones(3)})
    assert caught.value.__notes__ == [
        "in node 'culprit' (test_lowering_fails): data float32(3,); factor=2.0"
    ]
    with pytest.raises(mx.base.MXNetError) as caught:
        net.simple_bind(mx.cpu(), x=(3,))
    assert str(caught.value) == (
        "node 'culprit' (test_lowering_fails): its inputs do not fit: data (3,)\n  because no luck"
    )
