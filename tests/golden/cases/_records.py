"""Questions about files of records and the iterators over them.

``VALUES`` take mx and an empty folder and return something that JSON can hold. ``PIXELS`` and
``BOXES`` are keywords of ImageRecordIter and ImageDetRecordIter, for files that MXNet's side makes
of ``smooth_image``; the pixels of the first batch are compared.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pickle
import subprocess
import sys

import numpy as np

VALUES = {}

MAGIC = b"\n#\xd7\xce"
#: Records with the magic word at, before and after multiples of 4 bytes.
RECORDS = (
    b"abc", b"", b"\0" * 4, MAGIC, MAGIC + MAGIC, b"x" + MAGIC, b"abcd" + MAGIC + b"e",
    b"abcd" + MAGIC + MAGIC + b"ef" + MAGIC, b"abc" + MAGIC + b"d", MAGIC[:3],
    MAGIC + b"abcd" + MAGIC,
)  # fmt: skip


def value(function):
    VALUES[function.__name__] = function
    return function


def smooth_image(number):
    height, width = 24 + 3 * number, 30 + 2 * number
    y, x = np.mgrid[:height, :width]
    waves = [127 + 100 * np.sin(x / (5 + number) + y / (9 + c) + number + c) for c in range(3)]
    noise = np.random.RandomState(number).normal(0, 6, (height, width, 3))
    return np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)


def _attempt(function):
    try:
        return function()
    except Exception as error:
        return {"raises": [c.__name__ for c in type(error).__mro__[:-2]]}


# -- mx.recordio -------------------------------------------------------------------------------


@value
def bytes_of_a_file(mx, folder):
    record = mx.recordio.MXRecordIO(str(folder / "a.rec"), "w")
    for content in RECORDS:
        record.write(content)
    record.close()
    record = mx.recordio.MXRecordIO(str(folder / "a.rec"), "r")
    read = [record.read() for _ in range(len(RECORDS) + 2)]
    record.reset()
    again = record.read()
    return [
        (folder / "a.rec").read_bytes().hex(),
        [None if r is None else r.hex() for r in read],
        again.hex(),
    ]


@value
def states_of_a_record(mx, folder):
    path = str(folder / "a.rec")
    record = mx.recordio.MXRecordIO(path, "w")
    facts = [record.is_open, record.writable, record.flag, _attempt(record.read)]
    record.write(b"one")
    record.reset()
    record.write(b"two")
    facts.append(_attempt(lambda: record.write("text")))
    record.close()
    record.close()
    facts += [record.is_open, _attempt(lambda: record.write(b"x"))]
    record = mx.recordio.MXRecordIO(path, "r")
    facts += [record.writable, _attempt(lambda: record.write(b"x")), record.read().decode()]
    record.close()
    facts += [_attempt(record.read), record.pid]
    record.reset()
    facts += [record.read().decode(), record.read(), record.read()]
    for flag in ("a", "rb", "", None):
        facts.append(_attempt(lambda flag=flag: mx.recordio.MXRecordIO(path, flag)))
    facts.append(_attempt(lambda: mx.recordio.MXRecordIO(str(folder / "none.rec"), "r")))
    return facts


@value
def pickled_records(mx, folder):
    paths = str(folder / "a.idx"), str(folder / "a.rec")
    record = mx.recordio.MXIndexedRecordIO(*paths, "w")
    for i in range(3):
        record.write_idx(i, b"record %d" % i)
    record.close()
    facts = []
    for record in (
        mx.recordio.MXRecordIO(paths[1], "r"),
        mx.recordio.MXIndexedRecordIO(*paths, "r"),
    ):
        record.read()
        copy = pickle.loads(pickle.dumps(record))
        facts += [record.is_open, copy.is_open, copy.read().decode()]
        facts.append(pickle.loads(pickle.dumps(record)).is_open)
    facts += [copy.read_idx(2).decode(), copy.keys, copy.idx[1]]
    return facts


@value
def indexed_records(mx, folder):
    paths = str(folder / "a.idx"), str(folder / "a.rec")
    record = mx.recordio.MXIndexedRecordIO(*paths, "w")
    positions = []
    for i in range(3):
        positions.append(record.tell())
        record.write_idx(i * 10, b"record %d" % i)
    record.write_idx("7", b"text")
    record.write_idx(10, b"again")
    record.write_idx(3.5, b"cut")
    facts = [positions, record.tell(), record.keys, sorted(record.idx.items())]
    facts.append(_attempt(lambda: record.write_idx("abc", b"x")))
    facts += [_attempt(lambda: record.read_idx(0)), _attempt(lambda: record.seek(0))]
    record.close()
    facts.append((folder / "a.idx").read_text())
    record = mx.recordio.MXIndexedRecordIO(*paths, "r")
    facts += [record.keys, [record.read_idx(k).decode() for k in (20, 0, 10, 7)]]
    facts += [_attempt(lambda: record.read_idx(99)), _attempt(record.tell)]
    record.seek(0)
    facts += [record.read().decode(), record.read().decode()]
    record.close()
    facts += [record.is_open, record.keys, record.read_idx(0).decode()]
    record = mx.recordio.MXIndexedRecordIO(*paths, "r", key_type=str)
    facts += [record.keys, record.read_idx("20").decode()]
    facts.append(_attempt(lambda: mx.recordio.MXIndexedRecordIO("none", paths[1], "r")))
    (folder / "bad.idx").write_text("a\tb\n")
    bad = str(folder / "bad.idx")
    facts.append(_attempt(lambda: mx.recordio.MXIndexedRecordIO(bad, paths[1], "r")))
    record = mx.recordio.MXIndexedRecordIO(*paths, "w")
    record.write_idx(1, b"x")
    record.reset()
    record.write_idx(2, b"y")
    record.close()
    return [*facts, record.keys, (folder / "a.idx").read_text()]


@value
def packed_headers(mx, folder):
    header = mx.recordio.IRHeader
    facts = [str(header(0, 1.0, 2, 3)), list(header._fields)]
    labels = [1.5, 3, np.float32(2), [1, 2, 3], np.array([1.0, 2.0]), (1, 2), np.array(5),
              np.array([]), np.array([[1, 2], [3, 4]]), np.int64(4), True]  # fmt: skip
    for label in labels:
        packed = mx.recordio.pack(header(9, label, 7, 8), b"data")
        unpacked, content = mx.recordio.unpack(packed)
        kind = type(unpacked.label).__name__
        numbers = np.asarray(unpacked.label).tolist()
        facts.append([packed.hex(), unpacked.flag, kind, numbers, content.decode()])
    facts.append(_attempt(lambda: mx.recordio.pack(header(0, 1.0, -1, 0), b"a")))
    facts.append(_attempt(lambda: mx.recordio.pack(header(0, 1.0, 1, 0), "a")))
    facts.append(_attempt(lambda: mx.recordio.unpack(b"abc")))
    short = mx.recordio.pack(header(0, [1.0, 2.0], 0, 0), b"")[:-1]
    facts.append(_attempt(lambda: mx.recordio.unpack(short)))
    return facts


@value
def packed_images(mx, folder):
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    header = mx.recordio.IRHeader(0, 1.0, 7, 0)
    facts = []
    for channels, quality in (((4, 4, 3), 3), ((4, 4), 95)):
        picture = image if len(channels) == 3 else image[:, :, 0].copy()
        packed = mx.recordio.pack_img(header, picture, quality, ".png")
        for colour in (-1, 0, 1):
            unpacked, pixels = mx.recordio.unpack_img(packed, colour)
            facts.append([unpacked.id, list(pixels.shape), pixels.reshape(-1).tolist()])
    jpeg = mx.recordio.pack_img(header, image)
    facts.append(mx.recordio.unpack_img(jpeg)[1].reshape(-1).tolist())
    facts.append(mx.recordio.unpack_img(mx.recordio.pack(header, b"no image"))[1])
    return facts


# -- order and batches ---------------------------------------------------------------------------


def _numbered_images(mx, folder, count=10, size=None):
    """A file of images of one colour each, their number; ``size`` gives their pixels."""
    paths = str(folder / "numbers.idx"), str(folder / "numbers.rec")
    record = mx.recordio.MXIndexedRecordIO(*paths, "w")
    for i in range(count):
        pixels = size(i) if size else 8
        image = np.full((pixels, pixels, 3), i, np.uint8)
        header = mx.recordio.IRHeader(0, [i, 2.0 * i], i + 100, 0)
        ending = ".bmp" if size else ".png"
        record.write_idx(i, mx.recordio.pack_img(header, image, 3, ending))
    record.close()
    return {"path_imgidx": paths[0], "path_imgrec": paths[1]}


def _epochs(iterator, count=3, pads=True):
    epochs = []
    for _ in range(count):
        epoch = []
        for batch in iterator:
            numbers = batch.label[0].asnumpy()[:, 0].astype(int).tolist()
            assert batch.data[0].asnumpy()[:, 0, 0, 0].astype(int).tolist() == numbers
            epoch.append([numbers, batch.pad, batch.index.tolist()] if pads else numbers)
        epochs.append(epoch)
        iterator.reset()
    return epochs


#: Keywords, and a number of epochs after which MXNet does not leave old values of ``pad`` behind.
ORDERS = {
    "plain": ({}, 2),
    "one epoch without a remainder": ({"batch_size": 5}, 3),
    "batches larger than the file": ({"batch_size": 12}, 3),
    "an index": ({"path_imgidx": True}, 2),
    "threads": ({"preprocess_threads": 4}, 2),
    "shuffled": ({"shuffle": True, "batch_size": 5}, 3),
    "shuffled, another seed": ({"shuffle": "True", "seed": 5, "batch_size": "5"}, 3),
    "shuffled with an index": ({"shuffle": 1, "path_imgidx": True, "batch_size": 5}, 3),
    "first part": ({"num_parts": 2, "batch_size": 1}, 2),
    "second part": ({"num_parts": 2, "part_index": 1, "batch_size": 1}, 2),
    "third part of an index": (
        {"num_parts": 3, "part_index": 2, "path_imgidx": True, "batch_size": 1}, 2,
    ),
}  # fmt: skip


def _order(name):
    def script(mx, folder):
        keywords, epochs = ORDERS[name]
        files = _numbered_images(mx, folder)
        options = {"data_shape": (3, 8, 8), "batch_size": 4, "label_width": 2}
        options |= {"preprocess_threads": 1, "path_imgrec": files["path_imgrec"], **keywords}
        if "path_imgidx" in options:
            options["path_imgidx"] = files["path_imgidx"]
        iterator = mx.io.ImageRecordIter(**options)
        data, label = iterator.provide_data[0], iterator.provide_label[0]
        described = [list(data.shape), data.name, list(label.shape), label.name]
        return [described, _epochs(iterator, epochs)]

    VALUES[f"order: {name}"] = script


for _name in ORDERS:
    _order(_name)


@value
def orders_of_a_large_file(mx, folder):
    files = _numbered_images(mx, folder, 14, lambda i: 420 + (i * 37) % 260)
    answers = []
    for keywords in (
        {"shuffle": True},
        {"shuffle": True, "path_imgidx": files["path_imgidx"]},
        {"shuffle": True, "shuffle_chunk_size": 2},
        {"shuffle_chunk_size": 3, "shuffle_chunk_seed": 7},
        {"shuffle": True, "num_parts": 2, "part_index": 1, "shuffle_chunk_size": 1},
    ):
        iterator = mx.io.ImageRecordIter(
            data_shape=(3, 4, 4), batch_size=1, label_width=2, preprocess_threads=1,
            **{"path_imgrec": files["path_imgrec"], **keywords},
        )  # fmt: skip
        answers.append(_epochs(iterator, 2, pads=False))
    return answers


@value
def old_iterators(mx, folder):
    path = _numbered_images(mx, folder)["path_imgrec"]
    answers = []
    for name, keywords in (
        ("ImageRecordIter_v1", {}),
        ("ImageRecordIter_v1", {"round_batch": False}),
        ("ImageRecordIter_v1", {"shuffle": True, "batch_size": 5}),
        ("ImageRecordUInt8Iter_v1", {}),
        ("ImageRecordUInt8Iter", {"batch_size": 5}),
        ("ImageRecordInt8Iter", {"batch_size": 5}),
    ):
        iterator = getattr(mx.io, name)(
            path_imgrec=path, data_shape=(3, 8, 8), label_width=2, preprocess_threads=1,
            **{"batch_size": 4, **keywords},
        )  # fmt: skip
        kind = np.dtype(iterator.provide_data[0].dtype).name
        answers.append([_epochs(iterator, 2), kind])
    return answers


@value
def labels_of_images(mx, folder):
    path = _numbered_images(mx, folder)["path_imgrec"]
    lines = [f"{i + 100}\t{50 + i}\t{i / 2}\t7\tx.png\n" for i in range(10)]
    (folder / "a.lst").write_text("".join(lines))
    (folder / "short.lst").write_text("".join(lines[1:]))

    def labels(**keywords):
        iterator = mx.io.ImageRecordIter(
            path_imgrec=path, data_shape=(3, 8, 8), batch_size=3, preprocess_threads=1, **keywords
        )
        return iterator.next().label[0].asnumpy().tolist()

    listed = str(folder / "a.lst")
    return [
        labels(label_width=2),
        _attempt(lambda: labels(label_width=1)),
        _attempt(lambda: labels(label_width=3)),
        labels(label_width=1, path_imglist=listed),
        labels(label_width=3, path_imglist=listed),
        _attempt(lambda: labels(label_width=1, path_imglist=str(folder / "short.lst"))),
    ]


#: Keywords that are refused.
REFUSED = (
    {"path_imgrec": ""}, {"path_imgrec": "none.rec"}, {"batch_size": 4.5}, {"batch_size": 25},
    {"data_shape": (8, 8)}, {"data_shape": (3, 0, 8)}, {"data_shape": (5, 8, 8)},
    {"shuffle": "yes"}, {"resize": "abc"}, {"dtype": "int16"}, {"dtype": "float16"},
    {"ctx": "tpu"}, {"preprocess_threads": 0}, {"num_parts": 0}, {"part_index": -1},
    {"num_parts": 2, "part_index": 2}, {"random_resized_crop": True, "rand_crop": True},
    {"min_crop_size": 12, "max_crop_size": 14}, {"min_crop_size": 5, "max_crop_size": 4},
    {"label_width": 0}, {"data_shape": (1, 8, 8), "random_h": 5},
    {"data_shape": (4, 8, 8)}, {"rotate": 30, "inter_method": 7},
)  # fmt: skip


@value
def refused_keywords(mx, folder):
    path = _numbered_images(mx, folder)["path_imgrec"]
    answers = []
    for keywords in REFUSED:
        options = {"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 4,
                   "label_width": 2, "preprocess_threads": 1, **keywords}  # fmt: skip

        def batch(options=options):
            mx.io.ImageRecordIter(**options).next()
            return "taken"

        answers.append(_attempt(batch))
    return answers


# -- libsvm --------------------------------------------------------------------------------------


@value
def rows_of_libsvm_files(mx, folder):
    (folder / "d").write_text("1.0 0:0.5 2:1.2\n-2.0\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n")
    (folder / "l").write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
    (folder / "e").write_text("# a comment\r\n1 0:1\r\n\r\n2 1:1e0")
    answers = []
    for keywords in (
        {},
        {"label_libsvm": str(folder / "l"), "label_shape": (3,)},
        {"batch_size": 4},
        {"data_shape": (5,), "batch_size": 1},
        {"num_parts": 2, "batch_size": 1},
        {"num_parts": 2, "part_index": 1, "batch_size": 1},
        {"data_libsvm": str(folder / "e"), "batch_size": 2},
    ):
        options = {"data_libsvm": str(folder / "d"), "data_shape": (3,), "batch_size": 3}
        iterator = mx.io.LibSVMIter(**{**options, **keywords})
        epochs = [[list(x[0].shape) for x in (iterator.provide_data, iterator.provide_label)]]
        for _ in range(2):
            epochs.append(
                [[b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad]
                 for b in iterator]
            )  # fmt: skip
            iterator.reset()
        answers.append(epochs)
    for keywords in (
        {"data_shape": (3, 1)}, {"label_libsvm": str(folder / "l")}, {"round_batch": False},
        {"data_libsvm": "none"}, {"dtype": "float64"},
    ):  # fmt: skip
        options = {"data_libsvm": str(folder / "d"), "data_shape": (3,), "batch_size": 3}
        answers.append(_attempt(lambda o={**options, **keywords}: mx.io.LibSVMIter(**o).next()))
    return answers


# -- im2rec --------------------------------------------------------------------------------------

LISTS = (
    ["--list"],
    ["--list", "--recursive"],
    ["--list", "--recursive", "--no-shuffle", "--chunks", "3"],
    ["--list", "--recursive", "--train-ratio", "0.6", "--test-ratio", "0.2"],
    ["--list", "--recursive", "--train-ratio", "0.5", "--chunks", "2"],
    ["--list", "--recursive", "--exts", ".png", ".txt", "--"],
)


def _im2rec(mx, arguments):
    """Runs the command; returns what it prints."""
    if mx.__name__ != "mxnet":
        main = importlib.import_module("executorkit.__main__").main
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert main(["im2rec", *map(str, arguments)]) == 0
        return printed.getvalue()
    command = [sys.executable, "-m", "mxnet.tools.im2rec", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@value
def lists_of_images(mx, folder):
    for name in ("a/1.jpg", "a/2 b.JPG", "b/3.png", "b/c/4.jpeg", "b/c/5.jpg", "6.png", "7.txt"):
        (folder / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "root" / name).write_bytes(name.encode())
    answers = []
    for number, options in enumerate(LISTS):
        out = folder / str(number)
        out.mkdir()
        printed = _im2rec(mx, [*options, out / "p", folder / "root"])
        lists = {p.name: p.read_text() for p in sorted(out.iterdir())}
        answers.append([printed.split("\n"), lists])
    # Records of the files as they are.
    _im2rec(mx, ["--pass-through", folder / "1" / "p", folder / "root"])
    return [*answers, (folder / "1/p.rec").read_bytes().hex(), (folder / "1/p.idx").read_text()]


# -- pixels --------------------------------------------------------------------------------------

#: The keywords of every question about pixels.
COMMON = {"data_shape": (3, 20, 16), "batch_size": 4, "preprocess_threads": 1}
PIXELS = {
    "plain": {},
    "mirror": {"mirror": True},
    **{f"resize, interpolation {i}": {"resize": 22, "inter_method": i} for i in (0, 1, 3, 4, 9)},
    "enlarged": {"resize": 40},
    "too small": {"data_shape": (3, 36, 30)},
    "too narrow": {"data_shape": (3, 20, 44)},
    "pad": {"pad": 10, "data_shape": (3, 40, 46), "fill_value": 17},
    "rotate": {"rotate": 30},
    "rotate by 200, nearest": {"rotate": 200, "inter_method": 1, "fill_value": 0},
    "scale": {"min_random_scale": 1.3, "max_random_scale": 1.3, "rotate": 45},
    "aspect": {"min_aspect_ratio": 1.5, "max_aspect_ratio": 1.5},
    "image size": {"max_img_size": 25, "min_img_size": 22},
    "crop size": {"min_crop_size": 19, "max_crop_size": 19},
    "resized crop that never fits": {
        "random_resized_crop": True, "min_random_area": 2, "max_random_area": 3,
        "min_aspect_ratio": 1, "max_aspect_ratio": 1,
    },
    "twice": {"aug_seq": "aug_default,aug_default", "resize": 22},
    "mean": {"mean_r": 10, "mean_g": 20.5, "mean_b": 30, "mean_a": 5},
    "normalised": {"scale": 0.017, "mean_r": 123.68, "std_r": 58.4, "std_g": 57.1},
    "mean image": {"mean_img": "mean.nd"},
    "mean image, mirrored": {"mean_img": "mean.nd", "mirror": True, "scale": 0.5, "mean_r": 3},
    "grey": {"data_shape": (1, 20, 16), "mean_r": 5, "scale": 0.5},
    "uint8": {"dtype": "uint8", "mean_r": 10},
    "int8": {"dtype": "int8"},
    "int8 with means": {"dtype": "int8", "mean_r": 100.6, "mean_g": 99.5, "mean_b": 30.4,
                        "scale": 3},
    "int8 with a mean image": {"dtype": "int8", "mean_img": "mean.nd"},
    "all": {"resize": 26, "pad": 3, "rotate": 10, "mirror": True, "mean_r": 3, "scale": 0.1},
}  # fmt: skip
BOXES = {
    "plain": {},
    "fit": {"resize_mode": "fit"},
    "shrink": {"resize_mode": "shrink", "data_shape": (3, 28, 40)},
    "fit enlarged": {"resize_mode": "fit", "data_shape": (3, 40, 44)},
    "resize": {"resize": 40, "inter_method": 3},
    "mirror": {"rand_mirror_prob": 1.0},
    "normalised": {"mean_r": 5, "std_r": 2, "scale": 0.5},
    "grey": {"data_shape": (1, 20, 16)},
    "padded labels": {"label_pad_width": 30, "label_pad_value": -7},
    "a crop size that is unknown": {"rand_crop": True},
}


def mean_image():
    return np.linspace(60, 140, 3 * 20 * 16, dtype=np.float32).reshape(3, 20, 16).round(1)


def box_label(number):
    boxes = [[j, 0.1 + 0.05 * j, 0.2, 0.5 + 0.1 * j, 0.9 - 0.1 * j] for j in range(1 + number % 3)]
    return np.array([2, 5, *np.ravel(boxes)], np.float32)
