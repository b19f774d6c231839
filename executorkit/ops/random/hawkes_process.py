"""Log-likelihood of Hawkes processes (self-exciting point processes)."""

import jax.numpy as jnp
from jax import Array, lax

from ...errors import DTypeError
from ..schema.inference import Params, ShapeFacts, same_dtype_among
from ..schema.operator_registry import register
from ..tensor.binary_arithmetic import is_floating


def _infer_hawkes_shape(s: ShapeFacts, p: Params) -> None:
    s.same("lda", "state", "out1")
    s.same("lags", "marks")
    s.same("valid_length", "max_time", "out0")
    if s["lda"] is not None:
        batch, kinds = s["lda"]
        for name in ("alpha", "beta"):
            s.set(name, (kinds,), because=f"lda is {s['lda']}: one for each mark")
        s.set("lags", (batch, 0), because=f"lda is {s['lda']}")
        s.set("valid_length", (batch,), because=f"lda is {s['lda']}")
    s.same("lags", "marks")
    s.same("valid_length", "max_time", "out0")


@register(
    "_contrib_hawkesll",
    outputs=("output", "out_state"),
    infer_shape=_infer_hawkes_shape,
    infer_type=same_dtype_among(marks="int32"),
)
def hawkesll(
    lda: Array,
    alpha: Array,
    beta: Array,
    state: Array,
    lags: Array,
    marks: Array,
    valid_length: Array,
    max_time: Array,
):
    """Computes the log-likelihood of a marked Hawkes process with exponential decay, and its last
    state.

    The intensity of mark k at time t is lda[k] + alpha[k] beta[k] times the sum, over earlier
    points of mark k at times s, of exp(-beta[k] (t - s)). lda (N, K), alpha and beta (K,), state
    (N, K): the excitation left from before time 0; lags (N, T): times since the point before; marks
    (N, T): int32 in [0, K); valid_length (N,): number of points; max_time (N,): end of the
    observation. Returns the log-likelihood (N,) and the state at max_time (N, K). Only lda, alpha
    and beta get gradients, and only through the log-likelihood. lda and the arrays of its dtype are
    floating; MXNet takes integers too, and drops the fraction of every step. Source: Hawkes, 1971.
    """
    if not is_floating(lda):
        raise DTypeError(f"'lda' is {lda.dtype.name}, expected a floating type")
    batch, kinds = lda.shape
    state, lags, valid_length, max_time = lax.stop_gradient((state, lags, valid_length, max_time))
    each = jnp.arange(kinds, dtype=marks.dtype)

    def of_mark(values: Array, chosen: Array) -> Array:
        return jnp.sum(jnp.where(chosen, values, 0), 1)

    def expected(since: Array, state: Array) -> tuple[Array, Array]:
        left = jnp.exp(-beta * since)
        return lda * since + alpha * state * (1 - left), left

    def point(carry: tuple[Array, ...], step: tuple[Array, ...]):
        total, time, last, state = carry
        lag, mark, number = step
        time = time + lag
        change = (mark[:, None] == each) & (number < valid_length)[:, None]
        points, left = expected(time[:, None] - last, state)
        gain = of_mark(jnp.log(lda + alpha * beta * state * left) - points, change)
        state = jnp.where(change, 1 + state * left, state)
        last = jnp.where(change, time[:, None], last)
        return (total + gain, time, last, state), None

    init = jnp.zeros(batch, lda.dtype), jnp.zeros(batch, lda.dtype), jnp.zeros_like(state), state
    numbers = jnp.arange(lags.shape[1], dtype=lags.dtype)
    (total, _, last, state), _ = lax.scan(point, init, (lags.T, marks.T, numbers))
    points, left = expected(max_time[:, None] - last, state)
    return total - jnp.sum(points, 1), lax.stop_gradient(state * left)
