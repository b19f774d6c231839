"""Comparison of arrays within tolerances that depend on their precision. NDArrays, NumPy arrays,
jax arrays and numbers may be mixed. Two numbers agree if ``|a - b| <= atol + rtol * |b|``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ndarray import NDArray

_HALF, _SINGLE, _DOUBLE = map(np.dtype, ("float16", "float32", "float64"))
_EXACT = dict.fromkeys(
    map(np.dtype, ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")), 0
)

Tolerance = float | Mapping[Any, float] | None


def default_rtols() -> dict[np.dtype, float]:
    """Returns the relative tolerance of each element type."""
    return {_HALF: 1e-2, _SINGLE: 1e-4, _DOUBLE: 1e-5, **_EXACT}


def default_atols() -> dict[np.dtype, float]:
    """Returns the absolute tolerance of each element type."""
    return {_HALF: 1e-1, _SINGLE: 1e-3, _DOUBLE: 1e-20, **_EXACT}


def default_numeric_eps() -> dict[np.dtype, float]:
    """Returns the step of finite differences by type, a power of two: x + eps is exact."""
    return {_HALF: 2.0**-6, _SINGLE: 2.0**-9, _DOUBLE: 2.0**-14}


def to_numpy(value: object) -> np.ndarray:
    return value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)


def effective_dtype(dat: Any) -> np.dtype:
    """Returns the element type of ``dat``, which is also its precision here."""
    return np.dtype(dat.dtype) if hasattr(dat, "dtype") else np.asarray(dat).dtype


def get_tolerance(dat: object, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """Returns a number, or the entry of a dict (None: ``default_tol``) for ``dat``'s dtype."""
    if tol is not None and not isinstance(tol, Mapping):
        return tol
    table = default_tol if tol is None else {np.dtype(k): v for k, v in tol.items()}
    return table.get(effective_dtype(dat), 0)


def get_tols(x: object, y: object, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """Returns (rtol, atol) of the less precise of x and y."""
    return (
        max(get_tolerance(x, rtol, default_rtols()), get_tolerance(y, rtol, default_rtols())),
        max(get_tolerance(x, atol, default_atols()), get_tolerance(y, atol, default_atols())),
    )


def get_rtol(rtol: Any = None, dtype: Any = _DOUBLE) -> Any:
    """Returns ``rtol``, or the default of ``dtype``."""
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: Any = None, dtype: Any = _DOUBLE) -> Any:
    """Returns ``atol``, or the default of ``dtype``."""
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """Returns ``etol``, or 0: the share of entries that may differ."""
    return 0 if etol is None else etol


def same(a: object, b: object) -> bool:
    """Returns True if two arrays are equal in every entry."""
    return np.array_equal(to_numpy(a), to_numpy(b))


def _violations(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    wide = np.result_type(a, b, np.float64)
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(divide="ignore", invalid="ignore"):
        violation = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
    violation = np.where(a == b, 0.0, violation)
    return np.where(np.isnan(violation), np.inf, violation)


def almost_equal(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Returns True if two arrays agree; the arguments are as in :func:`assert_almost_equal`."""
    a, b = to_numpy(a), to_numpy(b)
    if not use_broadcast and a.shape != b.shape:
        return False
    rtol, atol = get_tols(a, b, rtol, atol)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def _report(
    a: np.ndarray,
    b: np.ndarray,
    rtol: float,
    atol: float,
    names: tuple[str, str],
    mismatches: tuple[int, int],
) -> str:
    x, y = np.broadcast_arrays(a, b)
    errors = _violations(x, y, rtol, atol)
    count = np.count_nonzero(errors > 1)
    order = np.argsort(errors, axis=None, kind="stable")[::-1]
    lines = [
        f"{count} of {x.size} entries ({100 * count / x.size:.6f}%) differ by more than "
        f"rtol={rtol:e}, atol={atol:e}"
    ]
    for flat_index in order[: max(min(count, mismatches[1]), 1)]:
        index = tuple(map(int, np.unravel_index(flat_index, x.shape)))
        lines.append(
            f"  error {errors[index]:.6f} times the tolerance at {index}: "
            f"{names[0]}={x[index]:.8f}, {names[1]}={y[index]:.8f}"
        )
    lines += [f" {names[0]}: {a!r}", f" {names[1]}: {b!r}"]
    return "\n".join(lines)


def assert_almost_equal(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises AssertionError unless the arrays ``a`` and ``b`` agree: ``abs(a - b) <= atol + rtol *
    abs(b)``.

    rtol, atol
        Numbers; None: the tolerance of the less precise dtype.
    names
        The names of both in the message.
    equal_nan
        Whether NaN equals NaN.
    use_broadcast
        Whether shapes may differ if they broadcast.
    mismatches
        The message lists up to ``mismatches[1]`` entries.
    """
    options = {"equal_nan": equal_nan, "mismatches": mismatches, "use_broadcast": use_broadcast}
    assert_almost_equal_with_err(a, b, rtol, atol, 0, names, **options)


def assert_almost_equal_with_err(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
    *,
    use_broadcast: bool = True,
) -> None:
    """Checks as :func:`assert_almost_equal`, with its arguments, but a share ``etol`` of the
    entries may differ (by default ``default_etol()``)."""
    a, b = to_numpy(a), to_numpy(b)
    rtol, atol = get_tols(a, b, rtol, atol)
    if not use_broadcast and a.shape != b.shape:
        raise AssertionError(f"{names[0]} has shape {a.shape}, {names[1]} has {b.shape}")
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise AssertionError(
            f"{names[0]} has shape {a.shape}, {names[1]} has {b.shape}: they cannot be broadcast"
        ) from None
    agree = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if agree.size and 1 - np.mean(agree) > get_etol(etol):
        raise AssertionError(_report(a, b, rtol, atol, names, mismatches))


def assert_allclose(
    a: object, b: object, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """Checks as :func:`assert_almost_equal`, with its arguments and NumPy's defaults."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_ignore_nan(
    a: object,
    b: object,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, str] = ("a", "b"),
) -> None:
    """Checks as :func:`assert_almost_equal`, with its arguments, the entries that are NaN on
    neither side."""
    a, b = to_numpy(a), to_numpy(b)
    skip = np.isnan(a) | np.isnan(b)
    assert_almost_equal(np.where(skip, 0, a), np.where(skip, 0, b), rtol, atol, names)


def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: object, **kwargs: object
) -> None:
    """Raises AssertionError unless ``f(*args, **kwargs)`` raises ``exception_type``."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{exception_type.__name__} was not raised")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """Compares two arrays, or two equally nested tuples of arrays; None equals anything. Of tuples
    of different lengths the first elements are compared, as in MXNet."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for a, b in zip(t1, t2, strict=False):
            compare_ndarray_tuple(a, b, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def checkShapes(a: Any, b: Any) -> None:  # noqa: N802 - MXNet's name
    """Raises AssertionError unless two arrays, or two sequences of them, have the same shapes."""
    if isinstance(a, tuple | list):
        for x, y in zip(a, b, strict=True):
            checkShapes(x, y)
    elif tuple(a.shape) != tuple(b.shape):
        raise AssertionError(f"a.shape = {a.shape} and b.shape = {b.shape} are not equal")


def locationError(  # noqa: N802 - MXNet's name
    a: np.ndarray, b: np.ndarray, index: tuple[int, ...], names: Sequence[str],
    maxError: bool = False,  # noqa: N803
) -> str:  # fmt: skip
    """Returns a text on the difference of the arrays ``a`` and ``b``, called ``names``, at
    ``index``; ``maxError`` calls it the largest."""
    first, second = (f"{name}={x[index]:.8f}" for name, x in zip(names, (a, b), strict=True))
    return f"Location of {'maximum ' if maxError else ''}error: {index}, {first}, {second}"


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Returns True if two NDArrays share memory; tests by a write to the first, and undoes it."""
    before = array1.asnumpy()
    if not same(array1, array2):
        return False
    array1[:] = before + 1
    shared = same(array1, array2)
    array1[:] = before
    return shared
