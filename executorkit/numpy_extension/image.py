"""``mx.npx.image``: MXNet's functions on images; its operators take arrays of ``mx.np``."""

from typing import Any

from .. import image as _image
from ..numpy.utils import extension_function as _extension_function

_OPERATORS = (
    "adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize",
    "random_brightness", "random_color_jitter", "random_contrast", "random_flip_left_right",
    "random_flip_top_bottom", "random_hue", "random_lighting", "random_saturation", "resize",
    "to_tensor",
)  # fmt: skip

for _name in _OPERATORS:
    globals()[_name] = _extension_function(f"_image_{_name}")


def __getattr__(name: str) -> Any:
    return getattr(_image, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_image)})
