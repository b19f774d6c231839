"""ImageDetRecordIter: records of images with boxes of objects."""

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

    A record's label is the length of its header (at least 2), the length of an object (at least 5),
    the rest of the header, and the objects: class, left, top, right, bottom (fractions of the
    image's edges), and others. A batch's label is (batch_size, 4 + the longest label): channels,
    height and width of the image in the batch, length of the record's label, the label, and
    padding. Arguments not listed are as for :class:`ImageRecordIter`.

    label_width
        number of labels of every record; -1 if it varies.
    label_pad_width, label_pad_value
        the length to which labels are padded, by default the longest of the file (of its part), and
        the number that pads them.
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
        probability of a random position in a larger image, up to this many times as large, filled
        with this value.
    rand_crop_prob, num_crop_sampler, max_crop_trials
        probability of a crop; number of samplers, tried in random order, and of trials of each. The
        following are lists, one value per sampler.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios
        bounds of the size of a crop, as a fraction, and of its ratio of width and height.
    min_crop_overlaps, max_crop_overlaps, min_crop_sample_coverages, max_crop_sample_coverages,
    min_crop_object_coverages, max_crop_object_coverages
        bounds, for at least one object, of the area that crop and object share, over the area of
        both, of the crop and of the object.
    crop_emit_mode, emit_overlap_thresh
        drops objects with the centre outside the crop ('center'), or less than this fraction of
        their area in it ('overlap').
    resize_mode, inter_method
        'force' resizes to ``data_shape``, 'fit' keeps the ratio of the edges, 'shrink' also never
        enlarges; pixels outside the image are 0. Interpolation as for ImageRecordIter.
    mean_img, mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale
        normalise: a mean image (an existing file), or numbers by channel; 0 for no division.

    Random draws differ from MXNet's.
    """

    def __init__(self, **keywords: object) -> None:
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
                raise FileFormatError(augmentation.mean_img, "the file does not exist")
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
