"""Elements chosen by conditions and indices, and sets of elements."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, core, lax

from ...errors import DynamicShapeError, ShapeError, ValueRangeError
from ..schema.inference import Params, normal_axis, output_dtype, same_dtype_among
from ..schema.operator_registry import NUMPY_OPS
from ..schema.traits import NEEDS_VALUES
from .promotion import first_type, numpy_operator, outputs_typed, typed


def _choose(condition: Array, x: Array, y: Array) -> Array:
    return jnp.where(condition != 0, x, y)


@numpy_operator("_npi_where", infer_type=same_dtype_among("x", "y", "out0"))
def where(condition: Array, x: Array, y: Array) -> Array:
    """Chooses x where condition is not 0, and y elsewhere; the three broadcast to one shape."""
    return _choose(condition, x, y)


@numpy_operator("_npi_where_lscalar", infer_type=same_dtype_among("x", "out0"))
def where_lscalar(condition: Array, x: Array, *, scalar: float = 0.0) -> Array:
    """Chooses ``scalar`` where condition is not 0, and x elsewhere; both broadcast to one shape."""
    return _choose(condition, jnp.asarray(scalar, x.dtype), x)


@numpy_operator("_npi_where_rscalar", infer_type=same_dtype_among("y", "out0"))
def where_rscalar(condition: Array, y: Array, *, scalar: float = 0.0) -> Array:
    """Chooses y where condition is not 0, and ``scalar`` elsewhere; both broadcast to one shape."""
    return _choose(condition, y, jnp.asarray(scalar, y.dtype))


@numpy_operator("_npi_where_scalar2", infer_type=output_dtype("float32"))
def where_scalar2(condition: Array, *, x: float = 0.0, y: float = 0.0) -> Array:
    """Chooses ``x`` where condition, of any shape, is not 0, and ``y`` elsewhere: float32."""
    return jnp.where(condition != 0, jnp.float32(x), jnp.float32(y))


def _masked(mask: Array, data: Array, start_axis: int) -> Array:
    spread = (1,) * start_axis, (1,) * (data.ndim - start_axis - mask.ndim)
    return mask.reshape(*spread[0], *mask.shape, *spread[1]) != 0


@numpy_operator("_npi_boolean_mask_assign_scalar", infer_type=same_dtype_among("data", "out0"))
def boolean_mask_assign_scalar(
    data: Array, mask: Array, *, value: float, start_axis: int = 0
) -> Array:
    """Sets the elements of data, of any shape, to ``value`` where mask, over the axes from
    ``start_axis`` on, is not 0."""
    return jnp.where(_masked(mask, data, start_axis), jnp.asarray(value, data.dtype), data)


@numpy_operator(
    "_npi_boolean_mask_assign_tensor", infer_type=same_dtype_among("data", "value", "out0")
)
def boolean_mask_assign_tensor(
    data: Array, mask: Array, value: Array, *, start_axis: int = 0
) -> Array:
    """Sets the elements of data, of any shape, where mask, over the axes from ``start_axis`` on, is
    not 0, to the elements of value in order, or to one that broadcasts."""
    chosen = _masked(mask, data, start_axis)
    if value.ndim <= start_axis or value.shape[start_axis] == 1:
        return jnp.where(chosen, value, data)
    if data.ndim != mask.ndim + start_axis or start_axis:
        raise ShapeError(f"value {value.shape} does not fit the mask {mask.shape}")
    number = jnp.cumsum(chosen.reshape(-1)) - 1
    return jnp.where(chosen, jnp.take(value, number).reshape(data.shape), data)


def _values(name: str, x: Array) -> Any:
    x = lax.stop_gradient(x)
    if isinstance(x, core.Tracer):
        problem = "the size of its result depends on values that are not known in a program"
        raise DynamicShapeError(name, problem, hint="call it on arrays, outside hybridized blocks")
    return np.asarray(x)


@numpy_operator("_npx_nonzero", infer_type=output_dtype("int64"), traits={NEEDS_VALUES})
def nonzero(x: Array) -> Array:
    """Returns the indices (number, axes) of the elements of x, of any shape, that are not 0."""
    return jnp.asarray(np.argwhere(_values("_npx_nonzero", x)), "int64")


NUMPY_OPS["_npi_nonzero"] = NUMPY_OPS["_npx_nonzero"]


@numpy_operator(
    "_npi_unique",
    outputs=lambda p: tuple(
        f"output{i}" for i in range(1 + p.return_index + p.return_inverse + p.return_counts)
    ),
    infer_type=outputs_typed(out0=None, out1="int64", out2="int64", out3="int64"),
    traits={NEEDS_VALUES},
)
def unique(
    data: Array, *, return_index: bool = False, return_inverse: bool = False,
    return_counts: bool = False, axis: int | None = None,
):  # fmt: skip
    """Returns the distinct elements of data, of any shape, in order (or its distinct parts along
    ``axis``); with the place of each, the number of each element's, and how often they occur."""
    options: Any = (return_index, return_inverse, return_counts)
    results: Any = np.unique(_values("_npi_unique", data), *options, axis=axis)
    first, *rest = results if isinstance(results, tuple) else (results,)
    return (jnp.asarray(first), *(jnp.asarray(x.reshape(-1), "int64") for x in rest))


def _edited(edit: Any, length: int, places: Any, *new: Any) -> Any:
    try:
        return edit(np.arange(length), places, *new)
    except IndexError as error:
        raise ValueRangeError(f"np.{edit.__name__}", str(error)) from None


@numpy_operator(
    "_npi_delete",
    inputs=lambda p: (
        ("arr", "obj") if p.int_ind is p.start is p.stop is p.step is None else ("arr",)
    ),
    infer_type=typed(first_type),
    traits={NEEDS_VALUES},
)
def delete(
    arr: Array, obj: Array | None = None, *, start: int | None = None, stop: int | None = None,
    step: int | None = None, int_ind: int | None = None, axis: int | None = None,
) -> Array:  # fmt: skip
    """Leaves out parts of arr, of any shape, along ``axis`` (None: of all elements): those numbered
    by obj, by ``int_ind``, or from ``start`` to ``stop``."""
    x = arr.reshape(-1) if axis is None else arr
    length = x.shape[axis or 0]
    if obj is not None:
        places: Any = _values("_npi_delete", obj).astype(np.int64)
    else:
        places = slice(start, stop, step) if int_ind is None else int_ind
    kept = _edited(np.delete, length, places)
    return jnp.take(x, kept, axis or 0)


def _insert(arr: Array, values: Array | None, places: Any, axis: int | None, val: Any) -> Array:
    x = arr.reshape(-1) if axis is None else arr
    at = normal_axis(axis or 0, x.ndim)
    length = x.shape[at]
    new = jnp.asarray(values if val is None else val).astype(x.dtype)
    new = new.reshape(*(1,) * (x.ndim - new.ndim), *new.shape)
    if np.ndim(places) == 0 and not isinstance(places, slice):
        new = jnp.moveaxis(new, 0, at)
    count = np.arange(length)[places].size if isinstance(places, slice) else np.size(places)
    count = new.shape[at] if count == 1 else count
    new = jnp.broadcast_to(new, (*x.shape[:at], count, *x.shape[at + 1 :]))
    order = _edited(np.insert, length, places, length + np.arange(count))
    return jnp.take(jnp.concatenate([x, new], at), order, at)


def _inserted(p: Params) -> tuple[str, ...]:
    return ("arr", "values") if p.val is None else ("arr",)


@numpy_operator("_npi_insert_scalar", inputs=_inserted, infer_type=typed(first_type))
def insert_scalar(
    arr: Array, values: Array | None = None, *, int_ind: int, axis: int | None = None,
    val: float | None = None,
) -> Array:  # fmt: skip
    """Inserts values, or ``val``, which broadcast, before the part ``int_ind`` of arr, of any
    shape, along ``axis`` (None: of all elements)."""
    return _insert(arr, values, int_ind, axis, val)


@numpy_operator("_npi_insert_slice", inputs=_inserted, infer_type=typed(first_type))
def insert_slice(
    arr: Array, values: Array | None = None, *, start: int | None = None, stop: int | None = None,
    step: int | None = None, axis: int | None = None, val: float | None = None,
) -> Array:  # fmt: skip
    """Inserts values, or ``val``, which broadcast, before the parts of arr, of any shape, from
    ``start`` to ``stop`` along ``axis`` (None: of all elements)."""
    return _insert(arr, values, slice(start, stop, step), axis, val)


@numpy_operator(
    "_npi_insert_tensor",
    inputs=lambda p: (*_inserted(p), "obj" if p.val is None else "values"),
    infer_type=typed(first_type),
    traits={NEEDS_VALUES},
)
def insert_tensor(
    arr: Array, values: Array | None = None, obj: Array | None = None, *, axis: int | None = None,
    val: float | None = None,
) -> Array:  # fmt: skip
    """Inserts values, which broadcast, before the parts of arr, of any shape, that obj numbers
    along ``axis`` (None: of all elements). With ``val`` for all values, the second input is obj."""
    where_to = values if obj is None else obj
    assert where_to is not None, "inputs() names it"
    places = _values("_npi_insert_tensor", where_to).astype(np.int64)
    return _insert(arr, values, places, axis, val)


@numpy_operator("_npi_diag_indices_from", infer_type=output_dtype("int64"))
def diag_indices_from(data: Array) -> Array:
    """Returns the indices (axes, n) of the diagonal of data, of two axes or more, all of length
    n."""
    if data.ndim < 2 or len({*data.shape}) != 1:
        raise ShapeError(f"data is {data.shape}, expected two axes or more, of equal lengths")
    return jnp.broadcast_to(jnp.arange(data.shape[0]), (data.ndim, data.shape[0])).astype("int64")


@numpy_operator("_npx_constraint_check", infer_type=output_dtype("bool"), traits={NEEDS_VALUES})
def constraint_check(input: Array, *, msg: str = "Constraint violated.") -> Array:
    """Returns True, of shape (), if all elements of input, of any shape, are true. Raises
    ValueError with the text ``msg`` otherwise."""
    if not _values("_npx_constraint_check", input).all():
        raise ShapeError(msg)
    return jnp.ones((), bool)
