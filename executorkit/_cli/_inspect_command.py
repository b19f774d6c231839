"""``inspect``: a symbol file as a table of its layers."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MXNetError, explain

if TYPE_CHECKING:
    from ..symbol import Symbol

Shape = tuple[int, ...]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command with its arguments."""
    parser = commands.add_parser(
        "inspect",
        help="the layers of a symbol file: shapes, parameters, operations",
        description="Prints the layers of a symbol file with their output shapes, their numbers "
        "of parameters, the floating-point operations of one forward pass and the bytes of their "
        "outputs, each operator taken alone. '?' is what cannot be known from the shapes given.",
    )
    parser.add_argument("file", metavar="FILE-symbol.json", type=Path)
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        type=named_shape,
        metavar="NAME=D1,D2,...",
        help="the shape of an input, such as data=1,3,224,224; may be repeated",
    )
    parser.add_argument(
        "--params",
        type=Path,
        metavar="FILE",
        help="a .params file: its entries are the parameters, and their shapes are taken from it",
    )
    parser.set_defaults(run=run)


def named_shape(text: str) -> tuple[str, Shape]:
    """``data=1,3,224,224`` as ("data", (1, 3, 224, 224))."""
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.strip("()").split(",") if size.strip())
    except ValueError:
        shape = ()
    if not (name and equals and shape) or min(shape) < 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no named shape; write it as data=1,3,224,224 (0 for an unknown size)"
        )
    return name, shape


def run(options: argparse.Namespace) -> int:
    """Prints the table."""
    from ..lowering import Summary
    from ..symbol import load

    symbol = load(str(options.file))
    given_shapes = dict(options.shape)
    names = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    _check_names(given_shapes, symbol)
    if options.params is None:
        parameters = None
        shapes = given_shapes
    else:
        stored = _stored_shapes(options.params)
        parameters = names & stored.keys()
        shapes = {**{n: s for n, s in stored.items() if n in names}, **given_shapes}
        _mention(options.params, stored.keys() - names)
    print(Summary.of(symbol, shapes, parameters=parameters))
    return 0


def _check_names(names: Collection[str], symbol: Symbol) -> None:
    arguments = symbol.list_arguments()
    for name in names:
        if name not in arguments:
            inputs = [n for n in arguments if n == "data" or n.endswith("label")] or arguments
            raise MXNetError(
                explain(
                    f"--shape {name}",
                    "it is not an argument of this symbol",
                    hint="one of: " + ", ".join(inputs),
                )
            )


def _stored_shapes(path: Path) -> dict[str, Shape]:
    """Shapes of the entries of a parameter file, by variable name."""
    from .. import ndarray as nd

    stored = nd.load(str(path))
    if not isinstance(stored, dict):
        raise MXNetError(explain(f"--params {path}", "its arrays have no names"))
    return {key.removeprefix("arg:").removeprefix("aux:"): a.shape for key, a in stored.items()}


def _mention(path: Path, unused: Collection[str]) -> None:
    if unused:
        print(f"{path}: not in the symbol: {len(unused)} entries, such as {min(unused)!r}")
