"""Data that comes with the package: small enough to learn from in seconds, without a download."""

from importlib.resources import files
from typing import NamedTuple

import numpy as np

#: Number of training examples, the first of the 1,797 digits; the others are for testing.
_TRAINING_COUNT = 1437


class Digits(NamedTuple):
    """Images (n, 1, 8, 8) with values from 0 (paper) to 1 (ink), and labels (n,): all float32."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_digits() -> Digits:
    """Returns the 1,797 handwritten digits of the UCI repository, split into 1,437 for training and
    360 for testing, always the same, in mixed order; labels are float32.

    Source: E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits,
    https://doi.org/10.24432/C50P49, CC BY 4.0; see ``digits.txt`` beside the file.

    >>> digits = load_digits()
    >>> digits.train_images.shape, digits.test_labels.shape
    ((1437, 1, 8, 8), (360,))
    """
    with files(__name__).joinpath("digits.npz").open("rb") as file, np.load(file) as stored:
        images = stored["images"][:, None].astype(np.float32) / 16
        labels = stored["labels"].astype(np.float32)
    return Digits(
        images[:_TRAINING_COUNT],
        labels[:_TRAINING_COUNT],
        images[_TRAINING_COUNT:],
        labels[_TRAINING_COUNT:],
    )


def load_sonnets() -> list[str]:
    """Returns the 420 lines of the first 30 sonnets of William Shakespeare, in modern spelling
    (first printed in London, 1609; in the public domain).

    >>> load_sonnets()[0]
    'From fairest creatures we desire increase,'
    """
    text = files(__name__).joinpath("sonnets.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line]
