"""Images under NumPy's semantics are arrays of ``mx.np``, in workers' threads, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import image
from executorkit.gluon.data import DataLoader, SimpleDataset

cv2 = pytest.importorskip("cv2")

PIXELS = np.arange(5 * 6 * 3, dtype=np.uint8).reshape(5, 6, 3)


@pytest.fixture(autouse=True)
def numpy_semantics() -> Iterator[None]:
    with mx.util.np_shape(), mx.util.np_array():
        yield


def picture() -> Any:
    return image.imdecode(cv2.imencode(".png", PIXELS)[1].tobytes())


def test_decoded_and_changed_images_are_arrays_of_numpy() -> None:
    decoded = picture()
    augmenters = image.CreateAugmenter((3, 3, 3), resize=4, rand_mirror=True)
    results = [
        decoded, image.imresize(decoded, 3, 2), image.resize_short(decoded, 4),
        image.fixed_crop(decoded, 1, 1, 3, 3), image.center_crop(decoded, (2, 2))[0],
        image.copyMakeBorder(decoded, 1, 1, 1, 1), image.HorizontalFlipAug(1)(decoded),
        *(augmenter(decoded) for augmenter in augmenters),
    ]  # fmt: skip
    assert {type(x) for x in results} == {mx.np.ndarray}
    with mx.util.np_array(False):
        assert type(picture()) is mx.nd.NDArray
        assert type(image.imresize(decoded, 3, 2)) is mx.np.ndarray


def test_batches_of_images(tmp_path: Any) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), PIXELS)
    images = image.ImageIter(1, (3, 4, 4), path_root=str(tmp_path), imglist=[[1, "a.png"]])
    batch = images.next()
    assert type(batch.data[0]) is type(batch.label[0]) is mx.np.ndarray


def test_threads_of_a_loader() -> None:
    data = SimpleDataset([0, 1]).transform(lambda _: picture().astype("float32").mean())
    (batch,) = DataLoader(data, 2, num_workers=1, thread_pool=True)
    assert type(batch) is mx.np.ndarray
    assert batch.shape == (2,)
