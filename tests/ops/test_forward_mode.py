"""Forward mode: every operator has it, and it agrees with reverse mode where both are derivatives.

Loss heads and a BatchNorm with moving statistics have gradients that MXNet defines and that are not
the derivatives of what they compute. Forward mode differentiates what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

import executorkit as mx
from executorkit.ops.tensor.reverse_rules import with_vjp
from tests._tools import golden as _golden

#: Operators with a backward rule of their own, of which cases are computed in both modes.
OWN_RULES = (
    "Convolution", "Deconvolution", "Pooling", "Pooling_v1", "InstanceNorm", "LayerNorm",
    "BatchNorm", "CTCLoss", "softmax_cross_entropy", "im2col", "col2im", "ROIPooling",
    "_contrib_ROIAlign", "_contrib_RROIAlign", "_contrib_PSROIPooling",
    "_contrib_DeformablePSROIPooling", "_contrib_DeformableConvolution", "BilinearSampler", "RNN",
    "_linalg_potrf",
)  # fmt: skip


def _one_case_per_operator() -> dict[str, Any]:
    cases: dict[str, Any] = {}
    for family in _golden.families():
        for case in _golden.cases(family):
            op, _ = _golden.parsed(case)
            floating = any(a.dtype.kind == "f" for a in case.arrays(case.dtype).values())
            if floating and not case.eager and (case.train or op.name not in OWN_RULES):
                cases.setdefault(op.name, case)
    return cases


CASES = _one_case_per_operator()


def _function(case: Any, dtype: str) -> tuple[Callable[..., Any], dict[str, jax.Array]]:
    """The floating outputs of a case's operator as a function of its floating arguments."""
    op, p = _golden.parsed(case)
    inputs = case.arrays(dtype)
    states = op.aux_of(p)

    def function(arguments: dict[str, Any]) -> list[jax.Array]:
        arrays = {**inputs, **arguments}
        key = jax.random.key(0)
        results = op.apply(p, [arrays[n] for n in inputs], key=key, train=case.train)
        outputs = results[: len(op.outputs(p))]
        return [x for x in outputs if jnp.issubdtype(x.dtype, jnp.floating)]

    floating = {n for n, a in inputs.items() if a.dtype.kind == "f" and n not in states}
    return function, {n: jnp.asarray(inputs[n]) for n in floating}


def test_every_operator_can_be_traced_in_forward_mode():
    refused = {}
    with jax.enable_x64(True):
        for name, case in CASES.items():
            function, arguments = _function(case, case.dtype)
            try:
                jax.eval_shape(lambda x, f=function: jax.jvp(f, (x,), (x,)), arguments)
            except Exception as error:
                refused[name] = str(error)
    assert refused == {}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OWN_RULES)
def test_forward_and_reverse_mode_agree(name):
    with jax.enable_x64(True):
        function, arguments = _function(CASES[name], "float64")
        rng = np.random.default_rng(0)
        tangents = {n: jnp.asarray(rng.normal(size=x.shape)) for n, x in arguments.items()}

        @jax.jit
        def both_modes(arguments, tangents):
            outputs, vjp = jax.vjp(function, arguments)
            heads = [jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape) for x in outputs]
            moved = jax.jvp(function, (arguments,), (tangents,))[1]
            (gradients,) = vjp(heads)
            forward = sum(jnp.vdot(h, t) for h, t in zip(heads, moved, strict=True))
            return forward, sum(jnp.vdot(gradients[n], t) for n, t in tangents.items())

        forward, reverse = both_modes(arguments, tangents)
    assert abs(float(reverse)) > 1e-6
    np.testing.assert_allclose(forward, reverse, 1e-6)


def test_loss_heads_are_differentiated_as_they_are_computed():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)), "float32")
    softmax = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), name="out").to_jax()
    ours = jax.jacfwd(lambda x: softmax({"x": x})[0][0])(x)
    np.testing.assert_allclose(ours, jax.jacfwd(lambda x: jax.nn.softmax(x, 1))(x), 1e-4, 1e-6)
    sigmoid = mx.sym.LogisticRegressionOutput(mx.sym.Variable("x"), name="out").to_jax()
    moved = jax.jvp(lambda x: sigmoid({"x": x})[0][0], (x,), (x,))[1]
    np.testing.assert_allclose(moved, jax.jvp(jax.nn.sigmoid, (x,), (x,))[1], 1e-4, 1e-6)
    linear = mx.sym.LinearRegressionOutput(mx.sym.Variable("x"), name="out").to_jax()
    np.testing.assert_array_equal(
        jax.jvp(lambda x: linear({"x": x})[0][0], (x,), (2 * x,))[1], 2 * x
    )


def _small_network():
    x = mx.sym.Convolution(mx.sym.Variable("x"), num_filter=3, kernel=(3, 3), name="conv")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn")
    x = mx.sym.Pooling(mx.sym.tanh(x), kernel=(2, 2), pool_type="max")
    x = mx.sym.Convolution(x, num_filter=2, kernel=(1, 1), name="pointwise")
    return mx.sym.sum(mx.sym.square(mx.sym.softmax(x, axis=1)))


def _recurrent_network():
    cell = mx.rnn.FusedRNNCell(3, num_layers=2, mode="lstm", prefix="rnn_")
    outputs, _ = cell.unroll(4, inputs=mx.sym.Variable("x"), merge_outputs=True)
    return mx.sym.sum(mx.sym.square(outputs))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("net", "shape", "parameter", "dtype", "rtol"),
    [
        (_small_network(), (2, 2, 5, 5), "conv_weight", "float64", 1e-6),
        (_recurrent_network(), (2, 4, 2), "x", "float32", 1e-3),
    ],
    ids=["convolutions", "recurrence"],
)
def test_hessian_of_a_network(net, shape, parameter, dtype, rtol):
    """Hessian times vector in each mode over each mode."""
    function, rng = net.to_jax(), np.random.default_rng(0)
    shapes, _, aux_shapes = net.infer_shape(x=shape)
    names, states = net.list_arguments(), net.list_auxiliary_states()
    with jax.enable_x64(dtype == "float64"):
        args = {n: rng.normal(size=s).astype(dtype) for n, s in zip(names, shapes, strict=True)}
        aux = {n: np.ones(s, dtype) for n, s in zip(states, aux_shapes, strict=True)}
        direction = rng.normal(size=args[parameter].shape).astype(dtype)

        def loss(x):
            return function({**args, parameter: x}, aux, is_train=True)[0][0].reshape(())

        def slope(x):
            return jax.jvp(loss, (x,), (jnp.asarray(direction),))[1]

        @jax.jit
        def products(x):
            return (
                jax.jvp(jax.grad(loss), (x,), (jnp.asarray(direction),))[1],
                jax.grad(lambda x: jnp.vdot(jax.grad(loss)(x), direction))(x),
                jax.grad(slope)(x),
            ), jax.jvp(slope, (x,), (jnp.asarray(direction),))[1]

        vectors, curvature = jax.device_get(products(args[parameter]))
    for vector in vectors:
        np.testing.assert_allclose(vector, vectors[0], rtol, rtol)
    np.testing.assert_allclose(np.vdot(vectors[0], direction), curvature, rtol)


def test_reverse_mode_runs_the_backward_rule_and_forward_mode_the_tangent_rule():
    calls = []

    def backward(x, head):
        calls.append("backward")
        return (2 * x * head,)

    def tangent(x, tangents):
        calls.append("tangent")
        return 2 * x * tangents[0]

    square = with_vjp(lambda x: x * x, lambda x: (x * x, x), backward, tangent)
    xs = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.vmap(jax.grad(square))(xs), 2 * xs)
    assert calls == ["backward"]
    np.testing.assert_array_equal(jax.vmap(jax.jacfwd(square))(xs), 2 * xs)
    assert calls == ["backward", "tangent"]
    np.testing.assert_array_equal(jax.vmap(jax.hessian(square))(xs), [2, 2, 2])


def test_gradients_of_shared_parameters_are_summed_in_a_shard_map():
    """Parameters that all devices share get the sum of the devices' cotangents, in each mode."""
    net = mx.sym.Convolution(mx.sym.Variable("x"), num_filter=2, kernel=(3, 3), name="conv")
    function, rng = net.to_jax(), np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, 2, 5, 5)), "float32")
    weight = jnp.asarray(rng.normal(size=(2, 2, 3, 3)), "float32")

    def output(weight, x):
        return function({"x": x, "conv_weight": weight, "conv_bias": jnp.zeros(2)})[0][0] ** 2

    mesh = Mesh(np.array(jax.devices()[:2]), ("batch",))
    rows = PartitionSpec("batch")
    mapped = jax.shard_map(output, mesh=mesh, in_specs=(PartitionSpec(), rows), out_specs=rows)
    for differentiate in (
        lambda f: jax.grad(lambda w: f(w, x).sum())(weight),
        lambda f: jax.jvp(lambda w: f(w, x), (weight,), (weight,))[1],
    ):
        expected = jax.jit(lambda d=differentiate: d(output))()
        ours = jax.jit(lambda d=differentiate: d(mapped))()
        np.testing.assert_allclose(ours, expected, 1e-4, 1e-4)


def test_linear_call_has_neither_vmap_nor_second_derivatives():
    """The reason for a primitive of our own; once this fails, that primitive may go."""

    @jax.custom_jvp
    def sine(x):
        return jnp.sin(x)

    @sine.defjvp
    def _(primals, tangents):
        def scaled(x, t):
            return jnp.cos(x) * t

        linear = jax.custom_derivatives.linear_call(scaled, scaled, *primals, *tangents)
        return jnp.sin(*primals), linear

    x = jnp.ones(3)
    np.testing.assert_allclose(jax.vjp(sine, x)[1](x)[0], jnp.cos(x))
    with pytest.raises(NotImplementedError, match="linear_call"):
        jax.jacfwd(sine)(x)
    with pytest.raises(AssertionError):
        jax.jvp(lambda x: jax.vjp(sine, x)[1](x)[0], (x,), (x,))
