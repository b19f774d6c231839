"""Boxes of objects in images: arrays of rows (left, top, right, bottom)."""

import numpy as np


def areas(boxes: np.ndarray) -> np.ndarray:
    return np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(1)


def shared_areas(boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Returns the area that every box has in common with a frame (left, top, right, bottom)."""
    low, high = np.maximum(boxes[:, :2], frame[:2]), np.minimum(boxes[:, 2:], frame[2:])
    return np.clip(high - low, 0, None).prod(1)


def seen_in(boxes: np.ndarray, left: float, top: float, width: float, height: float) -> np.ndarray:
    """Returns the boxes in fractions of a frame's width and height, clipped to it."""
    origin, scale = (np.array(pair * 2, boxes.dtype) for pair in ([left, top], [width, height]))
    return np.clip((boxes - origin) / scale, 0, 1)
