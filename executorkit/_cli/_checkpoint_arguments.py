"""Checkpoints on the command line: files and prefixes, and shapes of inputs."""

import argparse
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._files import HEAD, PARAMS, open_to_read, recognise
from ..errors import ArgumentValueError, FileAccessError
from ..model import checkpoint_epochs, params_path

Shape = tuple[int, ...]

#: Endings of files of parameters.
_PARAMETERS = (".params", ".safetensors", ".npz")
#: Maximum number of epochs that an error names.
_EPOCHS = 10


def add_shape_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        type=named_shape,
        metavar="NAME=D1,D2,...",
        help="the shape of an input, such as data=1,3,224,224; may be repeated",
    )


def named_shape(text: str) -> tuple[str, Shape]:
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.strip("()").split(",") if size.strip())
    except ValueError:
        shape = ()
    if not (name and equals and shape) or min(shape) < 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a named shape; write it as data=1,3,224,224 (0 for an unknown size)"
        )
    return name, shape


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    symbol: str | None
    params: str | None


def checkpoint_files(
    texts: Sequence[str], epoch: int | None, required: Collection[str] = ("symbol", "params")
) -> CheckpointFiles:
    """Returns the files of one or two arguments: files, recognised by their first bytes, or the
    prefix of a checkpoint (of the last epoch by default). ``required`` files without an argument
    are looked for beside the other."""
    symbol: str | None = None
    params: str | None = None
    prefixes: list[str] = []
    for text in texts:
        # The absence of a name that no prefix has is reported.
        if not os.path.isfile(text) and not text.endswith((".json", *_PARAMETERS)):
            prefixes.append(text)
        elif _is_params(text):
            params = _once(params, text, "parameter")
        else:
            symbol = _once(symbol, text, "symbol")
    if len(prefixes) > 1:
        problem = f"no such file, and {prefixes[0]!r} is a prefix already"
        raise ArgumentValueError(f"{prefixes[1]!r}", problem)
    for prefix in prefixes:
        params = params or params_path(prefix, _epoch(prefix, epoch))
        symbol = symbol or f"{prefix}-symbol.json"
    if "params" in required and params is None and symbol is not None:
        prefix = symbol.removesuffix("-symbol.json")
        params = params_path(prefix, _epoch(prefix, epoch))
    if "symbol" in required and symbol is None and params is not None:
        symbol = re.sub(r"-\d{4,}\.params$", "", params) + "-symbol.json"
    return CheckpointFiles(symbol, params)


def _is_params(path: str) -> bool:
    if path.endswith(_PARAMETERS):
        return True
    with open_to_read(path) as file:
        return recognise(file.peek(HEAD)[:HEAD]) is PARAMS


def _once(earlier: str | None, text: str, kind: str) -> str:
    if earlier is not None:
        raise ArgumentValueError(text, f"a second {kind} file, after {earlier}")
    return text


def _epoch(prefix: str, epoch: int | None) -> int:
    epochs = checkpoint_epochs(prefix)
    if not epochs:
        hint = "the path of a symbol file and of a .params file, or the prefix of both"
        raise FileAccessError(f"{prefix}-*.params", "the file does not exist", hint=hint)
    if epoch is not None and epoch not in epochs:
        hint = "one of those there: " + ", ".join(map(str, epochs[-_EPOCHS:]))
        raise FileAccessError(f"{prefix}-*.params", f"epoch {epoch} is missing", hint=hint)
    return epochs[-1] if epoch is None else epoch
