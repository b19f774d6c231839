"""Iterators over records of labelled images: ImageRecordIter and its kin."""

import dataclasses
import itertools
import logging
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..arrays.values import to_device
from ..errors import BatchError, DataArgumentError
from ..ndarray import NDArray
from ._file_iter import MXDataIter
from ._iterator_options import parse_options, warn_of_unknown
from ._record_augmenter import RecordAugmenter
from ._record_decoder import ExampleDecoder, LabelledImageDecoder, augmenter_names
from ._record_options import AugmentOptions, NormalizeOptions, RecordOptions
from ._record_pipeline import BatchPlan, HostBatch, RecordPipeline
from ._record_pixels import Normalization, load_mean_image, save_mean_image
from ._record_source import Order, RecordFiles, epochs


def select_options(where: str, kinds: Iterable[Any], keywords: dict[str, Any]) -> list[Any]:
    kinds = list(kinds)
    known = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    warn_of_unknown(where, [name for name in keywords if name not in known])
    return [parse_options(kind, where, keywords) for kind in kinds]


class RecordImageIter(MXDataIter):
    """Base of iterators over records of images. The constructor raises the first batch's errors."""

    #: An incomplete last batch without ``round_batch`` counts its filling in ``batch.pad``.
    _counts_filling = True
    #: ``batch.index`` holds the images' numbers, not zeros.
    _numbered = True

    def __init__(
        self, options: RecordOptions, files: RecordFiles, decoder: ExampleDecoder, dtype: str
    ) -> None:
        super().__init__(
            options.batch_size, options.data_shape, decoder.label_shape, dtype,
            options.data_name, options.label_name, label_dtype="float32",
        )  # fmt: skip
        self._options, self._files, self._decoder = options, files, decoder
        order = Order(
            options.num_parts, options.part_index, options.shuffle, options.seed,
            chunk_size=options.shuffle_chunk_size, chunk_seed=options.shuffle_chunk_seed,
            index=options.path_imgidx,
        )  # fmt: skip
        order.check(type(self).__name__)
        self._epochs = epochs(files, order)
        self._epoch = next(self._epochs)
        self._count = 0
        self._fresh, self._wrapped = True, False
        device, numbered = self._context.device, self._numbered
        shape = (options.batch_size, *options.data_shape)
        threads = options.preprocess_threads

        def finish(batch: HostBatch) -> tuple[Any, Any, np.ndarray]:
            index = batch.index if numbered else np.zeros_like(batch.index)
            return to_device(batch.data, device), to_device(batch.label, device), index

        self._pipeline = RecordPipeline(
            files, decoder, finish, shape=shape, dtype=np.dtype(dtype), threads=threads,
            ahead=options.prefetch_buffer, seed=options.seed_aug or 0,
        )  # fmt: skip
        self._pipeline.start(self._plans())
        if options.verbose:
            logging.info(
                "%s: %s, %d threads for decoding", type(self).__name__, options.path_imgrec, threads
            )
        self._first = self._pipeline.next()

    def reset(self) -> None:
        """Starts a new epoch: after the records that filled up the last batch, if it has been
        taken, else with the first. Before the first batch is taken, nothing changes."""
        self._batch = None
        if self._fresh:
            return
        if not self._wrapped:
            self._epoch = next(self._epochs)
        self._fresh, self._wrapped, self._first = True, False, None
        self._pipeline.start(self._plans())

    def _plans(self) -> Iterator[BatchPlan]:
        size, previous = self.batch_size, []
        while offsets := list(itertools.islice(self._epoch, size)):
            filling = size - len(offsets)
            first, self._count = self._count, self._count + size
            if not filling:
                yield BatchPlan(offsets, 0, first)
                previous = offsets
            elif not self._options.round_batch:
                offsets += previous[len(offsets) :]
                yield BatchPlan(offsets, filling if self._counts_filling else 0, first)
                return
            else:
                self._epoch = next(self._epochs)
                offsets += itertools.islice(self._epoch, filling)
                self._check_size(offsets)
                yield BatchPlan(offsets, filling, first, wrapped=True)
                return

    def _check_size(self, offsets: list[int]) -> None:
        if len(offsets) < self.batch_size:
            problem = f"{self.batch_size}, expected at most twice the number of records"
            because = f"there are {len(offsets) // 2} records"
            raise BatchError(f"{type(self).__name__}: batch_size", problem, because=because)

    def _load(self) -> tuple[NDArray, NDArray, int, np.ndarray] | None:
        self._fresh = False
        step, self._first = self._first or self._pipeline.next(), None
        if step is None:
            return None
        plan, (data, label, index) = step
        self._wrapped = plan.wrapped
        data, label = (NDArray.from_jax(x, self._context, shared=False) for x in (data, label))
        return data, label, plan.pad, index


class ImageRecordIter(RecordImageIter):
    """Batches of images from a file of records, (batch_size, channels, height, width).

    Images are decoded and augmented by OpenCV (the extra ``image``) in threads, ahead of their use.
    Augmentations follow each other in the order of the lists below. The file:

    path_imgrec
        the file of records; a folder, for all of its files; or several, with ';' between.
    path_imgidx
        its index file. With it, ``shuffle`` orders all records at random; without, only the records
        within about 8 MiB.
    path_imglist
        a list of images (number, labels, path), whose labels replace the records' labels.
    label_width
        number of labels of an image; for 1, labels have shape (batch_size,).
    data_name, label_name
        names in ``provide_data`` and ``provide_label``.

    The batches:

    data_shape, batch_size
        (channels, height, width), with 1 channel (grey), 3 (red, green, blue) or 4 (with alpha);
        number of images in a batch.
    dtype
        'float32' (the default), 'uint8' (pixels as they are) or 'int8' (pixels less the rounded
        mean, clipped). Labels are float32.
    round_batch
        True fills the last batch with the first images, and the next epoch begins after them;
        ``batch.pad`` counts them. False fills it with the previous batch's images at these
        positions, and ``batch.pad`` is 0, as in MXNet (which fills with uninitialised memory).
    shuffle, seed
        orders the images at random in every epoch, in MXNet's order for the same seed.
    shuffle_chunk_size, shuffle_chunk_seed
        divides the file into parts of about this size in MiB, read in random order.
    num_parts, part_index
        reads one of several parts of the file.

    The geometry of an image:

    resize
        resizes its shorter edge to this length.
    max_rotate_angle, rotate, max_shear_ratio
        rotates by a random angle up to this one or by this one (degrees), shears up to this ratio.
    min_random_scale, max_random_scale, max_aspect_ratio, min_aspect_ratio, min_img_size,
    max_img_size
        scales by a random factor, and stretches by a random ratio of width and height, between
        these; without ``min_aspect_ratio`` between 1 - ``max_aspect_ratio`` and 1 + it. The edges
        are kept between these numbers of pixels.
    fill_value, pad
        value of pixels outside the image; width of a border that is added.
    random_resized_crop, min_random_area, max_random_area
        crops a part of random area (as a fraction) and aspect ratio, and resizes it.
    min_crop_size, max_crop_size
        crops a square of random edge, and resizes it.
    rand_crop
        crops at random, instead of in the centre. An image smaller than ``data_shape`` is enlarged.
    mirror, rand_mirror
        mirrors every image, or every second at random, left to right.
    inter_method
        interpolation: 0 nearest, 1 linear, 2 cubic, 3 areas, 4 Lanczos, 9 by the sizes, 10 random.
    aug_seq
        'aug_default', how many times geometry and colours are changed, with commas between; empty
        for not at all.

    The colours:

    brightness, contrast, saturation
        change by a random factor between 1 - this and 1 + this, in random order.
    random_h, random_s, random_l
        shift hue (0 to 180), saturation and lightness (0 to 255) by up to this.
    pca_noise
        standard deviation of a random shift along the principal components of natural colours.
    mean_img, mean_r, mean_g, mean_b, mean_a
        is subtracted: a file with the mean image (computed and written if it does not exist), or
        the mean of each channel.
    max_random_contrast, max_random_illumination
        multiplies by a random factor between 1 - this and 1 + this, adds up to this.
    scale, std_r, std_g, std_b, std_a
        multiplies, divides.
    seed_aug
        seed of all random augmentations; they do not depend on the number of threads, and differ
        from MXNet's draws.

    The threads:

    preprocess_threads, prefetch_buffer
        number of threads; of batches that they decode ahead.
    verbose
        logs a line (``logging.INFO``).
    ctx, device_id
        without effect; batches are in the current context.

    Unknown keywords are ignored, with one warning. ``batch.index`` holds zeros, as in MXNet. Raises
    OSError if a file cannot be read, RecordError, which names the file and the offset, for a
    truncated record or one that is not an image, DataArgumentError for an argument.
    """

    _counts_filling = False
    _numbered = False
    _dtype: str | None = None

    def __init__(self, **keywords: object) -> None:
        where = type(self).__name__
        options, augment, normalize = select_options(
            where, (RecordOptions, AugmentOptions, NormalizeOptions), keywords
        )
        options.check(where)
        channels, height, width = options.data_shape
        augment.check(where, channels)
        dtype = self._dtype or options.dtype or "float32"
        if dtype not in ("float32", "uint8", "int8"):
            raise DataArgumentError(f"{where}: dtype", f"{dtype}, expected float32, uint8 or int8")
        if options.label_width < 1:
            problem = f"{options.label_width}, expected an integer from 1 on"
            raise DataArgumentError(f"{where}: label_width", problem)
        names = augmenter_names(where, options.aug_seq, ["aug_default"])
        augmenters = [RecordAugmenter(augment, (height, width)) for _ in names]
        files = RecordFiles(options.path_imgrec)
        mean = None
        if normalize.mean_img:
            mean = load_mean_image(normalize.mean_img, options.data_shape)
            if mean is None:
                mean = _mean_image(options, files, augmenters)
                save_mean_image(normalize.mean_img, mean)
        normalization = Normalization.of(normalize, channels, mean)
        decoder = LabelledImageDecoder(options, augmenters, normalization)
        super().__init__(options, files, decoder, dtype)


def _mean_image(options: RecordOptions, files: RecordFiles, augmenters: list[Any]) -> np.ndarray:
    plain = dataclasses.replace(options, round_batch=False, verbose=False, shuffle=False)
    decoder = LabelledImageDecoder(plain, augmenters, Normalization())
    total, count = np.zeros(options.data_shape, np.float32), 0
    for batch in RecordImageIter(plain, files, decoder, "float32"):
        whole = options.batch_size - (batch.pad or 0)
        for image in (batch.data or [])[0].asnumpy()[:whole]:
            total += image
        count += whole
    return total * (np.float32(1) / np.float32(count))


class ImageRecordUInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with ``dtype='uint8'``."""

    _dtype = "uint8"


class ImageRecordInt8Iter(ImageRecordIter):
    """:class:`ImageRecordIter` with ``dtype='int8'``."""

    _dtype = "int8"


class ImageRecordIter_v1(ImageRecordIter):  # noqa: N801 - MXNet's name
    """:class:`ImageRecordIter` whose ``batch.index`` holds the images' numbers, and whose
    ``batch.pad`` also counts examples that fill the last batch without ``round_batch``."""

    _counts_filling = True
    _numbered = True


class ImageRecordUInt8Iter_v1(ImageRecordIter):  # noqa: N801 - MXNet's name
    """:class:`ImageRecordIter_v1` with ``dtype='uint8'``."""

    _counts_filling = True
    _numbered = True
    _dtype = "uint8"
