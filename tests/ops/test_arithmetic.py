"""Arithmetic beyond the golden answers: forward mode, constants, refusals, dtypes."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit.errors import AttributeValueError, DTypeError, ShapeError
from executorkit.ops import OpDef, lookup
from executorkit.ops.schema.inference import ShapeFacts, TypeFacts

OWN_DERIVATIVES = [
    "abs", "round", "reciprocal", "cbrt", "rcbrt", "gamma", "gammaln", "relu", "softsign",
    "hard_sigmoid", "smooth_l1", "_power_scalar", "_rpower_scalar", "_mod_scalar", "_rmod_scalar",
    "_hypot_scalar", "_maximum_scalar", "_minimum_scalar", "max", "min", "prod", "nanprod",
    "nansum", "norm",
]  # fmt: skip


def operator(name: str) -> OpDef:
    op = lookup(name)
    assert op is not None
    return op


def function(name: str, **attrs):
    """An operator with its attributes, as a function of arrays."""
    op = operator(name)
    p = op.parse(attrs)
    return lambda *arrays: op.apply(p, arrays)[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OWN_DERIVATIVES)
def test_forward_mode_agrees_with_reverse_mode(name):
    f = function(name, **({"scalar": 1.25} if name.endswith("_scalar") else {}))
    x = jnp.float32([0.3, -0.8, 1.7, 2.6])
    t = jnp.float32([1.0, 0.5, -1.5, 2.0])
    out, forward = jax.jvp(jax.jit(f), (x,), (t,))
    head = jnp.cos(jnp.arange(out.size, dtype=jnp.float32)).reshape(out.shape)
    (backward,) = jax.vjp(f, x)[1](head)
    np.testing.assert_allclose(jnp.vdot(forward, head), jnp.vdot(backward, t), rtol=1e-5)


def test_gradients_of_relu_at_infinities():
    gradient = jax.grad(lambda x: function("relu")(x).sum())(jnp.float32([jnp.inf, -jnp.inf]))
    assert gradient.tolist() == [1, 0]


def test_second_derivatives():
    cube = function("_power_scalar", scalar=3)
    hessian = jax.hessian(lambda x: cube(x).sum())(jnp.float32([1.0, 2.0]))
    np.testing.assert_allclose(hessian, np.diag([6.0, 12.0]), rtol=1e-5)


def test_gradient_of_a_constant_exponent_needs_no_logarithm():
    f = function("_power_scalar", scalar=2.5)
    program = str(jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(jnp.ones(3)))
    assert "pow" in program
    assert " log " not in program


def test_derivatives_survive_vmap_and_jit():
    f = function("broadcast_maximum")
    lhs, rhs = jnp.float32([[1, 2], [3, 4]]), jnp.float32([[1, 5], [3, 1]])
    gradient = jax.jit(jax.vmap(jax.grad(lambda a, b: f(a, b).sum())))(lhs, rhs)
    np.testing.assert_array_equal(gradient, [[1, 0], [1, 1]])


class TestScalars:
    def test_infinity_is_refused_for_integers(self):
        with pytest.raises(AttributeValueError, match="scalar inf has no meaning for int32"):
            function("_plus_scalar", scalar=float("inf"))(jnp.int32([1]))

    def test_bytes_wrap(self):
        out = function("_plus_scalar", scalar=300)(jnp.uint8([1, 250]))
        assert out.dtype == jnp.uint8
        np.testing.assert_array_equal(out, [45, 38])

    def test_numbers_that_pad_integers_are_converted_like_others(self):
        pad = function("pad", mode="constant", pad_width=(0, 1), constant_value=300.5)
        np.testing.assert_array_equal(pad(jnp.uint8([1])), [1, 44])

    def test_signature_is_true(self):
        parameters = inspect.signature(operator("_PlusScalar").fn).parameters
        assert list(parameters) == ["data", "scalar", "is_int"]
        assert parameters["scalar"].default == 1.0


class TestInference:
    def shapes(self, name, **shapes):
        op = operator(name)
        p = op.parse({})
        facts = ShapeFacts(name, dict.fromkeys([*op.inputs(p), "out0"]) | shapes)
        assert op.infer_shape is not None
        op.infer_shape(facts, p)
        return dict(facts)

    def test_backwards_through_one_array(self):
        assert self.shapes("exp", out0=(2, 3))["data"] == (2, 3)

    def test_partly_known_shapes_complete_each_other(self):
        shapes = self.shapes("elemwise_add", lhs=(0, 3), rhs=(2, 0))
        assert shapes == {"lhs": (2, 3), "rhs": (2, 3), "out0": (2, 3)}

    def test_contradiction(self):
        with pytest.raises(ShapeError):
            self.shapes("_mul", lhs=(2, 3), rhs=(3, 2))

    @pytest.mark.parametrize(
        ("name", "attrs", "dtype", "out"),
        [
            ("Cast", {"dtype": "int32"}, "float16", "int32"),
            ("amp_cast", {"dtype": "float16"}, "float32", "float16"),
            ("amp_cast", {"dtype": "float16"}, "int32", "int32"),
            ("argmax", {}, "float64", "float64"),
            ("shape_array", {}, "float16", "int64"),
            ("norm", {"out_dtype": "float64"}, "float32", "float64"),
            ("_equal_scalar", {}, "uint8", "uint8"),
        ],
    )
    def test_types_are_those_of_the_result(self, name, attrs, dtype, out):
        op = operator(name)
        p = op.parse(attrs)
        facts = TypeFacts(name, {"data": dtype, "out0": None})
        op.infer_type(facts, p)
        assert facts == {"data": dtype, "out0": out}
        with jax.enable_x64(True):
            assert op.apply(p, [jnp.ones((2, 2), dtype)])[0].dtype == out


@pytest.mark.parametrize(("narrow", "common"), [(False, "float32"), (True, "float16")])
def test_mixed_precision_finds_a_common_dtype(narrow, common):
    """MXNet's CPU build refuses float16 here; its type inference agrees."""
    op = operator("amp_multicast")
    p = op.parse({"num_outputs": 3, "cast_narrow": narrow})
    arrays = [jnp.ones(2, jnp.float32), jnp.ones(3, jnp.float16), jnp.ones(1, jnp.int32)]
    names = op.inputs(p)
    facts = TypeFacts(
        op.name,
        {n: a.dtype.name for n, a in zip(names, arrays, strict=True)}
        | dict.fromkeys(["out0", "out1", "out2"]),
    )
    op.infer_type(facts, p)
    assert [a.dtype.name for a in op.apply(p, arrays)] == [common, common, "int32"]
    assert [facts[f"out{i}"] for i in range(3)] == [common, common, "int32"]


def test_no_gradient_passes_through_integers():
    f = function("Cast", dtype="int32")
    gradient = jax.grad(lambda x: f(x).astype(jnp.float32).sum())(jnp.float32([1.5]))
    np.testing.assert_array_equal(gradient, [0.0])


class TestRefusals:
    def test_shapes_that_do_not_broadcast(self):
        with pytest.raises(ShapeError, match=r"lhs \(2, 3\) and rhs \(4,\) do not broadcast"):
            function("broadcast_add")(jnp.ones((2, 3)), jnp.ones(4))

    def test_targets_that_cannot_be_reached(self):
        with pytest.raises(ShapeError, match=r"'data' \(2, 3\) cannot be stretched to \(2, 4\)"):
            function("broadcast_to", shape=(2, 4))(jnp.ones((2, 3)))
        with pytest.raises(ShapeError, match="cannot be stretched"):
            function("broadcast_like")(jnp.ones(3), jnp.ones((4, 3)))
        with pytest.raises(ShapeError, match=r"axis 1 of 'data' \(1, 2\) has not size 1"):
            function("broadcast_axis", axis=1, size=3)(jnp.ones((1, 2)))

    def test_axes_that_do_not_match(self):
        with pytest.raises(AttributeValueError, match="axes are counted from 0"):
            function("broadcast_axis", axis=-1, size=3)(jnp.ones((2, 1)))
        with pytest.raises(AttributeValueError, match="both are given"):
            function("broadcast_like", lhs_axes=(0,))(jnp.ones((1, 2)), jnp.ones((3, 2)))

    def test_axes_out_of_range(self):
        with pytest.raises(ShapeError, match="axis=2"):
            function("sum", axis=2)(jnp.ones((2, 3)))
        with pytest.raises(ShapeError, match="names an axis twice"):
            function("mean", axis=(0, -2))(jnp.ones((2, 3)))

    def test_unknown_norms(self):
        with pytest.raises(AttributeValueError, match="ord='3'"):
            function("norm", ord=3)

    def test_ranges(self):
        with pytest.raises(AttributeValueError, match="is empty"):
            function("_arange", start=5, stop=0)()
        with pytest.raises(AttributeValueError, match="no operator that uses it tells its length"):
            function("_arange", start=5, infer_range=True)()


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_exponentials_of_integers_need_a_floating_dtype(dtype):
    data = jnp.asarray([[1, 2, 3]], dtype)
    for name in ("softmax", "log_softmax", "softmin"):
        with pytest.raises(DTypeError, match="expected floating numbers, or a dtype"):
            function(name)(data)
        assert function(name, dtype="float32")(data).dtype == "float32"
    assert function("SoftmaxActivation")(data).tolist() == [[0, 0, 0]]
