"""``to_jax().prepare``: prepared inference as a pure function, and how programs are split."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import executorkit as mx
from executorkit.lowering import two_stages

SHAPE = (1, 3, 8, 8)


def _net() -> Any:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, no_bias=True)
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False), act_type="relu")
    x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=6)
    x = mx.sym.BatchNorm(x, fix_gamma=False)
    x = mx.sym.FullyConnected(x, num_hidden=4)
    return mx.sym.SoftmaxOutput(x, name="softmax")


def _arrays(net: Any) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
    shapes, _, aux_shapes = net.infer_shape(data=SHAPE)
    rng = np.random.default_rng(0)

    def fill(names: list[str], shapes: Any) -> dict[str, jax.Array]:
        values = {n: rng.standard_normal(s) * 0.3 for n, s in zip(names, shapes, strict=True)}
        return {
            n: jnp.asarray(np.abs(x) + 0.1 if n.endswith("var") else x, jnp.float32)
            for n, x in values.items()
        }

    args = fill(net.list_arguments(), shapes)
    return args, fill(net.list_auxiliary_states(), aux_shapes)


def test_a_prepared_function_computes_inference() -> None:
    net = _net()
    function = net.to_jax()
    args, aux = _arrays(net)
    data = args.pop("data")
    (expected,), _ = function({**args, "data": data}, aux)
    prepared = function.prepare(args, aux, inputs={"data": SHAPE})
    assert prepared.names == ("data",)
    (output,) = jax.jit(lambda p, x: p({"data": x}))(prepared, data)
    np.testing.assert_allclose(output, expected, 1e-5)
    assert repr(prepared).startswith("<PreparedFunction of data: float32[1, 3, 8, 8]: ")


def test_prepared_functions_have_no_normalisation_and_turn_no_weight() -> None:
    net = _net()
    args, aux = _arrays(net)
    data = args.pop("data")
    prepared = net.to_jax().prepare(args, aux, inputs={"data": data})
    primitives = str(jax.make_jaxpr(lambda p, x: p({"data": x}))(prepared, data))
    assert "rsqrt" not in primitives
    # One for the data on its way in; channels are one axis again before the dense layer.
    turned = re.findall(r"transpose\[permutation=\(([^)]*)\)\] (\w+)", primitives)
    assert len(turned) <= 2


@pytest.mark.parametrize(("side", "filters", "products"), [(8, 6, 1), (7, 6, 2), (8, 2**14 + 4, 2)])
def test_products_of_small_weights_over_many_positions_are_convolutions(
    side: int, filters: int, products: int
) -> None:
    x = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(1, 1), num_filter=filters, name="point")
    net = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=3)
    shape = (1, 4, side, side)
    rng = np.random.default_rng(0)
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=shape)[0], strict=True))
    args = {n: jnp.asarray(rng.standard_normal(s), jnp.float32) for n, s in shapes.items()}
    function = net.to_jax()
    (expected,), _ = function(args)
    data = args.pop("data")
    prepared = function.prepare(args, inputs={"data": shape})
    jaxpr = str(jax.make_jaxpr(lambda p, x: p({"data": x}))(prepared, data))
    assert jaxpr.count("dot_general[") == products
    assert jaxpr.count("conv_general_dilated[") == 2 - products
    (output,) = prepared({"data": data})
    np.testing.assert_allclose(output, expected, 1e-4, 1e-3)


def test_a_prepared_function_says_what_it_takes() -> None:
    net = _net()
    args, aux = _arrays(net)
    data = args.pop("data")
    prepared = net.to_jax().prepare(args, aux, inputs={"data": data})
    with pytest.raises(mx.errors.MissingParameterError, match="missing inputs: data"):
        prepared({})
    with pytest.raises(mx.errors.ShapeError, match=r"\(2, 3, 8, 8\), expected \(1, 3, 8, 8\)"):
        prepared({"data": np.zeros((2, 3, 8, 8))})
    with pytest.raises(mx.errors.UnknownArgumentError, match="args names no argument"):
        net.to_jax().prepare({**args, "zzz": data}, aux, inputs={"data": data})
    with pytest.raises(mx.errors.ShapeError):
        net.to_jax().prepare(args, aux, inputs={"data": (1, 5, 8, 8)})


def test_random_operators_and_labels_of_prepared_functions() -> None:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.Dropout(x, p=0.5, mode="always")
    args = {"fc_weight": jnp.ones((3, 2)), "fc_bias": jnp.zeros(3)}
    key = jax.random.key(3)
    data = jnp.ones((4, 2))
    prepared = net.to_jax().prepare(args, inputs={"data": data}, key=key)
    (expected,), _ = net.to_jax()({**args, "data": data}, key=key)
    np.testing.assert_allclose(prepared({"data": data}, key)[0], expected)


def test_a_prepared_function_has_gradients() -> None:
    """Of the program that is left, whose operators' own rules are gone."""
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, num_group=4, no_bias=True, name="conv"
    )
    net = x.to_jax()
    rng = np.random.default_rng(0)
    w = jnp.asarray(rng.standard_normal((4, 1, 3, 3)), jnp.float32)
    data = jnp.asarray(rng.standard_normal((2, 4, 6, 6)), jnp.float32)
    prepared = net.prepare({"conv_weight": w}, inputs={"data": data})
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(prepared({"data": x})[0])))(data)
    expected = jax.grad(lambda x: jnp.sum(jnp.sin(net({"data": x, "conv_weight": w})[0][0])))(data)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


def _split(function: Any, *arrays: Any) -> Any:
    """The stages of a function whose arguments stay, but for the first."""
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    return two_stages(function, avals, [i > 0 for i in range(len(avals))], "cpu")


def test_only_what_is_worth_it_is_prepared() -> None:
    x, w = jnp.ones((4, 8)), jnp.ones((8, 8))
    b = jnp.ones(8)
    stages = _split(lambda x, w, b: (x @ w + b[None],), x, w, b)
    assert stages.prepare.outputs == ()
    assert stages.held == (1, 2)
    stages = _split(lambda x, w, b: (x @ jnp.sin(w) + jnp.broadcast_to(b * 2, (4, 8)),), x, w, b)
    assert [v.shape for v in stages.prepare.outputs] == [(8, 8), (8,)]
    stages = _split(lambda x, w: (x * w.sum(),), x[0], w)
    assert [v.shape for v in stages.prepare.outputs] == [()]
    half = jnp.ones((8, 8), jnp.int8)
    stages = _split(lambda x, w: (x @ w.astype("float32"),), x, half)
    assert stages.held == (1,)


def test_effects_and_fed_values_stay_in_the_second_stage() -> None:
    def function(x: Any, w: Any) -> tuple[Any, ...]:
        jax.debug.callback(lambda _: None, w)
        return (jnp.cos(x) * jnp.cos(w),)

    stages = _split(function, jnp.ones(4), jnp.ones(4))
    assert [op.name for op in stages.prepare.operations] == ["cos"]
    assert "debug_callback" in [op.name for op in stages.run.operations]


def test_constant_branches_and_inner_functions_are_inlined() -> None:
    @jax.jit
    def inner(w: Any) -> Any:
        return jax.lax.platform_dependent(w, cpu=jnp.sin, default=jnp.cos)

    stages = _split(lambda x, w: (x + jax.checkpoint(inner)(w),), jnp.ones(3), jnp.ones(3))
    assert [op.name for op in stages.prepare.operations] == ["sin"]
    (result,) = stages.run(jnp.ones(3), *stages.prepare(jnp.ones(3)))
    np.testing.assert_allclose(result, 1 + np.sin(1), 1e-6)


def test_equal_first_stages_are_recognised() -> None:
    def function(x: Any, w: Any) -> tuple[Any, ...]:
        return (x @ jnp.sin(w),)

    w = jnp.ones((8, 8))
    first, second = (_split(function, jnp.ones((n, 8)), w) for n in (2, 3))
    assert first.preparation == second.preparation
    other = _split(lambda x, w: (x @ jnp.cos(w),), jnp.ones((2, 8)), w)
    assert first.preparation != other.preparation


def test_equal_blocks_with_folded_normalisations_are_no_loop() -> None:
    """Their weights are computed from parameters, but are parameters of blocks of their own."""
    x = mx.sym.Variable("data")
    for i in range(6):
        x = mx.sym.Convolution(x, kernel=(1, 1), num_filter=3, no_bias=True, name=f"conv{i}")
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"bn{i}"), act_type="relu")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=4), name="softmax")
    function = net.to_jax()
    args, aux = _arrays(net)
    data = args.pop("data")
    (expected,), _ = function({**args, "data": data}, aux)
    prepared = function.prepare(args, aux, inputs={"data": SHAPE})
    np.testing.assert_allclose(prepared({"data": data})[0], expected, 1e-5)
    program = jax.make_jaxpr(lambda p, x: p({"data": x}))(prepared, data)
    names = [equation.primitive.name for equation in program.eqns]
    assert names.count("dot_general") + names.count("conv_general_dilated") == 7
    assert not {"scan", "slice", "concatenate"}.intersection(names)


@pytest.mark.parametrize(("rows", "outputs", "copies"), [(1, 1024, 0), (2, 1024, 1), (1, 8, 1)])
def test_a_product_of_one_row_reads_a_large_weight_as_it_is(
    rows: int, outputs: int, copies: int
) -> None:
    data, weight = (jax.ShapeDtypeStruct((n, 4096), np.float32) for n in (rows, outputs))
    stages = two_stages(
        lambda x, w: (jax.lax.dot_general(x, w, (((1,), (1,)), ((), ()))),),
        (data, weight), [False, True], "cpu",
    )  # fmt: skip
    assert len(stages.prepare.outputs) == copies
    assert len(stages.held) == 1 - copies
