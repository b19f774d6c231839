"""Crops, flips and tensors: single images and batches, one channel and three."""

from __future__ import annotations

from ._case import Case, integers, normal, values

PHOTO = integers(4, 5, 3, high=256)
ALSO = ("uint8", "float64", "float16")
#: MXNet leaves the middle of images of odd size undefined when it flips them.
EVEN = integers(4, 6, 3, high=256)
COPIED = "MXNet hands the head gradient on as it is"
ROWS = [[[1], [2], [2], [1]], [[3], [4], [4], [3]]]
COLUMN = [[[1], [2]], [[3], [4]], [[3], [4]], [[1], [2]]]

CASES = [
    Case("crop", "_image_crop", {"data": PHOTO}, {"x": 1, "y": 2, "width": 3, "height": 2},
         also=ALSO),
    Case("crop_batch", "_image_crop", {"data": normal(2, 4, 5, 1)},
         {"x": 0, "y": 0, "width": 5, "height": 1}),
    Case("to_tensor", "_image_to_tensor", {"data": PHOTO}, also=("uint8", "float64", "float16"),
         no_grad=COPIED),
    Case("to_tensor_batch", "_image_to_tensor", {"data": normal(2, 4, 5, 1)}, no_grad=COPIED),
    Case("normalize", "_image_normalize", {"data": normal(3, 4, 5)},
         {"mean": (0.5, 0.25, 0.125), "std": (0.5, 2.0, 4.0)}, also=("float64",)),
    Case("normalize_one", "_image_normalize", {"data": normal(2, 3, 4, 5)},
         {"mean": (0.5,), "std": (2.0,)}, also=("int32",)),
    Case("normalize_gray", "_image_normalize", {"data": normal(1, 4, 5)},
         {"mean": (0.5,), "std": (0.25,)}),
    Case("flip_left_right", "_image_flip_left_right", {"data": EVEN}, also=ALSO, no_grad=COPIED),
    Case("flip_top_bottom", "_image_flip_top_bottom", {"data": EVEN}, also=ALSO, no_grad=COPIED),
    Case("random_flip_left_right", "_image_random_flip_left_right", {"data": values(ROWS)},
         no_grad=COPIED),
    Case("random_flip_top_bottom", "_image_random_flip_top_bottom", {"data": values(COLUMN)},
         also=("uint8",), no_grad=COPIED),
]  # fmt: skip
