"""Stores the answers of MXNet to ``image_questions.py``, and the pictures that they are about.

Runs under MXNet 1.9.1 with opencv-python-headless, which encodes the pictures, never under the
project's environment:

    python tests/golden/make_image.py
"""

from __future__ import annotations

import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def picture(cv2, rng, height, width, channels=3):
    """A smooth picture with some noise."""
    coarse = rng.randint(0, 256, (5, 5, channels)).astype("uint8")
    image = cv2.resize(coarse, (width, height)).reshape(height, width, channels).astype(int)
    return np.clip(image + rng.randint(-9, 10, image.shape), 0, 255).astype("uint8")


def oriented(jpeg, orientation):
    """A JPEG file with an orientation in EXIF data."""
    tag = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    body = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, 1) + tag + bytes(4)
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def pictures():
    import cv2

    rng = np.random.RandomState(11)
    image = picture(cv2, rng, 24, 31)

    def encode(end, pixels, *options):
        return cv2.imencode(end, pixels, list(options))[1].tobytes()

    wide = image.astype("uint16") * 250 + 7
    sampling = cv2.IMWRITE_JPEG_SAMPLING_FACTOR
    alpha = picture(cv2, rng, 9, 8, 4)
    files = {
        "png": encode(".png", image),
        "pnga": encode(".png", alpha),
        "png16": encode(".png", wide),
        "png16a": encode(".png", alpha.astype("uint16") * 250 + 7),
        "pnggray": encode(".png", image[..., :1]),
        "pnggray16": encode(".png", wide[..., :1]),
        "bmp": encode(".bmp", image[:9, :8]),
        "bmpgray": encode(".bmp", image[:9, :8, :1]),
        "tiff": encode(".tiff", image),
        "jpg": encode(".jpg", image),
        "jpg_gray": encode(".jpg", image[..., :1]),
        "jpg_progressive": encode(".jpg", image, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
        "jpg_444": encode(".jpg", image, sampling, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
        "jpg_422": encode(".jpg", image, sampling, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422),
        "jpg_440": encode(".jpg", image, sampling, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440),
        "jpg_30": encode(".jpg", image, cv2.IMWRITE_JPEG_QUALITY, 30),
    }
    files.update({f"exif{n}": oriented(files["jpg"], n) for n in (3, 6, 8)})
    for i in range(7):
        files[f"small{i}"] = encode(".png", picture(cv2, rng, 24 + 2 * i, 36 - 2 * i))
    return files


def answer(ask, mx, files, elements):
    """The question's list with its arrays summarised; their elements are added to a list."""
    import image_questions

    with tempfile.TemporaryDirectory() as folder:
        results = ask(mx, files, folder)
    facts = []
    for result in results:
        if isinstance(result, mx.nd.NDArray):
            result = result.asnumpy()
        if isinstance(result, np.ndarray):
            result, stored = image_questions.summary(result)
            elements.append(stored)
        facts.append(result)
    return facts


def error_of(name, ask, mx, files):
    with tempfile.TemporaryDirectory() as folder:
        try:
            ask(mx, files, folder)
            mx.nd.waitall()
        except Exception as error:
            return [c.__name__ for c in type(error).__mro__ if c not in (object, BaseException)]
    raise SystemExit(f"{name} raises nothing")


def main():
    import image_questions
    import mxnet as mx
    from _store import save

    files = pictures()
    elements = []
    values = {
        name: answer(ask, mx, files, elements) for name, ask in image_questions.VALUES.items()
    }
    errors = {name: error_of(name, ask, mx, files) for name, ask in image_questions.ERRORS.items()}
    facts = {
        "files": [[name, len(data)] for name, data in files.items()],
        "order": list(values),
        "values": values,
        "errors": errors,
        "names": sorted(n for n in dir(mx.image) if not n.startswith("_")),
        "operators": sorted(n for n in dir(mx.nd.image) if not n.startswith("_")),
    }
    arrays = {
        "files": np.frombuffer(b"".join(files.values()), np.uint8),
        "elements": np.concatenate(elements),
        "jpg_440": mx.image.imdecode(files["jpg_440"]).asnumpy(),
    }
    path = save("image_functions", arrays, facts)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
