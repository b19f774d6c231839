"""Throughput of ImageRecordIter, JPEG images of 256x256 to crops of 224x224, beside MXNet's.

python -m benchmarks.bench_image_records [--images N] [--threads N,N] [--plot FILE]

``EXECUTORKIT_ORACLE_PYTHON`` names a Python with MXNet. Epochs of both alternate; a ratio above 1
means that ours is faster.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import executorkit as mx
from executorkit.display import text_table
from executorkit.opencv import require_opencv

from ._image_records import MODES, readers
from ._measure import ORACLE, Oracle
from ._workers import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=512, help="a multiple of 32")
    parser.add_argument("--pairs", type=int, default=9, help="number of epochs of each")
    parser.add_argument("--threads", default="1,2,4", help="numbers of threads")
    parser.add_argument("--quality", type=int, default=95, help="of the JPEG images")
    parser.add_argument("--plot", type=Path, help="file for a plot of images per second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "images.rec")
        size = write_images(path, options.images, options.quality)
        print(f"{options.images} images, {size / 1024:.0f} KiB each, {os.cpu_count()} cores\n")
        rows = []
        for threads in map(int, options.threads.split(",")):
            for row in measure(path, threads, options.images, options.pairs):
                rows.append(row)
                print(f"{row}", file=sys.stderr, flush=True)
    header = ["threads", "", "images/s", "MXNet images/s", "ours / MXNet"]
    table = [
        [str(r["threads"]), r["mode"], f"{r['ours']:,.0f}", _number(r["mxnet"], "{:,.0f}"),
         _number(r["ratio"], "{:.2f}")]
        for r in rows
    ]  # fmt: skip
    print(text_table(header, table, right={0, 2, 3, 4}))
    if options.plot:
        plot(rows, options.plot)


def write_images(path: str, count: int, quality: int, size: int = 256) -> float:
    """Writes a file of images with smooth shapes, edges and noise; returns bytes per image."""
    cv2 = require_opencv()
    random = np.random.RandomState(0)
    y, x = np.mgrid[:size, :size] / size
    record = mx.recordio.MXRecordIO(path, "w")
    for number in range(count):
        waves = [
            np.sin(x * random.uniform(2, 20) + y * random.uniform(2, 20) + random.uniform(0, 6))
            for _ in range(3)
        ]
        image = 120 + 45 * np.stack(waves, -1)
        image += cv2.resize(random.normal(0, 35, (24, 24, 3)), (size, size))
        for _ in range(6):
            a, b = random.randint(0, size - 40, 2)
            image[a : a + 40, b : b + random.randint(10, 80)] += random.uniform(-60, 60, 3)
        image += random.normal(0, 6, (size, size, 1))
        pixels = np.clip(image, 0, 255).astype(np.uint8)
        header = mx.recordio.IRHeader(0, float(number % 10), number, 0)
        record.write(mx.recordio.pack_img(header, pixels, quality=quality))
    record.close()
    return Path(path).stat().st_size / count


def measure(path: str, threads: int, images: int, pairs: int) -> list[dict[str, Any]]:
    """Images per second by mode: ours, MXNet's, and the median ratio of the pairs of epochs."""
    ours = readers(mx, path, threads)
    oracle = None
    if ORACLE in os.environ:
        oracle = Oracle("benchmarks._image_records", "mxnet", path, str(threads))
    rows = []
    for mode in MODES:
        ours[mode]()
        row: dict[str, Any] = {"threads": threads, "mode": mode, "mxnet": None, "ratio": None}
        if oracle is None:
            row["ours"] = images / median(timed(ours[mode]) for _ in range(pairs))
        else:
            times = oracle.time_in_pairs(mode, ours[mode], pairs)
            row |= {"ours": images / times.ours, "mxnet": images / times.theirs}
            row["ratio"] = times.ratio
        rows.append(row)
    if oracle is not None:
        oracle.end()
    return rows


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draws images per second against threads, a line per mode and library."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for mode in MODES:
        selected = [r for r in rows if r["mode"] == mode]
        threads = [r["threads"] for r in selected]
        (line,) = axes.plot(threads, [r["ours"] for r in selected], "o-", label=mode)
        if selected[0]["mxnet"] is not None:
            theirs = [r["mxnet"] for r in selected]
            axes.plot(threads, theirs, "o--", color=line.get_color(), label=f"{mode}, MXNet 1.9.1")
    axes.set(xlabel="threads", ylabel="images per second", ylim=(0, None))
    axes.set_xticks(sorted({r["threads"] for r in rows}))
    axes.legend(fontsize="small")
    figure.savefig(path)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


if __name__ == "__main__":
    main()
