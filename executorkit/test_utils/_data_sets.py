"""Data sets for training scripts, and an iterator that takes no time."""

import bz2
import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .. import io
from .._files import read_idx, write_atomically
from ..errors import FileAccessError
from ..gluon.utils import download as fetch_file

_FILES = {
    "train_data": "train-images-idx3-ubyte",
    "train_label": "train-labels-idx1-ubyte",
    "test_data": "t10k-images-idx3-ubyte",
    "test_label": "t10k-labels-idx1-ubyte",
}


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Calls :func:`executorkit.gluon.utils.download` for ``fname`` (default: the end of ``url``) in
    ``dirname``, which is created; returns the file's name."""
    path = os.path.join(dirname or "", fname or url.rsplit("/", 1)[-1])
    return fetch_file(url, path, overwrite, retries=retries)


def get_mnist_ubyte(path: str = "data") -> None:
    """Uncompresses the four MNIST files in ``path``; MXNet's source for downloads is gone.
    FileAccessError (an OSError) for a missing file."""
    for name in _FILES.values():
        file = Path(path) / name
        if file.exists():
            continue
        compressed = file.with_name(f"{name}.gz")
        if not compressed.exists():
            because, four = "MXNet's copy is no longer served", ", ".join(_FILES.values())
            hint = f"put the four files {four} into {path}/, as they are or with .gz"
            raise FileAccessError("MNIST", f"{file} is missing", because=because, hint=hint)
        write_atomically(file, [gzip.decompress(compressed.read_bytes())])


def get_mnist_pkl() -> None:
    """Checks that ``data/mnist.pkl.gz`` is there; FileAccessError (an OSError) if it is not."""
    _require_file(Path("data") / "mnist.pkl.gz")


def get_cifar10() -> None:
    """Checks that the record files of CIFAR-10 are in ``data/cifar``; FileAccessError (an OSError)
    for a missing one. A file ``data/cifar10.zip`` is unpacked first."""
    folder = Path("data")
    records = [folder / "cifar" / f"{kind}.rec" for kind in ("train", "test")]
    archive = folder / "cifar10.zip"
    if not all(record.exists() for record in records) and archive.exists():
        zipfile.ZipFile(archive).extractall(folder)
    for record in records:
        _require_file(record)


def _require_file(file: Path) -> None:
    if not file.exists():
        because = "MXNet's copy is no longer served"
        hint = f"put it into {file.parent}/"
        raise FileAccessError("data set", f"{file} is missing", because=because, hint=hint)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Unpacks the archive ``data_origin_name`` in the folder ``data_dir``, after :func:`download`
    from ``url`` if it is missing."""
    archive = Path(data_dir) / data_origin_name
    if not archive.exists():
        download(url, data_origin_name, data_dir)
    zipfile.ZipFile(archive).extractall(data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Unpacks ``data_origin_name`` to the file ``data_name`` in the folder ``data_dir`` unless it
    exists, after :func:`download` from ``url`` if it is missing."""
    target = Path(data_dir) / data_name
    if target.exists():
        return
    archive = Path(data_dir) / data_origin_name
    if not archive.exists():
        download(url, data_origin_name, data_dir)
    write_atomically(target, [bz2.decompress(archive.read_bytes())])


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: object = None
) -> tuple[str | None, int]:
    """Returns (None, 0), as MXNet does for an unknown model: none can be downloaded."""
    return None, 0


def get_mnist(path: str = "data") -> dict[str, np.ndarray]:
    """Returns MNIST as arrays: 'train_data' and 'test_data' (n, 1, 28, 28) float32 from 0 to 1,
    'train_label' and 'test_label' (n,) int8. Reads the files of :func:`get_mnist_ubyte`."""
    get_mnist_ubyte(path)
    folder, arrays = Path(path), {}
    for kind in ("train", "test"):
        images = read_idx(folder / _FILES[f"{kind}_data"], 3)
        arrays[f"{kind}_data"] = images[:, None].astype(np.float32) / 255
        arrays[f"{kind}_label"] = read_idx(folder / _FILES[f"{kind}_label"], 1).view(np.int8)
    return arrays


def get_mnist_iterator(
    batch_size: int, input_shape: tuple[int, ...], num_parts: int = 1, part_index: int = 0
) -> tuple[Any, Any]:
    """Returns two :class:`executorkit.io.MNISTIter` on ``data/``, for training and testing;
    ``input_shape`` is (1, 28, 28) for images, (784,) for rows."""
    get_mnist_ubyte()
    train, test = (
        io.MNISTIter(
            image=f"data/{_FILES[f'{kind}_data']}", label=f"data/{_FILES[f'{kind}_label']}",
            batch_size=batch_size, shuffle=True, flat=len(input_shape) != 3,
            num_parts=num_parts, part_index=part_index,
        )
        for kind in ("train", "test")
    )  # fmt: skip
    return train, test


class DummyIter(io.DataIter):
    """An endless iterator of another one's first batch, for measurements without data loading."""

    def __init__(self, real_iter: Any) -> None:
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def next(self) -> Any:
        return self.the_batch
