"""Files of arrays of ``mx.np``, in MXNet's format."""

from typing import Any

from ..ndarray.params_file import load as load_arrays, save as save_arrays
from ..numpy import ndarray
from ..numpy.utils import check_array


def load(file: str) -> Any:
    """Returns the arrays of a file: a list, or a dict if they have names."""
    arrays = load_arrays(file)
    if isinstance(arrays, dict):
        return {name: x.as_np_ndarray() for name, x in arrays.items()}
    return [x.as_np_ndarray() for x in arrays]


def save(file: str, arr: Any) -> None:
    """Writes an array, a list of arrays, or a dict of arrays by name, to a file that ``npx.load``
    reads. Raises TypeError (InputTypeError) for others."""
    arrays = [arr] if isinstance(arr, ndarray) else arr
    for x in arrays.values() if isinstance(arrays, dict) else arrays:
        check_array("save", x)
    save_arrays(file, arrays)
