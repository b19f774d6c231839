"""Diagnosis of a checkpoint: its text, and the facts in it."""

import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..display import Line, Lines, View, Viewed, clipped, many, scaled, shape as shape_text, view_of
from ..errors import FileFormatError, check_names, listed
from ..lowering import Summary, graph_of, infer
from ..ndarray.params_file import ParamsHeaders
from ..symbol import Symbol, load_json
from ..symbol.symbol_json import OLDEST, read_source, stored_version
from ._input_shapes import (
    ImageSize,
    Shape,
    Shapes,
    deduce_inputs,
    example_shapes,
    known_shapes,
    label_names,
    required_names,
)
from ._parameter_check import NotFinite, ParameterCheck, check_parameters, not_finite, plain_name

#: Maximum number of names that a line mentions.
_NAMES = 5
#: Maximum number of arrays that are listed of a file looked at alone.
_ARRAYS = 40


@dataclass(frozen=True)
class Diagnosis(Viewed):
    """The facts about a checkpoint. Printed, it is a report.

    symbol_version
        the version of MXNet in the symbol's file: 10901 for 1.9.1, 800 before 0.9.
    params
        the headers of the parameter file.
    inputs, outputs
        shapes by name, labels too: 0 for a free or unknown size, None for an unknown shape.
    check
        the differences between parameters and symbol.
    not_finite
        numbers of NaN and infinities by key, of arrays that hold any.
    """

    symbol: Symbol | None = None
    symbol_path: str = ""
    symbol_version: int | None = None
    params: ParamsHeaders | None = None
    inputs: Mapping[str, Shape | None] = field(default_factory=dict)
    outputs: Mapping[str, Shape | None] = field(default_factory=dict)
    check: ParameterCheck = field(default_factory=ParameterCheck)
    not_finite: Mapping[str, NotFinite] = field(default_factory=dict)
    given_shapes: Shapes = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """True if the parameters fit the symbol, and all their elements are finite."""
        return self.check.fits and not self.not_finite

    @cached_property
    def summary(self) -> Summary | None:
        """Returns the layers, for one example; None without a symbol or fitting parameters."""
        if self.symbol is None or not self.check.fits:
            return None
        weights = self.parameter_shapes
        parameters = None
        if self.params is not None:
            names = {*self.symbol.list_arguments(), *self.symbol.list_auxiliary_states()}
            parameters = names & weights.keys()
        return Summary.of(self.symbol, {**weights, **self.example[0]}, parameters=parameters)

    @cached_property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Returns the stored shapes by variable name."""
        return {plain_name(a.name): a.shape for a in self.params or () if a.name is not None}

    @cached_property
    def example(self) -> tuple[dict[str, Shape], ImageSize]:
        """Returns shapes of the inputs for one example, and the size filled in for images."""
        if self.symbol is None:
            return {}, ImageSize(None)
        if self.params is None:
            return {**known_shapes(self.inputs), **self.given_shapes}, ImageSize(None)
        return example_shapes(self.symbol, self.parameter_shapes, self.inputs)

    def text(self, width: int | None = None, *, full: bool = False) -> str:
        """Returns the report in lines of ``width`` characters; ``full`` lists layers and names."""
        lines = [line for line in _lines(self, full) if line]
        if width is not None:
            lines = [part for line in lines for part in _wrapped(line, width)]
        table = self.summary.table(width, folded=not full) if self.summary is not None else ""
        return "\n".join([*lines, table] if table else lines)

    def __repr__(self) -> str:
        return self.text()


@view_of.register
def _(diagnosis: Diagnosis) -> View:
    lines = [Line(line, bad=line.startswith("  ")) for line in _lines(diagnosis, False) if line]
    table = [] if diagnosis.summary is None else [Lines(diagnosis.summary.table().split("\n"))]
    return View("Checkpoint", [*lines, *table])


def diagnose(
    symbol: str | os.PathLike[str] | None = None,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Diagnosis:
    """Reads a symbol file, a ``.params`` file or both, and compares them.

    ``shapes`` are shapes of inputs by name (0: any size). Arrays are searched for NaN in blocks,
    with little memory and no device. Raises the errors of ``mx.sym.load`` and ``mx.nd.load``, and
    ShapeError or ArgumentValueError for ``shapes`` that do not fit.
    """
    headers = None if params is None else ParamsHeaders(params)
    broken = {} if headers is None else not_finite(headers)
    if symbol is None:
        return Diagnosis(params=headers, not_finite=broken)
    text = read_source(symbol)
    network = load_json(text)
    sizes = {name: tuple(shape) for name, shape in (shapes or {}).items()}
    if headers is not None and any(array.name is None for array in headers):
        problem = "its arrays have no names, so they belong to no argument"
        raise FileFormatError(headers.path, problem)
    stored = {plain_name(a.name): a.shape for a in headers or () if a.name is not None}
    arguments, weights = network.list_arguments(), set(required_names(network))
    check_names("the shape of", sizes, arguments, [n for n in arguments if n not in weights])
    inputs = deduce_inputs(network, stored, sizes)
    check = ParameterCheck()
    if headers is not None:
        keys = [array.name for array in headers if array.name is not None]
        check = check_parameters(network, keys, stored, {**known_shapes(inputs), **sizes})
    if headers is not None and check.fits:
        check, inputs = _with_image_size(network, stored, inputs, check)
    return Diagnosis(
        symbol=network,
        symbol_path=os.fspath(symbol),
        symbol_version=stored_version(text),
        params=headers,
        inputs=inputs,
        outputs=_outputs(network, stored if check.fits else {}, inputs),
        check=check,
        not_finite=broken,
        given_shapes=sizes,
    )


def _with_image_size(
    symbol: Symbol, stored: Shapes, inputs: dict[str, Shape | None], check: ParameterCheck
) -> tuple[ParameterCheck, dict[str, Shape | None]]:
    example, image = example_shapes(symbol, stored, inputs)
    if image.conflict is not None:
        shape = stored[image.conflict]
        expected = (shape[0],) + (0,) * len(shape[1:])
        return replace(check, misshaped={image.conflict: (shape, expected)}), inputs
    if not image.determined:
        return check, inputs
    sizes = {
        name: (shape[0], *example[name][1:])
        for name, shape in inputs.items()
        if shape and name in example
    }
    return check, deduce_inputs(symbol, stored, sizes)


def _outputs(
    symbol: Symbol, weights: Shapes, inputs: Mapping[str, Shape | None]
) -> dict[str, Shape | None]:
    result = infer(graph_of(symbol.heads), {**weights, **known_shapes(inputs)})
    return dict(zip(symbol.list_outputs(), result.out_shapes, strict=True))


# The report


def _lines(diagnosis: Diagnosis, full: bool) -> Iterator[str]:
    symbol, params = diagnosis.symbol, diagnosis.params
    if symbol is not None:
        steps = len(graph_of(symbol.heads).steps)
        writer = version_name(diagnosis.symbol_version or 0)
        yield f"{diagnosis.symbol_path}: {many(steps, 'operator')}, written by {writer}"
    if params is not None:
        yield f"{params.path}: {_contents(params)}, written by {params.writer}"
        if symbol is not None and diagnosis.check.fits:
            yield "the parameters fit the symbol"
        yield from _problems(diagnosis, None if full else _NAMES)
    if symbol is None:
        yield from _arrays(diagnosis, full)
        return
    limit = None if full else _NAMES
    if diagnosis.inputs:
        labels = set(label_names(symbol))
        words = [
            f"{name} {size_text(shape)}{' (label)' * (name in labels)}"
            for name, shape in diagnosis.inputs.items()
        ]
        yield f"inputs: {_names(words, limit)}"
    words = [f"{name} {size_text(shape)}" for name, shape in diagnosis.outputs.items()]
    yield f"outputs: {_names(words, limit)}"
    yield from _sums(diagnosis, limit)


def version_name(number: int) -> str:
    """Returns a version of MXNet from the number in a symbol file."""
    if number <= OLDEST:
        return "MXNet before 0.9"
    return f"MXNet {number // 10000}.{number // 100 % 100}.{number % 100}"


def size_text(shape: Shape | None) -> str:
    """Returns a shape in words: ``N`` for the batch, ``?`` for a free or unknown size."""
    if not shape:
        return "?" if shape is None else "()"
    words = [str(shape[0] or "N"), *(str(size or "?") for size in shape[1:])]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def _contents(params: ParamsHeaders) -> str:
    dtypes = Counter(array.dtype.name for array in params)
    words = next(iter(dtypes), "") if len(dtypes) == 1 else ", ".join(
        f"{count} {dtype}" for dtype, count in dtypes.most_common()
    )  # fmt: skip
    size = scaled(params.nbytes, "B", 1024)
    return ", ".join(word for word in (many(len(params), "array"), words, size) if word)


def _problems(diagnosis: Diagnosis, limit: int | None) -> Iterator[str]:
    check = diagnosis.check
    if not check.fits:
        yield "the parameters do not fit the symbol:"
    shapes = [
        f"{name} {shape_text(stored)}, expected {size_text(expected)}"
        for name, (stored, expected) in check.misshaped.items()
    ]
    for problem, names, separator in (
        ("missing", check.missing, ", "),
        ("not in the symbol", check.extra, ", "),
        ("of another shape", shapes, "; "),
        ("stored as arg: instead of aux:, or the reverse", check.misplaced, ", "),
        ("stored twice, the last one counts", check.repeated, ", "),
    ):
        if names:
            yield f"  {problem} ({len(names)}): {_names(names, limit, separator)}"
    words = [
        ", ".join(
            f"{count:,} {noun}"
            for count, noun in ((broken.nans, "NaN"), (broken.infinities, "infinite"))
            if count
        )
        + f" in {name}"
        for name, broken in diagnosis.not_finite.items()
    ]
    if words:
        yield f"  not finite ({len(words)}): {_names(words, limit, '; ')}"


def _arrays(diagnosis: Diagnosis, full: bool) -> Iterator[str]:
    arrays = list(diagnosis.params or ())
    hidden = len(arrays) - _ARRAYS if not full and len(arrays) > _ARRAYS else 0
    for number, array in enumerate(arrays[: len(arrays) - hidden]):
        name = array.name if array.name is not None else f"array {number}"
        yield f"  {name} {shape_text(array.shape)} {array.dtype.name}"
    if hidden:
        yield f"  ... {hidden} more"


def _sums(diagnosis: Diagnosis, limit: int | None) -> Iterator[str]:
    summary = diagnosis.summary
    if summary is None:
        return
    states = f" and {summary.auxiliary:,} in auxiliary states" if summary.auxiliary else ""
    if not summary.unknown:
        size = scaled(summary.parameter_bytes, "B", 1024)
        yield f"parameters: {summary.parameters:,}{states}, {size}"
    example, image = diagnosis.example
    labels = [] if diagnosis.symbol is None else label_names(diagnosis.symbol)
    computed = [
        f"{name}={','.join(map(str, shape))}"
        for name, shape in example.items()
        if name not in labels and 0 not in shape
    ]
    unknown = [name for name in diagnosis.inputs if name in set(summary.unknown) - set(labels)]
    if unknown:
        yield (
            f"sizes that are not known: {_names(unknown, limit)}; give the inputs' sizes, such "
            f"as --shape {_suggested(diagnosis)}"
        )
    elif computed:
        is_assumed = image.size is not None and not image.determined
        why = ", an assumption: other sizes fit too (--shape)" if is_assumed else ""
        yield f"table for {_names(computed, limit)}{why}"


def _suggested(diagnosis: Diagnosis) -> str:
    for name, shape in diagnosis.inputs.items():
        if shape is None or 0 in shape:
            sizes = shape or (0,) * 4
            usual = {4: (1, 3, 224, 224)}.get(len(sizes), (1,) + (100,) * (len(sizes) - 1))
            return f"{name}=" + ",".join(str(a or b) for a, b in zip(sizes, usual, strict=True))
    return "data=1,3,224,224"


def _names(names: Sequence[str], limit: int | None, separator: str = ", ") -> str:
    return listed((clipped(name, 80) for name in names), limit, separator)


def _wrapped(line: str, width: int) -> list[str]:
    indent = "    " if line.startswith("  ") else "  "
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    )  # fmt: skip
