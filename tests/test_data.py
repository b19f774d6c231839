"""The bundled digits are whole, in range, and split so that no image is on both sides; the
bundled sonnets have fourteen lines each."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from executorkit.data import load_digits, load_sonnets


def test_shapes_types_and_range():
    digits = load_digits()
    assert [x.shape for x in digits] == [(1437, 1, 8, 8), (1437,), (360, 1, 8, 8), (360,)]
    assert {x.dtype.name for x in digits} == {"float32"}
    for images in (digits.train_images, digits.test_images):
        assert images.min() == 0
        assert images.max() == 1
        np.testing.assert_array_equal(images * 16, np.round(images * 16))


def test_both_parts_hold_every_digit_often():
    digits = load_digits()
    for labels in (digits.train_labels, digits.test_labels):
        counts = np.bincount(labels.astype(int), minlength=10)
        assert len(counts) == 10
        assert counts.min() > 0.07 * len(labels)


def test_no_test_image_is_a_training_image():
    digits = load_digits()
    seen = {image.tobytes() for image in digits.train_images}
    assert not any(image.tobytes() in seen for image in digits.test_images)


def test_images_show_their_labels():
    """A digit looks like the mean of the training images of its class more than like others."""
    digits = load_digits()
    means = np.stack([digits.train_images[digits.train_labels == k].mean(0) for k in range(10)])
    distance = ((digits.test_images[:, None] - means) ** 2).sum((2, 3, 4))
    assert (distance.argmin(1) == digits.test_labels).mean() > 0.85


def test_the_caller_may_write_into_the_arrays():
    load_digits().test_images[:] = 7
    assert load_digits().test_images.max() == 1


def test_source_and_licence_are_given():
    text = files("executorkit.data").joinpath("digits.txt").read_text()
    assert "CC BY 4.0" in text
    assert "10.24432/C50P49" in text
    assert "no image or label was changed" in text


def test_sonnets_have_fourteen_lines_each():
    lines = load_sonnets()
    assert len(lines) == 30 * 14
    assert all(20 < len(line) < 60 for line in lines)
    assert lines[-1] == "All losses are restored, and sorrows end."
