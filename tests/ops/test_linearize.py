"""Derivatives while a program is traced, whose rules run without jaxprs, beside JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from executorkit.ops.tensor.derivatives import with_jvp
from executorkit.ops.tensor.reverse_rules import with_vjp
from executorkit.ops.tracing import this_process_only

X, Y, V = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4, 4)).astype("float32")


def _loop(x, y):
    carry, sums = lax.scan(lambda c, r: (jnp.tanh(c @ y + r), (c * r).sum()), x, jnp.stack([x, y]))
    return carry.sum() + sums.sum()


@jax.custom_vjp
def _with_custom_vjp(x):
    return jnp.sin(x) * x


_with_custom_vjp.defvjp(lambda x: (_with_custom_vjp(x), x), lambda x, g: (g * jnp.cos(x) * 2,))
_first_only = with_jvp(lambda x, y: jnp.exp(-x) * y, lambda t, out, x, y: 2 * t * out / x, None)
_product = with_vjp(
    lambda x, y: x @ y, lambda x, y: (x @ y, (x, y)), lambda r, g: (g @ r[1].T, r[0].T @ g)
)

FUNCTIONS = {
    "arithmetic": lambda x, y: (x * y + x / y - 2 * x + 3 / y) ** 2,
    "comparison": lambda x, y: jnp.where((x > y) & ~(x == y) | (y >= 1.5), x * y, x - y),
    "scatter": lambda x, y: x.at[jnp.array([0, 2])].set(y[:2]) ** 2,
    "algebra": lambda x, y: (
        jnp.linalg.cholesky(y @ y.T + 4 * jnp.eye(4)) @ jnp.linalg.inv(x + 4 * jnp.eye(4))
    ),
    "scan": _loop,
    "cond": lambda x, y: lax.cond(x.sum() > 0, lambda a: a * y, lambda a: a / y, x),
    "conv": lambda x, y: lax.conv(x[None, None], y[None, None, :2, :2], (1, 1), "SAME") ** 2,
    "custom_vjp": lambda x, y: _with_custom_vjp(x) * y,
    "with_jvp": lambda x, y: _first_only(x, y) * y,
    "with_vjp": lambda x, y: _product(x * y, y) ** 2,
    "remat": lambda x, y: jax.checkpoint(lambda a: jnp.sin(a @ y))(x) * x,
    "jit": lambda x, y: jax.jit(lambda a, b: jnp.where(a > 1, a * b, jnp.expm1(a)))(x, y),
    "half": lambda x, y: (x.astype("float16") * y.astype("float16")).astype("float32"),
    "stopped": lambda x, y: lax.stop_gradient(x) * x * y,
}
REFUSE_FORWARD = {"custom_vjp"}


def _grad(function):
    return jax.grad(lambda *a: function(*a).sum(), (0, 1))


TRANSFORMS = {
    "grad": lambda f: _grad(f)(X, Y),
    "second": lambda f: _grad(lambda x, y: sum((g * V).sum() for g in _grad(f)(x, y)))(X, Y),
    "vmapped": lambda f: jax.vmap(_grad(f))(np.stack([X, X * 2]), np.stack([Y, Y + 1])),
    "in a scan": lambda f: lax.scan(
        lambda c, r: (c - 0.01 * jax.grad(lambda x: f(x, r).sum())(c), f(c, r)), X, Y[None]
    ),
    "forward of reverse": lambda f: jax.jvp(_grad(f), (X, Y), (V, V)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_in_a_program_are_jaxs(name, transform):
    if name in REFUSE_FORWARD and "forward" in transform:
        pytest.skip("jax.custom_vjp has no forward mode")
    function = FUNCTIONS[name]
    expected = jax.tree.leaves(TRANSFORMS[transform](function))
    jax.clear_caches()  # jaxprs of jitted functions
    with this_process_only():
        results = jax.tree.leaves(TRANSFORMS[transform](function))
    assert len(results) == len(expected) > 0
    for result, value in zip(results, expected, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_allclose(result, value, rtol=3e-4, atol=3e-4)
