"""ImageIter: batches of images from files or records, decoded and augmented on the host."""

import logging
import os
import random
from typing import Any

import numpy as np

from ..context import current_context
from ..errors import DataArgumentError, FileFormatError, ShapeError
from ..io import DataBatch, DataIter
from ..ndarray import NDArray
from ..ndarray.array_classes import new_class
from ..recordio import MXIndexedRecordIO, MXRecordIO, unpack
from ._augmenter_list import CreateAugmenter
from ._image_operators import imdecode
from .host_images import to_ndarray
from .image_lists import listed, listed_in_file

#: Types of the labels of a list of images.
LABEL_TYPES = ("int32", "float32", "int64", "float64")


def host_values(values: object) -> np.ndarray:
    return values.host if isinstance(values, NDArray) else np.asarray(values)


class ImageIter(DataIter):
    """Batches of images from files or from a file of records.

    batch_size
        the number of images in a batch.
    data_shape
        (3, height, width) of the images that the augmenters give.
    label_width
        the number of labels of an image.
    path_imgrec, path_imgidx
        a file of records and its index. The index is needed to shuffle, and for parts.
    path_imglist, path_root
        a file with a line per image: number, labels, path below ``path_root``, separated by tabs.
        With ``path_imgrec`` too, the labels come from the list and the images from the records.
    imglist
        the same as a list: of [label, path], [label, label, path] or [labels, path].
    shuffle
        by Python's ``random``, at every ``reset``.
    part_index, num_parts
        reads one of ``num_parts`` parts of the images.
    aug_list
        the augmenters; by default ``CreateAugmenter(data_shape, **kwargs)``.
    data_name, label_name
        names in ``provide_data`` and ``provide_label``, which hold (name, shape).
    dtype
        'int32', 'float32', 'int64' or 'float64', of the labels in a list. Batches are float32.
    last_batch_handle
        'pad' fills the last batch from the start of the data, 'discard' drops it, 'roll_over' moves
        its images to the next pass.

    A subclass may override ``next_sample``, ``read_image``, ``imdecode``, ``check_valid_image``,
    ``augmentation_transform`` and ``postprocess_data``. Images are decoded one after the other.
    Places of a last batch without an image are 0 (labels are undefined in MXNet). AssertionError if
    arguments contradict each other; MXNetError for a broken image, which it names.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, ...],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._check_sources(path_imgrec, path_imglist, imglist, dtype)
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        if path_imgrec and path_imgidx:
            self.imgrec = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.imgidx = list(self.imgrec.keys)
        elif path_imgrec:
            self.imgrec = MXRecordIO(path_imgrec, "r")
        self.imglist: dict[Any, tuple[NDArray, str]] | None = None
        if path_imglist:
            self.imglist = listed_in_file(path_imglist, dtype)
        elif isinstance(imglist, list):
            self.imglist = listed(imglist, dtype)
        self.path_root = path_root
        self.check_data_shape(data_shape)
        self.provide_data = [(data_name, (batch_size, *data_shape))]
        label_shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label: list[tuple[str, tuple[int, ...]]] = [(label_name, label_shape)]
        self.batch_size = batch_size
        self.data_shape = data_shape
        self.label_width = label_width
        self.shuffle = shuffle
        self.seq = self._sequence(part_index, num_parts, bool(path_imgidx))
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.cur = 0
        self.last_batch_handle = last_batch_handle
        self.num_image = None if self.seq is None else len(self.seq)
        self._allow_read = True
        #: Images, labels and their number, of a batch that the next pass goes on with.
        self._rolled_over: tuple[np.ndarray, np.ndarray, int] | None = None
        self.reset()

    def _check_sources(self, path_imgrec: Any, path_imglist: Any, imglist: Any, dtype: Any) -> None:
        where = type(self).__name__
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            hint = "path_imgrec, path_imglist, or imglist (a list)"
            raise DataArgumentError(where, "no images", hint=hint)
        if dtype not in LABEL_TYPES:
            problem = f"{dtype!r}, expected one of {', '.join(LABEL_TYPES)}"
            raise DataArgumentError(f"{where}: dtype", problem)
        source = path_imgrec or path_imglist or f"a list of {len(imglist or ())}"
        logging.info("%s: images of %s", where, source)

    def _sequence(self, part_index: int, num_parts: int, indexed: bool) -> list[Any] | None:
        where = type(self).__name__
        if self.imgrec is None:
            sequence = list(self.imglist or ())
        elif self.shuffle or num_parts > 1 or indexed:
            if self.imgidx is None:
                problem = "a file of records without an index can neither be shuffled nor divided"
                raise DataArgumentError(where, problem, hint="path_imgidx")
            sequence = self.imgidx
        else:
            return None
        if num_parts > 1:
            if part_index >= num_parts:
                raise DataArgumentError(where, f"{part_index=} of {num_parts=}")
            count = len(sequence) // num_parts
            sequence = sequence[part_index * count : (part_index + 1) * count]
        return sequence

    # Position

    def reset(self) -> None:
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._rolled_over is None:
            self._rewind()

    def hard_reset(self) -> None:
        """Goes back to the first image and forgets images that were rolled over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()
        self._rolled_over = None

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    # Samples

    def next_sample(self) -> tuple[Any, bytes]:
        """Returns the labels and the encoded file of the next image; StopIteration at the end."""
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                    self.cur = 0
                raise StopIteration
            header, image = unpack(record)
            self.cur += 1
            return header.label, image
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is not None:
            header, image = unpack(self.imgrec.read_idx(key))
            return (header.label if self.imglist is None else self.imglist[key][0]), image
        assert self.imglist is not None
        label, path = self.imglist[key]
        return label, self.read_image(path)

    def read_image(self, fname: str) -> bytes:
        """Returns the bytes of the file ``fname`` below ``path_root``."""
        if self.path_root is None:
            problem = f"{fname!r}: below which folder?"
            raise DataArgumentError(type(self).__name__, problem, hint="path_root")
        with open(os.path.join(self.path_root, fname), "rb") as file:
            return file.read()

    def imdecode(self, s: Any) -> NDArray:
        """Returns the image of an encoded file; MXNetError names a broken one."""
        try:
            return imdecode(s)
        except Exception as error:
            problem = f"{self._current()} is a broken image: {error}"
            raise FileFormatError(type(self).__name__, problem) from error

    def _current(self) -> str:
        if self.seq is None:
            return f"record {self.cur - 1}"
        key = self.seq[self.cur - 1]
        return f"record {key}" if self.imglist is None else f"file {self.imglist[key][1]!r}"

    def check_data_shape(self, data_shape: Any) -> None:
        """Raises ValueError unless the shape is (3, height, width)."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            problem = f"{data_shape}, expected three channels, height and width"
            raise DataArgumentError(f"{type(self).__name__}: data_shape", problem)

    def check_valid_image(self, data: Any) -> None:
        """Raises MXNetError (RuntimeError) for an image without axes, which is then left out."""
        if len(data[0].shape) == 0:
            raise ShapeError(type(self).__name__, "the image has one axis or none")

    def augmentation_transform(self, data: Any) -> Any:
        """Returns the image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: object) -> NDArray:
        """Returns the image with its channels first, as it is put into the batch."""
        image = host_values(datum).transpose(2, 0, 1).copy()
        return to_ndarray(image, current_context(), new_class())

    # Batches

    def next(self) -> DataBatch:
        if self._rolled_over is not None:
            images, labels, count = self._rolled_over
        else:
            images, labels = self._empty_batch()
            count = self._fill(images, labels, 0)
        pad = self.batch_size - count
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and self._rolled_over is None:
                self._rolled_over = images, labels, count
                raise StopIteration
            self._fill(images, labels, count)
            if self.last_batch_handle == "pad":
                self._allow_read = False
            else:
                self._rolled_over = None
        place = current_context(), new_class()
        return DataBatch([to_ndarray(images, *place)], [to_ndarray(labels, *place)], pad=pad)

    def _empty_batch(self) -> tuple[np.ndarray, np.ndarray]:
        images = np.zeros((self.batch_size, *self.data_shape), np.float32)
        return images, np.zeros(self.provide_label[0][1], np.float32)

    def _fill(self, images: np.ndarray, labels: np.ndarray, start: int) -> int:
        # StopIteration only if the batch is empty.
        i = start
        while i < self.batch_size:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                if not i:
                    raise
                return i
            i += self._put(images, labels, i, self.imdecode(encoded), label)
        return i

    def _put(
        self, images: np.ndarray, labels: np.ndarray, i: int, image: NDArray, label: object
    ) -> bool:
        try:
            self.check_valid_image(image)
        except RuntimeError as error:
            logging.debug("%s: %s is left out: %s", type(self).__name__, self._current(), error)
            return False
        self._store(images[i], self.postprocess_data(self.augmentation_transform(image)), "image")
        self._store(labels[i : i + 1].reshape(labels.shape[1:]), label, "label")
        return True

    def _store(self, target: np.ndarray, values: object, what: str) -> None:
        host = host_values(values)
        if host.size == 1:
            host = host.reshape(())
        try:
            target[...] = host
        except ValueError:
            where = f"{type(self).__name__}: {self._current()}"
            hint = "label_width, or the augmenters' size"
            problem = f"the {what} is {host.shape}, expected {target.shape}"
            raise ShapeError(where, problem, hint=hint) from None
