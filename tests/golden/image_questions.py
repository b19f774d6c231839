"""Questions about ``mx.image``, for MXNet and for executorkit. NumPy only; works with 1.23.

Each is a function of the library, the encoded pictures of ``make_image.py``, and an empty folder.
It returns a list of arrays and of what JSON can hold.
"""

from __future__ import annotations

import itertools
import os
import random
import zlib

import numpy as np

try:
    from ._store import condense
except ImportError:  # as a script's neighbour
    from _store import condense

SEEDS = (1, 2, 3)
BOXES = [[0, 0.1, 0.2, 0.5, 0.7], [2, 0.4, 0.3, 0.9, 0.95], [1, 0.0, 0.5, 0.3, 1.0]]


def summary(array):
    """What is stored of an array: shape, dtype, checksum of integers; elements, if many a sample.

    A checksum is 0 for floating elements, which are compared with a tolerance.
    """
    integers = array.dtype.kind in "iu"
    stored = condense(array, *((64, 24) if integers else (256, 64))).ravel()
    checksum = zlib.crc32(np.ascontiguousarray(array).tobytes()) if integers else 0
    facts = {"shape": list(array.shape), "dtype": array.dtype.name, "checksum": checksum}
    return dict(facts, stored=stored.size), stored.astype("float64")


def seed(number):
    random.seed(number)
    np.random.seed(number)


def photo(mx, files, dtype="uint8", channels=3):
    """The colour picture, in another dtype or with other channels."""
    image = mx.image.imdecode(files["png"]).asnumpy()
    image = np.tile(image, (1, 1, 2))[..., :channels].astype(dtype)
    return mx.nd.array(image, dtype=dtype)


# Functions


def decoded(name):
    def ask(mx, files, folder):
        colour, gray = (mx.image.imdecode(files[name], flag=flag) for flag in (1, 0))
        blue_first = mx.image.imdecode(files[name], to_rgb=False)
        return [colour, gray, blue_first]

    return ask


def kinds_of_buffers(mx, files, folder):
    data = files["png"]
    out = mx.nd.zeros((2, 2))
    returned = mx.image.imdecode(data, out=out)
    buffers = (bytearray(data), np.frombuffer(data, np.uint8))
    array = mx.nd.array(np.frombuffer(data, np.uint8), dtype="uint8")
    return [
        *(mx.image.imdecode(buffer) for buffer in buffers),
        mx.image.imdecode(array),
        mx.image.imdecode(array.reshape((1, -1)), 0),
        mx.image.imdecode(data, "0"),
        mx.image.imdecode(data, to_rgb="False"),
        mx.image.imdecode(data, flag=4),
        mx.image.imdecode(data, flag=17),
        mx.image.imdecode(data, flag=3),
        returned is out,
        out,
    ]


def read(mx, files, folder):
    path = os.path.join(str(folder), "a.png")
    with open(path, "wb") as file:
        file.write(files["png"])
    return [
        mx.image.imread(path),
        mx.image.imread(path, 0),
        mx.image.imread(path, flag=1, to_rgb=False),
        mx.img.imread(filename=path),
        mx.nd._internal._cvimread(path),
    ]


def resized(dtype, channels):
    def ask(mx, files, folder):
        image = photo(mx, files, dtype, channels)
        sizes = ((12, 9), (31, 24), (80, 50), (15, 12), (40, 11))
        return [
            mx.image.imresize(image, *size, interp=interp) for interp in range(6) for size in sizes
        ]

    return ask


def resized_int32(mx, files, folder):
    image = photo(mx, files, "int32")
    out = mx.nd.zeros((9, 12, 3), dtype="int32")
    returned = mx.image.imresize(image, 12, 9, 0, out=out)
    return [mx.image.imresize(image, 31, 24, 4), out, returned is out]


def short_sides(mx, files, folder):
    image = photo(mx, files)
    seed(4)
    return [
        mx.image.resize_short(image, size, interp)
        for size in (10, 24, 40)
        for interp in (0, 1, 2, 3, 4, 9, 10, 10)
    ]


def borders(dtype):
    def ask(mx, files, folder):
        image = mx.image.imresize(photo(mx, files), 7, 6).astype(dtype)
        pad = mx.image.copyMakeBorder
        return [
            *(pad(image, 1, 2, 3, 4, type=kind) for kind in (0, 1, 2, 3, 4, 16, 17, 20)),
            *(pad(image, 9, 15, 8, 20, type=kind) for kind in (1, 2, 3, 4)),
            pad(image, 1, 2, 3, 4, 0, 7),
            pad(image, 1, 2, 3, 4, 0, 7, (1, 2, 3)),
            *(
                pad(image, 1, 2, 3, 4, type=0, values=values)
                # MXNet leaves channels undefined for which there is no number.
                for values in ((1.5, 300, -4.5), (1, 2, 3, 4, 5))
            ),
            pad(image, 0, 0, 0, 0),
        ]

    return ask


def borders_of_channels(mx, files, folder):
    images = [mx.image.imresize(photo(mx, files, channels=c), 7, 6) for c in (1, 2, 4, 6)]
    pad = mx.image.copyMakeBorder
    return [
        *(pad(image, 1, 2, 0, 1, value=9) for image in images[:3]),
        *(pad(image, 1, 2, 0, 1) for image in images),
        *(pad(image, 1, 2, 0, 1, type=1) for image in images),
        pad(images[0][:1, :1], 3, 2, 3, 4, type=4),
    ]


def sizes_scaled_down(mx, files, folder):
    sizes = ((640, 480), (10, 20), (33, 7), (1, 1))
    wanted = ((720, 120), (30, 50), (3, 5), (30, 0), (100, 100), (7, 33))
    return [[list(mx.image.scale_down(a, b)) for a in sizes for b in wanted]]


def crops(mx, files, folder):
    image = photo(mx, files)
    results = [
        mx.image.fixed_crop(image, 1, 2, 3, 4),
        mx.image.fixed_crop(image, 1, 2, 13, 14, (5, 6), 1),
        mx.image.fixed_crop(image, 1, 2, 13, 14, (13, 14)),
        mx.image.fixed_crop(image, 1, 2, 13, 14, [13, 14]),
        mx.image.fixed_crop(image, 25, 20, 13, 14),
        mx.image.fixed_crop(image, 25, 20, 13, 14, (20, 20)),
        mx.image.fixed_crop(image, 1, 2, 13, 14, (26, 28), 9),
    ]
    for size, interp in itertools.product(((10, 12), (50, 20), (60, 70), (31, 24)), (1, 2, 9)):
        crop, rectangle = mx.image.center_crop(image, size, interp)
        results += [crop, list(rectangle)]
    array = np.arange(90).reshape(5, 6, 3)
    crop, rectangle = mx.image.center_crop(array, (2, 3))
    return [*results, crop, list(rectangle)]


def random_crops(mx, files, folder):
    image = photo(mx, files)
    results = []
    for number in range(6):
        seed(number)
        for crop, rectangle in (
            mx.image.random_crop(image, (10, 12)),
            mx.image.random_crop(image, (40, 12), 10),
            mx.image.random_size_crop(image, (12, 12), 0.2, (0.75, 1.5)),
            mx.image.random_size_crop(image, (12, 9), (0.1, 0.9), (0.5, 2.0), 10),
            mx.image.random_size_crop(image, (12, 9), (0.95, 1.0), (0.2, 0.3), 3),
        ):
            results += [crop, list(rectangle)]
        results.append(random.random())
    return results


def normalised(mx, files, folder):
    image = photo(mx, files, "float32")
    mean, std = mx.nd.array([100, 110, 120]), mx.nd.array([50, 60, 70])
    both = mx.image.color_normalize(image.copy(), mean, std)
    changed = image.copy()
    returned = mx.image.color_normalize(changed, mean)
    return [
        both,
        changed,
        returned is changed,
        mx.image.color_normalize(image.copy(), None, std),
        mx.image.color_normalize(image.copy(), 3, 2),
        mx.image.color_normalize(image.copy(), mx.nd.array([7]), None),
        mx.image.color_normalize(np.ones((1, 2, 3), "float32"), 3, 2),
        mx.image.color_normalize(photo(mx, files, "float64"), mean.astype("float64")),
    ]


def rotated(mx, files, folder):
    image = photo(mx, files, "float32").transpose((2, 0, 1))
    batch = mx.nd.stack(image, image * 2)
    results = [
        mx.image.imrotate(image, angle, *zoom)
        for angle in (30, -100.5, 0, np.float32(180))
        for zoom in ((), (True,), (False, True))
    ]
    results += [
        mx.image.imrotate(batch, mx.nd.array([10, -20])),
        mx.image.imrotate(batch, 33),
        mx.image.imrotate(batch, mx.nd.array([10, -20]), zoom_in=True),
    ]
    for number in SEEDS:
        seed(number)
        results.append(mx.image.random_rotate(image, (-30, 30)))
        results.append(mx.image.random_rotate(batch, (-30, 60), zoom_out=True))
    return results


# Augmenters

EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.arange(9).reshape(3, 3) / 10 - 0.4

#: (dtype of the image, constructor) by the augmenter's name and variant.
AUGMENTERS = {
    "ResizeAug": ("uint8", lambda im: im.ResizeAug(15)),
    "ResizeAug_10": ("uint8", lambda im: im.ResizeAug(15, 10)),
    "ForceResizeAug": ("uint8", lambda im: im.ForceResizeAug((15, 40), 9)),
    "RandomCropAug": ("uint8", lambda im: im.RandomCropAug((15, 12))),
    "RandomSizedCropAug": ("uint8", lambda im: im.RandomSizedCropAug((15, 12), 0.1, (0.5, 2))),
    "RandomSizedCropAug_area": (
        "uint8",
        lambda im: im.RandomSizedCropAug((15, 12), (0.1, 0.3), (0.5, 2), 1),
    ),
    "CenterCropAug": ("uint8", lambda im: im.CenterCropAug((15, 12), 1)),
    "HorizontalFlipAug": ("uint8", lambda im: im.HorizontalFlipAug(0.5)),
    "CastAug": ("uint8", lambda im: im.CastAug()),
    "CastAug_float64": ("uint8", lambda im: im.CastAug("float64")),
    "CastAug_uint8": ("float32", lambda im: im.CastAug("uint8")),
    "BrightnessJitterAug": ("float32", lambda im: im.BrightnessJitterAug(0.5)),
    "BrightnessJitterAug_float64": ("float64", lambda im: im.BrightnessJitterAug(0.5)),
    "BrightnessJitterAug_float16": ("float16", lambda im: im.BrightnessJitterAug(0.5)),
    "ContrastJitterAug": ("float32", lambda im: im.ContrastJitterAug(0.5)),
    "SaturationJitterAug": ("float32", lambda im: im.SaturationJitterAug(0.5)),
    "HueJitterAug": ("float32", lambda im: im.HueJitterAug(0.5)),
    "ColorJitterAug": ("float32", lambda im: im.ColorJitterAug(0.3, 0.4, 0.5)),
    "ColorJitterAug_some": ("float32", lambda im: im.ColorJitterAug(0, 0.4, 0)),
    "LightingAug": ("float32", lambda im: im.LightingAug(0.3, EIGENVALUES, EIGENVECTORS)),
    "ColorNormalizeAug": (
        "float32",
        lambda im: im.ColorNormalizeAug(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])),
    ),
    "ColorNormalizeAug_lists": ("float32", lambda im: im.ColorNormalizeAug([1, 2, 3], [5])),
    "RandomGrayAug": ("float32", lambda im: im.RandomGrayAug(0.5)),
    "SequentialAug": (
        "uint8",
        lambda im: im.SequentialAug([im.RandomCropAug((15, 12)), im.CastAug()]),
    ),
    "RandomOrderAug": (
        "float32",
        lambda im: im.RandomOrderAug(
            [im.BrightnessJitterAug(0.5), im.LightingAug(0.3, EIGENVALUES, EIGENVECTORS)]
        ),
    ),
}


def augmented(name):
    dtype, make = AUGMENTERS[name]

    def ask(mx, files, folder):
        augmenter = make(mx.image)
        results = [augmenter.dumps()]
        for number in SEEDS:
            seed(number)
            image = photo(mx, files, dtype)
            result = augmenter(image)
            # What is drawn is drawn equally often: the next numbers agree.
            results += [result, image, result is image, random.random(), np.random.rand()]
        return results

    return ask


LISTS = {
    "plain": {},
    "all": {
        "resize": 26,
        "rand_crop": True,
        "rand_resize": True,
        "rand_mirror": True,
        "mean": True,
        "std": True,
        "brightness": 0.1,
        "contrast": 0.2,
        "saturation": 0.3,
        "hue": 0.1,
        "pca_noise": 0.1,
        "rand_gray": 0.5,
        "inter_method": 10,
    },
    "crop": {"rand_crop": 1, "mean": np.array([1, 2, 3]), "inter_method": 9},
    "std": {"std": np.array([2.0]), "rand_mirror": True, "hue": 0.3},
}


def list_of_augmenters(name):
    def ask(mx, files, folder):
        augmenters = mx.image.CreateAugmenter((3, 20, 22), **LISTS[name])
        results = [[augmenter.dumps() for augmenter in augmenters]]
        for number in SEEDS:
            seed(number)
            image = photo(mx, files)
            for augmenter in augmenters:
                image = augmenter(image)
            results += [image, random.random(), np.random.rand()]
        return results

    return ask


DETECTION = {
    "DetBorrowAug": lambda im: im.DetBorrowAug(im.ForceResizeAug((9, 8))),
    "DetHorizontalFlipAug": lambda im: im.DetHorizontalFlipAug(0.5),
    "DetRandomCropAug": lambda im: im.DetRandomCropAug(),
    "DetRandomCropAug_strict": lambda im: im.DetRandomCropAug(0.7, (0.5, 2.0), (0.3, 0.9), 0.5),
    "DetRandomCropAug_impossible": lambda im: im.DetRandomCropAug(1.0, max_attempts=3),
    "DetRandomCropAug_numbers": lambda im: im.DetRandomCropAug(
        aspect_ratio_range=1, area_range=0.4
    ),
    "DetRandomPadAug": lambda im: im.DetRandomPadAug(),
    "DetRandomPadAug_number": lambda im: im.DetRandomPadAug(1.2, (1.2, 4), 50, (3, 2, 1)),
    "DetRandomSelectAug": lambda im: im.DetRandomSelectAug(
        [im.DetRandomCropAug(), im.DetRandomPadAug(), im.DetHorizontalFlipAug(1)], 0.2
    ),
    "DetRandomSelectAug_one": lambda im: im.DetRandomSelectAug(im.DetRandomPadAug(), 0.5),
    "DetRandomSelectAug_none": lambda im: im.DetRandomSelectAug([], 0.5),
    "CreateMultiRandCropAugmenter": lambda im: im.CreateMultiRandCropAugmenter(
        [0.1, 0.5, 0.9], area_range=[(0.1, 1.0), (0.2, 1.0), (0.3, 0.9)], skip_prob=0.1
    ),
}


def augmented_with_objects(name):
    def ask(mx, files, folder):
        augmenter = DETECTION[name](mx.image)
        results = [augmenter.dumps()]
        for number in range(8):
            seed(number)
            label = np.array(BOXES, "float32")
            image, after = augmenter(photo(mx, files), label)
            results += [image, after, label, random.random()]
        return results

    return ask


DETECTION_LISTS = {
    "plain": {},
    "all": {
        "resize": 26,
        "rand_crop": 0.5,
        "rand_pad": 0.6,
        "rand_gray": 0.3,
        "rand_mirror": True,
        "mean": True,
        "std": True,
        "brightness": 0.1,
        "contrast": 0.1,
        "saturation": 0.1,
        "hue": 0.1,
        "pca_noise": 0.1,
        "inter_method": 10,
        "min_object_covered": [0.1, 0.5],
        "pad_val": (3, 200, 100),
    },
    "some": {
        "rand_crop": 1,
        "rand_pad": 1,
        "mean": np.array([1.0, 2, 3]),
        "area_range": (0.2, 2.0),
    },
}


def list_of_augmenters_with_objects(name):
    def ask(mx, files, folder):
        augmenters = mx.image.CreateDetAugmenter((3, 20, 22), **DETECTION_LISTS[name])
        results = [[augmenter.dumps() for augmenter in augmenters]]
        for number in range(5):
            seed(number)
            image, label = photo(mx, files), np.array(BOXES, "float32")
            for augmenter in augmenters:
                image, label = augmenter(image, label)
            results += [image, label, random.random(), np.random.rand()]
        return results

    return ask


# Iterators


def stored(mx, files, folder, labels, indexed=True):
    """A folder with seven pictures, a list of them, and records of them."""
    folder = str(folder)
    rec, idx, lst = (os.path.join(folder, "a" + end) for end in (".rec", ".idx", ".lst"))
    record = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
    lines = []
    for i, label in enumerate(labels):
        data = files[f"small{i}"]
        with open(os.path.join(folder, f"{i}.png"), "wb") as file:
            file.write(data)
        key = 10 + 3 * i
        packed = label if np.ndim(label) == 0 else np.array(label, "float32")
        record.write_idx(key, mx.recordio.pack(mx.recordio.IRHeader(0, packed, key, 0), data))
        numbers = "\t".join(map(str, np.ravel(label)))
        lines.append(f"{key}\t{numbers}\t{i}.png\n")
    record.close()
    with open(lst, "w") as file:
        file.writelines(lines)
    return rec, idx, lst


SCALARS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
PAIRS = [[i, 10 - i] for i in range(7)]


def batches(iterator, epochs=2):
    """Shapes, and every batch of some epochs: images (thinned out), labels, padding."""
    results = [
        [list(map(list, iterator.provide_data)), list(map(list, iterator.provide_label))],
        iterator.batch_size,
    ]
    for epoch in range(epochs):
        if epoch:
            iterator.reset()
        for batch in iterator:
            results += [batch.data[0][:, :, ::5, ::3], batch.label[0], batch.pad]
        results.append("end")
    return results


def iterated(make, labels=SCALARS, epochs=2):
    def ask(mx, files, folder):
        seed(7)
        paths = stored(mx, files, folder, labels)
        return batches(make(mx.image, str(folder), *paths), epochs)

    return ask


def entries(labels):
    """A list of labels and paths."""
    return [
        [*label, f"{i}.png"] if np.ndim(label) else [label, f"{i}.png"]
        for i, label in enumerate(labels)
    ]


ITERATORS = {
    "records": iterated(lambda im, d, rec, idx, lst: im.ImageIter(3, (3, 20, 22), path_imgrec=rec)),
    "records_discard": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imgrec=rec, last_batch_handle="discard"
        )
    ),
    "records_roll_over": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imgrec=rec, last_batch_handle="roll_over"
        ),
        epochs=4,
    ),
    "index": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imgrec=rec, path_imgidx=idx
        )
    ),
    "shuffled": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imgrec=rec, path_imgidx=idx, shuffle=True, rand_crop=True,
            rand_mirror=True, brightness=0.3, pca_noise=0.1,
        )
    ),
    "part": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            2, (3, 20, 22), path_imgrec=rec, path_imgidx=idx, part_index=1, num_parts=2
        )
    ),
    "roll_over": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imgrec=rec, path_imgidx=idx, shuffle=True,
            last_batch_handle="roll_over",
        ),
        epochs=4,
    ),
    "discard": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            3, (3, 20, 22), path_imglist=lst, path_root=d, last_batch_handle="discard"
        )
    ),
    "list": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(3, (3, 20, 22), path_imglist=lst, path_root=d)
    ),
    "list_pairs": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), label_width=2, path_imglist=lst, path_root=d, dtype="int32",
            data_name="image", label_name="target",
        ),
        PAIRS,
    ),
    "record_pairs": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), label_width=2, path_imgrec=rec
        ),
        PAIRS,
    ),
    "record_with_list": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), path_imgrec=rec, path_imgidx=idx, path_imglist=lst
        )
    ),
    "entries": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), imglist=entries(SCALARS), path_root=d, shuffle=True
        )
    ),
    "entries_pairs": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), label_width=2, imglist=entries(PAIRS), path_root=d, num_parts=2,
            part_index=0,
        )
    ),
    "entries_lists": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            4, (3, 20, 22), label_width=2, path_root=d,
            imglist=[[label, f"{i}.png"] for i, label in enumerate(PAIRS)], dtype="float64",
        )
    ),
    "larger_batch": iterated(
        lambda im, d, rec, idx, lst: im.ImageIter(
            13, (3, 20, 22), path_imglist=lst, path_root=d, aug_list=[im.CenterCropAug((22, 20))]
        ),
        epochs=1,
    ),
}  # fmt: skip


def objects(count, surplus=0):
    """Labels of a picture: a header of two or more numbers, then objects."""
    header = [2.0 + surplus, 5.0, *[0.0] * surplus]
    return header + [number for box in BOXES[:count] for number in box]


OBJECTS = [objects(1), objects(3), objects(2, 1), objects(2), objects(3, 2), objects(1), objects(2)]


def detection(epochs=2, **kwargs):
    return iterated(
        lambda im, d, rec, idx, lst: im.ImageDetIter(
            3, (3, 20, 22), path_imgrec=rec, path_imgidx=idx, **kwargs
        ),
        OBJECTS,
        epochs,
    )


def synchronised(mx, files, folder):
    seed(7)
    rec, idx, _ = stored(mx, files, folder, OBJECTS)
    train = mx.image.ImageDetIter(2, (3, 20, 22), path_imgrec=rec, path_imgidx=idx)
    lines = [[objects(2), "0.png"], [objects(1), "1.png"]]
    score = mx.image.ImageDetIter(2, (3, 20, 22), imglist=lines, path_root=str(folder))
    results = [list(train.label_shape), list(score.label_shape)]
    returned = train.sync_label_shape(score)
    results += [returned is score, list(score.label_shape), *batches(score, 1)]
    score.sync_label_shape(train, verbose=True)
    score.reshape(label_shape=(5, 5))
    score.reset()
    results += [*batches(score, 1)]
    score.sync_label_shape(train)
    train.reshape(data_shape=(3, 30, 40))
    return [*results, list(train.label_shape), list(map(list, train.provide_data))]


def drawn(mx, files, folder):
    seed(7)
    rec, idx, _ = stored(mx, files, folder, OBJECTS[:1])
    results = []
    for kwargs in (
        {"color": (200, 100, 50)},
        {"thickness": 1},
        {"mean": True, "std": True, "color": (1, 2, 3), "thickness": 1},
    ):
        iterator = mx.image.ImageDetIter(
            1, (3, 40, 44), path_imgrec=rec, path_imgidx=idx, mean=kwargs.get("mean"),
            std=kwargs.get("std"),
        )  # fmt: skip
        results += list(iterator.draw_next(**kwargs))
    return results


DETECTION_ITERATORS = {
    "plain": detection(),
    "shuffled": detection(
        shuffle=True, rand_crop=0.7, rand_pad=0.7, rand_mirror=True, mean=True, std=True,
        inter_method=10,
    ),
    "roll_over": detection(4, last_batch_handle="roll_over"),
    "discard": detection(last_batch_handle="discard"),
    "list": iterated(
        lambda im, d, rec, idx, lst: im.ImageDetIter(
            3, (3, 20, 22), path_imglist=lst, path_root=d, label_name="boxes"
        ),
        OBJECTS,
    ),
    "synchronised": synchronised,
    "drawn": drawn,
}  # fmt: skip


PICTURES = (
    "png", "pnga", "png16", "png16a", "pnggray", "pnggray16", "bmp", "bmpgray", "tiff", "jpg",
    "jpg_gray", "jpg_progressive", "jpg_444", "jpg_422", "jpg_30", "exif3", "exif6", "exif8",
)  # fmt: skip

VALUES = {
    **{f"decode_{name}": decoded(name) for name in PICTURES},
    "decode_buffers": kinds_of_buffers,
    "read": read,
    **{
        f"resize_{dtype}_{channels}": resized(dtype, channels)
        for dtype, channels in (
            ("uint8", 1), ("uint8", 3), ("uint8", 4), ("uint8", 2), ("float32", 3),
            ("float32", 1), ("float64", 3), ("int8", 3),
        )
    },
    "resize_int32": resized_int32,
    "resize_short": short_sides,
    **{f"border_{dtype}": borders(dtype) for dtype in ("uint8", "float32", "float64", "int32")},
    "border_channels": borders_of_channels,
    "scale_down": sizes_scaled_down,
    "crops": crops,
    "random_crops": random_crops,
    "color_normalize": normalised,
    "rotate": rotated,
    **{name: augmented(name) for name in AUGMENTERS},
    **{"CreateAugmenter_" + name: list_of_augmenters(name) for name in LISTS},
    **{name: augmented_with_objects(name) for name in DETECTION},
    **{
        "CreateDetAugmenter_" + name: list_of_augmenters_with_objects(name)
        for name in DETECTION_LISTS
    },
    **{"ImageIter_" + name: ask for name, ask in ITERATORS.items()},
    **{"ImageDetIter_" + name: ask for name, ask in DETECTION_ITERATORS.items()},
}  # fmt: skip


def iterator_of(mx, files, folder, cls="ImageIter", labels=SCALARS, **kwargs):
    rec, idx, lst = stored(mx, files, folder, labels)
    paths = {"path_imgrec": rec, "path_imgidx": idx, "path_imglist": lst, "path_root": str(folder)}
    chosen = {name: paths[name] for name in kwargs.pop("use", ("path_imgrec",))}
    return getattr(mx.image, cls)(2, kwargs.pop("shape", (3, 20, 22)), **chosen, **kwargs)


def broken_record(mx, files, folder):
    with open(os.path.join(str(folder), "x.jpg"), "wb") as file:
        file.write(b"no image at all")
    mx.image.ImageIter(1, (3, 4, 4), imglist=[[1, "x.jpg"]], path_root=str(folder)).next()


def refused(call, dtype="uint8", channels=3):
    return lambda mx, files, folder: call(mx, photo(mx, files, dtype, channels), files["png"])


ERRORS = {
    "decode_text": refused(lambda mx, x, b: mx.image.imdecode("abc")),
    "decode_list": refused(lambda mx, x, b: mx.image.imdecode([1, 2])),
    "decode_empty": refused(lambda mx, x, b: mx.image.imdecode(b"")),
    "decode_garbage": refused(lambda mx, x, b: mx.image.imdecode(b"abc")),
    "decode_truncated": refused(lambda mx, x, b: mx.image.imdecode(b[:60])),
    "decode_unknown": refused(lambda mx, x, b: mx.image.imdecode(b, foo=1)),
    "decode_negative_flag": refused(lambda mx, x, b: mx.image.imdecode(b, flag=-1)),
    "decode_flag_2": refused(lambda mx, x, b: mx.image.imdecode(b, flag=2)),
    "decode_reduced": refused(lambda mx, x, b: mx.image.imdecode(b, flag=16)),
    "decode_float_array": refused(lambda mx, x, b: mx.image.imdecode(x.astype("float32"))),
    "decode_to_rgb_2": refused(lambda mx, x, b: mx.image.imdecode(b, to_rgb=2)),
    "cvimdecode_bytes": refused(lambda mx, x, b: mx.nd._internal._cvimdecode(b)),
    "read_missing": refused(lambda mx, x, b: mx.image.imread("/nowhere/a.png")),
    "read_python": refused(lambda mx, x, b: mx.image.imread(__file__)),
    "resize_interp_6": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4, 6)),
    "resize_interp_9": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4, 9)),
    "resize_interp_10": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4, 10)),
    "resize_interp_negative": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4, -1)),
    "resize_zero": refused(lambda mx, x, b: mx.image.imresize(x, 0, 4)),
    "resize_fraction": refused(lambda mx, x, b: mx.image.imresize(x, 3.7, 4)),
    "resize_int32": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4), "int32"),
    "resize_float16": refused(lambda mx, x, b: mx.image.imresize(x, 3, 4), "float16"),
    "resize_two_axes": refused(lambda mx, x, b: mx.image.imresize(x[0], 3, 4)),
    "resize_numpy": refused(lambda mx, x, b: mx.image.imresize(x.asnumpy(), 3, 4)),
    "resize_out_dtype": refused(
        lambda mx, x, b: mx.image.imresize(x, 3, 4, out=mx.nd.zeros((4, 3, 3)))
    ),
    "resize_one_size": refused(lambda mx, x, b: mx.image.imresize(x, 3)),
    "short_interp_5": refused(lambda mx, x, b: mx.image.resize_short(x, 4, 5)),
    "short_interp_11": refused(lambda mx, x, b: mx.image.resize_short(x, 4, 11)),
    "short_zero": refused(lambda mx, x, b: mx.image.resize_short(x, 0)),
    "short_two_axes": refused(lambda mx, x, b: mx.image.resize_short(x[0], 4)),
    "border_type_5": refused(lambda mx, x, b: mx.image.copyMakeBorder(x, 1, 2, 3, 4, type=5)),
    "border_text": refused(lambda mx, x, b: mx.image.copyMakeBorder(x, 1, 2, 3, 4, type="a")),
    "border_negative": refused(lambda mx, x, b: mx.image.copyMakeBorder(x, -1, 2, 3, 4)),
    "border_three": refused(lambda mx, x, b: mx.image.copyMakeBorder(x, 1, 2, 3)),
    "border_numpy": refused(lambda mx, x, b: mx.image.copyMakeBorder(x.asnumpy(), 1, 2, 3, 4)),
    "border_float16": refused(
        lambda mx, x, b: mx.image.copyMakeBorder(x, 1, 2, 3, 4), "float16"
    ),
    "border_six": refused(
        lambda mx, x, b: mx.image.copyMakeBorder(x, 1, 2, 3, 4, value=9), channels=6
    ),
    "crop_outside": refused(lambda mx, x, b: mx.image.fixed_crop(x, 50, 0, 2, 4)),
    "crop_empty": refused(lambda mx, x, b: mx.image.fixed_crop(x, 1, 2, 0, 4)),
    "crop_number": refused(lambda mx, x, b: mx.image.center_crop(x, 4)),
    "crop_zero": refused(lambda mx, x, b: mx.image.center_crop(x, (0, 0))),
    "crop_flat": refused(lambda mx, x, b: mx.image.center_crop(x, (3000, 4))),
    "size_crop_unknown": refused(
        lambda mx, x, b: mx.image.random_size_crop(x, (4, 4), 0.3, (0.75, 1.3), foo=3)
    ),
    "size_crop_ratio": refused(
        lambda mx, x, b: mx.image.random_size_crop(x, (4, 4), 0.3, (0, 1.3))
    ),
    "normalize_uint8": refused(
        lambda mx, x, b: mx.image.color_normalize(x, mx.nd.array([1, 2, 3]))
    ),
    "normalize_two": refused(
        lambda mx, x, b: mx.image.color_normalize(x, mx.nd.array([1, 2])), "float32"
    ),
    "rotate_both": refused(
        lambda mx, x, b: mx.image.imrotate(x, 3, True, True), "float32"
    ),
    "rotate_uint8": refused(lambda mx, x, b: mx.image.imrotate(x, 3)),
    "rotate_array": refused(
        lambda mx, x, b: mx.image.imrotate(x, mx.nd.array([3])), "float32"
    ),
    "rotate_two_axes": refused(lambda mx, x, b: mx.image.imrotate(x[0], 3), "float32"),
    "rotate_angles": refused(
        lambda mx, x, b: mx.image.imrotate(x.expand_dims(0), mx.nd.array([3, 4])), "float32"
    ),
    "rotate_numpy": refused(
        lambda mx, x, b: mx.image.imrotate(x.asnumpy(), 3), "float32"
    ),
    "augmenter": refused(lambda mx, x, b: mx.image.Augmenter()(x)),
    "contrast_uint8": refused(lambda mx, x, b: mx.image.ContrastJitterAug(0.5)(x)),
    "saturation_uint8": refused(lambda mx, x, b: mx.image.SaturationJitterAug(0.5)(x)),
    "hue_uint8": refused(lambda mx, x, b: mx.image.HueJitterAug(0.5)(x)),
    "hue_one": refused(lambda mx, x, b: mx.image.HueJitterAug(0.5)(x), "float32", 1),
    "lighting_uint8": refused(
        lambda mx, x, b: mx.image.LightingAug(0.5, EIGENVALUES, EIGENVECTORS)(x)
    ),
    "lighting_one": refused(
        lambda mx, x, b: mx.image.LightingAug(0.5, EIGENVALUES, EIGENVECTORS)(x), "float32", 1
    ),
    "gray_float64": refused(lambda mx, x, b: mx.image.RandomGrayAug(1)(x), "float64"),
    "flip_numpy": refused(lambda mx, x, b: mx.image.HorizontalFlipAug(1)(x.asnumpy())),
    "sized_unknown": refused(
        lambda mx, x, b: mx.image.RandomSizedCropAug((4, 4), 0.1, (0.5, 2), foo=1)
    ),
    "create_std": refused(lambda mx, x, b: mx.image.CreateAugmenter((3, 4, 4), std=(1, 2, 3))),
    "create_mean": refused(
        lambda mx, x, b: mx.image.CreateAugmenter((3, 4, 4), mean=np.array([1, 2]))
    ),
    "create_resize": refused(
        lambda mx, x, b: mx.image.CreateAugmenter((3, 4, 4), rand_resize=True)
    ),
    "create_unknown": refused(lambda mx, x, b: mx.image.CreateAugmenter((3, 4, 4), foo=1)),
    "create_short": refused(lambda mx, x, b: mx.image.CreateAugmenter((3, 4))),
    "create_det_mean": refused(
        lambda mx, x, b: mx.image.CreateDetAugmenter((3, 4, 4), mean=mx.nd.array([1, 2, 3]))
    ),
    "det_augmenter": refused(lambda mx, x, b: mx.image.DetAugmenter()(x, x)),
    "det_borrow": refused(lambda mx, x, b: mx.image.DetBorrowAug(3)),
    "det_select": refused(lambda mx, x, b: mx.image.DetRandomSelectAug([mx.image.CastAug()])),
    "det_crop_area": refused(lambda mx, x, b: mx.image.DetRandomCropAug(area_range=(0.5, 0.2))),
    "det_crop_ratio": refused(
        lambda mx, x, b: mx.image.DetRandomCropAug(aspect_ratio_range=(0, 1))
    ),
    "det_crop_text": refused(lambda mx, x, b: mx.image.DetRandomCropAug(aspect_ratio_range="a")),
    "det_pad_area": refused(lambda mx, x, b: mx.image.DetRandomPadAug(area_range=0.5)),
    "det_pad_value": refused(lambda mx, x, b: mx.image.DetRandomPadAug(pad_val="3")),
    "det_multi": refused(
        lambda mx, x, b: mx.image.CreateMultiRandCropAugmenter([0.1, 0.2, 0.3], max_attempts=[1, 2])
    ),
    "iter_nothing": refused(lambda mx, x, b: mx.image.ImageIter(2, (3, 4, 4))),
    "iter_dtype": lambda *a: iterator_of(*a, dtype="uint8"),
    "iter_shape": lambda *a: iterator_of(*a, shape=(3, 4)),
    "iter_channels": lambda *a: iterator_of(*a, shape=(1, 4, 4)),
    "iter_shuffle": lambda *a: iterator_of(*a, shuffle=True),
    "iter_part": lambda *a: iterator_of(*a, num_parts=2),
    "iter_part_index": lambda *a: iterator_of(
        *a, use=("path_imgrec", "path_imgidx"), num_parts=2, part_index=2
    ),
    "iter_unknown": lambda *a: iterator_of(*a, foo=2),
    "iter_no_root": lambda *a: iterator_of(*a, use=("path_imglist",)).next(),
    "iter_labels": lambda *a: iterator_of(*a, labels=PAIRS).next(),
    "iter_size": lambda *a: iterator_of(*a, aug_list=[]).next(),
    "iter_broken": broken_record,
    "det_iter_labels": lambda *a: iterator_of(*a, "ImageDetIter", PAIRS),
    "det_iter_reshape": lambda *a: iterator_of(*a, "ImageDetIter", OBJECTS).reshape(
        label_shape=(1, 5)
    ),
    "det_iter_width": lambda *a: iterator_of(*a, "ImageDetIter", OBJECTS).reshape(
        label_shape=(9, 6)
    ),
    "det_iter_axes": lambda *a: iterator_of(*a, "ImageDetIter", OBJECTS).reshape(
        label_shape=(9,)
    ),
    "det_iter_sync": lambda *a: iterator_of(*a, "ImageDetIter", OBJECTS).sync_label_shape(3),
}  # fmt: skip
