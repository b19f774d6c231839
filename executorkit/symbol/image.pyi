# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, TypedDict as _TypedDict, Unpack as _Unpack
import numpy as _np
from executorkit.symbol._symbol import Symbol
from ._symbol_functions import symbol_module

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
_NodeAttributes = _TypedDict('_NodeAttributes', {'lr_mult': float | str, '__lr_mult__': float | str, 'wd_mult': float | str, '__wd_mult__': float | str, 'ctx_group': str, '__ctx_group__': str, 'mirror_stage': str | int, '__mirror_stage__': str | int, 'force_mirroring': str | bool, '__force_mirroring__': str | bool}, total=False)

def adjust_lighting(data: Symbol | None = None, alpha: _Floats = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Adds a colour to images: alpha, of three numbers, along the principal axes of ImageNet's."""
def crop(data: Symbol | None = None, x: int = ..., y: int = ..., width: int = ..., height: int = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Crops images from column x and row y on, to ``height`` by ``width``."""
def flip_left_right(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Images flipped, left to right."""
def flip_top_bottom(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Images flipped, top to bottom."""
def normalize(data: Symbol | None = None, mean: _Floats = (0.0, 0.0, 0.0, 0.0), std: _Floats = (1.0, 1.0, 1.0, 1.0), name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Computes (data - mean) / std, channel by channel."""
def random_brightness(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Brightness changed at random: x a; a is uniform in [min_factor, max_factor]."""
def random_color_jitter(data: Symbol | None = None, brightness: float = ..., contrast: float = ..., saturation: float = ..., hue: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Changes brightness, contrast, saturation and hue randomly, in random order."""
def random_contrast(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Contrast changed at random: x a + (1 - a) m, with m the mean of 0.299 red + 0.587 green + 0.114 blue; a is uniform in [min_factor, max_factor]."""
def random_flip_left_right(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Images flipped, left to right, in half of all calls."""
def random_flip_top_bottom(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Images flipped, top to bottom, in half of all calls."""
def random_hue(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Hue changed at random: x with its hue turned by the part a of the full circle; a is uniform in [min_factor, max_factor]."""
def random_lighting(data: Symbol | None = None, alpha_std: float = 0.05, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Applies ``adjust_lighting`` with random alpha: normal, with standard deviation ``alpha_std``."""
def random_saturation(data: Symbol | None = None, min_factor: float = ..., max_factor: float = ..., name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Saturation changed at random: x a + (1 - a) g, with g 0.114 of blue, as MXNet has it; a is uniform in [min_factor, max_factor]."""
def resize(data: Symbol | None = None, size: _Shape = (), keep_ratio: bool = False, interp: int = 1, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Resizes images to ``size``: (width, height), or one number for both."""
def to_tensor(data: Symbol | None = None, name: str | None = None, attr: dict[str, str] | None = None, out: Symbol | list[Symbol] | None = None, **kwargs: _Unpack[_NodeAttributes]) -> Symbol:
    r"""Converts images from 0 to 255 to float32 from 0 to 1, with channels first."""
def __getattr__(name: str) -> _Callable[..., Symbol]: ...
