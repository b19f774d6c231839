"""Numbers for initializers, computed on the host.

Random numbers are NumPy's, from a generator seeded by the next key of ``mx.random``'s stream of the
array's context. XLA would compile a program for every shape: for the 54 weights of ResNet-50,
25 million numbers of 21 shapes, that took 6.5 s the first time and 0.45 s later on a CPU of two
cores, against 0.1 s (uniform) to 0.25 s (normal) here.
"""

import numpy as np

from ..arrays.random_state import next_key_data
from ..errors import DTypeError
from ..ndarray import NDArray


def host_generator(arr: NDArray) -> np.random.Generator:
    seed = np.random.SeedSequence(next_key_data(arr.context).tolist())
    return np.random.Generator(np.random.SFC64(seed))


def _drawn_dtype(arr: NDArray) -> type[np.float32] | type[np.float64]:
    dtype = np.dtype(arr.dtype)
    if dtype.kind in "biu":
        problem = f"an array of {dtype}, expected a floating type for random ones"
        raise DTypeError("initializer", problem)
    return np.float64 if dtype == np.float64 else np.float32


def draw_uniform(arr: NDArray, bound: float) -> None:
    """Overwrites the array with uniform numbers from [-bound, bound)."""
    host = host_generator(arr).random(arr.shape, _drawn_dtype(arr))
    host *= 2 * bound
    host -= bound
    arr[:] = host


def draw_normal(arr: NDArray, sigma: float) -> None:
    host = host_generator(arr).standard_normal(arr.shape, _drawn_dtype(arr))
    host *= sigma
    arr[:] = host


def bilinear(shape: tuple[int, ...]) -> np.ndarray:
    """Returns the bilinearly upsampling kernel, float32, in axes 2 and 3 of four.

    With n columns, f = ceil(n / 2) and c = (2 f - 1 - f mod 2) / (2 f), the entry of row y and
    column x is (1 - abs(x / f - c)) (1 - abs(y / f - c)); rows are spaced like columns. With more
    axes the elements are numbered as if there were four, as in MXNet.
    """
    f = np.ceil(shape[3] / 2)
    c = (2 * f - 1 - f % 2) / (2 * f)
    y, x = (1 - abs(np.arange(n) / f - c) for n in shape[2:4])
    return np.resize((y[:, None] * x).astype(np.float32), shape)
