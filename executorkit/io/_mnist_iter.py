"""MNISTIter: images and labels in the idx format of the MNIST files."""

import logging
from typing import Any

import numpy as np

from .._files import read_idx
from ..errors import DataArgumentError, FileFormatError
from ._file_iter import MXDataIter, positive_integer
from ._iterator_options import convert_option, warn_of_unknown
from ._record_source import shuffle_in_place


class MNISTIter(MXDataIter):
    """Batches of images in [0, 1), (batch_size, 1, height, width), and their labels.

    image, label
        idx files of unsigned bytes (http://yann.lecun.com/exdb/mnist), or the same gzipped (MXNet
        reads them uncompressed only).
    flat
        gives images as (batch_size, height * width).
    shuffle, seed
        orders the examples at random, once; the order is MXNet's for the same seed.
    num_parts, part_index
        takes one of ``num_parts`` consecutive parts of the examples.
    silent
        suppresses the log line.
    prefetch_buffer, ctx, device_id, dtype, input_shape
        without effect: images are float32, and the file has their shape. Every other keyword is
        ignored with a warning.

    Pixels are divided by 256. An incomplete last batch is dropped. ``batch.index`` numbers the
    examples of the file (zeros in MXNet). Raises OSError if a file cannot be read, FileFormatError
    (a ValueError) if it is malformed.
    """

    def __init__(
        self,
        *,
        image: Any = "./train-images-idx3-ubyte",
        label: Any = "./train-labels-idx1-ubyte",
        batch_size: Any = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int = 1,
        part_index: int = 0,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        device_id: int = -1,
        dtype: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        input_shape: Any = None,
        **unknown: Any,
    ) -> None:
        warn_of_unknown("MNISTIter", unknown)
        flags = {"shuffle": shuffle, "flat": flat, "silent": silent}
        shuffle, flat, silent = (
            convert_option(f"MNISTIter: {name}", bool, flag) for name, flag in flags.items()
        )
        if dtype is not None and np.dtype(dtype) != np.float32:
            raise DataArgumentError("MNISTIter: dtype", f"{np.dtype(dtype).name}, expected float32")
        part_count = positive_integer("MNISTIter", "num_parts", num_parts)
        if not 0 <= part_index < part_count:
            problem = f"{part_index}, expected 0 to {part_count - 1}"
            raise DataArgumentError("MNISTIter: part_index", problem)
        images, labels = read_idx(image, 3), read_idx(label, 1)
        if len(images) != len(labels):
            raise FileFormatError(str(label), f"{len(labels)} labels, expected {len(images)}")
        height, width = images.shape[1:]
        shape = (height * width,) if flat else (1, height, width)
        super().__init__(batch_size, shape, (), "float32", data_name, label_name)
        part_size = len(images) / part_count
        rows = np.arange(int(part_size * part_index), int(part_size * (part_index + 1)))
        self._rows = rows[shuffled_indices(len(rows), seed)] if shuffle else rows
        if len(rows) < self.batch_size:
            problem = f"{self.batch_size} of {len(rows)} examples"
            raise DataArgumentError("MNISTIter: batch_size", problem)
        self._images = images.reshape(-1, *shape)
        self._labels = labels
        self._position = 0
        if not silent:
            logging.info(
                "MNISTIter: %d images%s, batches of %s",
                len(rows), ", shuffled" if shuffle else "", self.provide_data[0].shape,
            )  # fmt: skip

    def reset(self) -> None:
        self._position = 0
        self._batch = None

    def _load(self) -> tuple[np.ndarray, np.ndarray, int, np.ndarray] | None:
        rows = self._rows[self._position : self._position + self.batch_size]
        if len(rows) < self.batch_size:
            return None
        self._position += self.batch_size
        images = self._images[rows] * np.float32(1 / 256)
        return images, self._labels[rows].astype(np.float32), 0, rows


def shuffled_indices(count: int, seed: int) -> np.ndarray:
    # The order that MXNet draws with this seed.
    order = list(range(count))
    shuffle_in_place(order, np.random.RandomState(seed))
    return np.array(order, np.int64)
