"""Random image operators, by their statistics; the deterministic ones are in the golden data."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from executorkit import nd, random
from executorkit.errors import AttributeValueError, ShapeError
from executorkit.ops import lookup

PHOTO = np.random.default_rng(0).integers(1, 255, (4, 6, 3)).astype("float32")
NOTHING: dict[str, Any] = {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}


def many(name, count, image=PHOTO, /, **attrs):
    """The image after ``count`` independent calls."""
    op = lookup(name)
    assert op is not None
    p = op.parse(attrs)
    keys = jax.random.split(jax.random.key(0), count)
    with jax.enable_x64(True):
        data = jnp.asarray(image)
        return np.asarray(jax.jit(jax.vmap(lambda k: op.apply(p, (data,), key=k)[0]))(keys))


@pytest.mark.parametrize(("side", "axis"), [("left_right", 1), ("top_bottom", 0)])
def test_half_of_all_images_are_flipped(side, axis):
    drawn = many(f"_image_random_flip_{side}", 400)
    flipped = np.all(drawn == np.flip(PHOTO, axis), axis=(1, 2, 3))
    same = np.all(drawn == PHOTO, axis=(1, 2, 3))
    assert np.all(flipped ^ same)
    assert 160 < flipped.sum() < 240


def test_factors_are_uniform():
    drawn = many("_image_random_brightness", 2000, min_factor=0.5, max_factor=2.0)
    factors = drawn[:, 0, 0, 0] / PHOTO[0, 0, 0]
    assert 0.5 <= factors.min() < 0.52
    assert 1.98 < factors.max() <= 2.0
    assert abs(factors.mean() - 1.25) < 0.05


def test_lighting_moves_colours_along_their_axes():
    shifts = many("_image_random_lighting", 4000, alpha_std=0.1)[:, 0, 0] - PHOTO[0, 0]
    spread = np.array([55.46, 4.794, 1.148])
    axes = np.array(
        [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
    )
    expected = (axes * (0.1 * spread) ** 2) @ axes.T
    np.testing.assert_allclose(np.cov(shifts.T), expected, rtol=0.15)


class TestColorJitter:
    def test_nothing_to_change(self):
        np.testing.assert_array_equal(many("_image_random_color_jitter", 1, **NOTHING)[0], PHOTO)

    def test_one_property_is_that_operator(self):
        drawn = many("_image_random_color_jitter", 500, **NOTHING | {"brightness": 0.4})
        factors = drawn[:, 0, 0, 0] / PHOTO[0, 0, 0]
        np.testing.assert_allclose(drawn, factors[:, None, None, None] * PHOTO, rtol=1e-5)
        assert 0.6 <= factors.min() < 0.65
        assert 1.35 < factors.max() <= 1.4

    def test_both_orders_occur(self):
        """red' = A red + B blue + C: A and B give both factors, C tells which change was first."""
        image = PHOTO * np.array([1, 1, 0.1], "float32")
        changes = NOTHING | {"contrast": 0.5, "saturation": 0.5}
        drawn = many("_image_random_color_jitter", 40, image.astype("float64"), **changes)
        red, green, blue = (image[..., i].ravel() for i in range(3))
        gray = (0.299 * red + 0.587 * green + 0.114 * blue).mean()
        ones = np.ones_like(red)
        contrast_first = []
        for out in drawn:
            a, b, c = np.linalg.lstsq(np.stack([red, blue, ones], 1), out[..., 0].ravel())[0]
            contrast = a + b / 0.114
            saturation = a / contrast
            mean = {True: gray, False: blue.mean()}
            expected = {
                first: (1 - contrast) * (saturation * gray + 0.114 * (1 - saturation) * m)
                for first, m in mean.items()
            }
            distance = {first: abs(value - c) for first, value in expected.items()}
            contrast_first.append(min(distance, key=distance.__getitem__))
            assert min(distance.values()) < 1e-3
        assert 10 < sum(contrast_first) < 30

    def test_integers_stay_in_range(self):
        image = PHOTO.astype("uint8")
        drawn = many("_image_random_color_jitter", 20, image, **NOTHING | {"brightness": 1.0})
        assert drawn.dtype == np.uint8
        assert drawn.max() == 255


def test_hue_keeps_gray_and_comes_around():
    gray = np.full((2, 2, 3), 100, "float32")
    drawn = many("_image_random_hue", 3, gray, min_factor=0.0, max_factor=1.0)
    np.testing.assert_allclose(drawn, np.broadcast_to(gray, drawn.shape))
    (back,) = many("_image_random_hue", 1, min_factor=1.0, max_factor=1.0)
    np.testing.assert_allclose(back, PHOTO, rtol=1e-4)


def test_one_channel_has_no_hue_and_no_lighting():
    gray = PHOTO[..., :1]
    for name, attrs in {
        "_image_random_hue": {"min_factor": 0.3, "max_factor": 0.3},
        "_image_random_lighting": {"alpha_std": 1.0},
    }.items():
        np.testing.assert_array_equal(many(name, 1, gray, **attrs)[0], gray)


def test_seed_repeats():
    image = nd.array(PHOTO)
    drawn = []
    for _ in range(2):
        random.seed(3)
        drawn.append(nd.image.random_contrast(image, min_factor=0.0, max_factor=2.0).asnumpy())
    np.testing.assert_array_equal(*drawn)


def test_refusals():
    image = nd.array(PHOTO)
    with pytest.raises(AttributeValueError, match=r"min_factor=2\.0 is above"):
        nd.image.random_hue(image, min_factor=2.0, max_factor=1.0)
    with pytest.raises(AttributeValueError, match="a negative factor"):
        nd.image.random_brightness(image, min_factor=-1.0, max_factor=1.0)
    for refused in (nd.image.flip_top_bottom, nd.image.random_lighting):
        with pytest.raises(ShapeError, match="expected 1 or 3 channels at the end"):
            refused(nd.ones((4, 6, 2)))
    with pytest.raises(ShapeError, match=r"expected \(height, width, channels\)"):
        nd.image.flip_left_right(nd.ones((2, 4, 6, 3)))
    with pytest.raises(AttributeValueError, match="not inside 4 by 6"):
        nd.image.crop(image, x=4, y=0, width=3, height=1)
    with pytest.raises(AttributeValueError, match="interp=9"):
        nd.image.resize(image, size=(2, 2), interp=9)
    with pytest.raises(AttributeValueError, match="expected one or two positive numbers"):
        nd.image.resize(image)
