"""``symbol.to_jax()``: names, labels, NDArrays, errors, and derivatives in both modes."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import executorkit as mx
from executorkit.errors import (
    InputTypeError,
    MissingParameterError,
    MXNetError,
    ShapeError,
    UnknownArgumentError,
)


def _classifier():
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    hidden = mx.sym.BatchNorm(mx.sym.Dropout(hidden, p=0.5), name="bn", fix_gamma=False)
    out = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(out, name="softmax")


def _arrays(net, seed=0, **shapes):
    rng = np.random.default_rng(seed)
    arg_shapes, _, aux_shapes = net.infer_shape(**shapes)
    args = dict(zip(net.list_arguments(), arg_shapes, strict=True))
    aux = dict(zip(net.list_auxiliary_states(), aux_shapes, strict=True))
    return (
        {n: jnp.asarray(rng.normal(size=s), "float32") for n, s in args.items()},
        {n: jnp.asarray(rng.uniform(0.5, 1, size=s), "float32") for n, s in aux.items()},
    )


def test_signature_and_docstring_say_what_it_takes():
    function = _classifier().to_jax(data=(5, 6))
    assert str(inspect.signature(function)).replace(" ", "").startswith("(args:")
    assert list(inspect.signature(function).parameters) == [
        "args", "aux", "key", "is_train",
    ]  # fmt: skip
    assert inspect.getdoc(function) == inspect.cleandoc(
        """
        softmax as a pure function of JAX arrays.

        ``function(args, aux, key=None, is_train=False) -> (outputs, new_aux)``

        args, a dict
            data           (5, 6)
            fc1_weight     (4, 6)
            fc1_bias       (4,)
            bn_gamma       (4,)
            bn_beta        (4,)
            fc2_weight     (3, 4)
            fc2_bias       (3,)
            softmax_label  (5,)  optional: only gradients read it

        aux and new_aux, dicts
            bn_moving_mean  (4,)
            bn_moving_var   (4,)

        outputs, a tuple
            softmax_output  (5, 3)

        key, a JAX PRNG key: random numbers are drawn with is_train=True.
        """
    )
    assert function.__name__ == "softmax"
    assert repr(mx.sym.Variable("x").to_jax()) == "<JaxFunction x(x)>"


def test_unknown_shapes_are_shown_as_such_and_declared_ones_are_known():
    lines = str(_classifier().to_jax().__doc__).splitlines()
    assert "    data           ?" in lines
    assert "    fc1_bias       (4,)" in lines
    net = mx.sym.FullyConnected(mx.sym.Variable("x", shape=(0, 7)), num_hidden=2, name="fc")
    assert "fc_weight  (2, 7)" in str(net.to_jax().__doc__)
    with pytest.raises(MXNetError, match="unknown argument 'dat'"):
        _classifier().to_jax(dat=(2, 3))
    with pytest.raises(ShapeError, match="fc1"):
        _classifier().to_jax(data=(2, 3), fc1_weight=(4, 5))


@pytest.mark.parametrize(
    "head",
    [
        mx.sym.SoftmaxOutput,
        mx.sym.LinearRegressionOutput,
        mx.sym.LogisticRegressionOutput,
        mx.sym.MAERegressionOutput,
        mx.sym.SVMOutput,
    ],
)
def test_labels_are_optional_for_inference(head):
    label = mx.sym.Reshape(mx.sym.Variable("label") * 1, shape=(-1,), name="flat")
    if head is not mx.sym.SoftmaxOutput and head is not mx.sym.SVMOutput:
        label = mx.sym.Variable("label")
    net = head(mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3), label, name="out")
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)), "float32")
    shape = (4,) if label.name == "flat" else (4, 3)
    args, _ = _arrays(net, x=(4, 2), label=shape)
    args["x"] = x
    function = net.to_jax()
    assert function.optional == ("label",)
    (with_label,), _ = function(args)
    unlabeled = {n: a for n, a in args.items() if n != "label"}
    (without,), _ = jax.jit(function)(unlabeled)
    np.testing.assert_allclose(without, with_label, 1e-6)
    with pytest.raises(MXNetError, match="computed from the label, which is not given"):
        jax.grad(lambda args: function(args, is_train=True)[0][0].sum())(unlabeled)


def test_an_argument_that_outputs_depend_on_is_not_optional():
    x, label = mx.sym.Variable("x"), mx.sym.Variable("label")
    head = mx.sym.SoftmaxOutput(x, label, name="out")
    assert mx.sym.Group([head, label * 2]).to_jax().optional == ()
    assert mx.sym.softmax_cross_entropy(x, label).to_jax().optional == ()
    assert mx.sym.Group([head, x * 2]).to_jax().optional == ("label",)


def test_ndarrays_and_numpy_arrays_are_read():
    net = _classifier()
    args, aux = _arrays(net, data=(3, 5))
    function = net.to_jax()
    (expected,), _ = function(args, aux)
    arrays: dict[str, Any] = {n: mx.nd.array(a) for n, a in args.items()}
    arrays["data"] = np.asarray(args["data"])
    states = {n: mx.nd.array(a) for n, a in aux.items()}
    (out,), new_aux = function(arrays, states)
    np.testing.assert_array_equal(out, expected)
    assert all(isinstance(a, jax.Array) for a in (out, *new_aux.values()))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda args, aux: args.update(fc1_wieght=args.pop("fc1_weight")),
            UnknownArgumentError,
            "to_jax function: args names no argument of softmax: fc1_wieght\n"
            "  because missing arguments: fc1_weight\n"
            "  try: 'fc1_weight' or 'fc2_weight'",
        ),
        (
            lambda args, aux: args.update(bn_moving_var=aux["bn_moving_var"]),
            UnknownArgumentError,
            "to_jax function: args names no argument of softmax: bn_moving_var\n"
            "  try: aux['bn_moving_var']",
        ),
        (
            lambda args, aux: (args.pop("fc1_bias"), aux.pop("bn_moving_mean")),
            MissingParameterError,
            "to_jax function: missing arguments: fc1_bias; "
            "missing auxiliary states: bn_moving_mean",
        ),
        (
            lambda args, aux: args.update(fc1_bias=None),
            InputTypeError,
            "to_jax function: args['fc1_bias']: it is a NoneType, expected an array",
        ),
        (
            lambda args, aux: args.update(fc2_weight=args["fc2_weight"].T),
            ShapeError,
            "node 'fc2' (FullyConnected): 'weight' is (4, 3), expected (3, 4)\n"
            "  because num_hidden=3 and data is (3, 4), flattened to 4",
        ),
    ],
)  # fmt: skip
def test_wrong_arrays_are_named_before_anything_is_computed(change, error, message):
    net = _classifier()
    args, aux = _arrays(net, data=(3, 5))
    change(args, aux)
    with pytest.raises(error) as caught:
        net.to_jax()(args, aux)
    assert str(caught.value).startswith(message)


def test_the_mode_is_a_python_bool():
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5)
    function, x, key = net.to_jax(), jnp.ones(8), jax.random.key(0)
    (dropped,), _ = jax.jit(function, static_argnames="is_train")({"x": x}, key=key, is_train=True)
    assert set(np.asarray(dropped)) == {0, 2}
    with pytest.raises(InputTypeError, match="is_train is traced"):
        jax.jit(function)({"x": x}, None, key, True)


def _image_network():
    x = mx.sym.Variable("data")
    for i in range(2):
        x = mx.sym.Convolution(x, num_filter=4, kernel=(3, 3), pad=(1, 1), name=f"conv{i}")
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"bn{i}"), act_type="relu")
        x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.Convolution(x, num_filter=8, kernel=(1, 1), name="pointwise")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3), name="softmax")


def _sentence_network():
    cells = mx.rnn.SequentialRNNCell()
    for i in range(2):
        cells.add(mx.rnn.LSTMCell(4, prefix=f"lstm{i}_"))
    x, _ = cells.unroll(12, inputs=mx.sym.Variable("data"), merge_outputs=True)
    out = mx.sym.FullyConnected(mx.sym.Reshape(x, shape=(-1, 4)), num_hidden=3)
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(out, label, name="softmax")


@pytest.mark.parametrize(
    ("net", "example", "label"),
    [
        pytest.param(_image_network(), (3, 8, 8), (), marks=pytest.mark.slow),
        (_sentence_network(), (12, 5), (12,)),
    ],
    ids=["images", "sentences"],
)
def test_one_exported_program_serves_every_batch_size(net, example, label):
    args, aux = _arrays(net, data=(2, *example), softmax_label=(2, *label))
    function = net.to_jax()
    (batch,) = export.symbolic_shape("batch")
    parameters = {n: a for n, a in args.items() if n not in ("data", "softmax_label")}

    def train(parameters, aux, data, labels):
        def loss(parameters):
            arrays = {**parameters, "data": data, "softmax_label": labels}
            (out,), _ = function(arrays, aux, is_train=True)
            return out.sum()

        return jax.grad(loss)(parameters)

    def infer(parameters, aux, data):
        return function({**parameters, "data": data}, aux)[0]

    data = jax.ShapeDtypeStruct((batch, *example), "float32")
    labels = jax.ShapeDtypeStruct((batch, *label), "float32")
    forward = export.export(jax.jit(infer))(parameters, aux, data)
    backward = export.export(jax.jit(train))(parameters, aux, data, labels)
    for size in (1, 3, 9):
        rng = np.random.default_rng(size)
        images = rng.normal(size=(size, *example)).astype("float32")
        classes = rng.integers(3, size=(size, *label)).astype("float32")
        inputs = parameters, aux, images
        for ours, expected in (
            (forward.call(*inputs), jax.jit(infer)(*inputs)),
            (backward.call(*inputs, classes), jax.jit(train)(*inputs, classes)),
        ):
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-3, 1e-5), ours, expected)
