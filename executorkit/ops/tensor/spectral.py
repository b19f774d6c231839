"""Fourier transforms, with complex numbers as pairs, and count sketches.

MXNet has them on GPUs only, in float32.
"""

import jax
import jax.numpy as jnp
from jax import Array

from ...errors import ShapeError
from ..schema.attrs import Tuning
from ..schema.inference import Params, ShapeFacts
from ..schema.operator_registry import register
from .indexing import integer_indices


@register("_contrib_fft")
def fft(data: Array, *, compute_size: Tuning[int] = 128):
    """Computes the Fourier transform along the last axis of real data.

    data (..., d) gives (..., 2 d): real and imaginary parts in turn. ``compute_size`` has no
    effect.
    """
    out = jnp.fft.fft(data)
    return jnp.stack([out.real, out.imag], -1).astype(data.dtype).reshape(*data.shape[:-1], -1)


@register("_contrib_ifft")
def ifft(data: Array, *, compute_size: Tuning[int] = 128):
    """Computes the real part of the inverse Fourier transform along the last axis, undivided.

    data (..., 2 d), real and imaginary parts in turn, gives (..., d); ``ifft(fft(x))`` is d x.
    ``compute_size`` has no effect.
    """
    if data.shape[-1] % 2:
        raise ShapeError(f"'data' is {data.shape}, expected pairs in its last axis")
    pairs = data.reshape(*data.shape[:-1], -1, 2)
    return jnp.fft.ifft(jax.lax.complex(pairs[..., 0], pairs[..., 1]), norm="forward").real


def _infer_sketch_shape(s: ShapeFacts, p: Params) -> None:
    s.same("h", "s")
    if s["data"] is not None:
        because = f"there is one for each column of data {s['data']}"
        s.set("h", (1, s["data"][-1]), because=because)
        s.set("s", (1, s["data"][-1]), because=because)


@register("_contrib_count_sketch", infer_shape=_infer_sketch_shape)
def count_sketch(
    data: Array, h: Array, s: Array, *, out_dim: int, processing_batch_size: Tuning[int] = 32
):
    """Computes the count sketch of data's rows: out[n, h[i]] is the sum of s[i] data[n, i].

    data (..., d); h (1, d) holds indices in [0, out_dim), s (1, d) signs. Returns (..., out_dim).
    Only data gets a gradient. Source: Pham and Pagh, 2013.
    """
    index = integer_indices(h).reshape(-1)
    out = jnp.zeros((*data.shape[:-1], out_dim), data.dtype)
    return out.at[..., index].add(data * jax.lax.stop_gradient(s).reshape(-1), mode="drop")
