"""Datasets and transforms of pictures: texts, pixels, draws, files."""

from __future__ import annotations

import gzip
import inspect
import os
import random
import struct
import tarfile
import tempfile
import warnings
import zlib

import numpy as np

from ._facts import attempt, attempts, folder, graph, script


def _picture(name, height, width, channels=3):
    """Pixels that depend on the name."""
    draw = np.random.RandomState(sum(map(ord, name)))
    return draw.randint(0, 256, (height, width, channels)).astype("uint8")


def _array(mx, values, dtype=None):
    return mx.nd.array(values, dtype=dtype or values.dtype)


def _inputs(mx):
    odd, batch = _picture("odd", 5, 4), np.stack([_picture(n, 5, 4) for n in "ab"])
    return {
        "uint8": _array(mx, odd),
        "gray": _array(mx, _picture("gray", 4, 7, 1)),
        "float32": _array(mx, odd, "float32"),
        "float64": _array(mx, odd[:2], "float64"),
        "batch": _array(mx, batch),
        "channels first": _array(mx, np.moveaxis(odd, -1, 0)[:, :3], "float32"),
        "two axes": _array(mx, odd[..., 0]),
    }


def _short(mx, action):
    """The result of an action with seven digits, or the classes of its exception."""

    def rounded():
        x = action()
        values = x.asnumpy()
        if values.dtype.kind != "f":
            return x
        digits = [float(f"{v:.7g}") for v in values.ravel().tolist()]
        return [values.dtype.name, np.array(digits).reshape(values.shape).tolist()]

    return _plain(mx, rounded)


def _plain(mx, action):
    """The result of an action, or the classes of its exception."""
    seen = attempt(mx, action)
    return {"raises": seen["raises"]} if isinstance(seen, dict) and "says" in seen else seen


def _transforms(mx):
    return mx.gluon.data.vision.transforms


_FIXED = {
    "cast": lambda t: t.Cast(),
    "cast to float16": lambda t: t.Cast("float16"),
    "tensor": lambda t: t.ToTensor(),
    "normalize": lambda t: t.Normalize(0.5, 0.2),
    "normalize each": lambda t: t.Normalize((1, 2, 3.5), [0.5, 2, 3]),
    "normalize two": lambda t: t.Normalize((1, 2), 1),
    "tensor and normalize": lambda t: t.Compose(
        [t.ToTensor(), t.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    ),
    "resize": lambda t: t.Resize(3),
    "resize in proportion": lambda t: t.Resize(3, True),
    "resize to a pair": lambda t: t.Resize((3, 7), interpolation=2),
    "resize by areas": lambda t: t.Resize([2, 2], False, 3),
    "resize to nothing": lambda t: t.Resize(0),
    "resize to a text": lambda t: t.Resize("a"),
    "middle": lambda t: t.CenterCrop(3),
    "middle of less": lambda t: t.CenterCrop((9, 4)),
    "part": lambda t: t.CropResize(1, 2, 2, 3),
    "part resized": lambda t: t.CropResize(1, 0, 2, 2, (3, 4), 1),
    "part resized by nothing": lambda t: t.CropResize(1, 0, 2, 2, 3),
    "part outside": lambda t: t.CropResize(1, 2, 30, 2),
    "rotated": lambda t: t.Rotate(30),
    "rotated and enlarged": lambda t: t.Rotate(-100, zoom_in=True),
    "always": lambda t: t.RandomApply(t.ToTensor(), 1),
    "never": lambda t: t.RandomApply(t.ToTensor(), -1),
    "a list": lambda t: t.RandomApply([t.ToTensor()], 1),
}


@script
def pixels_of_transforms(mx):
    t, inputs, seen = _transforms(mx), _inputs(mx), {}
    for name, make in _FIXED.items():
        apply = make(t)
        seen[name] = {k: _short(mx, lambda x=x, f=apply: f(x)) for k, x in inputs.items()}
    return seen


@script
def texts_of_transforms(mx):
    t = _transforms(mx)
    mixed = t.Compose(
        [t.Resize(3), t.ToTensor(), t.CenterCrop(2), t.Cast("uint8"), len, t.ToTensor(), t.Cast()]
    )
    children = [
        [type(child).__name__, getattr(child, "prefix", None), getattr(child, "_active", None)]
        for child in mixed._children.values()
    ]
    prepare = t.Compose([t.ToTensor(), t.Normalize(0.1, 0.2)])
    return [
        children,
        repr(t.Compose([t.Resize(3), t.ToTensor(), t.CenterCrop(2)])),
        repr(t.Compose([])),
        repr(t.RandomApply(t.Cast())),
        graph(prepare(mx.sym.var("x"))),
        [
            make()._args
            for make in (
                lambda: t.RandomBrightness(0.25), lambda: t.RandomContrast(2),
                lambda: t.RandomSaturation(-0.5), lambda: t.RandomHue(0),
                lambda: t.RandomColorJitter(0.5, hue=0.25), lambda: t.CenterCrop(3),
                lambda: t.RandomResizedCrop(3, interpolation=2), lambda: t.Rotate(3, True),
                lambda: t.RandomRotation((-3, 5)),
            )
        ],
        attempts(
            mx,
            unordered=lambda: t.RandomRotation((3, -3)),
            equal=lambda: t.RandomRotation((3, 3)),
            number=lambda: t.RandomRotation(3),
            probability=lambda: t.RandomRotation((-3, 3), rotate_with_proba=2),
            numpy=lambda: t.ToTensor()(np.zeros((2, 2, 3))),
            numpy_part=lambda: t.RandomResizedCrop(2)(np.zeros((4, 4, 3))),
            two=lambda: t.Compose([t.ToTensor()])(1, 2),
        ),
    ]  # fmt: skip


@script
def names_of_vision(mx):
    vision = mx.gluon.data.vision
    classes = {
        name: cls
        for module in (vision.transforms, vision.datasets)
        for name, cls in sorted(vars(module).items())
        if isinstance(cls, type) and cls.__module__ == module.__name__
    }
    mxnet = mx.__name__ == "mxnet"
    newer = ("HybridCompose", "HybridRandomApply", "ImageListDataset", "RandomCrop", "RandomGray")
    assert not mxnet or not set(newer) & set(classes)
    return {
        name: [
            [p.name, None if p.name == "root" or p.default is p.empty else p.default]
            for p in inspect.signature(cls).parameters.values()
        ]
        for name, cls in classes.items()
        if name not in newer and not name.startswith("_")
    }


@script
def draws_of_transforms(mx):
    t, inputs, seen = _transforms(mx), _inputs(mx), []
    tensor = t.ToTensor()(inputs["uint8"])
    for number in range(3):
        for transform, x in (
            (t.RandomResizedCrop(3), inputs["uint8"]),
            (t.RandomResizedCrop([3, 2], 0.5, (1, 2), 10), inputs["uint8"]),
            (t.RandomResizedCrop(2, (0.9, 1.0), (5, 6)), inputs["float32"]),
            (t.RandomRotation((-30, 30), rotate_with_proba=0.6), tensor),
            (t.RandomRotation((-30, 30), zoom_in=True), mx.nd.stack(tensor, tensor)),
            (t.RandomApply(t.Cast(), 0.4), inputs["uint8"]),
        ):
            random.seed(number)
            np.random.seed(number)
            result = _short(mx, lambda transform=transform, x=x: transform(x))
            seen.append([result, random.random(), float(np.random.rand())])
    return seen


@script
def ranges_of_draws(mx):
    """Facts about random changes that hold whatever is drawn."""
    t, x = _transforms(mx), mx.nd.ones((4, 4, 3)) * 100
    ramp = _array(mx, np.arange(12).reshape(2, 2, 3), "float32")
    seen = {}
    for flip, axis in ((t.RandomFlipLeftRight(), 1), (t.RandomFlipTopBottom(), 0)):
        results = [flip(ramp).asnumpy() for _ in range(40)]
        flipped = [np.array_equal(r, np.flip(ramp.asnumpy(), axis)) for r in results]
        same = [np.array_equal(r, ramp.asnumpy()) for r in results]
        seen[f"flips {axis}"] = [all(np.array(flipped) ^ np.array(same)), 8 < sum(flipped) < 32]
    for name, (low, high) in {"Brightness": (80, 120), "Contrast": (99, 101)}.items():
        change = getattr(t, f"Random{name}")(0.2)
        values = np.concatenate([change(x).asnumpy().ravel() for _ in range(40)])
        seen[name] = [low - 1e-3 <= values.min(), values.max() <= high + 1e-3]
    seen["gray stays"] = [
        bool(np.allclose(change(x).asnumpy(), 100, 1e-4)) for change in (t.RandomHue(0.3),)
    ]
    light = np.stack([t.RandomLighting(0.1)(x).asnumpy()[0, 0] for _ in range(40)]) - 100
    seen["light"] = [bool(abs(light).max() < 30), bool(light.std() > 0.5)]
    seen["refused"] = [
        _plain(mx, lambda change=change: change(mx.nd.ones((2, 4, 4, 3))).asnumpy())
        for change in (t.RandomFlipLeftRight(), t.RandomBrightness(0.5), t.RandomLighting(0.5))
    ]
    return seen


# Datasets


def _png(pixels):
    """The bytes of a PNG file."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def _write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def _offline(mx):
    """The module of datasets; MXNet's takes the files that are there."""
    module = mx.gluon.data.vision.datasets
    if mx.__name__ == "mxnet":
        module.check_sha1 = lambda *args: True
        module.download = lambda url, path, sha1_hash=None: os.path.join(path, url.split("/")[-1])
    return module


def _sample(sample):
    data, label = sample
    return [data.shape, data, type(label).__name__, float(np.asarray(label).sum())]


@script
def mnist_files(mx):
    datasets, seen = _offline(mx), []
    pictures = np.stack([_picture(n, 28, 28, 1)[..., 0] for n in "abc"])
    labels = np.array([3, 9, 0], "uint8")
    with folder() as path:
        for part in ("train", "t10k"):
            head = struct.pack(">IIII", 2051, *pictures.shape)
            with gzip.open(f"{part}-images-idx3-ubyte.gz", "wb") as file:
                file.write(head + pictures.tobytes())
            with gzip.open(f"{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(struct.pack(">II", 2049, 3) + labels.tobytes())
            pictures, labels = pictures[:2], labels[:2]
            labels_head = struct.pack(">II", 2049, 2)
        with gzip.open("t10k-labels-idx1-ubyte.gz", "wb") as file:
            file.write(labels_head + labels.tobytes())
        for cls in (datasets.MNIST, datasets.FashionMNIST):
            for train in (True, False):
                data = cls(str(path.absolute()), train)
                picture, label = data[-1]
                seen.append([len(data), picture[3:5, 20:24], type(label).__name__, int(label)])
                seen.append([data._data.shape, data._data.dtype, data._label])
        changed = datasets.MNIST(
            root=str(path.absolute()), transform=lambda x, y: (x.astype("float32") / 255, y + 1)
        )
        picture, label = changed[1]
        seen.append([picture.dtype, float(picture[3, 20, 0].asscalar()), int(label)])
        first = changed.transform_first(_transforms(mx).ToTensor())[0]
        seen.append([len(first), _plain(mx, lambda: changed[3])])
        some = (
            datasets.MNIST(str(path.absolute())).take(2).transform_first(_transforms(mx).ToTensor())
        )
        seen.append([len(some), some[1][0].shape, int(some[1][1])])
    return seen


@script
def cifar_files(mx):
    datasets, seen = _offline(mx), []
    draw = np.random.RandomState(3)
    with folder() as path, tempfile.TemporaryDirectory() as other:
        root = str(path.absolute())
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
        for name, classes in [(n, (10,)) for n in names] + [
            (n, (20, 100)) for n in ("train.bin", "test.bin")
        ]:
            labels = np.stack([draw.randint(0, n, 2) for n in classes], 1)
            rows = np.concatenate([labels, draw.randint(0, 256, (2, 3072))], 1)
            _write(name, rows.astype("uint8").tobytes())
        for train in (True, False):
            for data in (
                datasets.CIFAR10(root, train),
                datasets.CIFAR100(root, train=train),
                datasets.CIFAR100(root, True, train),
            ):
                picture, label = data[1]
                seen.append([len(data), picture.shape, picture[30:, 30:], type(label).__name__])
                seen.append(data._label)
        with tarfile.open(os.path.join(other, "cifar-10-binary.tar.gz"), "w:gz") as archive:
            for name in names:
                archive.add(name)
        if mx.__name__ == "mxnet":
            datasets.check_sha1 = lambda *args: False
        packed = datasets.CIFAR10(other, transform=lambda x, y: (x[0, 0], y))
        seen.append([len(packed), *packed[9]])
        _write("test_batch.bin", b"12345")
        if mx.__name__ == "mxnet":
            datasets.check_sha1 = lambda *args: True
        seen.append(_plain(mx, lambda: datasets.CIFAR10(root, False)))
    return seen


@script
def pictures_in_folders_and_records(mx):
    vision, seen = mx.gluon.data.vision, []
    with folder(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("b/1.png", "b/10.PNG", "b/2.jpg", "a/x.jpeg", "c/deep/q.png", ".g/a.png"):
            _write(f"root/{name}", _png(_picture(name, 3, 4)))
        for name in ("a/y.txt", "a/none", "top.png", "b/z.npy"):
            _write(f"root/{name}", b"x")
        data = vision.ImageFolderDataset("root")
        seen.append([str(w.message) for w in caught if w.category is UserWarning])
        seen.append([data.synsets, data.items, len(data)])
        seen += [_sample(sample) for sample in (data[0], data[-1])]
        seen.append(_sample(vision.ImageFolderDataset("root", flag=0)[2]))
        doubled = vision.ImageFolderDataset("root", transform=lambda x, y: (x.shape, 2 * y))
        seen.append(doubled[3])
        _write("root/b/1.png", b"no image")
        seen.append(
            {
                name: _plain(mx, action)
                for name, action in {
                    "missing": lambda: vision.ImageFolderDataset("nowhere"),
                    "file": lambda: vision.ImageFolderDataset("root/top.png"),
                    "broken": lambda: data[2],
                    "index": lambda: data[17],
                    "no record": lambda: vision.ImageRecordDataset("a.rec"),
                }.items()
            }
        )
        record = mx.recordio.MXIndexedRecordIO("p.idx", "p.rec", "w")
        for number, label in enumerate([3.0, [1.0, 2.0], 5.5]):
            header = mx.recordio.IRHeader(0, label, number, 0)
            record.write_idx(number, mx.recordio.pack(header, _png(_picture(str(number), 2, 3))))
        record.close()
        data = vision.ImageRecordDataset("p.rec")
        seen.append([len(data), *[_sample(data[i]) for i in (0, 1, -1)]])
        data = vision.ImageRecordDataset("p.rec", 0, lambda x, y: (x, y))
        seen.append(_sample(data[2]))
        seen.append(_plain(mx, lambda: data[3]))
    return seen
