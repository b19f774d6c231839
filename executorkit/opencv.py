"""OpenCV, which decodes, resizes and encodes images: an optional dependency."""

from __future__ import annotations

from typing import Any

from .errors import MissingDependencyError, explain


def require_opencv() -> Any:
    """The module ``cv2``.

    Raises :class:`MissingDependencyError`, an ImportError, if it is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise MissingDependencyError(
            explain(
                "OpenCV (the module cv2)",
                "it is not installed",
                because="images are decoded, resized and encoded by it",
                hint="pip install 'executorkit[image]'",
            )
        ) from None
    return cv2
