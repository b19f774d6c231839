"""Stores what MXNet makes of ``cases/_records.py``, and the files of images that it reads.

Runs under MXNet 1.9.1 (see ``make.py``) with OpenCV, never under the project's environment:

    python tests/golden/make_records.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def write_images(mx, cases):
    data = HERE / "data"
    header = mx.recordio.IRHeader
    paths = str(data / "images.idx"), str(data / "images.rec")
    record = mx.recordio.MXIndexedRecordIO(*paths, "w")
    for i in range(4):
        packed = mx.recordio.pack_img(header(0, float(i), i, 0), cases.smooth_image(i))
        record.write_idx(i, packed)
    record.close()
    record = mx.recordio.MXRecordIO(str(data / "boxes.rec"), "w")
    for i in range(4):
        packed = mx.recordio.pack_img(header(0, cases.box_label(i), i, 0), cases.smooth_image(i))
        record.write(packed)
    record.close()


def pixels_of(mx, cases, folder):
    mx.nd.save(str(folder / "mean.nd"), {"mean_img": mx.nd.array(cases.mean_image())})
    arrays = {}
    for kind, file, questions in (
        ("ImageRecordIter", "images.rec", cases.PIXELS),
        ("ImageDetRecordIter", "boxes.rec", cases.BOXES),
    ):
        for name, keywords in questions.items():
            options = {**cases.COMMON, **keywords, "path_imgrec": str(HERE / "data" / file)}
            if "mean_img" in options:
                options["mean_img"] = str(folder / options["mean_img"])
            batch = getattr(mx.io, kind)(**options).next()
            pixels = batch.data[0].asnumpy()
            whole = pixels.dtype == np.float32 and (pixels == pixels.astype(np.uint8)).all()
            arrays[f"{kind}|{name}"] = pixels.astype(np.uint8) if whole else pixels
            if kind == "ImageDetRecordIter":
                arrays[f"label|{name}"] = batch.label[0].asnumpy()
    return arrays


def main():
    import mxnet as mx
    from cases import _records as cases

    write_images(mx, cases)
    answers = {}
    for name, function in cases.VALUES.items():
        with tempfile.TemporaryDirectory() as folder:
            answers[name] = function(mx, Path(folder))
    text = json.dumps(answers, separators=(",", ":"), sort_keys=True)
    (HERE / "data" / "records.json").write_text(text.replace('],"', '],\n"') + "\n")
    with tempfile.TemporaryDirectory() as folder:
        arrays = pixels_of(mx, cases, Path(folder))
    np.savez_compressed(HERE / "data" / "records.npz", **arrays)


if __name__ == "__main__":
    main()
