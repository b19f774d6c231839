"""ImageDetRecordIter: records of images with boxes of objects."""

from typing import Any

from .._support.record_format import read_index
from ..errors import DataArgumentError, FileFormatError
from ._image_record_iter import RecordImageIter, select_options
from ._record_decoder import ImageList, augmenter_names, unpack_record
from ._record_detection import DetectionAugmenter, DetectionDecoder
from ._record_options import DetectionOptions, DetectionRecordOptions
from ._record_pixels import Normalization, load_mean_image
from ._record_source import RecordFiles


class ImageDetRecordIter(RecordImageIter):
    """Batches of images with boxes of objects from a file of records.

    A record's label is the length of its header (2 at least), the length of an object (5 at
    least), the rest of the header, and the objects: class, left, top, right, bottom (fractions of
    the image's edges), and others. A batch's label is (batch_size, 4 + the longest label): number
    of channels, height and width of the image in the batch, number of the label's numbers, these,
    and padding.

    path_imgrec, path_imglist, path_imgidx, data_shape, batch_size, round_batch, shuffle, seed,
    shuffle_chunk_size, shuffle_chunk_seed, num_parts, part_index, preprocess_threads,
    prefetch_buffer, seed_aug, verbose, data_name, label_name, ctx, device_id
        as for :class:`ImageRecordIter`.
    label_width
        number of labels of every record; -1 if it varies.
    label_pad_width, label_pad_value
        the length to which labels are filled up, and by which number. Without it the longest label
        of the file (of its part) decides.
    dtype
        float32.
    aug_seq
        'det_aug_default', how many times the augmentations are applied; empty for not at all.
    resize
        resizes the shorter edge to this length.
    random_hue_prob, max_random_hue, random_saturation_prob, max_random_saturation,
    random_illumination_prob, max_random_illumination, random_contrast_prob, max_random_contrast
        probability and limit of a shift of hue, saturation and lightness, and of a factor.
    rand_mirror_prob
        probability of mirroring left to right.
    rand_pad_prob, max_pad_scale, fill_value
        probability that the image is put at a random place of one up to this many times as large,
        which is filled with this value.
    rand_crop_prob, num_crop_sampler, max_crop_trials
        probability of a crop; number of samplers, which are tried in random order, and of trials
        of each. The following are lists, one value per sampler.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios
        bounds of the size of a crop, as a fraction, and of its ratio of width and height.
    min_crop_overlaps, max_crop_overlaps, min_crop_sample_coverages, max_crop_sample_coverages,
    min_crop_object_coverages, max_crop_object_coverages
        bounds of the area that crop and object share, over the area of both, of the crop and of the
        object, one object of the image has to keep.
    crop_emit_mode, emit_overlap_thresh
        objects are dropped whose centre is outside the crop ('center'), or of which less than this
        fraction is in it ('overlap').
    resize_mode, inter_method
        'force' resizes to ``data_shape``, 'fit' keeps the ratio of the edges, 'shrink' does and
        never enlarges; what the image does not cover is 0. Interpolation as for ImageRecordIter.
    mean_img, mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        normalise: a mean image (a file that exists), or numbers by channel; 0 for no division.

    Unknown keywords are ignored, with one warning. Random draws differ from MXNet's. Raises as
    :class:`ImageRecordIter`.
    """

    def __init__(self, **keywords: Any) -> None:
        where = "ImageDetRecordIter"
        kinds = DetectionRecordOptions, DetectionOptions
        options, augmentation = select_options(where, kinds, keywords)
        options.check(where)
        augmentation.check(where)
        if options.dtype not in (None, "float32"):
            raise DataArgumentError(f"{where}: dtype", f"{options.dtype}, expected float32")
        channels, height, width = options.data_shape
        names = augmenter_names(where, options.aug_seq, ["det_aug_default"])
        files = RecordFiles(options.path_imgrec)
        mean = None
        if augmentation.mean_img:
            mean = load_mean_image(augmentation.mean_img, options.data_shape)
            if mean is None:
                raise FileFormatError(augmentation.mean_img, "there is no such file")
        images = ImageList(options.path_imglist, None) if options.path_imglist else None
        augmenters = [DetectionAugmenter(augmentation, (height, width)) for _ in names]
        normalization = Normalization.of(augmentation, channels, mean)
        label_width = _label_width(options, files, images)
        decoder = DetectionDecoder(options, augmenters, normalization, images, label_width)
        super().__init__(options, files, decoder, "float32")


def _label_width(
    options: DetectionRecordOptions, files: RecordFiles, images: ImageList | None
) -> int:
    longest = images.longest if images is not None else _longest_label(options, files)
    if options.label_pad_width <= 0:
        return longest
    if options.label_pad_width < longest:
        problem = f"{options.label_pad_width}, expected at least {longest}"
        because = "a record has this many labels"
        raise DataArgumentError("ImageDetRecordIter: label_pad_width", problem, because=because)
    return options.label_pad_width


def _longest_label(options: DetectionRecordOptions, files: RecordFiles) -> int:
    if options.path_imgidx:
        offsets = [offset for _, offset in read_index(options.path_imgidx)]
    else:
        offsets = files.offsets(*files.partition(options.num_parts, options.part_index))
    lengths = (unpack_record(files.read(o), files.name(o))[0].flag or 1 for o in offsets)
    return max(lengths, default=1)
