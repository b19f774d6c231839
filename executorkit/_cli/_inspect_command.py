"""``inspect``: a diagnosis of a symbol file, a parameter file, or a checkpoint of both."""

from __future__ import annotations

import argparse
import shutil

from ..inspection import diagnose
from ._checkpoint_arguments import add_shape_option, checkpoint_files

#: Columns of a terminal whose width is not known, and the least that a table is made for.
_WIDTH, _MIN_WIDTH = 100, 60


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "inspect",
        help="shows a symbol file, parameters, and whether they fit each other",
        description="Tells what a checkpoint holds: the version of MXNet that wrote it, inputs "
        "and outputs with the shapes that follow from the parameters, the layers folded by "
        "block; and its faults: parameters that are missing, unknown, of another "
        "shape, or not finite. The exit status is 1 if anything is wrong. FLOPs and sizes of "
        "outputs are of each operator alone, for one forward pass.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a symbol file, a .params file, or both; or a checkpoint's prefix",
    )
    parser.add_argument("--params", metavar="FILE", help="the .params file; the same as second")
    parser.add_argument("--epoch", type=int, metavar="N", help="with a prefix; default the last")
    add_shape_option(parser)
    parser.add_argument(
        "--full", action="store_true", help="every layer and every name, instead of blocks"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    texts = [*options.files, *([options.params] if options.params else [])]
    files = checkpoint_files(texts, options.epoch, required=())
    diagnosis = diagnose(files.symbol, files.params, dict(options.shape))
    width = max(_MIN_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
    print(diagnosis.text(width, full=options.full))
    return 0 if diagnosis.sound else 1
