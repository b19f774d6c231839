"""A convolution and its gradients by the kernel in C, of weights as layers store them.

The kernel packs a weight inside of each call. The gradient of the data is a convolution of the
gradient of the result; the gradient of the weight has loops of its own.
"""

from functools import partial
from math import prod
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax.interpreters import mlir

from ....._support.annotations import Function
from .....jax_internals import jaxpr_as_fun
from ....schema.attrs import Shape
from ....tracing import is_known, traced_for_packing_kernels
from .. import native as kernel
from ..columns import column_kernels
from ..composite_primitives import composite_primitive
from ..conv_dims import ConvDims

#: Filters of a tile, and elements of a window, of weight gradients.
_MIN_FILTERS, _MAX_TAPS = 12, 49


def _run_plain(*arrays: Array, plain: Any, native: Function) -> Array:
    return jaxpr_as_fun(plain)(*arrays)[0]


#: A computation with a form in C. Everything except the compiler for CPUs has the ``plain`` one.
_native_p = composite_primitive(
    "executorkit_native", _run_plain, lambda *_, plain, native: plain.out_avals[0]
)


def _lower(context: Any, *arrays: Any, plain: Any, native: Function) -> Any:
    function = native if kernel.available() else partial(_run_plain, plain=plain, native=native)
    return mlir.lower_fun(function, multiple_results=False)(context, *arrays)


mlir.register_lowering(_native_p, _lower, platform="cpu")


def with_native(native: Function | None, plain: Function, *arrays: Array) -> Array:
    """Returns ``plain(*arrays)``, which compiled programs compute by ``native``, if not None."""
    if native is None:
        return plain(*arrays)
    return _native_p.bind(*arrays, plain=jax.make_jaxpr(plain)(*arrays), native=native)


def _takes(a: Any, b: Any, *shapes: Shape) -> bool:
    return (
        traced_for_packing_kernels()
        and a.dtype == b.dtype == np.float32
        and all(is_known(*shape) and prod(shape) > 0 for shape in shapes)
    )


def native_forward(data: Array, weight: Array, dims: ConvDims) -> Function | None:
    """Returns ``f(data, weight)``, or None; the arrays are as in ``convolve``."""
    shapes = data.shape, weight.shape
    is_native = _takes(data, weight, *shapes) and _fits(*shapes, dims)
    return partial(_convolve, dims=dims) if is_native else None


def native_input_grad(g: Array, weight: Array, shape: Shape, dims: ConvDims) -> Function | None:
    """Returns ``f(g, weight)``, the gradient of data of a shape, or None."""
    if not _takes(g, weight, g.shape, weight.shape, shape) or max(dims.strides) > 1:
        return None
    axes = zip(dims.dilation, weight.shape[1:], dims.pads, strict=False)
    dims = dims._replace(pads=tuple([d * (k - 1) - pad for d, k, pad in axes]))
    turned = (weight.shape[-1], *weight.shape[1:-1], weight.shape[0])
    if min(dims.pads) < 0 or not _fits(g.shape, turned, dims):
        return None
    return partial(_convolve, dims=dims, is_turned=True)


def native_weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Function | None:
    """Returns ``f(data, g)``, the gradient of a weight of a shape, or None."""
    if not _takes(data, g, data.shape, g.shape, shape) or not _fits(data.shape, shape, dims):
        return None
    if shape[-1] < kernel.lanes() or shape[0] < _MIN_FILTERS or prod(shape[1:-1]) > _MAX_TAPS:
        return None
    return partial(_weight_grad, shape=shape, dims=dims)


def of_matrices(choose: Function, a: Array, b: Array, *shapes: Shape) -> Function | None:
    """Returns ``choose(a, b, *shapes)``, one of the functions above, for kernels of one element:
    data (positions, channels), weight (filters, channels)."""
    ones = ConvDims((1, 1), (0, 0), (1, 1), 1, "NHWC")
    pictures = [jax.ShapeDtypeStruct(_picture(x.shape), x.dtype) for x in (a, b)]
    native = choose(*pictures, *map(_picture, shapes), dims=ones)
    if native is None:
        return None

    def product(*matrices: Array) -> Array:
        result = native(*(lax.reshape(x, _picture(x.shape)) for x in matrices))
        return lax.reshape(result, (result.shape[0], result.shape[3]))

    return product


def _picture(shape: Shape) -> Shape:
    return shape[0], 1, 1, shape[1]


def _fits(data: Shape, weight: Shape, dims: ConvDims) -> bool:
    if dims.layout != "NHWC":
        return False
    filters, *window = weight
    padding = [(x, x) for x in dims.pads]
    return (
        dims.groups == 1
        and column_kernels(data, weight, dims, prepared=False) == (None,) * 3
        and kernel.supports(data, (*window, filters), dims.strides, padding, dims.dilation, 1)
    )


def _convolve(data: Array, weight: Array, dims: ConvDims, is_turned: bool = False) -> Array:
    filters = weight.shape[-1 if is_turned else 0]
    sizes = dims.output_sizes(data.shape[1:3], weight.shape[1:3])
    result = jax.ShapeDtypeStruct((data.shape[0], *sizes, filters), np.float32)
    packed = -(-filters // kernel.lanes()) * kernel.lanes() * (weight.size // filters)
    settings = [*weight.shape[1:3], *dims.strides, *dims.pads, *dims.dilation, is_turned]
    scratch = jax.ShapeDtypeStruct((packed,), np.float32)
    stored = lax.transpose(weight, (0, 3, 1, 2))
    call = jax.ffi.ffi_call(kernel.PACKING, [result, scratch])
    return call(data, stored, settings=np.array(settings, np.int64))[0]


def _weight_grad(data: Array, g: Array, shape: Shape, dims: ConvDims) -> Array:
    settings = np.array([*dims.strides, *dims.pads, *dims.dilation], np.int64)
    filters, *window, channels = shape
    result = jax.ShapeDtypeStruct((filters, channels, *window), np.float32)
    stored = jax.ffi.ffi_call(kernel.GRADIENT, result)(data, g, settings=settings)
    return lax.transpose(stored, (0, 2, 3, 1))
