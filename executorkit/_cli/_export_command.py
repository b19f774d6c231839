"""``export``: a checkpoint as StableHLO, ONNX, safetensors, ``.npz`` or ``.params``."""

from __future__ import annotations

import argparse
from typing import Literal

from ..display import scaled
from ..export import ENDINGS, NETWORK_FORMS, export_checkpoint
from ._checkpoint_arguments import add_shape_option, checkpoint_files


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="write a checkpoint for JAX alone, ONNX, safetensors or NumPy",
        description="Writes a network (stablehlo, onnx) or its parameters (safetensors, npz, "
        "params) for other libraries. The file is then loaded again and compared with this "
        "package: the largest difference is printed. Shapes of inputs follow from the parameters "
        "where these tell enough; the batch size stays free (where its axis is not the first, "
        "mark it by a 0: --shape data=35,0,200). Nothing is written if anything cannot be "
        "exported.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="FILE-symbol.json and FILE.params (or .safetensors, .npz), or a checkpoint's prefix; "
        "formats of parameters need no symbol",
    )
    parser.add_argument("--to", required=True, choices=tuple(ENDINGS), help="the format")
    parser.add_argument("--output", metavar="FILE", help="default: beside the parameters")
    parser.add_argument("--epoch", type=int, metavar="N", help="with a prefix; default the last")
    add_shape_option(parser)
    parser.add_argument(
        "--batch", type=_batch, default="free", metavar="free|N", help="its size; default free"
    )
    parser.add_argument(
        "--platforms",
        default="cpu,cuda,tpu",
        type=lambda text: tuple(text.split(",")),
        metavar="P,...",
        help="of stablehlo: cpu, cuda, tpu, rocm; default cpu,cuda,tpu",
    )
    parser.set_defaults(run=run)


def _batch(text: str) -> int | Literal["free"]:
    if text == "free":
        return "free"
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 'free' nor a positive number")
    return number


def run(options: argparse.Namespace) -> int:
    required = ("symbol", "params") if options.to in NETWORK_FORMS else ("params",)
    files = checkpoint_files(options.files, options.epoch, required)
    report = export_checkpoint(
        files.symbol,
        str(files.params),
        options.to,
        options.output,
        dict(options.shape),
        batch=options.batch,
        platforms=options.platforms,
    )
    print(f"{report.path}: {scaled(report.size, 'B', 1024)}")
    print(f"loaded again and compared with executorkit: {report.comparison}")
    return 0
