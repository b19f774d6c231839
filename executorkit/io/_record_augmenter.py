"""The default augmenter of records: images are uint8, colours blue, green, red; every image has its
own random generator."""

import math
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from ..errors import BatchError
from ..opencv import choose_interpolation, require_opencv, resize_pixels, with_shorter_edge
from ..ops.vision.image_color import IMAGENET_AXES, IMAGENET_SPREAD, LUMA
from ._record_options import AugmentOptions

Image = np.ndarray
#: Trials to fit a random crop before the centre is taken.
_TRIALS = 10
#: Weights of blue, green and red in grey: MXNet's, for red, green and blue.
_GREY = np.array(LUMA, np.float32)
#: Upper limits of hue, lightness and saturation.
_HLS_LIMITS = np.array([180, 255, 255], np.int16)


def resize_image(image: Image, width: int, height: int, method: int, random: Random) -> Image:
    method = choose_interpolation(method, image.shape[:2], (height, width), random)
    return resize_pixels(image, width, height, method)


def resize_shorter_edge(image: Image, length: int, method: int, random: Random) -> Image:
    height, width = with_shorter_edge(image.shape[0], image.shape[1], length)
    return resize_image(image, width, height, method, random)


def pad_image(image: Image, borders: tuple[int, int, int, int], fill: int) -> Image:
    # A fourth channel is filled with 0.
    cv2 = require_opencv()
    return cv2.copyMakeBorder(image, *borders, cv2.BORDER_CONSTANT, value=(fill, fill, fill))


class RecordAugmenter:
    def __init__(self, options: AugmentOptions, size: tuple[int, int]) -> None:
        self._options = options
        self._height, self._width = size

    def __call__(self, image: Image, random: Random) -> Image:
        options = self._options
        if options.resize != -1:
            image = resize_shorter_edge(image, options.resize, options.inter_method, random)
        if options.has_affine:
            image = self._transform(image, random)
        if options.pad > 0:
            borders = options.pad, options.pad, options.pad, options.pad
            image = pad_image(image, borders, options.fill_value)
        if options.random_resized_crop:
            image = self._resized_crop(image, random)
        elif options.has_crop_size:
            image = self._square_crop(image, random)
        else:
            image = self._crop(image, random)
        if options.has_colour_jitter:
            image = self._jitter_colours(image, random)
        if options.has_hls_shift:
            limits = options.random_h, options.random_l, options.random_s
            image = shift_hls(image, [int(random.uniform(-limit, limit)) for limit in limits])
        if options.pca_noise > 0:
            image = self._add_pca_noise(image, random)
        return image

    def _transform(self, image: Image, random: Random) -> Image:
        options, one = self._options, np.float32(1)
        shear = np.float32(random.uniform(-options.max_shear_ratio, options.max_shear_ratio))
        angle = random.randint(-max(options.max_rotate_angle, 0), max(options.max_rotate_angle, 0))
        angle = options.rotate if options.rotate > 0 else angle
        cos, sin = (np.float32(f(angle / 180 * math.pi)) for f in (math.cos, math.sin))
        scale = ratio = one
        if not options.random_resized_crop:
            scale = np.float32(random.uniform(options.min_random_scale, options.max_random_scale))
            ratio = np.float32(self._aspect_ratio(random))
        tall = np.float32(2) * scale / (one + ratio)
        wide = ratio * tall
        height, width = image.shape[:2]
        new_width, new_height = (
            max(options.min_img_size, min(options.max_img_size, float(scale * np.float32(n))))
            for n in (width, height)
        )
        matrix = np.zeros((2, 3), np.float32)
        matrix[0, :2] = tall * cos - shear * sin * wide, tall * sin + shear * cos * wide
        matrix[1, :2] = -sin * wide, cos * wide
        centre = matrix[:, :2] @ np.array([width, height], np.float32)
        matrix[:, 2] = (np.array([new_width, new_height], np.float32) - centre) / np.float32(2)
        interpolation = choose_interpolation(
            options.inter_method, (width, height), (int(new_width), int(new_height)), random
        )
        size = int(new_width), int(new_height)
        return warp_affine(image, matrix, size, interpolation, options.fill_value)

    def _aspect_ratio(self, random: Random) -> float:
        low, high = self._options.min_aspect_ratio, self._options.max_aspect_ratio
        return random.uniform(1 - high, 1 + high) if low is None else random.uniform(low, high)

    def _resized_crop(self, image: Image, random: Random) -> Image:
        options = self._options
        height, width = image.shape[:2]
        for _ in range(_TRIALS):
            area = random.uniform(options.min_random_area, options.max_random_area) * height * width
            ratio = self._aspect_ratio(random)
            if area <= 0 or ratio <= 0:
                continue
            new_width = round(math.sqrt(area * ratio))
            new_height = round(math.sqrt(area / ratio))
            if options.min_aspect_ratio is None and random.random() < 0.5:
                new_width, new_height = new_height, new_width
            if 0 < new_width <= width and 0 < new_height <= height:
                x, y = random.randint(0, width - new_width), random.randint(0, height - new_height)
                crop = image[y : y + new_height, x : x + new_width]
                return resize_image(crop, self._width, self._height, options.inter_method, random)
        return self._crop(image, random)

    def _square_crop(self, image: Image, random: Random) -> Image:
        options = self._options
        if min(image.shape[:2]) < options.max_crop_size:
            problem = f"{options.max_crop_size}, expected at most the image's edges"
            because = f"an image is {image.shape[1]} pixels wide and {image.shape[0]} high"
            raise BatchError("max_crop_size", problem, because=because)
        size = random.randint(max(options.min_crop_size, 1), max(options.max_crop_size, 1))
        crop = self._crop_at(image, size, size, random)
        return resize_image(crop, self._width, self._height, options.inter_method, random)

    def _crop(self, image: Image, random: Random) -> Image:
        method = self._options.inter_method
        height, width = image.shape[:2]
        if height < self._height:
            wide = int(np.float32(self._height) / np.float32(height) * np.float32(width))
            image = resize_image(image, wide, self._height, method, random)
        height, width = image.shape[:2]
        if width < self._width:
            tall = int(np.float32(self._width) / np.float32(width) * np.float32(height))
            image = resize_image(image, self._width, tall, method, random)
        return self._crop_at(image, self._width, self._height, random)

    def _crop_at(self, image: Image, width: int, height: int, random: Random) -> Image:
        y, x = image.shape[0] - height, image.shape[1] - width
        if self._options.rand_crop:
            y, x = random.randint(0, y), random.randint(0, x)
        else:
            y, x = y // 2, x // 2
        return image[y : y + height, x : x + width]

    def _jitter_colours(self, image: Image, random: Random) -> Image:
        options = self._options
        changes: list[tuple[float, Callable[[np.ndarray, np.float32], np.ndarray]]] = [
            (options.brightness, lambda x, alpha: x * alpha),
            (options.contrast, lambda x, alpha: x * alpha + (1 - alpha) * (x @ _GREY).mean()),
            (options.saturation, lambda x, alpha: x * alpha + (1 - alpha) * (x @ _GREY)[..., None]),
        ]
        random.shuffle(changes)
        colours = image[..., :3]
        for limit, change in changes:
            if limit > 0:
                alpha = np.float32(1 + random.uniform(-limit, limit))
                colours = saturate(change(colours.astype(np.float32), alpha))
        return _with_colours(image, colours)

    def _add_pca_noise(self, image: Image, random: Random) -> Image:
        alpha = [random.gauss(0, self._options.pca_noise) for _ in range(3)]
        shift = (np.array(IMAGENET_AXES) @ (np.array(IMAGENET_SPREAD) * alpha))[::-1]
        if image.ndim == 2:
            return saturate(image + np.float32(shift[2]))
        return _with_colours(image, saturate(image[..., :3] + shift.astype(np.float32)))


def shift_hls(image: Image, shifts: Sequence[int]) -> Image:
    cv2 = require_opencv()
    hls = cv2.cvtColor(np.ascontiguousarray(image[..., :3]), cv2.COLOR_BGR2HLS)
    shifted = np.clip(hls.astype(np.int16) + np.array(shifts, np.int16), 0, _HLS_LIMITS)
    return _with_colours(image, cv2.cvtColor(shifted.astype(np.uint8), cv2.COLOR_HLS2BGR))


def saturate(values: np.ndarray) -> Image:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _with_colours(image: Image, colours: Image) -> Image:
    return colours if image.shape[-1] == 3 else np.dstack([colours, image[..., 3:]])


def warp_affine(
    image: Image, matrix: np.ndarray, size: tuple[int, int], interpolation: int, fill: int
) -> Image:
    """Returns the image under an affine transformation, in a size (width, height). Positions are
    rounded to 1/32 of a pixel, as in MXNet's OpenCV; later versions round otherwise."""
    cv2 = require_opencv()
    (a, b, tx), (c, d, ty) = matrix.astype(np.float64).tolist()
    determinant = a * d - b * c
    scale = 1 / determinant if determinant else 0.0
    a, b, c, d = d * scale, -b * scale, -c * scale, a * scale
    inverse = ((a, b, -a * tx - b * ty), (c, d, -c * tx - d * ty))
    columns, rows = np.arange(size[0]), np.arange(size[1])
    half = 512 if interpolation == cv2.INTER_NEAREST else 16
    x, y = (
        np.rint((m[1] * rows + m[2]) * 1024).astype(np.int32)[:, None]
        + half
        + np.rint(m[0] * columns * 1024).astype(np.int32)
        for m in inverse
    )
    if interpolation == cv2.INTER_NEAREST:
        positions, fractions = np.dstack([x >> 10, y >> 10]), None
    else:
        x, y = x >> 5, y >> 5
        positions = np.dstack([x >> 5, y >> 5])
        fractions = ((y & 31) * 32 + (x & 31)).astype(np.uint16)
        # Between positions, areas cannot be interpolated.
        interpolation = cv2.INTER_LINEAR if interpolation == cv2.INTER_AREA else interpolation
    places = np.clip(positions, -32768, 32767).astype(np.int16)
    border = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": (fill, fill, fill)}
    return cv2.remap(image, places, fractions, interpolation, **border)
