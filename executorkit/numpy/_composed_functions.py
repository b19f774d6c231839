"""Functions of ``mx.np`` that are more than one operator; of arrays, and of symbols alike."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentValueError, InputTypeError, NotSupportedError
from ..ops.schema.operator_registry import named
from ._table import FUNCTIONS
from ._ufuncs import UFUNCS
from .utils import call, check_array, check_order, is_number, is_numpy, operator

_reshape = FUNCTIONS["reshape"]

# -- order and places ------------------------------------------------------------------------------


def _check_order(name: str, order: Any) -> None:
    if order is not None:
        raise NotSupportedError(f"np.{name}", "order is not supported", hint="leave it out")


def sort(a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None) -> Any:
    """Returns a sorted copy along ``axis``; None sorts all elements. ``kind`` has no effect."""
    _check_order("sort", order)
    if axis is None:
        return call("_npi_sort", "sort", [_reshape(a, -1)])
    return call("_npi_sort", "sort", [a], axis=axis)


def argsort(a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None) -> Any:
    """Returns the indices that sort an array along ``axis``: int64. ``kind`` has no effect."""
    _check_order("argsort", order)
    if axis is None:
        return call("_npi_argsort", "argsort", [_reshape(a, -1)], dtype="int64")
    return call("_npi_argsort", "argsort", [a], axis=axis, dtype="int64")


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Returns elements limited to the numbers ``a_min`` and ``a_max``, one of which may be None."""
    if a_min is None and a_max is None:
        raise ArgumentValueError("np.clip", "a_min and a_max are None, expected one number or two")
    low, high = (
        float("-inf") if a_min is None else a_min,
        float("inf") if a_max is None else a_max,
    )
    return call("_npi_clip", "clip", [a], out, a_min=low, a_max=high)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Returns ``x`` where ``condition`` is true, and ``y`` elsewhere; without them the indices of
    true elements."""
    if (x is None) is not (y is None):
        raise ArgumentValueError("np.where", "x and y are given together, or neither")
    if x is None:
        return nonzero(condition)
    if is_number(condition):
        return x if condition else y
    check_array("where", condition, "'condition'")
    if is_number(x) and is_number(y):
        return call("_npi_where_scalar2", "where_scalar2", [condition], x=float(x), y=float(y))
    if is_number(x):
        return call("_npi_where_lscalar", "where_lscalar", [condition, y], scalar=float(x))
    if is_number(y):
        return call("_npi_where_rscalar", "where_rscalar", [condition, x], scalar=float(y))
    return call("_npi_where", "where", [condition, x, y])


def take(
    a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None
) -> Any:
    """Returns the parts of ``a`` with these indices along ``axis``; of all elements for None.
    ``mode`` is 'raise', 'clip' or 'wrap' for indices beyond them."""
    if mode not in ("raise", "clip", "wrap"):
        problem = f"mode={mode!r} is not supported"
        raise NotSupportedError("np.take", problem, hint="'raise', 'clip' or 'wrap'")
    if axis is None:
        return call("_npi_take", "take", [_reshape(a, -1), indices], out, axis=0, mode=mode)
    return call("_npi_take", "take", [a, indices], out, axis=axis, mode=mode)


def nonzero(a: Any) -> tuple[Any, ...]:
    """Returns the indices of elements that are not 0: an int64 array for each axis."""
    places = call("_npx_nonzero", "nonzero", [a])
    return tuple(places[:, i] for i in range(a.ndim))


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None,
) -> Any:  # fmt: skip
    """Returns the distinct elements of ``ar`` in order, or its distinct parts along ``axis``.

    return_index, return_inverse, return_counts
        Whether a tuple holds after them where each occurs first, the number of every element's
        distinct one, and how often each occurs (int64).
    """
    flags = {"return_index": return_index, "return_inverse": return_inverse}
    results = call("_npi_unique", "unique", [ar], **flags, return_counts=return_counts, axis=axis)
    return tuple(results) if isinstance(results, list) else results


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Returns the indices of the main diagonal of an array whose axes have one length."""
    places = call("_npi_diag_indices_from", "diag_indices_from", [arr])
    return tuple(places[i] for i in range(arr.ndim))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """Returns the indices along each axis of a ``shape`` for numbers of elements in order."""
    check_order("np.unravel_index", order)
    if is_number(indices):
        return tuple(int(i) for i in np.unravel_index(indices, shape))
    places = call("_unravel_index", "unravel_index", [indices], shape=tuple(shape))
    return tuple(places[i] for i in range(len(shape)))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Returns ``arr`` without the parts ``obj`` (a number, a slice or an array) along ``axis``."""
    if isinstance(obj, slice):
        start = 0 if obj.start is None else obj.start
        attrs = {"start": start, "stop": obj.stop, "step": obj.step, "axis": axis}
        return call("_npi_delete", "delete", [arr], **attrs)
    if isinstance(obj, int | np.integer):
        return call("_npi_delete", "delete", [arr], int_ind=int(obj), axis=axis)
    check_array("delete", obj, "'obj'")
    return call("_npi_delete", "delete", [arr, obj], axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Returns ``arr`` with ``values`` before the index ``obj`` (a number, a slice or an array of
    them) along ``axis``, or among all elements."""
    arrays, attrs = [arr], {"axis": axis}
    if is_number(values):
        attrs["val"] = values
    else:
        check_array("insert", values, "'values'")
        arrays.append(values)
    if isinstance(obj, slice):
        attrs |= {"start": obj.start, "stop": obj.stop, "step": obj.step or 1}
        return call("_npi_insert_slice", "insert_slice", arrays, **attrs)
    if isinstance(obj, int | np.integer):
        return call("_npi_insert_scalar", "insert_scalar", arrays, int_ind=int(obj), **attrs)
    check_array("insert", obj, "'obj'")
    return call("_npi_insert_tensor", "insert_tensor", [*arrays, obj], **attrs)


def arr_like(array: Any, numbers: Any) -> Any:
    """Returns int64 numbers as an array of the class and context of another."""
    from_host = np.asarray(numbers, np.int64)
    return type(array).from_host(from_host, array.context)


# -- joined and divided ----------------------------------------------------------------------------


def _sequence(name: str, arrays: Any) -> list[Any]:
    parts = list(arrays) if isinstance(arrays, list | tuple) or is_numpy(arrays) else [arrays]
    if not parts:
        raise ArgumentValueError(f"np.{name}", "expected at least one array")
    for x in parts:
        check_array(name, x, "a part")
    return parts


def _join(name: str, arrays: Any, out: Any = None, **attrs: Any) -> Any:
    parts = _sequence(name, arrays)
    return call(f"_npi_{name}", name, parts, out, num_args=len(parts), **attrs)


def concatenate(seq: Any, axis: int | None = 0, out: Any = None) -> Any:
    """Joins arrays along an existing axis; None joins their elements in order."""
    axes = {"axis": "None"} if axis is None else {"axis": axis}
    return _join("concatenate", seq, out, **axes)


def stack(arrays: Any, axis: int = 0, out: Any = None) -> Any:
    """Joins arrays of one shape along a new axis."""
    return _join("stack", arrays, out, axis=axis)


def _stacker(name: str, words: str) -> Any:
    return named(lambda arrays, out=None: _join(name, arrays, out), name, f"Joins arrays {words}.")


vstack = row_stack = _stacker("vstack", "along the first axis, vectors as rows")
hstack = _stacker("hstack", "along the second axis, vectors along their own")
dstack = _stacker("dstack", "along the third axis")
column_stack = _stacker("column_stack", "as columns of a matrix")


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Joins two arrays along ``axis``; None joins their elements in order."""
    return concatenate((arr, values), axis)


def _split(name: str, ary: Any, where: Any, axis: int, even: bool) -> list[Any]:
    if isinstance(where, int | np.integer):
        shape = getattr(ary, "shape", None)
        if even and shape is not None and shape[axis] % where:
            problem = f"axis {axis} of {shape} does not divide into {where} equal parts"
            raise ArgumentValueError(f"np.{name}", problem, hint="np.array_split")
        sections = {"indices": (), "sections": int(where)}
    elif isinstance(where, list | tuple | set):
        sections = {"indices": (0, *where), "sections": 0}
    else:
        problem = f"indices_or_sections is {where!r}, expected an int or a tuple of them"
        raise ArgumentValueError(f"np.{name}", problem)
    parts = call("_npi_split", name, [ary], axis=axis, **sections)
    return parts if isinstance(parts, list) else [parts]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Divides an array along ``axis`` into equal parts, or before the given indices."""
    return _split("split", ary, indices_or_sections, axis, even=True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Divides an array along ``axis`` into parts as equal as can be, or before indices."""
    return _split("array_split", ary, indices_or_sections, axis, even=False)


def _splitter(name: str, axis: int) -> Any:
    def function(ary: Any, indices_or_sections: Any) -> list[Any]:
        return _split(name, ary, indices_or_sections, min(axis, ary.ndim - 1), even=True)

    return named(function, name, f"Divides an array along axis {axis}; see :func:`split`.")


vsplit, hsplit, dsplit = _splitter("vsplit", 0), _splitter("hsplit", 1), _splitter("dsplit", 2)


# -- shapes ----------------------------------------------------------------------------------------


def ravel(x: Any, order: str = "C") -> Any:
    """Returns all elements in order, as a vector."""
    check_order("np.ravel", order)
    return _reshape(x, -1)


def flip(m: Any, axis: Any = None, out: Any = None) -> Any:
    """Reverses the order along ``axis``, or along all axes."""
    check_array("flip", m, "'m'")
    axes = tuple(range(m.ndim)) if axis is None else axis
    return call("_npi_flip", "flip", [m], out, axis=axes)


def flipud(m: Any) -> Any:
    """Reverses the order along the first axis."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """Reverses the order along the second axis."""
    return flip(m, 1)


def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    """Repeats a whole array ``reps`` times along each axis."""
    if is_number(A):
        return np.tile(A, reps)
    return call("_npi_tile", "tile", [A], reps=reps)


def resize(a: Any, new_shape: Any) -> Any:
    """Returns an array of ``new_shape`` with the elements in order, repeated as often as needed."""
    shape = tuple(new_shape) if isinstance(new_shape, Sequence) else (new_shape,)
    flat = _reshape(a, -1)
    places = np.arange(int(np.prod(shape))) % max(flat.size, 1)
    return _reshape(take(flat, arr_like(flat, places)), shape)


def broadcast_arrays(*args: Any) -> list[Any]:
    """Repeats arrays along axes of length 1 until all have one shape."""
    shape = np.broadcast_shapes(*(x.shape for x in args))
    return [x if x.shape == shape else FUNCTIONS["broadcast_to"](x, shape) for x in args]


def meshgrid(*xi: Any, **kwargs: Any) -> list[Any]:
    """Returns the coordinates of a grid, for vectors of coordinates along its axes; ``indexing``
    is 'xy' (the first two axes are exchanged) or 'ij', ``sparse`` leaves axes of length 1."""
    indexing, sparse = kwargs.pop("indexing", "xy"), kwargs.pop("sparse", False)
    if not kwargs.pop("copy", True):
        raise NotSupportedError("np.meshgrid", "copy=False is not supported", hint="leave it out")
    if kwargs or indexing not in ("xy", "ij"):
        raise ArgumentValueError("np.meshgrid", f"indexing={indexing!r}, {kwargs}")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    shapes = [[-1 if i == axis else 1 for i in range(len(xi))] for axis in axes]
    grid = [_reshape(x, tuple(shape)) for x, shape in zip(xi, shapes, strict=True)]
    return grid if sparse else broadcast_arrays(*grid)


def _at_least(name: str) -> Any:
    def function(*arys: Any) -> Any:
        parts = [call(f"_np_{name}", name, [x], num_args=1) for x in _sequence(name, list(arys))]
        return parts[0] if len(parts) == 1 else parts

    return named(function, name, f"Returns arrays with {name[8]} axes at least.")


atleast_1d, atleast_2d, atleast_3d = map(_at_least, ("atleast_1d", "atleast_2d", "atleast_3d"))


def pad(x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:
    """Adds elements before and behind each axis: a pair of numbers for each in ``pad_width``.
    ``mode``: 'constant' (``constant_values``), 'edge', 'reflect', 'symmetric', 'maximum' or
    'minimum'."""
    if not isinstance(pad_width, tuple):
        raise InputTypeError("np.pad", f"pad_width is {pad_width!r}, expected a tuple of pairs")
    value = kwargs.pop("constant_values", 0)
    reflect_type = kwargs.pop("reflect_type", "even")
    kwargs = {k: v for k, v in kwargs.items() if k != "stat_length" or v is not None}
    if kwargs:
        raise NotSupportedError("np.pad", f"{', '.join(kwargs)} is not supported")
    pairs = pad_width if isinstance(pad_width[0], tuple | list) else (pad_width,)
    attrs = {"pad_width": tuple(map(tuple, pairs)), "mode": mode, "reflect_type": reflect_type}
    return call("_npi_pad", "pad", [x], constant_value=value, **attrs)


# -- values ----------------------------------------------------------------------------------------


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """Returns an array of the shape of ``a``, and of its dtype unless ``dtype`` is given, filled
    with the number ``fill_value``; or fills ``out``. ``order`` is 'C', ``ctx`` has no effect."""
    check_order("np.full_like", order)
    value = int(fill_value) if isinstance(fill_value, bool) else fill_value
    return call("_npi_full_like", "full_like", [a], out, fill_value=value, dtype=dtype)


def zeros_like(
    a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None
) -> Any:
    """Returns :func:`full_like` of the same arguments with 0."""
    return full_like(a, 0, dtype, order, out=out)


def ones_like(a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None) -> Any:
    """Returns :func:`full_like` of the same arguments with 1."""
    return full_like(a, 1, dtype, order, out=out)


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None
) -> Any:
    """Returns zeros of the shape and dtype of ``prototype``: no memory is uninitialised."""
    if order != "C" or subok or shape is not None:
        problem = "order, subok and shape are not supported"
        raise NotSupportedError("np.empty_like", problem)
    return full_like(prototype, 0, dtype)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, out: Any = None
) -> Any:
    """Returns the average over ``axis``, with ``weights``; and the sum of them with
    ``returned``."""
    arrays = [a] if weights is None else [a, weights]
    attrs = {"axis": axis, "returned": returned, "weighted": weights is not None}
    return call("_npi_average", "average", arrays, out, **attrs)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Returns differences of neighbours of ``a`` along ``axis``, taken ``n`` times.
    NotSupportedError for ``prepend`` and ``append``."""
    if prepend or append:
        raise NotSupportedError("np.diff", "prepend and append are not supported")
    return call("_npi_diff", "diff", [a], n=n, axis=axis)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Returns differences of neighbours among all elements, between ``to_begin`` and ``to_end``."""
    check_array("ediff1d", ary, "'ary'")
    attrs: dict[str, Any] = {"input1": ary}
    for name, number, value in (("to_begin", 2, to_begin), ("to_end", 3, to_end)):
        if is_numpy(value):
            attrs |= {f"input{number}": value, f"{name}_arr_given": True}
        elif value is not None:
            attrs[f"{name}_scalar"] = float(value)
    return ary.numpy_call(operator("_npi_ediff1d"), "ediff1d", (), attrs)


def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
    interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Returns the ``q``-th percentiles over ``axis`` (None: of all elements), or writes them to
    ``out``; ``q`` is a number or an array from 0 to 100. ``interpolation`` is 'linear', 'lower',
    'higher', 'midpoint' or 'nearest'; with ``keepdims`` axes stay, with length 1.
    NotSupportedError for ``overwrite_input``."""
    if overwrite_input is not None:
        raise NotSupportedError("np.percentile", "overwrite_input is not supported")
    attrs = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims}
    if is_number(q):
        if not 0 <= q <= 100:
            raise ArgumentValueError("np.percentile", f"q is {q}, expected 0 to 100")
        return call("_npi_percentile", "percentile", [a], out, q_scalar=float(q), **attrs)
    check_array("percentile", q, "'q'")
    return call("_npi_percentile", "percentile", [a, q], out, **attrs)


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
    interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Returns :func:`percentile` of 100 ``q``, a number or an array from 0 to 1; the other
    arguments are the same."""
    if not is_number(q):
        check_array("quantile", q, "'q'")
    return percentile(
        a, q * 100, axis=axis, out=out, overwrite_input=overwrite_input,
        interpolation=interpolation, keepdims=keepdims,
    )  # fmt: skip


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Returns how often each number occurs in a vector of integers, or the sum of its weights."""
    arrays = [x] if weights is None else [x, weights]
    has_weights = weights is not None
    attrs = {"minlength": minlength, "has_weights": has_weights}
    return call("_npi_bincount", "bincount", arrays, **attrs)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, normed: Any = None, weights: Any = None,
    density: Any = None,
) -> Any:  # fmt: skip
    """Returns the number of elements in each of ``bins`` (a number of them between ``range``, or
    an array of their edges), and the edges."""
    if normed or weights is not None or density:
        raise NotSupportedError("np.histogram", "normed, weights and density are not supported")
    if is_number(bins):
        if range is None:
            problem = "range is not given"
            raise NotSupportedError("np.histogram", problem, hint="range=(low, high)")
        return call("_npi_histogram", "histogram", [a], bin_cnt=bins, range=tuple(range))
    if range is not None or isinstance(bins, list | tuple):
        hint = "bins=np.array([...]) without range"
        raise NotSupportedError("np.histogram", f"bins={bins!r}, range={range}", hint=hint)
    return call("_npi_histogram", "histogram", [a, bins])


# -- products --------------------------------------------------------------------------------------


def matmul(a: Any, b: Any, out: Any = None, **kwargs: Any) -> Any:
    """Returns the product of matrices, or of stacks of them whose leading axes broadcast."""
    if kwargs:
        raise InputTypeError("np.matmul", f"unknown argument {next(iter(kwargs))!r}")
    return call("_npi_matmul", "matmul", [a, b], out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Returns sums of products over the last ``axes`` axes of ``a`` and the first of ``b``, or over
    pairs of axes that two lists name."""
    if is_number(axes):
        return call("_npi_tensordot_int_axes", "tensordot_int_axes", [a, b], axes=int(axes))
    if len(axes) != 2:
        raise ArgumentValueError("np.tensordot", f"axes={axes!r}, expected two lists of axes")
    both = [(x,) if is_number(x) else tuple(x) for x in axes]
    if len(both[0]) != len(both[1]):
        raise ArgumentValueError("np.tensordot", f"axes={axes!r} have different lengths")
    sums = {"a_axes_summed": both[0], "b_axes_summed": both[1]}
    return call("_npi_tensordot", "tensordot", [a, b], **sums)


def inner(a: Any, b: Any) -> Any:
    """Returns sums of products over the last axes of both."""
    return tensordot(a, b, (-1, -1))


def outer(a: Any, b: Any) -> Any:
    """Returns the products of all elements of ``a`` with all of ``b``."""
    return tensordot(_reshape(a, -1), _reshape(b, -1), 0)


def vdot(a: Any, b: Any) -> Any:
    """Returns the sum of products of all elements, in order."""
    return tensordot(_reshape(a, -1), _reshape(b, -1), 1)


def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Returns sums of products by Einstein's convention: ``einsum('ij,jk->ik', a, b)``."""
    optimize, out = kwargs.pop("optimize", False), kwargs.pop("out", None)
    subscripts, *arrays = operands
    if not isinstance(subscripts, str):
        raise InputTypeError("np.einsum", "the first argument is not a text")
    attrs = {"num_args": len(arrays), "subscripts": subscripts, "optimize": int(bool(optimize))}
    return call("_npi_einsum", "einsum", arrays, out, **attrs)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns a norm of vectors (over one axis) or matrices (over two), as ``numpy.linalg.norm``;
    by default the root of the sum of squares."""
    attrs = {"axis": axis, "keepdims": keepdims}
    if isinstance(axis, int):
        attrs["axis"] = (axis,)
    if ord is None:
        flag = -2 if axis is None else len(attrs["axis"])
        return call("_npi_norm", "norm", [x], ord=2.0, flag=0 if flag == 2 else flag, **attrs)
    if ord == "nuc":
        return call("_npi_norm", "norm", [x], ord=2.0, flag=3, **attrs)
    if ord == "fro":
        return call("_npi_norm", "norm", [x], ord=2.0, flag=0, **attrs)
    if axis is None:
        attrs["axis"] = tuple(range(x.ndim))
    if ord in (float("inf"), float("-inf")) and len(attrs["axis"]) == 1:
        reduce = FUNCTIONS["max" if ord > 0 else "min"]
        return reduce(UFUNCS["abs"](x), attrs["axis"], keepdims)
    return call("_npi_norm", "norm", [x], ord=float(ord), flag=len(attrs["axis"]), **attrs)


def det(a: Any) -> Any:
    """Returns the determinants of matrices."""
    return _without_axis(a, call("_npi_det", "det", [a]))


def slogdet(a: Any) -> list[Any]:
    """Returns the signs of the determinants of matrices, and the logarithms of their sizes."""
    sign, logarithm = call("_npi_slogdet", "slogdet", [a])
    return [_without_axis(a, sign), _without_axis(a, logarithm)]


def _without_axis(a: Any, result: Any) -> Any:
    # The operator gives a single matrix's number the shape (1,).
    return _reshape(result, ()) if getattr(a, "ndim", 0) == 2 else result


def pinv(a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:
    """Returns the pseudo-inverses of matrices; singular values below ``rcond`` times the largest
    count as 0."""
    if is_number(rcond):
        attrs = {"rcond": float(rcond), "hermitian": hermitian}
        return call("_npi_pinv_scalar_rcond", "pinv_scalar_rcond", [a], **attrs)
    return call("_npi_pinv", "pinv", [a, rcond], hermitian=hermitian)
