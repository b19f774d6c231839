# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal
import numpy as _np
from executorkit.ndarray._ndarray import NDArray
from ._array_operators import array_module
from ._ndarray import NDArray

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None

def adjust_lighting(data: NDArray | None = None, alpha: _Floats = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Adds a colour to images: alpha, of three numbers, along the principal axes of ImageNet's."""
def crop(data: NDArray | None = None, x: int = ..., y: int = ..., width: int = ..., height: int = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Crops images from column x and row y on, to ``height`` by ``width``."""
def flip_left_right(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Images flipped, left to right."""
def flip_top_bottom(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Images flipped, top to bottom."""
def normalize(data: NDArray | None = None, mean: _Floats = (0.0, 0.0, 0.0, 0.0), std: _Floats = (1.0, 1.0, 1.0, 1.0), out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Computes (data - mean) / std, channel by channel."""
def random_brightness(data: NDArray | None = None, min_factor: float = ..., max_factor: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Brightness changed at random: x a; a is uniform in [min_factor, max_factor]."""
def random_color_jitter(data: NDArray | None = None, brightness: float = ..., contrast: float = ..., saturation: float = ..., hue: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Changes brightness, contrast, saturation and hue randomly, in random order."""
def random_contrast(data: NDArray | None = None, min_factor: float = ..., max_factor: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Contrast changed at random: x a + (1 - a) m, with m the mean of 0.299 red + 0.587 green + 0.114 blue; a is uniform in [min_factor, max_factor]."""
def random_flip_left_right(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Images flipped, left to right, in half of all calls."""
def random_flip_top_bottom(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Images flipped, top to bottom, in half of all calls."""
def random_hue(data: NDArray | None = None, min_factor: float = ..., max_factor: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Hue changed at random: x with its hue turned by the part a of the full circle; a is uniform in [min_factor, max_factor]."""
def random_lighting(data: NDArray | None = None, alpha_std: float = 0.05, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Applies ``adjust_lighting`` with random alpha: normal, with standard deviation ``alpha_std``."""
def random_saturation(data: NDArray | None = None, min_factor: float = ..., max_factor: float = ..., out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Saturation changed at random: x a + (1 - a) g, with g 0.114 of blue, as MXNet has it; a is uniform in [min_factor, max_factor]."""
def resize(data: NDArray | None = None, size: _Shape = (), keep_ratio: bool = False, interp: int = 1, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Resizes images to ``size``: (width, height), or one number for both."""
def to_tensor(data: NDArray | None = None, out: NDArray | list[NDArray] | None = None, name: str | None = None) -> NDArray:
    r"""Converts images from 0 to 255 to float32 from 0 to 1, with channels first."""
def __getattr__(name: str) -> _Callable[..., _Any]: ...
