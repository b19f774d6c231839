"""``mx.gluon.data.vision.transforms``: transforms of images (height, width, channels), as blocks.

    augment = transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomFlipLeftRight(),
        transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])
    dataset.transform_first(augment)

NumPy computes transforms of images in the host's memory, so that new sizes compile nothing.

Crops and rotations draw from ``random`` and ``numpy.random`` as in MXNet: equal seeds give equal
images. Flips and colours draw from the stream of ``mx.random.seed``, whose numbers are not MXNet's.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import image
from ...._support.annotations import Function
from ....base import numeric_types as numeric_types
from ....errors import ArgumentValueError, DTypeError, InputTypeError
from ....image.host_images import computed
from ....ndarray import NDArray
from ....ops.vision.image_color import LUMA
from ....util import is_np_array as is_np_array
from ..._block import Block as Block
from ..._hybrid_block import HybridBlock as HybridBlock
from ..._types import DType, Ops, Tensor
from ...nn import HybridSequential as HybridSequential, Sequential as Sequential


class Compose(Sequential):
    """Transforms, blocks or functions of an image, one after the other. Successive HybridBlocks
    become one hybridized HybridSequential.

    >>> import executorkit as mx
    >>> from executorkit.gluon.data.vision import transforms
    >>> prepare = transforms.Compose([transforms.Resize((4, 3)), transforms.ToTensor()])
    >>> prepare(mx.nd.ones((8, 8, 3), dtype="uint8")).shape
    (3, 3, 4)
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        run: list[HybridBlock] = []
        for transform in (*transforms, None):
            if isinstance(transform, HybridBlock):
                run.append(transform)
                continue
            if len(run) > 1:
                sequence = HybridSequential()
                sequence.add(*run)
                sequence.hybridize()
                self.add(sequence)
            else:
                self.add(*run)
            run = []
            if transform is not None:
                self.add(transform)


class Cast(HybridBlock):
    """Conversion of the elements to ``dtype``."""

    def __init__(self, dtype: DType = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.cast(x, dtype=self._dtype)


class ToTensor(HybridBlock):
    """Images from 0 to 255 as float32 from 0 to 1, with channels first. Input: (height, width,
    channels) or (N, height, width, channels) of any dtype."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """``(x - mean) / std``, with a number or one for each channel. Input and output: (channels,
    height, width) or (N, channels, height, width), 1 or 3 channels."""

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.image.normalize(x, mean=self._mean, std=self._std)


class Resize(HybridBlock):
    """Resizes images.

    size
        (width, height), or one number for both.
    keep_ratio
        Whether one number is the length of the shorter side, and the longer side is scaled alike.
    interpolation
        0 nearest, 1 bilinear, 2 bicubic, 3 averages over areas, 4 Lanczos over eight pixels.

    Input: (height, width, channels) or (N, height, width, channels) of uint8, float32 or float64.
    Output: the same dtype.
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep = keep_ratio
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        size, keep, interp = self._size, self._keep, self._interpolation
        return F.image.resize(x, size=size, keep_ratio=keep, interp=interp)


class CropResize(HybridBlock):
    """Crops ``width`` by ``height`` pixels at column ``x`` and row ``y``, and resizes them to
    ``size`` unless it is None; arguments as for :class:`Resize`. Input: (height, width, channels)
    or (N, height, width, channels), 1 or 3 channels."""

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: Any = None
    ) -> None:
        super().__init__()
        self._x, self._y = x, y
        self._width, self._height = width, height
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        part = F.image.crop(x, self._x, self._y, self._width, self._height)
        if not self._size:
            return part
        return F.image.resize(part, self._size, False, self._interpolation)


def _pair(size: Any) -> Any:
    return (size, size) if isinstance(size, numeric_types) else size


class CenterCrop(Block):
    """Crops the middle of images; ``interpolation`` as for :class:`Resize`.

    size
        (width, height), or one number. Of a smaller image the largest part of the same proportions
        is enlarged.
    """

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = _pair(size), interpolation

    def forward(self, x: Tensor) -> Tensor:
        return image.center_crop(x, *self._args)[0]


class RandomCrop(Block):
    """Crops images at a random place, as in MXNet 2; other arguments as for :class:`CenterCrop`.
    Draws from ``random``.

    pad
        The number of pixels added at each side first, or a pair for rows, columns and channels
        each.
    pad_value
        The value of these pixels.
    """

    def __init__(
        self, size: Any, pad: Any = None, pad_value: float = 0, interpolation: int = 1
    ) -> None:
        super().__init__()
        self._args = _pair(size), interpolation
        self._pad = ((pad, pad), (pad, pad), (0, 0)) if isinstance(pad, int) else pad
        self._pad_value = pad_value

    def forward(self, x: Tensor) -> Tensor:
        if self._pad:
            value = self._pad_value
            x = computed(lambda pixels: np.pad(pixels, self._pad, constant_values=value), x)
        return image.random_crop(x, *self._args)[0]


class RandomResizedCrop(Block):
    """Crops a part of random area and proportions, and resizes it. Draws from ``random``, as MXNet.

    size
        (width, height), or one number.
    scale
        The range of the part's area relative to the image's; a number is the minimum of a range to
        1.
    ratio
        The range of width / height.
    interpolation
        See :class:`Resize`; 9 chooses by size, 10 at random.
    """

    def __init__(
        self,
        size: Any,
        scale: Any = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = _pair(size), scale, ratio, interpolation

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(x, NDArray):
            problem = f"the image is a {type(x).__name__}, expected an NDArray"
            raise InputTypeError(type(self).__name__, problem, hint="mx.nd.array(...)")
        return image.random_size_crop(x, *self._args)[0]


class RandomFlipLeftRight(HybridBlock):
    """Flips images left to right with probability 0.5."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Flips images top to bottom with probability 0.5."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.image.random_flip_top_bottom(x)


class _RandomFactor(HybridBlock):
    def __init__(self, amount: float) -> None:
        super().__init__()
        self._args = max(0, 1 - amount), 1 + amount

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        change: Function = getattr(F.image, f"random_{type(self).__name__[6:].lower()}")
        low, high = self._args
        return change(x, min_factor=low, max_factor=high)


class RandomBrightness(_RandomFactor):
    """Multiplies images by a factor uniform in [max(0, 1 - brightness), 1 + brightness]; integers
    are clipped to their range and truncated."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


class RandomContrast(_RandomFactor):
    """Returns ``x a + (1 - a) m`` for the mean luma m of an image, with a uniform in
    [max(0, 1 - contrast), 1 + contrast]."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


class RandomSaturation(_RandomFactor):
    """Returns ``x a + (1 - a) g`` for the gray g of each pixel, with a uniform in
    [max(0, 1 - saturation), 1 + saturation]; as in MXNet, g is 0.114 of blue."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


class RandomHue(_RandomFactor):
    """Turns the hue by a part of the full circle that is uniform in [max(0, 1 - hue), 1 + hue]."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


class RandomColorJitter(HybridBlock):
    """Changes brightness, contrast, saturation and hue at random, in random order. The factors of
    the first three are uniform in [1 - b, 1 + b], the turn of the hue in [-hue, hue]."""

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ) -> None:
        super().__init__()
        self._args = brightness, contrast, saturation, hue

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        names = "brightness", "contrast", "saturation", "hue"
        return F.image.random_color_jitter(x, **dict(zip(names, self._args, strict=True)))


class RandomLighting(HybridBlock):
    """Adds a random colour, normal with standard deviation ``alpha`` times ImageNet's along its
    principal axes (Krizhevsky et al., 2012)."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        return F.image.random_lighting(x, alpha_std=self._alpha)


class RandomGray(Block):
    """Makes images gray (the luma in three channels) with probability ``p``, as in MXNet 2. Input:
    (height, width, 3) of any dtype. Output: float32. Draws from ``random``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self._p = p

    def forward(self, x: Tensor) -> Tensor:
        x = x.astype("float32")
        if random.random() >= self._p:
            return x
        luma = np.array(LUMA, np.float32)
        return computed(lambda pixels: np.repeat((pixels @ luma)[..., None], 3, -1), x)


def _check_rotated(block: Block, x: Tensor) -> None:
    if x.dtype is not np.float32:
        problem = f"the images are {np.dtype(x.dtype).name}, expected float32"
        raise DTypeError(type(block).__name__, problem, hint="ToTensor() first")


class Rotate(Block):
    """Rotates images by an angle in degrees; pixels outside are 0. ``zoom_in`` enlarges so that no
    pixel outside is seen, ``zoom_out`` reduces so that the whole image is seen. Input: float32
    (channels, height, width) or (N, channels, height, width); TypeError for others."""

    def __init__(
        self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False
    ) -> None:
        super().__init__()
        self._args = rotation_degrees, zoom_in, zoom_out

    def forward(self, x: Tensor) -> Tensor:
        _check_rotated(self, x)
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Rotates images with probability ``rotate_with_proba`` by angles from ``angle_limits``, in
    degrees; see :class:`Rotate`. Draws from ``numpy.random`` as in MXNet. Raises ValueError for
    limits that are not in order, or a probability outside [0, 1]."""

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            problem = f"`angle_limits` must be an ordered tuple, and is {angle_limits}"
            raise ArgumentValueError("RandomRotation", problem)
        if not 0 <= rotate_with_proba <= 1:
            problem = f"rotate_with_proba={rotate_with_proba}, expected a number from 0 to 1"
            raise ArgumentValueError("RandomRotation", problem)
        self._args = angle_limits, zoom_in, zoom_out
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Tensor) -> Tensor:
        if np.random.random() > self._rotate_with_proba:
            return x
        _check_rotated(self, x)
        return image.random_rotate(x, *self._args)


class RandomApply(Sequential):
    """Applies a transform with probability ``p``. Draws from ``random`` as in MXNet."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return x if self.p < random.random() else self.transforms(x)


class HybridCompose(HybridSequential):
    """HybridBlocks one after the other, hybridized, as in MXNet 2."""

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        self.add(*transforms)
        self.hybridize()


class HybridRandomApply(HybridSequential):
    """Applies a HybridBlock, which keeps the shape, with probability ``p``, as in MXNet 2. Draws
    from the stream of ``mx.random.seed``."""

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            problem = f"{type(transforms).__name__} is not a HybridBlock"
            raise ArgumentValueError("HybridRandomApply", problem, hint="RandomApply")
        self.transforms = transforms
        self.p = p

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        applied = F.random.uniform(low=0, high=1, shape=(1,)) <= self.p
        return F.contrib.cond(applied, lambda: self.transforms(x), lambda: x)
