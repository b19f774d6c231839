"""``inspect``: a symbol file as a table of its layers."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MXNetError, explain

if TYPE_CHECKING:
    from ..symbol import Symbol

Shape = tuple[int, ...]
#: Inputs of operators that are parameters of a network wherever they are variables.
_WEIGHTS = frozenset({"weight", "bias", "gamma", "beta", "parameters"})
#: Maximum number of names that a line mentions.
_NAMES = 5


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
    """Prints the table; 1, and what does not fit, for parameters of another network."""
    from ..lowering import Summary
    from ..symbol import load

    symbol = load(str(options.file))
    shapes = dict(options.shape)
    _check_names(shapes, symbol)
    if options.params is None:
        print(Summary.of(symbol, shapes))
        return 0
    stored = _stored_shapes(options.params)
    names = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    extra = sorted(stored.keys() - names)
    missing = [name for name in _parameters(symbol) if name not in stored and name not in shapes]
    fitting = {name: shape for name, shape in stored.items() if name in names}
    misshaped = _misshaped(symbol, fitting, shapes)
    _report(options.params, "not in the symbol", extra)
    _report(options.params, "missing", missing)
    _report(options.params, "of another shape", misshaped)
    if missing or misshaped:
        return 1
    print(Summary.of(symbol, {**fitting, **shapes}, parameters=names & stored.keys()))
    return 1 if extra else 0


def _report(path: Path, problem: str, entries: Sequence[str]) -> None:
    if entries:
        names = ", ".join(map(repr, entries[:_NAMES]))
        print(f"{path}: {problem}: {len(entries)} entries, such as {names}")


def _parameters(symbol: Symbol) -> list[str]:
    """The variables that a checkpoint has to hold: auxiliary states, and those that operators read
    as weights, by the names of their inputs."""
    from ..symbol.node import topological_order

    is_weight: dict[str, bool] = {}
    for node in topological_order(symbol.heads):
        for key, (child, _) in zip(node.input_names, node.inputs, strict=False):
            if child.is_variable:
                is_weight[child.name] = is_weight.get(child.name, True) and key in _WEIGHTS
    arguments = (name for name in symbol.list_arguments() if is_weight.get(name))
    return [*arguments, *symbol.list_auxiliary_states()]


def _misshaped(
    symbol: Symbol, shapes: Mapping[str, Shape], inputs: Mapping[str, Shape]
) -> list[str]:
    """Parameters whose shapes contradict the symbol, or those before them, whatever the sizes of
    the inputs; without ``inputs``, whatever their number of axes too."""
    parameters = {*shapes, *_parameters(symbol)}
    unknown = [n for n in symbol.list_arguments() if n not in parameters and "label" not in n]
    ranks = [{n: (0,) * len(s) for n, s in inputs.items()}] if inputs else []
    ranks = ranks or [dict.fromkeys(unknown, (0,) * rank) for rank in (4, 2, 3, 5, 1)]
    if any(_consistent(symbol, {**shapes, **sizes}) for sizes in ranks):
        return []
    return min((_contradictions(symbol, shapes, sizes) for sizes in ranks), key=len)


def _contradictions(
    symbol: Symbol, shapes: Mapping[str, Shape], inputs: Mapping[str, Shape]
) -> list[str]:
    fitting: dict[str, Shape] = dict(inputs)
    contradictions: list[str] = []
    for name, shape in shapes.items():
        if _consistent(symbol, {**fitting, name: shape}):
            fitting[name] = shape
        else:
            contradictions.append(name)
    return contradictions


def _consistent(symbol: Symbol, shapes: Mapping[str, Shape]) -> bool:
    arguments = symbol.list_arguments()
    try:
        symbol.infer_shape_partial(**{n: s for n, s in shapes.items() if n in arguments})
    except MXNetError:
        return False
    return True


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
