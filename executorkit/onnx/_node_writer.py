"""Writing of the ONNX nodes of one operator: NodeWriter for translations, and their registry.

    @translates("relu")
    def _relu(w):
        return w.op("Relu", w.data)

A translation returns the names of the operator's outputs (one name, or a list); the last node that
it writes for an output takes over the operator's own name. An input that it returns unchanged
stands for the output without a node.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add, floordiv, mul, sub
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from ..errors import NotSupportedError
from ..jax_internals import in_x64
from ..lowering import GraphStep
from ..ops.schema.attrs import dtype_name
from ._correspondence import LAYERS
from ._draft import GraphDraft, Length, OnnxNode, Value
from ._free_dimensions import Origins
from ._library import TYPE_NUMBERS

#: An input of a node: a value of the graph, or the name of an intermediate one.
Operand = Value | str


def name_of(operand: Operand) -> str:
    return operand if isinstance(operand, str) else operand.name


_ON_NUMBERS = {"Add": add, "Sub": sub, "Mul": mul, "Div": floordiv}


class NodeWriter:
    """The operator to translate, and methods that write ONNX nodes.

    step
        the operator in its graph; ``writer["axis"]`` is one of its attributes, parsed.
    inputs, outputs
        its values, in its own order; hidden outputs last.
    origins
        ``origins(k)`` tells the free dimensions that the lengths of output k come from.
    sources
        the inputs of the whole graph, by name.
    """

    def __init__(
        self,
        draft: GraphDraft,
        step: GraphStep,
        name: str,
        inputs: Mapping[str, Value],
        outputs: Sequence[Value],
        origins: Callable[[int], Origins],
        sources: Mapping[str, Value],
    ) -> None:
        self.draft = draft
        self.step = step
        self.name = name
        self.named_inputs = inputs
        self.inputs = tuple(inputs.values())
        self.outputs = tuple(outputs)
        self.nodes: list[OnnxNode] = []
        self._origins = origins
        self._sources = sources

    @property
    def opset(self) -> int:
        """The version of ONNX's operators."""
        return self.draft.opset

    @property
    def data(self) -> Value:
        """The first input."""
        return self.inputs[0]

    @property
    def output(self) -> Value:
        """The first output."""
        return self.outputs[0]

    @property
    def operator(self) -> str:
        """The operator's first name."""
        return self.step.op.name

    def __getitem__(self, attr: str) -> Any:
        return self.step.params[attr]

    def refuse(self, reason: str) -> NoReturn:
        """Ends the translation: ONNX cannot express this node."""
        raise NotSupportedError(reason)

    # Nodes

    def op(self, op_type: str, *inputs: Operand, **attrs: object) -> str:
        """Writes a node with one output and returns its name. Attributes of None are left out."""
        (output,) = self.split_op(op_type, 1, *inputs, **attrs)
        return output

    def split_op(self, op_type: str, count: int, *inputs: Operand, **attrs: object) -> list[str]:
        """Writes a node with ``count`` outputs and returns their names."""
        stem = f"{self.name}_{op_type.lower()}"
        outputs = [self.draft.unique(stem) for _ in range(count)]
        kept = {name: value for name, value in attrs.items() if value is not None}
        names = [name_of(operand) for operand in inputs]
        while names and not names[-1]:
            names.pop()
        self.nodes.append(OnnxNode(op_type, outputs[0], names, outputs, kept))
        return outputs

    # Constants

    def array(self, array: object, name: str = "constant") -> str:
        """Returns a constant with the contents of an array."""
        return self.draft.constant(np.asarray(array), name)

    def ints(self, *values: int) -> str:
        """Returns a constant list of int64."""
        return self.array(np.array(values, np.int64), "shape")

    def scalar(self, value: object, dtype: str | None = None) -> str:
        """Returns a constant without axes, of the dtype of the first input if none is given."""
        return self.array(_numpy_array(value, dtype or self.data.dtype), "scalar")

    # Types

    def cast(self, operand: Operand, dtype: str) -> str:
        """Returns the operand in another element type."""
        if isinstance(operand, Value) and operand.dtype == dtype:
            return operand.name
        return self.op("Cast", operand, to=TYPE_NUMBERS[dtype_name(dtype)])

    def cast_from(self, operand: Operand, present: str, dtype: str) -> str:
        """Returns the operand, which is of type ``present``, as ``dtype``."""
        return name_of(operand) if present == dtype else self.cast(name_of(operand), dtype)

    def indices(self, operand: Value) -> str:
        """Returns the operand as int64, of whatever type it is."""
        return self.cast(operand, "int64")

    def nonzero(self, operand: Value) -> str:
        """Returns True where the operand is not 0."""
        return self.cast(operand, "bool")

    # Lengths of axes

    def lengths(self, value: Value) -> list[Length]:
        """Returns the lengths of a value's axes: numbers, or computed at run time."""
        return [self.length(value, axis) for axis in range(value.rank)]

    def length(self, value: Value, axis: int) -> Length:
        """Returns the length of one axis."""
        size = value.shape[axis]
        if size is not None:
            return size
        return self.op("Gather", self.op("Shape", value), self.ints(axis % value.rank), axis=0)

    def output_lengths(self, k: int = 0) -> list[Length]:
        """Returns an output's lengths, computed from the inputs' lengths where they vary."""
        lengths: list[Length] = []
        for size, origin in zip(self.outputs[k].shape, self._origins(k), strict=True):
            if size is not None:
                lengths.append(size)
                continue
            if origin is None:
                self.refuse("its shape varies with the inputs in a way that is not known")
            dimension, factor = origin
            source, axis = dimension.places[0]
            length = self.length(self._sources[source], axis)
            lengths.append(length if factor == 1 else self.length_op("Mul", length, factor))
        return lengths

    @in_x64
    def evaluate(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Returns the operator's outputs for arrays."""
        return [np.asarray(a) for a in self.step.op.apply(self.step.params, arrays)]

    def length_list(self, lengths: Sequence[Length]) -> str:
        """Returns lengths as one int64 list."""
        if all(isinstance(length, int) for length in lengths):
            return self.ints(*(int(length) for length in lengths))
        parts = [self.ints(n) if isinstance(n, int) else n for n in lengths]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def product(self, lengths: Sequence[Length]) -> Length:
        """Returns the product of lengths."""
        result: Length = math.prod(n for n in lengths if isinstance(n, int))
        for length in lengths:
            if isinstance(length, str):
                result = length if result == 1 else self.length_op("Mul", result, length)
        return result

    def length_op(self, op_type: str, left: Length, right: Length) -> Length:
        """Returns an operation on two lengths: of numbers at once, otherwise at run time."""
        if isinstance(left, int) and isinstance(right, int):
            return _ON_NUMBERS[op_type](left, right)
        return self.op(op_type, *[self.ints(n) if isinstance(n, int) else n for n in (left, right)])

    # Shapes

    def reshape(self, operand: Operand, lengths: Sequence[Length]) -> str:
        """Returns the operand in another shape, with one deduced length (-1 or computed)."""
        if len([i for i, n in enumerate(lengths) if isinstance(n, str)]) == 1 and -1 not in lengths:
            lengths = [-1 if isinstance(n, str) else n for n in lengths]
        return self.op("Reshape", operand, self.length_list(lengths))

    def transpose(self, operand: Operand, perm: Sequence[int]) -> str:
        """Returns the operand with its axes in another order."""
        if list(perm) == list(range(len(perm))):
            return name_of(operand)
        return self.op("Transpose", operand, perm=list(perm))

    def unsqueeze(self, operand: Operand, *axes: int) -> str:
        """Returns the operand with axes of length 1 at these positions of the result."""
        return self.op("Unsqueeze", operand, self.ints(*axes)) if axes else name_of(operand)

    def squeeze(self, operand: Operand, *axes: int) -> str:
        """Returns the operand without axes of length 1."""
        return self.op("Squeeze", operand, self.ints(*axes)) if axes else name_of(operand)

    def slice(
        self,
        operand: Operand,
        axes: Sequence[int],
        starts: Sequence[Length],
        ends: Sequence[Length],
        steps: Sequence[int] | None = None,
    ) -> str:
        """Returns entries ``starts:ends:steps`` of axes."""
        lists = [self.length_list(starts), self.length_list(ends), self.ints(*axes)]
        if steps is not None:
            lists.append(self.ints(*steps))
        return self.op("Slice", operand, *lists)

    def concat(self, operands: Sequence[Operand], axis: int) -> str:
        """Returns the operands joined along an axis."""
        if len(operands) == 1:
            return name_of(operands[0])
        return self.op("Concat", *operands, axis=axis)

    def pad(self, operand: Operand, pads: Sequence[int], value: str = "", mode: str = "constant"):
        """Returns the operand padded by ``pads``: all beginnings, then all ends."""
        if not any(pads):
            return name_of(operand)
        return self.op("Pad", operand, self.ints(*pads), value, mode=mode)

    def filled(self, lengths: Sequence[Length], value: object, dtype: str) -> str:
        """Returns an array of equal entries, a constant if its shape is fixed and small."""
        entry = _numpy_array(value, dtype)
        if all(isinstance(n, int) for n in lengths):
            shape = tuple(int(n) for n in lengths)
            if np.prod(shape, dtype=np.int64) <= 1 << 16:
                return self.array(np.full(shape, entry, entry.dtype), "filled")
        return self.op("ConstantOfShape", self.length_list(lengths), value=entry.reshape(1))

    # Arithmetic

    def reduce(self, kind: str, data: Operand, axes: Sequence[int], keepdims: bool = True) -> str:
        """Writes ``Reduce<kind>`` over axes."""
        if kind == "Sum" or self.opset >= 18:
            return self.op(f"Reduce{kind}", data, self.ints(*axes), keepdims=int(keepdims))
        return self.op(f"Reduce{kind}", data, axes=list(axes), keepdims=int(keepdims))

    def arange(self, length: Length) -> str:
        """Returns 0, 1, ..., ``length`` - 1 in int64."""
        if isinstance(length, int):
            return self.array(np.arange(length), "range")
        stop = self.squeeze(length, 0)
        return self.op("Range", self.array(np.int64(0)), stop, self.array(np.int64(1)))

    def split(self, operand: Operand, sizes: Sequence[int], axis: int) -> list[str]:
        """Returns the operand cut along an axis into parts of these lengths."""
        return self.split_op("Split", len(sizes), operand, self.ints(*sizes), axis=axis)


def _numpy_array(value: object, dtype: str) -> np.ndarray:
    # NumPy knows bfloat16 once JAX is imported.
    kind = np.dtype(dtype)
    if kind.kind in "iu" and isinstance(value, float) and np.isfinite(value):
        value = int(value)
    return np.asarray(value).astype(kind)


Translation = Callable[[NodeWriter], Operand | Sequence[Operand]]

_TRANSLATIONS: dict[str, Translation] = {}
READ_INPUTS: dict[str, tuple[str, ...]] = {}
#: Translations of all operators, by the operator's first name.
TRANSLATIONS: Mapping[str, Translation] = MappingProxyType(_TRANSLATIONS)


def translates(
    *operators: str, reads: Iterable[str] | None = None
) -> Callable[[Translation], Translation]:
    """Registers a translation for operators; ``reads`` are their inputs without labels."""

    def add(translation: Translation) -> Translation:
        for operator in operators:
            if operator in _TRANSLATIONS:
                raise ValueError(f"operator {operator!r} has a translation already")
            _TRANSLATIONS[operator] = translation
            if reads is not None:
                READ_INPUTS[operator] = tuple(reads)
        return translation

    return add


def same_layer(w: NodeWriter) -> str:
    op_type, layer = next(row for row in LAYERS.items() if row[1].operator == w.operator)
    attrs = {theirs: w[ours] for ours, (theirs, _) in layer.attrs.items()}
    return w.op(op_type, *w.inputs, **attrs)
