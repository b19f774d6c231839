"""Activation functions chosen by an attribute: Activation and LeakyReLU."""

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Key, Shape, Train
from ..schema.channels_last import LayoutRewrite, layout_elementwise
from ..schema.inference import Params, ShapeFacts, same_shapes, shape_of_data
from ..schema.operator_registry import FileFormat, register
from ..schema.traits import NAMED_DATA
from ..tensor.derivatives import with_jvp
from ..tensor.elemwise import softsign

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

_softrelu = with_jvp(
    lambda x: jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x))),
    lambda t, out, x: t * jax.nn.sigmoid(x),
)
#: As ``jax.nn.relu``, which takes twice as long to trace.
_relu = with_jvp(
    lambda x: lax.max(x, x.dtype.type(0)),
    lambda t, out, x: lax.select(lax.gt(out, x.dtype.type(0)), t, lax.full_like(t, 0)),
)
_ACTIVATIONS = {
    "relu": _relu,
    "sigmoid": lax.logistic,
    "softrelu": _softrelu,
    "softsign": softsign,
    "tanh": lax.tanh,
}


@register(
    "Activation", infer_shape=same_shapes, output_shapes=shape_of_data,
    layout_rule=layout_elementwise, kind="act",
)  # fmt: skip
def activation(
    data: Array, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]
):
    r"""Applies an activation function to every element x of data; shape and (floating) dtype stay.

    relu: max(x, 0), with gradient 0 at 0; sigmoid: 1 / (1 + exp(-x)); softrelu: log(1 + exp(x));
    softsign: x / (1 + \|x\|); tanh. NaN stays NaN.
    """
    return _ACTIVATIONS[act_type](data)


def _infer_leaky_relu_shape(s: ShapeFacts, p: Params) -> None:
    s.same(*(n for n in s if n != "gamma"))
    data, gamma = s["data"], s["gamma"]
    if p.act_type != "prelu" or data is None or (gamma and 0 not in gamma):
        return
    if len(data) < 2:
        raise ShapeError(f"'data' is {data}, expected channels on axis 1", None, "data")
    s.set("gamma", data[1:2], because=f"data is {data}, with one slope per channel")


def _leaky_relu_output_shapes(p: Params, shapes: tuple[Shape, ...]) -> tuple[Shape, ...] | None:
    data, *gamma = shapes
    fits = p.act_type != "rrelu" and all(slopes in ((1,), data[1:2]) for slopes in gamma)
    return (data,) if fits else None


def _leaky_relu_layout(p: Params, shapes: Sequence[Shape]) -> LayoutRewrite | None:
    if p.act_type == "rrelu":  # its random numbers are in the order of the elements
        return None
    rewrite = layout_elementwise(p, shapes[:1])
    if rewrite and p.act_type == "prelu":
        rewrite = rewrite._replace(function=lambda data, gamma, **_: _prelu(data, gamma, -1))
    return rewrite


def _prelu(x: Array, gamma: Array, axis: int = 1) -> Array:
    # Slopes for the batch and the channels (``axis``): gamma's axes are matched from its last on,
    # with the channels first.
    lengths = [1] * x.ndim
    unmatched = list(gamma.shape)
    for at in (axis, 0) if x.ndim > 1 else (0,):
        if unmatched and unmatched[-1] in (1, x.shape[at]):
            lengths[at] = unmatched.pop()
    if unmatched:
        batch, channels = x.shape[0], x.shape[axis] if x.ndim > 1 else 1
        raise ShapeError(
            "LeakyReLU",
            f"'gamma' is {gamma.shape}, expected (1,), ({channels},) or what broadcasts to "
            f"({batch}, {channels})",
            because=f"data is {x.shape}",
        )
    above = x > 0
    # Infinities times the gradient 0 of unused numbers would be NaN.
    return jnp.where(above, x, gamma.reshape(lengths) * jnp.where(above, 0, x))


def _elu(x: Array, slope: float) -> Array:
    return with_jvp(
        lambda x: jnp.where(x > 0, x, slope * jnp.expm1(x)),
        lambda t, out, x: t * jnp.where(x > 0, 1, slope + out),
    )(x)


# MXNet's gradient below 0 is scale (alpha + out); the derivative would be scale alpha + out.
_selu = with_jvp(
    lambda x: _SELU_SCALE * jnp.where(x > 0, x, _SELU_ALPHA * jnp.expm1(x)),
    lambda t, out, x: t * (_SELU_SCALE * jnp.where(x > 0, 1, _SELU_ALPHA + out)),
)


@register(
    "LeakyReLU",
    inputs=lambda p: ("data", "gamma") if p.act_type == "prelu" else ("data",),
    outputs=lambda p: ("output", "mask") if p.act_type == "rrelu" else ("output",),
    infer_shape=_infer_leaky_relu_shape,
    output_shapes=_leaky_relu_output_shapes,
    uses_rng=lambda p, train: train and p.act_type == "rrelu",
    layout_rule=_leaky_relu_layout,
    traits={NAMED_DATA},
    kind="act",
    file_format=FileFormat(initializers={"gamma": '["Constant", {"value": 0.25}]'}),
)
def leaky_relu(
    data: Array,
    gamma: Array | None = None,
    *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    key: Key,
    train: Train = False,
):
    """Applies a rectifier with a slope below 0 to every element x of data.

    data of any shape and floating dtype; so is the result. For x > 0 all but gelu and selu give x;
    for x <= 0, which includes the gradient at 0,

    * leaky: slope x
    * prelu: gamma x, with gamma (C,), one slope per channel of axis 1, or (1,), or (N, C), (N, 1),
      (1, C), (N,), one slope per entry of the batch too. (If data comes from another operator,
      MXNet's gradient of gamma is wrong: gamma times the derivative; here it is the derivative.)
    * elu: slope (exp(x) - 1)
    * selu: scale alpha (exp(x) - 1), and scale x above, scale 1.0507, alpha 1.6733. Its gradient
      below 0 is scale (alpha + out), as in MXNet, which is not the derivative
    * gelu: x Phi(x) everywhere, with the normal distribution function Phi
    * rrelu: s x; in training s is drawn uniformly from [lower_bound, upper_bound) for each
      element, otherwise s is their mean. The second output, mask, holds s.
    """
    x = data
    if act_type == "leaky":
        below = lax.mul(x, lax.full_like(x, slope))
        return lax.select(lax.gt(x, lax.full_like(x, 0)), x, below)
    if act_type == "prelu":
        assert gamma is not None, "inputs() names gamma for prelu"
        return _prelu(x, gamma)
    if act_type == "elu":
        return _elu(x, slope)
    if act_type == "selu":
        return _selu(x)
    if act_type == "gelu":
        return x * (0.5 * (1 + lax.erf(x * 0.5**0.5)))
    if train:
        uniform = jax.random.uniform(key, x.shape, "float32", lower_bound, upper_bound)
        slopes = uniform.astype(x.dtype)
    else:
        slopes = jnp.full(x.shape, (lower_bound + upper_bound) / 2, x.dtype)
    return jnp.where(x > 0, x, slopes * x), slopes
