"""``im2rec``: lists of images, and files of records made of them."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._files import write_atomically
from .._support.record_format import encode_record, read_whole
from ..errors import DataArgumentError, FileAccessError
from ..opencv import require_opencv, with_shorter_edge
from ..recordio import IRHeader, pack, pack_img

#: Seed of the order of lists, MXNet's.
_SEED = 100
#: Number of images per thread that are encoded before the first of them is written.
_AHEAD = 4


class ListedImage(NamedTuple):
    number: int
    labels: tuple[float, ...]
    path: str


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "im2rec",
        help="make lists of images, and files of records for ImageRecordIter",
        description="With --list, lists the images below ROOT in PREFIX.lst. Without, makes "
        "PREFIX.rec and PREFIX.idx of PREFIX.lst and of every other list whose name begins so. An "
        "image that cannot be read is left out, with a message.",
    )
    parser.add_argument("prefix", help="path of the lists and records, without their endings")
    parser.add_argument("root", help="folder of the images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="make lists instead of records")
    lists.add_argument(
        "--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], help="endings of images"
    )
    lists.add_argument("--chunks", type=int, default=1, help="number of lists to divide into")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="part of a _train list")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="part of a _test list")
    lists.add_argument(
        "--recursive", action="store_true", help="also sub-folders, each with a label of its own"
    )
    lists.add_argument(
        "--shuffle", action=argparse.BooleanOptionalAction, default=True, help="in random order"
    )
    records = parser.add_argument_group("records")
    records.add_argument("--pass-through", action="store_true", help="store the files as they are")
    records.add_argument("--resize", type=int, default=0, help="length of the shorter edge")
    records.add_argument("--center-crop", action="store_true", help="crop to the central square")
    records.add_argument("--quality", type=int, default=95, help="JPEG 1 to 100, PNG 1 to 9")
    records.add_argument("--num-thread", type=int, default=1, help="threads that encode")
    records.add_argument(
        "--color", type=int, default=1, choices=[-1, 0, 1], help="1 colours, 0 grey, -1 as stored"
    )
    records.add_argument("--encoding", default=".jpg", choices=[".jpg", ".png"])
    records.add_argument("--pack-label", action="store_true", help="store all labels of a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    _check(options)
    if options.list:
        make_lists(options)
        return 0
    lists = _lists(options.prefix)
    if not lists:
        problem = "no list has a path that begins so"
        raise FileAccessError(options.prefix, problem, hint="--list makes one")
    for path in lists:
        written, skipped = make_records(path, options)
        print(f"{path.with_suffix('.rec')}: {written} images", end="")
        print(f", {skipped} left out" if skipped else "")
    return 0


def _check(options: argparse.Namespace) -> None:
    for name in ("chunks", "num_thread"):
        if getattr(options, name) < 1:
            problem = f"{getattr(options, name)}, expected a positive number"
            raise DataArgumentError(f"--{name.replace('_', '-')}", problem)
    ratios = options.train_ratio, options.test_ratio
    if min(ratios) < 0 or sum(ratios) > 1 + 1e-9:
        problem = f"{ratios}, expected numbers from 0 on whose sum is at most 1"
        raise DataArgumentError("--train-ratio, --test-ratio", problem)
    if not os.path.isdir(options.root):
        raise FileAccessError(options.root, "the folder does not exist")


def make_lists(options: argparse.Namespace) -> None:
    endings = tuple(ending.lower() for ending in options.exts)
    if options.recursive:
        images: list[ListedImage] = []
        labels: dict[str, int] = {}
        for folder, folders, names in os.walk(options.root, followlinks=True):
            folders.sort()
            for name in sorted(names):
                if _is_image(folder, name, endings):
                    label = labels.setdefault(os.path.relpath(folder, options.root), len(labels))
                    path = os.path.relpath(os.path.join(folder, name), options.root)
                    images.append(ListedImage(len(images), (float(label),), path))
        for folder, label in labels.items():
            print(folder, label)
    else:
        names = [n for n in sorted(os.listdir(options.root)) if _is_image(options.root, n, endings)]
        images = [ListedImage(i, (0.0,), name) for i, name in enumerate(names)]
    if options.shuffle:
        random.Random(_SEED).shuffle(images)
    size = -(-len(images) // options.chunks)
    for number in range(options.chunks):
        ending = f"_{number}" if options.chunks > 1 else ""
        chunk = images[number * size : (number + 1) * size]
        for name, part in _parts(chunk, size, options.train_ratio, options.test_ratio).items():
            write_list(f"{options.prefix}{ending}{name}.lst", part)


def _is_image(folder: str, name: str, endings: tuple[str, ...]) -> bool:
    whole = os.path.isfile(os.path.join(folder, name))
    return whole and os.path.splitext(name)[1].lower() in endings


def _parts(
    chunk: list[ListedImage], size: int, train: float, test: float
) -> dict[str, list[ListedImage]]:
    if train == 1.0:
        return {"": chunk}
    first, second = int(size * test), int(size * test) + int(size * train)
    parts = {"_test": chunk[:first]} if test else {}
    if train + test < 1.0:
        parts["_val"] = chunk[second:]
    return {**parts, "_train": chunk[first:second]}


def write_list(path: str, images: Iterable[ListedImage]) -> None:
    lines = (
        "\t".join([str(i.number), *(f"{label:f}" for label in i.labels), i.path]) + "\n"
        for i in images
    )
    write_atomically(path, (line.encode() for line in lines))


def _lists(prefix: str) -> list[Path]:
    folder = Path(prefix) if os.path.isdir(prefix) else Path(prefix).parent
    begin = "" if os.path.isdir(prefix) else Path(prefix).name
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.glob("*.lst") if p.name.startswith(begin) and p.is_file())


def read_list(path: Path) -> Iterator[ListedImage]:
    lines = read_whole(str(path)).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.strip().split("\t")]
        try:
            if len(fields) < 3:
                raise ValueError
            yield ListedImage(int(fields[0]), tuple(map(float, fields[1:-1])), fields[-1])
        except ValueError:
            if line.strip():
                _report(f"{path}, line {number}: {line!r}, expected a number, labels and a path")


def make_records(path: Path, options: argparse.Namespace) -> tuple[int, int]:
    # Both files appear when they are complete, the index last.
    index: list[str] = []
    counts = [0, 0]

    def pieces() -> Iterator[bytes]:
        offset = 0
        for image, record in _encoded(read_list(path), options):
            counts[record is None] += 1
            if record is None:
                continue
            parts = encode_record(record, image.path)
            index.append(f"{image.number}\t{offset}\n")
            offset += sum(map(len, parts))
            yield from parts

    write_atomically(str(path.with_suffix(".rec")), pieces())
    write_atomically(str(path.with_suffix(".idx")), (line.encode() for line in index))
    return counts[0], counts[1]


def _encoded(
    images: Iterator[ListedImage], options: argparse.Namespace
) -> Iterator[tuple[ListedImage, bytes | None]]:
    encode: Callable[[ListedImage], bytes | None] = lambda image: encode_image(image, options)  # noqa: E731
    if options.num_thread == 1:
        yield from ((image, encode(image)) for image in images)
        return
    pending: deque[tuple[ListedImage, Future[Any]]] = deque()
    with ThreadPoolExecutor(options.num_thread) as pool:
        for image in images:
            pending.append((image, pool.submit(encode, image)))
            if len(pending) > _AHEAD * options.num_thread:
                first, future = pending.popleft()
                yield first, future.result()
        for image, future in pending:
            yield image, future.result()


def encode_image(image: ListedImage, options: argparse.Namespace) -> bytes | None:
    path = os.path.join(options.root, image.path)
    labels = image.labels[0]
    if options.pack_label and len(image.labels) > 1:
        labels = np.array(image.labels, np.float32)
    header = IRHeader(0, labels, image.number, 0)
    try:
        content = read_whole(path)
    except FileAccessError as error:
        _report(str(error))
        return None
    if options.pass_through:
        return pack(header, content)
    cv2 = require_opencv()
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), options.color) if content else None
    if pixels is None:
        _report(f"{path}: OpenCV cannot decode it")
        return None
    if options.center_crop:
        height, width = pixels.shape[:2]
        size = min(height, width)
        top, left = (height - size) // 2, (width - size) // 2
        pixels = pixels[top : top + size, left : left + size]
    if options.resize:
        height, width = with_shorter_edge(pixels.shape[0], pixels.shape[1], options.resize)
        pixels = cv2.resize(pixels, (width, height))
    return pack_img(header, pixels, options.quality, options.encoding)


def _report(message: str) -> None:
    print(message, file=sys.stderr)
