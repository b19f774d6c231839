"""Where to cut off the values of a layer that is to be quantised."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ShapeError
from ._facts import Params, ShapeFacts
from ._registry import register

#: What empty bins get, taken from the others, before distributions are compared.
_EPSILON = 1e-4


def _smoothed_distribution(p: jax.Array, inside: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The distribution without zeros, adding up to 1; and whether enough of it is not zero."""
    zeros, others = jnp.sum(inside & (p == 0)), jnp.sum(inside & (p != 0))
    share = _EPSILON * zeros / jnp.maximum(others, 1)
    smooth = jnp.where(inside, jnp.where(p == 0, _EPSILON, p - share), 0)
    return smooth / jnp.sum(smooth), (others > 0) & (share < 1)


def _divergence(hist: jax.Array, half: jax.Array, bins: int) -> jax.Array:
    """What is lost if the ``2 half + 1`` middle bins are merged into ``bins``, the rest cut off."""
    place = lax.iota("int32", hist.shape[0])
    start, stop = hist.shape[0] // 2 - half, hist.shape[0] // 2 + half + 1
    inside = (place >= start) & (place < stop)
    kept = jnp.where(inside & (place != start), hist, 0)
    below = jnp.sum(jnp.where(place <= start, hist, 0))
    above = jnp.sum(jnp.where(place >= stop, hist, 0))
    p = kept + jnp.where(place == start, below, 0) + jnp.where(place == stop - 1, above, 0)

    merged = (2 * half + 1) // bins
    group = jnp.clip((place - start) // merged, 0, bins - 1)
    totals = jnp.zeros(bins, hist.dtype).at[group].add(kept)
    counts = jnp.zeros(bins, hist.dtype).at[group].add(kept != 0)
    q = jnp.where(inside & (p != 0), (totals / jnp.maximum(counts, 1))[group], 0)

    (p, _), (q, usable) = _smoothed_distribution(p, inside), _smoothed_distribution(q, inside)
    terms = jnp.where(inside, p * jnp.log(jnp.where(inside, p / q, 1)), 0)
    return jnp.where(usable, jnp.sum(terms), jnp.inf)


def _infer_calibration_shape(s: ShapeFacts, p: Params) -> None:
    if s["hist"] is not None and len(s["hist"]) == 1 and s["hist"][0]:
        s.set("hist_edges", (s["hist"][0] + 1,), because=f"hist is {s['hist']}")


@register(
    "_contrib_calibrate_entropy",
    outputs=("threshold", "divergence"),
    infer_shape=_infer_calibration_shape,
)
def calibrate_entropy(hist: jax.Array, hist_edges: jax.Array, *, num_quantized_bins: int = 255):
    """The threshold at which quantised values lose least, by the Kullback-Leibler divergence.

    hist (B,) counts the values of a layer in bins between hist_edges (B + 1,), which are symmetric
    about 0; B is odd and at least ``num_quantized_bins``. Every number of bins around the middle
    one is tried: what lies outside goes to the outermost ones, which are merged into
    num_quantized_bins. Returns the upper edge of the best choice and its divergence, (1,) each,
    float32. No gradients. Source: Migacz, 8-bit inference with TensorRT, 2017.
    """
    half = num_quantized_bins // 2
    if hist.ndim != 1 or hist.shape[0] < num_quantized_bins:
        raise ShapeError(f"'hist' is {hist.shape}, expected {num_quantized_bins} bins or more")
    counts = lax.stop_gradient(hist).astype("float64")
    tried = jnp.arange(half, hist.shape[0] // 2 + 1, dtype="int32")
    found = lax.map(lambda i: _divergence(counts, i, num_quantized_bins), tried)
    best = jnp.argmin(found)
    edge = hist_edges[hist.shape[0] // 2 + tried[best] + 1]
    lowest = jnp.minimum(found[best], jnp.finfo("float32").max)
    return lax.stop_gradient(edge).reshape(1), lowest.astype("float32").reshape(1)
