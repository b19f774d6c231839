"""Keywords of the iterators over records of images, with MXNet's names and defaults."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..errors import DataArgumentError
from ..opencv import INTERPOLATIONS

DType = Literal["bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8"]


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    data_shape: tuple[int, ...]
    batch_size: int
    path_imgrec: str = ""
    path_imglist: str = ""
    path_imgidx: str = ""
    aug_seq: str = "aug_default"
    label_width: int = 1
    preprocess_threads: int = 4
    verbose: bool = True
    num_parts: int = 1
    part_index: int = 0
    device_id: int = 0
    shuffle_chunk_size: int = 0
    shuffle_chunk_seed: int = 0
    seed_aug: int | None = None
    shuffle: bool = False
    seed: int = 0
    round_batch: bool = True
    prefetch_buffer: int = 4
    ctx: Literal["cpu", "gpu"] = "gpu"
    dtype: DType | None = None
    data_name: str = "data"
    label_name: str = "softmax_label"

    def check(self, where: str) -> None:
        if not self.path_imgrec:
            raise DataArgumentError(f"{where}: path_imgrec", "it is missing")
        shape = self.data_shape
        if len(shape) != 3 or shape[0] not in (1, 3, 4) or min(shape) < 1:
            problem = f"{shape}, expected (channels, height, width) with 1, 3 or 4 channels"
            raise DataArgumentError(f"{where}: data_shape", problem)
        counts = dict.fromkeys(("batch_size", "preprocess_threads", "num_parts"), 1)
        for name, least in {**counts, "prefetch_buffer": 0, "shuffle_chunk_size": 0}.items():
            if getattr(self, name) < least:
                problem = f"{getattr(self, name)}, expected an integer from {least} on"
                raise DataArgumentError(f"{where}: {name}", problem)


@dataclass(frozen=True, kw_only=True)
class DetectionRecordOptions(RecordOptions):
    path_imgrec: str = "./data/imgrec.rec"
    aug_seq: str = "det_aug_default"
    label_width: int = -1
    label_pad_width: int = 0
    label_pad_value: float = -1.0


@dataclass(frozen=True, kw_only=True)
class ResizeOptions:
    resize: int = -1
    inter_method: int = 1

    def check_resizing(self, where: str) -> None:
        if self.inter_method not in INTERPOLATIONS:
            problem = f"{self.inter_method}, expected 0 to 4, 9 or 10"
            raise DataArgumentError(f"{where}: inter_method", problem)
        if self.resize == 0 or self.resize < -1:
            problem = f"{self.resize}, expected a positive number of pixels, or -1 for none"
            raise DataArgumentError(f"{where}: resize", problem)


@dataclass(frozen=True, kw_only=True)
class StatisticsOptions:
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class AugmentOptions(ResizeOptions):
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = 1e10
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    pad: int = 0

    @property
    def has_affine(self) -> bool:
        stretched = self.max_aspect_ratio != 0.0 or self.min_aspect_ratio is not None
        return (
            self.max_rotate_angle > 0
            or self.max_shear_ratio > 0.0
            or self.rotate > 0
            or (self.min_random_scale, self.max_random_scale) != (1.0, 1.0)
            or (stretched and not self.random_resized_crop)
            or (self.min_img_size, self.max_img_size) != (0.0, 1e10)
        )

    @property
    def has_crop_size(self) -> bool:
        return (self.min_crop_size, self.max_crop_size) != (-1, -1)

    @property
    def has_colour_jitter(self) -> bool:
        return max(self.brightness, self.contrast, self.saturation) > 0.0

    @property
    def has_hls_shift(self) -> bool:
        return (self.random_h, self.random_s, self.random_l) != (0, 0, 0)

    def check(self, where: str, channels: int) -> None:
        self.check_resizing(where)
        scaled = (self.min_random_scale, self.max_random_scale) != (1.0, 1.0)
        if self.random_resized_crop and (scaled or self.has_crop_size or self.rand_crop):
            problem = "it excludes rand_crop, min_ and max_random_scale, min_ and max_crop_size"
            raise DataArgumentError(f"{where}: random_resized_crop", problem)
        if self.max_crop_size < self.min_crop_size:
            problem = f"{self.max_crop_size}, expected at least min_crop_size"
            because = f"min_crop_size is {self.min_crop_size}"
            raise DataArgumentError(f"{where}: max_crop_size", problem, because=because)
        if channels == 1 and (self.has_colour_jitter or self.has_hls_shift):
            problem = "1 channel, expected 3 or 4"
            because = "colours are changed at random"
            raise DataArgumentError(f"{where}: data_shape", problem, because=because)


@dataclass(frozen=True, kw_only=True)
class NormalizeOptions(StatisticsOptions):
    mirror: bool = False
    rand_mirror: bool = False
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0


Floats = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class DetectionOptions(ResizeOptions, StatisticsOptions):
    rand_crop_prob: float = 0.0
    min_crop_scales: Floats = (0.0,)
    max_crop_scales: Floats = (1.0,)
    min_crop_aspect_ratios: Floats = (1.0,)
    max_crop_aspect_ratios: Floats = (1.0,)
    min_crop_overlaps: Floats = (0.0,)
    max_crop_overlaps: Floats = (1.0,)
    min_crop_sample_coverages: Floats = (0.0,)
    max_crop_sample_coverages: Floats = (1.0,)
    min_crop_object_coverages: Floats = (0.0,)
    max_crop_object_coverages: Floats = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: Literal["center", "overlap"] = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    resize_mode: Literal["fit", "force", "shrink"] = "force"

    #: Ends of the names of keywords that bound the same quantity of a crop, ``min_`` and ``max_``.
    BOUNDS: ClassVar[tuple[str, ...]] = (
        "crop_scales",
        "crop_aspect_ratios",
        "crop_overlaps",
        "crop_sample_coverages",
        "crop_object_coverages",
    )

    def sampler(self, name: str, number: int) -> float:
        values = getattr(self, name)
        return values[min(number, len(values) - 1)]

    def check(self, where: str) -> None:
        self.check_resizing(where)
        if not self.rand_crop_prob > 0:
            return
        for bound in self.BOUNDS:
            for name in (f"min_{bound}", f"max_{bound}"):
                if len(getattr(self, name)) not in (1, self.num_crop_sampler):
                    problem = f"{len(getattr(self, name))} values, expected 1 or num_crop_sampler"
                    because = f"num_crop_sampler is {self.num_crop_sampler}"
                    raise DataArgumentError(f"{where}: {name}", problem, because=because)
        for number in range(self.num_crop_sampler):
            low = self.sampler("min_crop_scales", number)
            high = self.sampler("max_crop_scales", number)
            if not 0 <= low < high <= 1:
                problem = f"{high}, expected more than min_crop_scales, at most 1"
                because = f"min_crop_scales is {low}"
                raise DataArgumentError(f"{where}: max_crop_scales", problem, because=because)
