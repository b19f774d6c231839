"""``mx.gluon.data.vision.datasets``: labelled images from local files.

Nothing is downloaded: an error names the file and its place.
"""

import os
import tarfile
import warnings
from typing import Any

import numpy as np

from .... import image as image, ndarray as nd, recordio as recordio
from ...._files import read_idx
from ...._support.annotations import Function
from ....base import data_dir
from ....errors import ArgumentValueError, FileFormatError, MXNetError
from ....image.image_lists import listed, listed_in_file
from ....ndarray.array_classes import as_new_arrays
from ..._types import FilePath
from .. import dataset as dataset

#: The folders in which MXNet keeps datasets.
_MNIST, _FASHION_MNIST, _CIFAR10, _CIFAR100 = (
    os.path.join(data_dir(), "datasets", name)
    for name in ("mnist", "fashion-mnist", "cifar10", "cifar100")
)


class MNIST(dataset._DownloadedDataset):
    """Handwritten digits (LeCun et al., 1998): uint8 images (28, 28, 1) with int32 labels.

    root
        The folder with ``train-images-idx3-ubyte.gz`` and ``train-labels-idx1-ubyte.gz``, or
        ``t10k`` for ``train=False``; files that are not gzipped are read, too.
    train
        Whether to read the 60,000 examples for training, or the 10,000 for testing.
    transform
        ``transform(image, label)`` of each sample.

    Raises OSError for a missing file, ValueError for a broken one.
    """

    _namespace = "mnist"

    def __init__(
        self, root: FilePath = _MNIST, train: bool = True, transform: Function | None = None
    ) -> None:
        self._train = train
        self._train_data = "train-images-idx3-ubyte.gz"
        self._train_label = "train-labels-idx1-ubyte.gz"
        self._test_data = "t10k-images-idx3-ubyte.gz"
        self._test_label = "t10k-labels-idx1-ubyte.gz"
        super().__init__(root, transform)

    def _get_data(self) -> None:
        files = (self._train_data, self._train_label)
        pictures, labels = files if self._train else (self._test_data, self._test_label)
        data = read_idx(self._path(pictures), 3)[..., None]
        self._label = read_idx(self._path(labels), 1).astype(np.int32)
        if len(data) != len(self._label):
            problem = f"{len(self._label)} labels, expected {len(data)}"
            raise FileFormatError(self._path(labels), problem)
        (self._data,) = as_new_arrays([nd.array(data, dtype=data.dtype)])

    def _path(self, name: str) -> str:
        for candidate in (name, name.removesuffix(".gz")):
            path = os.path.join(self._root, candidate)
            if os.path.isfile(path):
                return path
        self._refuse_missing(name, name)


class FashionMNIST(MNIST):
    """Zalando's images of clothes (Xiao et al., 2017), in the format of :class:`MNIST`."""

    _namespace = "fashion-mnist"

    def __init__(
        self, root: FilePath = _FASHION_MNIST, train: bool = True, transform: Function | None = None
    ) -> None:
        super().__init__(root, train, transform)


class CIFAR10(dataset._DownloadedDataset):
    """Small photos of ten classes (Krizhevsky, 2009): uint8 (32, 32, 3) with int32 labels;
    arguments and errors as for :class:`MNIST`, with 50,000 examples for training.

    root
        The folder with ``data_batch_1.bin`` to ``data_batch_5.bin`` (``test_batch.bin`` for
        ``train=False``), or with ``cifar-10-binary.tar.gz``. Unlike MXNet, the archive is neither
        unpacked nor checked by a checksum.
    """

    _namespace = "cifar10"
    #: The number of bytes before a picture.
    _label_bytes = 1

    def __init__(
        self, root: FilePath = _CIFAR10, train: bool = True, transform: Function | None = None
    ) -> None:
        self._train = train
        self._archive_file = "cifar-10-binary.tar.gz"
        self._train_data = [f"data_batch_{i}.bin" for i in range(1, 6)]
        self._test_data = ["test_batch.bin"]
        super().__init__(root, transform)

    def _label_of(self, labels: np.ndarray) -> np.ndarray:
        return labels[:, 0]

    def _read_batch(self, filename: str) -> tuple[np.ndarray, np.ndarray]:
        with open(filename, "rb") as file:
            return self._parsed(file.read(), filename)

    def _parsed(self, content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
        size = self._label_bytes + 3 * 32 * 32
        if len(content) % size:
            raise FileFormatError(where, f"{len(content)} bytes, expected a multiple of {size}")
        rows = np.frombuffer(content, np.uint8).reshape(-1, size)
        pictures = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return pictures, self._label_of(rows[:, : self._label_bytes]).astype(np.int32)

    def _get_data(self) -> None:
        names = self._train_data if self._train else self._test_data
        paths = [os.path.join(self._root, name) for name in names]
        if all(map(os.path.isfile, paths)):
            batches = [self._read_batch(path) for path in paths]
        else:
            batches = self._read_archive(names)
        data, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        (self._data,) = as_new_arrays([nd.array(data, dtype=data.dtype)])
        self._label = labels

    def _read_archive(self, names: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
        path = os.path.join(self._root, self._archive_file)
        if not os.path.isfile(path):
            self._refuse_missing(
                f"{self._archive_file}, with {', '.join(names)}", self._archive_file
            )
        contents: dict[str, bytes] = {}
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    name = os.path.basename(member.name)
                    file = archive.extractfile(member) if name in names else None
                    if file is not None:
                        contents[name] = file.read()
        except (tarfile.TarError, EOFError) as error:
            raise FileFormatError(path, f"it is not a readable archive: {error}") from error
        missing = [name for name in names if name not in contents]
        if missing:
            raise FileFormatError(path, f"{', '.join(missing)} is not in it")
        return [self._parsed(contents[name], f"{path}: {name}") for name in names]


class CIFAR100(CIFAR10):
    """Small photos of 100 classes in 20 groups (Krizhevsky, 2009); see :class:`CIFAR10`.

    root
        The folder with ``train.bin`` and ``test.bin``, or with ``cifar-100-binary.tar.gz``.
    fine_label
        Whether labels are the 100 classes, or the 20 groups.
    """

    _namespace = "cifar100"
    _label_bytes = 2

    def __init__(
        self,
        root: FilePath = _CIFAR100,
        fine_label: bool = False,
        train: bool = True,
        transform: Function | None = None,
    ) -> None:
        self._train = train
        self._archive_file = "cifar-100-binary.tar.gz"
        self._train_data = ["train.bin"]
        self._test_data = ["test.bin"]
        self._fine_label = fine_label
        dataset._DownloadedDataset.__init__(self, root, transform)

    def _label_of(self, labels: np.ndarray) -> np.ndarray:
        return labels[:, int(self._fine_label)]


class ImageRecordDataset(dataset.RecordFileDataset):
    """Labelled images of a RecordIO file with an index file of the same name (``.idx``): three
    channels, or one if ``flag`` is 0. A label is a float, or a float32 array of several labels.
    Samples are ``transform(image, label)`` if given."""

    def __init__(
        self, filename: FilePath, flag: int = 1, transform: Function | None = None
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, encoded = recordio.unpack(super().__getitem__(idx))
        sample = image.imdecode(encoded, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(dataset.Dataset):
    """Images of the folders in ``root`` (``root/car/0001.jpg``), labelled by the index of the
    folder; ``flag`` and ``transform`` as for :class:`ImageRecordDataset`.

    ``synsets`` are the folders' names, ``items`` the path and label of each sample. Warns of
    entries that are not folders, and of files other than .jpg, .jpeg and .png.
    """

    def __init__(self, root: FilePath, flag: int = 1, transform: Function | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self._exts = [".jpg", ".jpeg", ".png"]
        self._list_images(self._root)

    def _list_images(self, root: str) -> None:
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                text = f"Ignoring {path}, which is not a directory."
                warnings.warn(text, stacklevel=3)
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                filename = os.path.join(path, name)
                ending = os.path.splitext(name)[1]
                if ending.lower() in self._exts:
                    self.items.append((filename, label))
                    continue
                kinds = ", ".join(self._exts)
                text = f"Ignoring {filename} of type {ending}. Only support {kinds}"
                warnings.warn(text, stacklevel=3)

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        sample = _read_picture(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self.items)


class ImageListDataset(dataset.Dataset):
    """Images of a list, with labels as float32 arrays, as in MXNet 2; ``flag`` as for
    :class:`ImageRecordDataset`.

    root
        The folder of the files.
    imglist
        The name of a file with a line per image: index, labels, path, separated by tabs. Or a list
        of [label, path], [label, label, path] or [labels, path].
    """

    def __init__(self, root: FilePath = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        if isinstance(imglist, str):
            entries = listed_in_file(os.path.join(self._root, imglist), "float32")
        elif isinstance(imglist, (list, tuple)):
            entries = listed(list(imglist), "float32")
        else:
            problem = f"{imglist!r}, expected a file's name or a list"
            raise ArgumentValueError("ImageListDataset: imglist", problem)
        self._items = list(entries.values())

    def __getitem__(self, idx: int) -> Any:
        label, name = self._items[idx]
        return _read_picture(os.path.join(self._root, name), self._flag), label

    def __len__(self) -> int:
        return len(self._items)


def _read_picture(path: str, flag: int) -> Any:
    try:
        return image.imread(path, flag)
    except MXNetError as error:
        error.add_note(f"in {path}")
        raise
