"""Random numbers. Parameters are numbers, or arrays that broadcast against each other and ``size``.

Numbers follow MXNet's distributions, not its generator: the same seed gives other numbers.
Gradients go through to parameters that are arrays.
"""

import inspect
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...errors import AttributeValueError
from ..random.sampling_functions import Draw, draw_gamma, draw_normal, draw_uniform
from ..schema.attrs import Floats, Key, Shape, Tuning
from ..schema.inference import Params, TypeFacts
from ..schema.operator_registry import named
from .promotion import numpy_operator

FloatType = Literal["float16", "float32", "float64"]
_NUMBER = float | None


#: Name: (function, parameters with their defaults, words).
_DISTRIBUTIONS: dict[str, tuple[Draw, dict[str, Any], str]] = {
    "uniform": (draw_uniform, {"low": 0.0, "high": 1.0}, "uniform numbers from {0} to {1}"),
    "normal": (
        draw_normal, {"loc": 0.0, "scale": 1.0}, "normal numbers of mean {0} and deviation {1}",
    ),
    "gamma": (
        draw_gamma, {"shape": 1.0, "scale": 1.0}, "gamma numbers of shape {0} and scale {1}",
    ),
    "exponential": (
        lambda key, shape, dtype, scale: scale * jax.random.exponential(key, shape, dtype),
        {"scale": 1.0}, "exponential numbers of scale {0}",
    ),
    "gumbel": (
        lambda key, shape, dtype, loc, scale: loc + scale * jax.random.gumbel(key, shape, dtype),
        {"loc": 0.0, "scale": 1.0}, "Gumbel numbers of location {0} and scale {1}",
    ),
    "logistic": (
        lambda key, shape, dtype, loc, scale: loc + scale * jax.random.logistic(key, shape, dtype),
        {"loc": 0.0, "scale": 1.0}, "logistic numbers of location {0} and scale {1}",
    ),
    "pareto": (
        lambda key, shape, dtype, a: jnp.expm1(jax.random.exponential(key, shape, dtype) / a),
        {"a": 1.0}, "Pareto II (Lomax) numbers of shape {0}",
    ),
    "powerd": (
        lambda key, shape, dtype, a: jax.random.uniform(key, shape, dtype) ** (1 / a),
        {"a": 1.0}, "numbers from 0 to 1 of density {0} x^({0} - 1)",
    ),
    "rayleigh": (
        lambda key, shape, dtype, scale: scale * jnp.sqrt(
            2 * jax.random.exponential(key, shape, dtype)
        ),
        {"scale": 1.0}, "Rayleigh numbers of scale {0}",
    ),
    "weibull": (
        lambda key, shape, dtype, a: jax.random.exponential(key, shape, dtype) ** (1 / a),
        {"a": 1.0}, "Weibull numbers of shape {0}",
    ),
    "bernoulli": (
        lambda key, shape, dtype, prob: (jax.random.uniform(key, shape) < prob).astype(dtype),
        {"prob": 0.5}, "1 with probability {0}, else 0",
    ),
}  # fmt: skip


def _set_dtype(t: TypeFacts, p: Params) -> None:
    t.set("out0", p.get("dtype") or "float32")


def _register(stem: str, draw: Draw, parameters: dict[str, Any], words: str, batch: bool) -> None:
    name = f"_npi_{stem}{'_n' if batch else ''}"

    def op(**arguments: Any) -> Array:
        key, size = arguments["key"], arguments.get("size")
        dtype = arguments.get("dtype") or "float32"
        arrays = iter([arguments[n] for n in ("input1", "input2") if arguments.get(n) is not None])
        values = [arguments.get(n) for n in parameters]
        if stem == "bernoulli" and arguments.get("is_logit"):
            logit = arguments.get("logit")
            values = [jax.nn.sigmoid(jnp.asarray(next(arrays) if logit is None else logit))]
        wide = "float64" if dtype == "float64" else "float32"
        numbers = [jnp.asarray(next(arrays) if v is None else v, wide) for v in values]
        shape = jnp.broadcast_shapes(*(x.shape for x in numbers))
        if batch:
            shape = (*(size or ()), *shape)
        elif size is not None:
            shape = size
        return draw(key, shape, wide, *numbers).astype(dtype)

    kinds = inspect.Parameter
    inputs = [kinds(f"input{i}", kinds.POSITIONAL_OR_KEYWORD, default=None, annotation=Any)
              for i in range(1, 1 + len(parameters))]  # fmt: skip
    attrs: dict[str, tuple[Any, Any]] = {n: (_NUMBER, d) for n, d in parameters.items()}
    if stem == "bernoulli":
        attrs |= {"logit": (_NUMBER, None)}
    attrs |= {"size": (Shape | None, None), "ctx": (Tuning[str], "cpu")}
    dtypes = Literal["bool", "float16", "float32", "float64", "int32", "uint8"]
    attrs["dtype"] = (dtypes if stem == "bernoulli" else FloatType, "float32")
    if stem == "bernoulli":
        attrs["is_logit"] = (bool, False)
    options = [kinds(n, kinds.KEYWORD_ONLY, annotation=hint, default=default)
               for n, (hint, default) in attrs.items()]  # fmt: skip
    options.append(kinds("key", kinds.KEYWORD_ONLY, annotation=Key))
    op.__signature__ = inspect.Signature([*inputs, *options])  # type: ignore[attr-defined]
    op.__annotations__ = {p.name: p.annotation for p in (*inputs, *options)}
    shown = [f"``{n}``" for n in parameters]
    doc = (
        f"Draws {words.format(*shown)}.\n\nA parameter that is None is an input, of any shape; "
        "``size`` is the shape of the result"
        f"{' in front of the parameters' if batch else ''} (None: of the parameters)."
    )

    def names(p: Params) -> tuple[str, ...]:
        values = [p[n] for n in parameters]
        if stem == "bernoulli":
            values = [p.logit if p.is_logit else p.prob]
        return tuple(f"input{i}" for i in range(1, 1 + sum(v is None for v in values)))

    numpy_operator(name, inputs=names, infer_type=_set_dtype)(named(op, name, doc))


for _stem, _row in _DISTRIBUTIONS.items():
    _register(_stem, *_row, batch=False)
for _stem in ("uniform", "normal"):
    _register(_stem, *_DISTRIBUTIONS[_stem], batch=True)


@numpy_operator(
    "_npi_multinomial", inputs=lambda p: () if p.pvals is not None else ("a",),
    infer_type=lambda t, p: t.set("out0", "int64"),
)  # fmt: skip
def multinomial(
    a: Array | None = None, *, n: int, pvals: Floats | None = None, size: Shape | None = None,
    key: Key,
) -> Array:  # fmt: skip
    """Draws how often each of k outcomes occurs in ``n`` trials, with the probabilities a (k,), or
    ``pvals``: (*size, k) of int64."""
    p = jnp.asarray(pvals if a is None else lax.stop_gradient(a), "float32")
    size = size or ()
    drawn = jax.random.categorical(key, jnp.log(p), shape=(*size, n))
    return jnp.sum(jax.nn.one_hot(drawn, p.shape[0], dtype="int64"), -2, dtype="int64")


@numpy_operator(
    "_npi_choice",
    inputs=lambda p: (
        *(["input1"] if p.a is None or p.weighted else []),
        *(["input2"] if p.a is None and p.weighted else []),
    ),
    infer_type=lambda t, p: t.set("out0", "int64"),
)
def choice(
    input1: Array | None = None, input2: Array | None = None, *, a: int | None = None,
    size: Shape | None = None, ctx: Tuning[str] = "cpu", replace: bool = True,
    weighted: bool = False, key: Key,
) -> Array:  # fmt: skip
    """Draws numbers below ``a``, or below the length of input1 (n,), of shape ``size``: int64. With
    ``weighted`` the last input (n,) has their probabilities."""
    weights = (input2 if a is None else input1) if weighted else None
    count = a if a is not None else (input1.shape[0] if input1 is not None else 0)
    if not replace and size and jnp.zeros(size).size > count:
        raise AttributeValueError(f"size={size} of {count} numbers without replacement")
    return jax.random.choice(key, count, size or (), replace, weights).astype("int64")
