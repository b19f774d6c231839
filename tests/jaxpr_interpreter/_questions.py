"""Questions about single primitives at their edges, by theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Question(NamedTuple):
    """A function of some arrays, and the relative tolerance of floating results."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    rtol: float = 0.0


FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3.7, -3.7, 127.9, 255.6, -128.9,
    300.0, 32767.5, 65504.0, np.inf, -np.inf, np.nan,
]  # fmt: skip
LARGE = [2147483520.0, 2147483648.0, -2147483648.0, 3e9, -3e9, 1e19, -1e19, 1e30]
RANDOM = np.random.default_rng(0)


def floats(dtype: Any) -> np.ndarray:
    """Numbers at edges of a floating dtype."""
    dtype = jnp.dtype(dtype)
    return np.array(FLOATS + (LARGE if dtype.itemsize > 2 else []), dtype)


def pairs(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of numbers, in two arrays."""
    left, right = np.meshgrid(np.arange(len(x)), np.arange(len(x)))
    return x[left.ravel()], x[right.ravel()]


def integers(dtype: Any) -> np.ndarray:
    """Numbers at edges of an integer dtype."""
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 8, 31, 63, 100]
    return np.array(edges + ([-1, -2, -7] if info.min else []), dtype)


def float_questions() -> Iterator[Question]:
    """Elementwise primitives of floats."""
    exact = [
        lax.neg, lax.abs, lax.sign, lax.floor, lax.ceil, lax.is_finite, lax.square,
        lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
        lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    ]  # fmt: skip
    rounded = [
        lax.sqrt, lax.rsqrt, lax.exp, lax.log, lax.log1p, lax.expm1, lax.tanh, lax.logistic,
        lax.cbrt, lax.atan, lax.erf, lax.erfc, lambda x: lax.integer_pow(x, 3),
        lambda x: lax.integer_pow(x, -2), lambda x: lax.integer_pow(x, 0), lax.asinh,
    ]  # fmt: skip
    tight = [lax.sin, lax.cos, lax.tan, lax.sinh, lax.cosh, lax.asin, lax.acos, lax.atanh,
             lax.erf_inv, lax.acosh]  # fmt: skip
    both = [
        lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge,
        lambda x, y: lax.clamp(x, y, jnp.asarray(2, x.dtype)),
        lambda x, y: lax.select(x < y, x, y),
    ]  # fmt: skip
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        x = floats(dtype)
        inside = np.linspace(-0.9, 0.9, 7).astype(x.dtype)
        rtol = {"float32": 3e-6, "float64": 1e-12, "float16": 2e-3, "bfloat16": 1.6e-2}[dtype]
        for i, function in enumerate(exact):
            yield Question(f"exact{i}-{dtype}", function, (x,))
        for i, function in enumerate(rounded):
            yield Question(f"rounded{i}-{dtype}", function, (x,), rtol)
        if dtype != "bfloat16":  # XLA rounds the exponent of exp2
            yield Question(f"exp2-{dtype}", lax.exp2, (x,), rtol)
        for i, function in enumerate(tight):
            shifted = inside + np.asarray(2, x.dtype) if function is lax.acosh else inside
            yield Question(f"inside{i}-{dtype}", function, (shifted,), rtol)
        for i, function in enumerate(both):
            yield Question(f"pair{i}-{dtype}", function, pairs(x))
        for i, function in enumerate((lax.div, lax.rem, lax.pow, lax.atan2)):
            yield Question(f"rounded-pair{i}-{dtype}", function, pairs(x[:18]), rtol)


def special_questions() -> Iterator[Question]:
    """Special functions, reduced precision, complex numbers."""
    for dtype in ("float32", "float64"):
        positive = np.array([0.1, 0.5, 1.0, 2.5, 10.0, 40.0], dtype)
        rtol = {"float32": 2e-5, "float64": 1e-11}[dtype]
        for i, function in enumerate((lax.lgamma, lax.digamma, lax.bessel_i0e, lax.bessel_i1e)):
            yield Question(f"special{i}-{dtype}", function, (positive,), rtol)
        yield Question(f"poles-{dtype}", lax.lgamma, (np.array([-np.inf, -1, 0, np.inf], dtype),))
        for i, function in enumerate((lax.igamma, lax.igammac)):
            yield Question(f"special-pair{i}-{dtype}", function, pairs(positive), rtol)
        yield Question(f"nextafter-{dtype}", lax.nextafter, pairs(floats(dtype)[2:14]))
        if dtype == "float32":
            half = lambda x: lax.reduce_precision(x, 5, 10)  # noqa: E731
            yield Question(
                "half", half, (np.append(floats(dtype), [1e-5, -1e-6, 7e-5, 1e-9]).astype("f"),)
            )
            yield Question(
                "reduced-bfloat16", lambda x: lax.reduce_precision(x, 8, 7), (floats(dtype),)
            )
    yield Question(
        "float-power",
        lax.pow,
        (np.array([2, 3, -2], np.float32), np.array([3, -1, 2], np.int32)),
        3e-6,
    )
    z = np.array([1 + 2j, -0.5j, 3], np.complex64)
    for i, function in enumerate((lax.exp, lax.real, lax.imag, lax.conj, lax.abs, lax.neg)):
        yield Question(f"complex{i}", function, (z,), 1e-6)
    yield Question("make-complex", lax.complex, (z.real.copy(), z.imag.copy()))


def integer_questions() -> Iterator[Question]:
    """Elementwise primitives of integers and truth values."""
    both = [
        lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and,
        lax.bitwise_or, lax.bitwise_xor, lax.shift_left, lax.shift_right_logical,
        lax.shift_right_arithmetic, lax.lt, lax.ge,
    ]  # fmt: skip
    one = [lax.neg, lax.sign, lax.bitwise_not, lax.population_count, lax.clz,
           lambda x: lax.integer_pow(x, 3)]  # fmt: skip
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        x = integers(dtype)
        for i, function in enumerate(both):
            yield Question(f"pair{i}-{dtype}", function, pairs(x))
        for i, function in enumerate(one):
            yield Question(f"one{i}-{dtype}", function, (x,))
    truth = np.array([True, False])
    for i, function in enumerate((lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max)):
        yield Question(f"truth{i}", function, pairs(truth))
    yield Question("not", lax.bitwise_not, (truth,))
    cases = [np.full(4, i, np.float32) for i in range(3)]
    yield Question("choice", lax.select_n, (np.array([0, 1, 2, 1], np.int32), *cases))


def conversion_questions() -> Iterator[Question]:
    """Every pair of dtypes, and equal bits."""
    names = [
        "bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
        "float32", "float64",
    ]  # fmt: skip
    for source in names:
        kind = jnp.dtype(source)
        if source == "bool":
            x = np.array([True, False])
        else:
            x = integers(kind) if kind.kind in "iu" else floats(kind)
        for target in names:

            def convert(x: Any, target: str = target) -> Any:
                return lax.convert_element_type(x, target)

            yield Question(f"{source}-{target}", convert, (x,))
    words = RANDOM.integers(0, 2**32, (3, 4), dtype=np.uint32)
    for target in ("int32", "float32", "uint8", "uint16"):

        def cast(x: Any, target: str = target) -> Any:
            return lax.bitcast_convert_type(x, jnp.dtype(target))

        yield Question(f"bits-{target}", cast, (words,))
    pair = RANDOM.integers(0, 256, (3, 4), dtype=np.uint8)
    yield Question("bits-joined", lambda x: lax.bitcast_convert_type(x, np.uint32), (pair,))


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(dtype)


def reduction_questions() -> Iterator[Question]:
    """Reductions, running sums, sorting."""
    x = normal(3, 4, 5)
    holes = x.copy()
    holes[0, 1, 2] = holes[2, 0, 0] = np.nan
    ties = RANDOM.integers(0, 3, (4, 6)).astype(np.float32)
    ties[0, 2] = ties[2, 4] = np.nan
    small = RANDOM.integers(-100, 100, (3, 40)).astype(np.int8)
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1), (1, 2), (0, 1, 2)):
        for name in ("sum", "prod", "max", "min"):
            function = getattr(lax, f"reduce_{name}")
            for dtype, rtol in (("float32", 1e-6), ("float16", 4e-3), ("bfloat16", 3e-2)):
                yield Question(
                    f"{name}-{axes}-{dtype}",
                    lambda x, f=function, axes=axes: f(x, axes),
                    (x.astype(dtype),),
                    rtol,
                )
    for name in ("sum", "prod", "max", "min", "and", "or", "xor"):
        function = getattr(lax, f"reduce_{name}")
        yield Question(f"{name}-int8", lambda x, f=function: f(x, (1,)), (small,))
    for name in ("and", "or", "xor"):
        function = getattr(lax, f"reduce_{name}")
        yield Question(f"{name}-truth", lambda x, f=function: f(x, (0,)), (small > 0,))
    for i, function in enumerate((lax.reduce_max, lax.reduce_min)):
        yield Question(f"hole{i}", lambda x, f=function: f(x, (0,)), (holes,))
        empty = np.zeros((0, 3), np.float32)
        yield Question(f"empty{i}", lambda x, f=function: f(x, (0,)), (empty,))
        yield Question(f"empty-int{i}", lambda x, f=function: f(x, (0,)), (empty.astype(int),))
    for i, function in enumerate((lax.argmax, lax.argmin)):
        for data in (holes, ties, small, ties.astype(jnp.bfloat16)):
            yield Question(
                f"arg{i}-{data.dtype}-{data.ndim}",
                lambda x, f=function: (f(x, 1, np.int32), f(x, 0, np.int64)),
                (data,),
            )
    running = (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
    for i, function in enumerate(running):
        for reverse in (False, True):
            yield Question(
                f"running{i}-{reverse}",
                lambda x, f=function, r=reverse: f(x, 1, reverse=r),
                (x,),
                3e-6,
            )
    yield Question("running-int8", lambda x: lax.cumsum(x, 1), (small,))
    for axis in (0, 1):
        yield Question(f"sort-{axis}", lambda x, a=axis: lax.sort(x, dimension=a), (ties,))
        yield Question(
            f"sort-two-{axis}",
            lambda x, y, a=axis: lax.sort((x, y), dimension=a, num_keys=1, is_stable=True),
            (ties, normal(4, 6)),
        )
        yield Question(
            f"sort-keys-{axis}",
            lambda x, y, z, a=axis: lax.sort((x, y, z), dimension=a, num_keys=2),
            (ties, ties[::-1].copy(), normal(4, 6)),
        )
    yield Question("sort-int", lambda x: lax.sort(x, dimension=1), (small,))
    yield Question("sort-bfloat16", lambda x: lax.sort(x), (ties.astype(jnp.bfloat16),))
    yield Question("top", lambda x: lax.top_k(x, 3), (ties,))
    yield Question("top-int", lambda x: lax.top_k(x, 5), (small,))
    yield Question("general", lambda x: lax.reduce(x, np.float32(1), lax.add, (0, 1)), (x,), 1e-6)
    yield Question("general-max", lambda x: lax.reduce(x, np.float32(0.5), lax.max, (2,)), (x,))


def shape_questions() -> Iterator[Question]:
    """Values moved, padded and cut."""
    x, number = normal(4, 5), np.float32(7)
    for low in (-1, 0, 2):
        for high in (-3, -1, 0, 1):
            for interior in (0, 1, 2):
                config = ((low, high, interior), (high + 2, low, 0))
                yield Question(
                    f"pad{low}{high}{interior}",
                    lambda x, v, c=config: lax.pad(x, v, c),
                    (x, number),
                )
    yield Question("rev", lambda x: lax.rev(x, (1,)), (x,))
    yield Question("strides", lambda x: lax.slice(x, (1, 0), (4, 5), (2, 3)), (x,))
    yield Question("broadcast", lambda x: lax.broadcast_in_dim(x, (2, 4, 5, 3), (1, 2)), (x,))
    yield Question("iota", lambda x: x + lax.broadcasted_iota(np.float32, (4, 5), 1), (x,))
    yield Question("turned", lambda x: lax.reshape(x, (20,), (1, 0)), (x,))
    yield Question("joined", lambda x: lax.concatenate([x, x[:, :2]], 1), (x,))
    yield Question("stacked", lambda x: jnp.stack([x, x + 1], 1), (x,))
    yield Question("split", lambda x: lax.split(x, (2, 3), axis=1), (x,))
    yield Question("tile", lambda x: jnp.tile(x, (2, 3)), (x,))
    for start in ((-3, 2), (1, 9), (2, 1)):
        where = np.array(start, np.int32)
        yield Question(
            f"cut{start}", lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), (x, where)
        )
        yield Question(
            f"put{start}",
            lambda x, i: lax.dynamic_update_slice(x, x[:2, :3] * 2, (i[0], i[1])),
            (x, where),
        )


def index_questions() -> Iterator[Question]:
    """Gathers and scatters of all forms and modes."""
    x = normal(4, 5, 6)
    inside, beyond = np.array([[0, 2], [3, 1]], np.int32), np.array([[0, -2], [9, 1]], np.int32)
    modes = ("clip", "fill", "promise_in_bounds")
    for name, places in (("inside", inside), ("beyond", beyond)):
        for mode in modes:
            if (name, mode) == ("beyond", "promise_in_bounds"):
                continue
            for axis in range(3):
                yield Question(
                    f"take-{axis}-{name}-{mode}",
                    lambda x, i, a=axis, m=mode: jnp.take(
                        x, i, a, mode=m if m != "promise_in_bounds" else None
                    ),
                    (x, places),
                )
            for operand, offset, collapsed, index_map, sizes in (
                (x, (1, 2), (1,), (1,), (3, 1, 6)),
                (x, (0, 2), (0,), (0, 2), (1, 2, 3)),
                (x, (1, 2, 3), (), (2, 0), (2, 5, 1)),
                (x, (1,), (0, 1), (1, 0), (1, 1, 6)),
                (x.astype(np.int32), (0, 1), (2,), (2,), (4, 2, 1)),
            ):
                numbers = lax.GatherDimensionNumbers(offset, collapsed, index_map)
                indices = places[..., : len(index_map)]
                yield Question(
                    f"gather-{name}-{mode}-{offset}-{index_map}-{operand.dtype}",
                    lambda x, i, n=numbers, s=sizes, m=mode: lax.gather(x, i, n, s, mode=m),
                    (operand, indices),
                )
                kept = [s for d, s in enumerate(sizes) if d not in collapsed]
                shape, window = [], iter(kept)
                shape = [next(window) if d in offset else 2 for d in range(len(kept) + 1)]
                update_numbers = lax.ScatterDimensionNumbers(offset, collapsed, index_map)
                updates = normal(*shape).astype(operand.dtype)
                for kind in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"):
                    if name == "beyond" or kind == "scatter_add" or mode == "clip":
                        yield Question(
                            f"{kind}-{name}-{mode}-{offset}-{index_map}-{operand.dtype}",
                            lambda x, i, u, k=kind, n=update_numbers, m=mode: getattr(lax, k)(
                                x, i, u, n, mode=m
                            ),
                            (operand, indices, updates),
                            1e-6,
                        )
    rows = RANDOM.integers(0, 4, (50,)).astype(np.int32)
    for dtype in (np.float32, np.float16, np.int32):
        yield Question(
            f"many-rows-{np.dtype(dtype)}",
            lambda x, i, u: x.at[i].add(u),
            (x[..., 0].astype(dtype), rows, (normal(50, 5) * 4).astype(dtype)),
            4e-3 if dtype is np.float16 else 3e-6,
        )
    yield Question(
        "many-numbers", lambda x, i, u: x.at[i].add(u), (normal(4), rows, normal(50)), 1e-5
    )
    yield Question(
        "along",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        (x, RANDOM.integers(0, 5, (4, 3, 6)).astype(np.int32)),
    )
    yield Question(
        "mapped-take",
        lambda x, i: jax.vmap(lambda x, i: x[i])(x, i),
        (x, RANDOM.integers(0, 5, (4, 3)).astype(np.int32)),
    )
    yield Question(
        "mapped-add",
        lambda x, i: jax.vmap(lambda x, i: x.at[i].add(1))(x, i),
        (x, RANDOM.integers(0, 5, (4, 3)).astype(np.int32)),
        1e-6,
    )


def product_questions() -> Iterator[Question]:
    """Products of matrices."""
    for left, right, sums, batch in (
        ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
        ((4, 3), (5, 4), ((0,), (1,)), ((), ())),
        ((3, 4), (5, 4), ((1,), (1,)), ((), ())),
        ((4,), (4,), ((0,), (0,)), ((), ())),
        ((2, 3, 4), (4, 2, 5), ((2,), (0,)), ((0,), (1,))),
        ((2, 3, 4, 5), (5, 6, 3), ((3, 1), (0, 2)), ((), ())),
        ((3,), (4,), ((), ()), ((), ())),
        ((3, 0), (0, 2), ((1,), (0,)), ((), ())),
    ):
        for dtype, rtol in (("float32", 1e-6), ("float64", 1e-14), ("float16", 2e-3)):
            yield Question(
                f"{left}{right}{sums}{dtype}",
                lambda x, y, n=(sums, batch): lax.dot_general(x, y, n),
                (normal(*left, dtype=dtype), normal(*right, dtype=dtype)),
                rtol,
            )
    x = RANDOM.integers(-128, 128, (3, 70)).astype(np.int8)
    y = RANDOM.integers(-128, 128, (70, 4)).astype(np.int8)
    for kind in (np.int8, np.int32):
        yield Question(
            f"int8-{np.dtype(kind)}",
            lambda x, y, k=kind: lax.dot(x, y, preferred_element_type=k),
            (x, y),
        )
    yield Question("int64", lax.dot, (x.astype(np.int64) << 40, y.astype(np.int64)))
    rows = normal(3, 4).astype(jnp.bfloat16)
    yield Question(
        "bfloat16-wide", lambda x: lax.dot(x, x.T, preferred_element_type=np.float32), (rows,), 1e-6
    )


def convolution_questions() -> Iterator[Question]:
    """Convolutions of every layout, stride, dilation and grouping."""
    for lhs, rhs, out in (
        ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("CHWN", "IHWO", "HWNC"),
    ):  # fmt: skip
        for window, strides, padding, left, right, groups, batch_groups in (
            ((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 1, 1),
            ((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, 1),
            ((1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, 1),
            ((3, 2), (2, 1), ((0, 1), (2, 0)), (1, 1), (1, 2), 1, 1),
            ((3, 3), (1, 2), ((-1, 2), (1, -1)), (2, 3), (1, 1), 1, 1),
            ((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 2, 1),
            ((3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), (2, 1), 4, 1),
            ((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, 2),
        ):  # fmt: skip
            sizes = {"N": 2, "C": 4, "H": 6, "W": 5}
            kernel = {"O": 8, "I": 4 // groups, "H": window[0], "W": window[1]}
            numbers = lax.conv_dimension_numbers((1,) * 4, (1,) * 4, (lhs, rhs, out))
            yield Question(
                f"{lhs}{window}{strides}{padding}{left}{right}{groups}{batch_groups}",
                lambda x, w, a=(strides, padding, left, right, numbers, groups, batch_groups): (
                    lax.conv_general_dilated(x, w, *a)
                ),
                (normal(*(sizes[c] for c in lhs)), normal(*(kernel[c] for c in rhs))),
                3e-6,
            )
    yield Question(
        "one-dimension",
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"),
        (normal(2, 3, 9), normal(4, 3, 4)),
        3e-6,
    )
    yield Question(
        "three-dimensions",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 2, 1), "VALID"),
        (normal(1, 2, 4, 5, 4), normal(3, 2, 2, 2, 3)),
        3e-6,
    )
    # Patches of several pieces; channels last, in the memory of channels first.
    many, few = (normal(2, channels, 60, 50) for channels in (12, 3))
    for name, x, stride in (("pieces", many, 1), ("turned", few, 1), ("turned-strided", few, 2)):
        last = x is few
        numbers = ("NHWC", "OIHW", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
        yield Question(
            name,
            lambda x, w, last=last, a=((stride, stride), "SAME", None, None, numbers): (
                lax.conv_general_dilated(x.transpose(0, 2, 3, 1) if last else x, w, *a)
            ),
            (x, normal(8, x.shape[1], 5, 5)),
            3e-6,
        )
    numbers = ("NHWC", "OIHW", "NHWC")
    yield Question(
        "few-pixels",
        lambda x, w: lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=numbers),
        (normal(2, 5, 3, 6), normal(40, 6, 3, 2)),
        3e-6,
    )
    # Gradients: windows of several pieces, and inputs with zeros in between.
    for layout, kernel in (("NHWC", "OHWI"), ("NCHW", "OIHW"), ("NHWC", "HWIO")):
        sizes = {"N": 8, "C": 64, "H": 18, "W": 17, "O": 16, "I": 64}
        x = normal(*(sizes[c] for c in layout))
        w = normal(*(3 if c in "HW" else sizes[c] for c in kernel))
        out = (8, 9, 9, 16) if layout == "NHWC" else (8, 16, 9, 9)

        def conv(x: Any, w: Any, numbers: Any = (layout, kernel, layout)) -> Any:
            return lax.conv_general_dilated(
                x, w, (2, 2), ((1, 1), (0, 2)), dimension_numbers=numbers
            )

        yield Question(
            f"gradients-{layout}-{kernel}",
            lambda x, w, head, conv=conv: jax.vjp(conv, x, w)[1](head),
            (x, w, np.cos(np.arange(8 * 16 * 9 * 9, dtype=np.float32)).reshape(out)),
            1e-5,
        )
    small = RANDOM.integers(-128, 128, (1, 3, 5, 5)).astype(np.int8)
    yield Question(
        "int8",
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", preferred_element_type=np.int32
        ),
        (small, RANDOM.integers(-128, 128, (2, 3, 3, 3)).astype(np.int8)),
    )
    half = normal(1, 3, 5, 5, dtype=np.float16)
    yield Question(
        "half",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        (half, normal(2, 3, 3, 3, dtype=np.float16)),
        2e-3,
    )


def window_questions() -> Iterator[Question]:
    """Pooling and its gradients."""
    x = normal(2, 7, 8)
    for window, strides, padding, base, gap in (
        ((1, 3, 2), (1, 2, 2), ((0, 0), (0, 0), (0, 0)), (1, 1, 1), (1, 1, 1)),
        ((1, 3, 3), (1, 1, 2), ((0, 0), (1, 1), (2, 1)), (1, 1, 1), (1, 1, 1)),
        ((2, 7, 8), (1, 1, 1), ((0, 0), (0, 0), (0, 0)), (1, 1, 1), (1, 1, 1)),
        ((1, 2, 3), (1, 1, 3), ((0, 0), (0, 2), (1, 0)), (1, 2, 1), (1, 2, 3)),
    ):
        for name, function, start in (
            ("sum", lax.add, 0.0), ("max", lax.max, -np.inf), ("min", lax.min, np.inf),
        ):  # fmt: skip
            arguments = (np.array(start, np.float32), function, window, strides, padding, base, gap)
            yield Question(
                f"{name}{window}{padding}{gap}",
                lambda x, a=arguments: lax.reduce_window(x, *a),
                (x,),
                3e-6,
            )
        if base == gap == (1, 1, 1):
            rounded = np.round(x)

            def gradient(x: Any, a: Any = (window, strides, padding)) -> Any:
                pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, *a)  # noqa: E731
                y, vjp = jax.vjp(pool, x)
                return vjp(y + 1)[0]

            yield Question(f"gradient{window}{padding}", gradient, (rounded,), 3e-6)

            def tangent(x: Any, a: Any = (window, strides, padding)) -> Any:
                pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, *a)  # noqa: E731
                return jax.jvp(pool, (x,), (x * 2,))

            yield Question(f"tangent{window}{padding}", tangent, (x,), 3e-6)
    yield Question("long", lambda x: lax.reduce_window(x, 0.0, lax.add, (50,), (1,), "SAME"),
                   (normal(90),), 3e-6)  # fmt: skip
    whole = RANDOM.integers(-9, 9, (9,)).astype(np.int32)
    yield Question(
        "from-one",
        lambda x: lax.reduce_window(x, np.int32(1), lax.mul, (2,), (2,), "SAME"),
        (whole,),
    )


def bfloat16_questions() -> Iterator[Question]:
    """Operations of bfloat16, which NumPy knows by ml_dtypes."""
    x = normal(2, 6, 8).astype(jnp.bfloat16)
    picture, kernel = (normal(*s).astype(jnp.bfloat16) for s in ((1, 3, 6, 6), (2, 3, 3, 3)))
    places = np.array([[0, 5], [1, -1]])
    holes = x.copy()
    holes[0, 1, 1] = np.nan
    pool = lambda x: lax.reduce_window(  # noqa: E731
        x, -np.inf, lax.max, (1, 2, 3), (1, 2, 2), "SAME"
    )
    yield Question("running-sum", lambda x: lax.cumsum(x, 1), (x,), 3e-2)
    yield Question("running-max", lambda x: lax.cummax(x, 2, reverse=True), (x,))
    yield Question("top", lambda x: lax.top_k(x, 3), (holes,))
    yield Question("largest", lambda x: (x.max(1), x.min(), jnp.argmax(x, 2)), (holes,))
    yield Question("take", lambda x, i: jnp.take(x, i, 1, mode="fill"), (x, places))
    yield Question("add-at", lambda x, i: x.at[:, i].add(x[:, :2, None]), (x, places), 2e-2)
    yield Question("put-at", lambda x, i: x.at[:, i[0]].set(x[:, :2] * 2), (x, places))
    yield Question("pool", pool, (x,))
    yield Question("pool-gradient", jax.grad(lambda x: pool(x).sum()), (x,))
    yield Question("mean", lambda x: x.mean((0, 2)), (x,), 2e-2)
    yield Question("softmax", jax.nn.softmax, (x,), 2e-2)
    yield Question(
        "convolution",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        (picture, kernel),
        2e-2,
    )
    yield Question("choice", lambda x: jnp.where(x > 0, x, jnp.zeros_like(x)), (x,))
    yield Question("pad", lambda x: jnp.pad(x, 1), (x,))
    yield Question("einsum", lambda x: jnp.einsum("bij,bkj->bik", x, x), (x,), 2e-2)


def other_questions() -> Iterator[Question]:
    """Loops, branches, random bits, linear algebra."""
    x = normal(4, 3)
    for reverse in (False, True):
        yield Question(
            f"scan-{reverse}",
            lambda x, r=reverse: lax.scan(
                lambda c, row: (c * 0.5 + row, (c.sum(), row)), x[0], x, reverse=r
            ),
            (x,),
            1e-6,
        )
    yield Question(
        "while",
        lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1)),
        (np.int64(5),),
    )
    yield Question(
        "mapped-while",
        lambda x: jax.vmap(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 2, 0))(x),
        (np.array([5, 0, 8]),),
    )
    for i in (-1, 0, 1, 2, 9):
        yield Question(
            f"switch{i}",
            lambda i, x: lax.switch(i, [lambda x: x + 1, lambda x: x * 2, lambda x: x[::-1]], x),
            (np.int32(i), x),
        )
    for shape, width in (((5,), 32), ((2, 3), 32), ((3,), 64), ((4,), 8), ((), 16)):
        yield Question(
            f"bits{shape}{width}",
            lambda data, s=shape, w=width: jax.random.bits(
                jax.random.wrap_key_data(data), s, f"uint{w}"
            ),
            (np.array([123, 456], np.uint32),),
        )
    data = np.array([3, 4], np.uint32)
    yield Question(
        "split",
        lambda data: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(data), 3)),
        (data,),
    )
    yield Question(
        "fold",
        lambda data: jax.random.key_data(
            jax.random.fold_in(jax.random.wrap_key_data(data), 2**31 + 5)
        ),
        (data,),
    )
    yield Question(
        "seed",
        lambda n: jax.random.key_data(jax.vmap(jax.random.key)(n)),
        (np.array([0, 1, -1, 2**40 + 3]),),
    )
    yield Question(
        "uniform",
        lambda data: jax.random.uniform(jax.random.wrap_key_data(data), (7,), np.float32),
        (data,),
    )
    yield Question(
        "normal",
        lambda data: jax.random.normal(jax.random.wrap_key_data(data), (7,), np.float32),
        (data,),
        3e-6,
    )
    yield Question(
        "gamma",
        lambda data, a: jax.random.gamma(jax.random.wrap_key_data(data), a, dtype=np.float32),
        (data, np.array([0.3, 1.0, 5.0], np.float32)),
        3e-6,
    )
    square = normal(2, 4, 4)
    positive = square @ square.swapaxes(1, 2) + 4 * np.eye(4, dtype=np.float32)
    yield Question("cholesky", jnp.linalg.cholesky, (positive,), 1e-5)
    yield Question("not-positive", jnp.linalg.cholesky, (-positive,), 1e-5)
    yield Question("lu", lambda x: lax.linalg.lu(x), (square,), 2e-5)
    yield Question("solve", jnp.linalg.solve, (positive, normal(2, 4, 3)), 1e-4)
    yield Question("qr", lambda x: lax.linalg.qr(x, full_matrices=False), (normal(5, 3),), 2e-5)
    yield Question("inverse", jnp.linalg.inv, (positive,), 1e-4)
    wave = (normal(2, 6) + 1j * normal(2, 6)).astype(np.complex64)
    yield Question("fft", jnp.fft.fft2, (wave,), 1e-5)
    yield Question("inverse-fft", jnp.fft.ifft, (wave,), 1e-5)
    yield Question("real-fft", jnp.fft.rfft, (wave.real.copy(),), 1e-5)
    yield Question("inverse-real-fft", lambda x: jnp.fft.irfft(x, 9), (wave,), 1e-5)
    yield Question("complex-product", lambda x: x @ x.T.conj(), (wave,), 1e-5)
    yield Question("complex-sum", lambda x: (lax.cumsum(x, 1), x.sum(0), x**3), (wave,), 1e-5)
    yield Question("singular-values", lambda x: jnp.linalg.svd(x, compute_uv=False), (x,), 1e-5)
    yield Question("eigenvalues", lambda x: lax.linalg.eigh(x)[1], (positive,), 1e-5)
    for left in (True, False):
        for lower in (True, False):
            for turn in (True, False):
                yield Question(
                    f"triangle{left}{lower}{turn}",
                    lambda a, b, k=(left, lower, turn): lax.linalg.triangular_solve(
                        a, b, left_side=k[0], lower=k[1], transpose_a=k[2], unit_diagonal=k[2]
                    ),
                    (positive, normal(2, 4, 4)),
                    1e-4,
                )


THEMES = {
    "floats": float_questions,
    "special": special_questions,
    "integers": integer_questions,
    "conversions": conversion_questions,
    "reductions": reduction_questions,
    "shapes": shape_questions,
    "indices": index_questions,
    "products": product_questions,
    "convolutions": convolution_questions,
    "windows": window_questions,
    "bfloat16": bfloat16_questions,
    "others": other_questions,
}


def questions_of(theme: str) -> list[Question]:
    """A theme's questions; their numbers do not depend on what was asked before."""
    RANDOM.bit_generator.state = np.random.default_rng(0).bit_generator.state
    return list(THEMES[theme]())
