"""``run``: a checkpoint's outputs for a picture."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .._files import naming
from .._support.record_format import read_whole
from ..display import scaled, shape as shape_text, text_table
from ..errors import ArgumentValueError, ShapeError
from ..export import InferenceNetwork, read_parameters
from ..inspection import deduce_inputs, label_names, plain_name
from ..opencv import decode_image, require_opencv, resize_image
from ..symbol import Symbol, load
from ._checkpoint_arguments import checkpoint_files

#: Columns of detections: class, score, corners.
_DETECTION = 6


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run a checkpoint on a picture: the top classes, or what else it computes",
        description="Runs a checkpoint on a picture. Of class scores, the highest are printed; of "
        "a detector, the best boxes; other outputs are described. The picture is scaled so that "
        "its shorter side fits, its middle is cut out, and each pixel becomes "
        "(pixel - mean) / std * scale, with pixels from 0 to 255. Which numbers are right depends "
        "on how the network was trained: ask where it comes from.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE|PREFIX",
        help="FILE-symbol.json and FILE.params, the symbol file and a prefix of parameters, or "
        "one prefix for both",
    )
    parser.add_argument("--image", required=True, metavar="FILE", help="JPEG, PNG, ...")
    parser.add_argument("--epoch", type=int, metavar="N", help="with a prefix; default the last")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="names of the classes, by line")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument(
        "--size",
        type=_numbers,
        metavar="S|H,W",
        help="the size that the network takes; default: from the parameters, else 224",
    )
    parser.add_argument(
        "--order", choices=("rgb", "bgr"), default="rgb", help="of the channels; default rgb"
    )
    parser.add_argument(
        "--mean", type=_numbers, default=(0.0,), metavar="M|M,M,M", help="per channel; default 0"
    )
    parser.add_argument(
        "--std", type=_numbers, default=(1.0,), metavar="S|S,S,S", help="per channel; default 1"
    )
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="default 1")
    parser.set_defaults(run=run)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        problem = f"{text!r}: expected a number, or several with commas between them"
        raise argparse.ArgumentTypeError(problem) from None


def run(options: argparse.Namespace) -> int:
    require_opencv()
    labels = _labels(options.labels)
    with naming(options.image):
        picture = decode_image(read_whole(options.image))
    files = checkpoint_files(options.files, options.epoch)
    symbol, params = load(str(files.symbol)), read_parameters(str(files.params))
    name, shape = _image_input(symbol, params, options.size)
    network = InferenceNetwork.of(symbol, params, {name: shape})
    shape = network.inputs[name]
    for option, numbers in (("mean", options.mean), ("std", options.std)):
        if len(numbers) not in (1, shape[1]):
            problem = f"{len(numbers)} numbers for {shape[1]} channels"
            raise ArgumentValueError(f"--{option}", problem)
    if 0.0 in options.std:
        raise ArgumentValueError("--std", "it holds 0, and pixels are divided by it")
    pixels = picture[..., :: 1 if options.order == "rgb" else -1]
    if shape[1] == 1:
        pixels = decode_image(read_whole(options.image), 0)
    data = prepare(pixels, shape[2], shape[3], options.mean, options.std, options.scale)
    for output, array in network.run({name: data.astype(network.dtypes[name])}).items():
        print(f"{output} {array.shape}:")
        print(describe(array, labels, options.top))
    return 0


def _labels(path: Path | None) -> list[str] | None:
    return None if path is None else read_whole(str(path)).decode("utf-8", "replace").splitlines()


def _image_input(
    symbol: Symbol, params: Mapping[str, np.ndarray], size: Sequence[float] | None
) -> tuple[str, tuple[int, ...]]:
    shapes = deduce_inputs(symbol, {plain_name(n): a.shape for n, a in params.items()})
    labels = label_names(symbol)
    inputs = {name: shape for name, shape in shapes.items() if name not in labels}
    sizes = tuple(int(s) for s in (tuple(size or ()) * 2)[:2]) or (0, 0)
    name, shape = next(iter(inputs.items()), ("", None))
    if shape is None:
        shape = (0, 0, 0, 0)
    if len(inputs) != 1 or len(shape) != 4 or shape[1] not in (0, 1, 3):
        listed = ", ".join(f"{n} {shape_text(s)}" for n, s in inputs.items())
        problem = f"its inputs are {listed}, expected one of shape (N, 3, H, W) or (N, 1, H, W)"
        raise ShapeError("a network for pictures", problem)
    return name, (1, shape[1] or 3, *sizes)


def prepare(
    pixels: np.ndarray,
    height: int,
    width: int,
    mean: Sequence[float],
    std: Sequence[float],
    scale: float,
) -> np.ndarray:
    factor = max(height / pixels.shape[0], width / pixels.shape[1])
    rows = max(height, round(pixels.shape[0] * factor))
    columns = max(width, round(pixels.shape[1] * factor))
    resized = resize_image(pixels, columns, rows)
    top, left = (rows - height) // 2, (columns - width) // 2
    middle = resized[top : top + height, left : left + width].astype(np.float32)
    normalised = (middle - np.array(mean, np.float32)) / np.array(std, np.float32)
    return np.ascontiguousarray(normalised.transpose(2, 0, 1)[None] * np.float32(scale))


def describe(array: np.ndarray, labels: Sequence[str] | None, top: int) -> str:
    flat = array.reshape(array.shape[0], -1) if array.ndim else array.reshape(1, 1)
    if array.ndim >= 2 and array.shape[0] == 1 and flat.shape[1] == array.shape[1] > 1:
        return _classes(flat[0].astype(np.float64), labels, top)
    if array.ndim == 3 and array.shape[::2] == (1, _DETECTION):
        return _boxes(array[0].astype(np.float64), labels, top)
    return _range(array.astype(np.float64))


def _classes(scores: np.ndarray, labels: Sequence[str] | None, top: int) -> str:
    is_share = bool((scores >= 0).all() and abs(scores.sum() - 1) < 1e-2)
    rows = [
        [f"{scores[i]:.2%}" if is_share else f"{scores[i]:.4g}", str(i), _label(labels, i)]
        for i in np.argsort(-scores, kind="stable")[: max(1, top)]
    ]
    return text_table(
        ["probability" if is_share else "score", "class", "label"], rows, right={0, 1}
    )


def _boxes(boxes: np.ndarray, labels: Sequence[str] | None, top: int) -> str:
    detected = boxes[boxes[:, 0] >= 0]
    order = np.argsort(-detected[:, 1], kind="stable")[: max(1, top)]
    rows = []
    for box in detected[order]:
        corners = ", ".join(f"{corner:.3f}" for corner in box[2:])
        rows.append([f"{box[1]:.2%}", str(int(box[0])), _label(labels, int(box[0])), corners])
    table = text_table(["score", "class", "label", "left, top, right, bottom"], rows, right={0, 1})
    return f"{len(detected)} boxes\n{table}" if rows else "no boxes"


def _range(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    words = [f"minimum {array.min():.4g}", f"mean {array.mean():.4g}", f"maximum {array.max():.4g}"]
    return f"{', '.join(words)}; {scaled(array.size)} elements"


def _label(labels: Sequence[str] | None, number: int) -> str:
    return labels[number] if labels is not None and number < len(labels) else ""
