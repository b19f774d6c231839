"""Arithmetic, comparisons, bits and choices, element by element, with XLA's results."""

from operator import methodcaller
from typing import Any

import numpy as np

from .._support.annotations import Raw
from ._rules import Call, Kernel, in_float32, is_floating, is_small_float, rule
from ._shapes import in_order

#: Ufuncs that NumPy has for every dtype of the primitive, including the dtypes of ml_dtypes.
_UFUNCS: dict[str, tuple[np.ufunc, float]] = {
    "add": (np.add, 1), "add_any": (np.add, 1), "sub": (np.subtract, 1), "mul": (np.multiply, 1),
    "neg": (np.negative, 1), "abs": (np.absolute, 1), "max": (np.maximum, 1),
    "min": (np.minimum, 1), "and": (np.bitwise_and, 1), "or": (np.bitwise_or, 1),
    "xor": (np.bitwise_xor, 1), "not": (np.invert, 1), "eq": (np.equal, 1), "ne": (np.not_equal, 1),
    "lt": (np.less, 1), "le": (np.less_equal, 1), "gt": (np.greater, 1),
    "ge": (np.greater_equal, 1), "square": (np.square, 1), "is_finite": (np.isfinite, 1),
    "shift_left": (np.left_shift, 2), "nextafter": (np.nextafter, 8), "conj": (np.conjugate, 2),
    "sqrt": (np.sqrt, 3), "floor": (np.floor, 1), "ceil": (np.ceil, 1), "sign": (np.sign, 3),
}  # fmt: skip

#: Minimum number of elements that are chosen by bits.
_BLENDED_ELEMENTS = 1 << 12

#: Functions that are computed in float32 for smaller floats, and the time of an element.
_FUNCTIONS: dict[str, tuple[Any, float]] = {
    "exp": (np.exp, 5), "exp2": (np.exp2, 10), "log": (np.log, 5), "log1p": (np.log1p, 30),
    "expm1": (np.expm1, 30), "sin": (np.sin, 8), "cos": (np.cos, 8), "tan": (np.tan, 30),
    "sinh": (np.sinh, 30), "cosh": (np.cosh, 30), "tanh": (np.tanh, 8), "asin": (np.arcsin, 30),
    "acos": (np.arccos, 30), "atan": (np.arctan, 30), "asinh": (np.arcsinh, 40),
    "acosh": (np.arccosh, 40), "atanh": (np.arctanh, 40), "atan2": (np.arctan2, 40),
    "cbrt": (np.cbrt, 60),
}  # fmt: skip

#: The same of functions of ``scipy.special``, which takes long to import.
_SPECIAL_FUNCTIONS: dict[str, tuple[str, float]] = {
    "erf": ("erf", 25), "erfc": ("erfc", 40), "erf_inv": ("erfinv", 120),
    "lgamma": ("gammaln", 100), "digamma": ("digamma", 110), "polygamma": ("polygamma", 400),
    "zeta": ("zeta", 400), "igamma": ("gammainc", 500), "igammac": ("gammaincc", 500),
    "bessel_i0e": ("i0e", 300), "bessel_i1e": ("i1e", 300),
    "regularized_incomplete_beta": ("betainc", 1000),
}  # fmt: skip


def _of_dtype(kernel: Raw, call: Call) -> Kernel:
    if isinstance(kernel, np.ufunc) and kernel.__name__ not in {"zeta", "betainc"}:
        return kernel
    dtype = np.dtype(np.float32) if is_small_float(call.dtype) else call.dtype
    return lambda *operands: np.asarray(kernel(*operands), dtype)


def _special_function(name: str) -> Raw:
    from scipy import special

    if name == "gammaln":  # inf at -inf, as at the poles, where SciPy has -inf
        return lambda x: special.gammaln(np.maximum(x, np.finfo(x.dtype).min))
    return getattr(special, name)


for _name, (_kernel, _weight) in _UFUNCS.items():
    rule(_name, fresh=True, weight=_weight, any_shape=True)(lambda call, kernel=_kernel: kernel)
for _name, (_kernel, _weight) in _FUNCTIONS.items():
    rule(_name, fresh=True, weight=_weight, any_shape=True)(
        lambda call, kernel=_kernel: in_float32(_of_dtype(kernel, call), call)
    )
for _name, (_special, _weight) in _SPECIAL_FUNCTIONS.items():
    rule(_name, fresh=True, weight=_weight, any_shape=True)(
        lambda call, name=_special: in_float32(_of_dtype(_special_function(name), call), call)
    )


@rule("logistic", fresh=True, weight=10, any_shape=True)
def _logistic(call: Call) -> Kernel:
    one = np.float32(1) if is_small_float(call.dtype) else call.dtype.type(1)
    return in_float32(lambda x: one / (one + np.exp(-x)), call)


@rule("rsqrt", fresh=True, weight=6, any_shape=True)
def _rsqrt(call: Call) -> Kernel:
    one = np.float32(1) if is_small_float(call.dtype) else call.dtype.type(1)
    return in_float32(lambda x: one / np.sqrt(x), call)


@rule("div", fresh=True, weight=3, any_shape=True)
def _div(call: Call) -> Kernel:
    if call.dtype.kind not in "iu":
        return np.true_divide
    if call.dtype.kind == "u":
        largest = call.dtype.type(np.iinfo(call.dtype).max)
        return lambda x, y: np.where(y == 0, largest, np.floor_divide(x, y))
    minus_one = call.dtype.type(-1)

    def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y == 0, minus_one, np.floor_divide(np.subtract(x, np.fmod(x, y)), y))

    return divide


@rule("rem", fresh=True, weight=20, any_shape=True)
def _rem(call: Call) -> Kernel:
    if call.dtype.kind not in "iu":
        return in_float32(np.fmod, call)
    return lambda x, y: np.where(y == 0, x, np.fmod(x, y))


@rule("round", fresh=True, weight=6, any_shape=True)
def _round(call: Call) -> Kernel:
    if int(call.params["rounding_method"]) == 1:
        return np.rint

    def away_from_zero(x: np.ndarray) -> np.ndarray:
        whole = np.trunc(x)
        return whole + np.copysign((np.absolute(x - whole) >= 0.5).astype(x.dtype), x)

    return in_float32(away_from_zero, call)


@rule("executorkit_weighted_sums", fresh=True, weight=36)
def _weighted_sums(call: Call) -> Kernel | None:
    dtype, shape = call.dtype, call.shape
    if is_small_float(dtype):
        return None
    rows = [[(i, dtype.type(f)) for i, f in enumerate(row) if f] for row in call.params["matrix"]]

    def add_up(*arrays: np.ndarray) -> list[Raw]:
        # Arrays are read several times: one whose rows are not runs of memory is copied first.
        arrays = tuple([in_order(x) if x.strides[-1:] > (x.itemsize,) else x for x in arrays])
        product = np.empty(shape, dtype)
        sums = []
        for (first, factor), *others in rows:
            total = np.multiply(arrays[first], factor)
            for i, factor in others:
                if factor == 1:
                    np.add(total, arrays[i], total)
                else:
                    np.add(total, np.multiply(arrays[i], factor, product), total)
            sums.append(total)
        return sums

    return add_up


@rule("integer_pow", fresh=True, weight=3, any_shape=True)
def _integer_pow(call: Call) -> Kernel:
    exponent = call.params["y"]
    one = call.dtype.type(1)

    def power(x: np.ndarray) -> np.ndarray:
        result, factor, remaining = None, x, abs(exponent)
        while remaining:
            if remaining & 1:
                result = factor if result is None else result * factor
            remaining >>= 1
            if remaining:
                factor = factor * factor
        if result is None:
            return np.ones_like(x)
        return one / result if exponent < 0 else +result

    return power


@rule("pow", fresh=True, weight=30, any_shape=True)
def _pow(call: Call) -> Kernel | None:
    base, exponent = call.ins
    if exponent.dtype.kind in "iub":
        if base.dtype.kind in "iub":
            return None
        dtype = call.dtype
        return in_float32(lambda x, y: np.power(x, y.astype(np.float64)).astype(dtype), call)
    return in_float32(np.power, call)


@rule("select_n", fresh=True, weight=6, any_sizes=lambda call: block_choice(call) is not None)
def _select_n(call: Call) -> Kernel:
    if len(call.ins) == 2:
        return lambda _, x: np.array(x)
    choice = block_choice(call)
    if choice is not None:
        return lambda x, y, z: (choice if x.size > _BLENDED_ELEMENTS else _chosen)(x, y, z)

    def choose(which: Raw, *cases: Any) -> np.ndarray:
        result = cases[-1]
        for i in range(len(cases) - 2, -1, -1):
            result = np.where(which <= i, cases[i], result)
        return result

    return choose


def block_choice(call: Call) -> Kernel | None:
    """Returns the kernel of a choice for any part of its arrays; None for other calls."""
    if call.name != "select_n" or len(call.ins) != 3 or call.ins[0].dtype.kind != "b":
        return None
    if call.ins[0].shape == call.shape and call.dtype.itemsize in {4, 8} and call.dtype.kind != "c":
        return _blending(call.dtype)
    return _chosen


def _chosen(which: Raw, on_false: Raw, on_true: Raw) -> Raw:
    return np.where(which, on_true, on_false)


def _blending(dtype: np.dtype) -> Kernel:
    """Chooses by bits, with vector instructions; ``np.where`` branches at each element."""
    signed = np.dtype(f"i{dtype.itemsize}")

    def blend(which: Raw, on_false: Raw, on_true: Raw) -> np.ndarray:
        mask = np.negative(which.view(np.int8)).astype(signed)
        other = on_false.view(signed)
        np.bitwise_and(mask, on_true.view(signed) ^ other, out=mask)
        np.bitwise_xor(mask, other, out=mask)
        return mask.view(dtype)

    return blend


@rule("shift_right_logical", "shift_right_arithmetic", fresh=True, weight=2)
def _shift_right(call: Call) -> Kernel:
    kind, dtype = "u" if call.name == "shift_right_logical" else "i", call.dtype
    if dtype.kind == kind:
        return np.right_shift
    shifted = np.dtype(f"{kind}{dtype.itemsize}")
    return lambda x, y: np.right_shift(x.view(shifted), y.view(shifted)).view(dtype)


@rule("population_count", fresh=True, weight=2)
def _population_count(call: Call) -> Kernel:
    unsigned, dtype = np.dtype(f"u{call.dtype.itemsize}"), call.dtype
    return lambda x: np.bitwise_count(x.view(unsigned)).astype(dtype)


@rule("clz", fresh=True, weight=10)
def _clz(call: Call) -> Kernel:
    bits, dtype = call.dtype.itemsize * 8, call.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def leading_zeros(x: np.ndarray) -> np.ndarray:
        x = np.array(x.view(unsigned))
        count = np.full(x.shape, bits, np.int64)
        width = bits
        while width > 1:
            width //= 2
            high = x >> unsigned.type(width)
            large = high != 0
            count -= np.where(large, width, 0)
            x = np.where(large, high, x)
        return (count - (x != 0)).astype(dtype)

    return leading_zeros


rule("real", weight=0)(lambda call: np.real)
rule("imag", weight=0)(lambda call: np.imag)


@rule(
    "clamp", fresh=True, weight=2, any_shape=True, changed_input=1,
    in_place=lambda call: lambda low, x, high: np.clip(x, low, high, out=x),
)  # fmt: skip
def _clamp(call: Call) -> Kernel:
    return lambda low, x, high: np.clip(x, low, high)


@rule("complex", fresh=True, weight=3)
def _complex(call: Call) -> Kernel:
    shape, dtype = call.shape, call.dtype

    def compose(real: Raw, imag: Raw) -> np.ndarray:
        result = np.empty(shape, dtype)
        result.real, result.imag = real, imag
        return result

    return compose


@rule("eq_to", "le_to", "lt_to", fresh=True, weight=8)
def _total_order(call: Call) -> Kernel:
    compare = {"eq_to": np.equal, "le_to": np.less_equal, "lt_to": np.less}[call.name]
    operand = call.ins[0].dtype
    if not is_floating(operand):
        return compare
    signed = np.dtype(f"i{operand.itemsize}")
    magnitude = signed.type(np.iinfo(signed).max)

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = x.view(signed)
        return np.where(bits < 0, bits ^ magnitude, bits)

    return lambda x, y: compare(ordered(x), ordered(y))


# Conversions


@rule("convert_element_type", fresh=True, weight=2, any_shape=True)
def _convert_element_type(call: Call) -> Kernel:
    source, target = call.ins[0].dtype, call.dtype
    if target.kind == "b":
        return lambda x: x != 0
    if source.kind == "c" and target.kind != "c":
        return lambda x: x.real.astype(target)
    if target.kind in "iu" and is_floating(source):
        return _saturating(source, target)
    return methodcaller("astype", target)


def _saturating(source: Any, target: Any) -> Kernel:
    info = np.iinfo(target)
    wide = np.dtype(np.float32) if is_small_float(source) else source
    below, above = wide.type(info.min), wide.type(2.0 ** (info.bits - (target.kind == "i")))

    def convert(x: Raw) -> np.ndarray:
        x = x.astype(wide, copy=False)
        inside = (x >= below) & (x < above)
        if inside.all():
            return x.astype(target)
        safe = np.where(inside, x, 0).astype(target)
        return np.where(x >= above, info.max, np.where(x < below, info.min, safe)).astype(target)

    return convert


@rule("reduce_precision", fresh=True, weight=60)
def _reduce_precision(call: Call) -> Kernel | None:
    if call.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        return None
    bits = np.finfo(call.dtype)
    exponent, mantissa = call.params["exponent_bits"], call.params["mantissa_bits"]
    if exponent == bits.nexp and mantissa == bits.nmant:
        return np.positive
    unsigned = np.dtype(f"u{call.dtype.itemsize}")
    drop = unsigned.type(bits.nmant - min(mantissa, bits.nmant))
    one, dtype = unsigned.type(1), call.dtype
    half = (one << drop) >> one
    mask = ~((one << drop) - one)
    bias = (1 << (exponent - 1)) - 1
    largest = dtype.type((2.0 - 2.0 ** -min(mantissa, bits.nmant)) * 2.0**bias)
    smallest = dtype.type(2.0 ** (1 - bias))

    def reduce(x: np.ndarray) -> np.ndarray:
        words = np.asarray(x).view(unsigned)
        if half:
            words = (words + (half - one) + ((words >> drop) & one)) & mask
        rounded = words.view(dtype)
        size = np.absolute(rounded)
        if exponent < bits.nexp:
            rounded = np.where(size > largest, np.copysign(dtype.type(np.inf), x), rounded)
            rounded = np.where(size < smallest, np.copysign(dtype.type(0), x), rounded)
        return np.where(np.isnan(x), x, rounded)

    return reduce


@rule("bitcast_convert_type", weight=1)
def _bitcast_convert_type(call: Call) -> Kernel:
    source, target, shape = call.ins[0].dtype, call.dtype, call.shape
    if source.itemsize == target.itemsize:
        return lambda x: x.view(target)
    if source.itemsize > target.itemsize:
        return lambda x: np.array(x, order="C")[..., None].view(target).reshape(shape)
    return lambda x: np.array(x, order="C").view(target).reshape(shape)
