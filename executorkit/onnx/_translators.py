"""Registry of translations: for each operator a function that writes its ONNX nodes.

    @translates("relu")
    def _relu(w):
        return w.op("Relu", w.data)

A translation returns the names of the operator's outputs (one name, or a list); the last node that
it writes for an output takes over the operator's own name. An input that it returns unchanged
stands for the output without a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from ._correspondence import LAYERS
from ._node_writer import NodeWriter, Operand

Translation = Callable[[NodeWriter], Operand | Sequence[Operand]]

_TRANSLATIONS: dict[str, Translation] = {}
_READ_INPUTS: dict[str, tuple[str, ...]] = {}
#: Translations of all operators, by the operator's first name.
TRANSLATIONS: Mapping[str, Translation] = MappingProxyType(_TRANSLATIONS)


def translates(
    *operators: str, reads: Iterable[str] | None = None
) -> Callable[[Translation], Translation]:
    """Registers a translation for operators.

    reads
        names of the inputs that inference needs, where others (labels) fall away.
    """

    def add(translation: Translation) -> Translation:
        for operator in operators:
            if operator in _TRANSLATIONS:
                raise ValueError(f"operator {operator!r} has a translation already")
            _TRANSLATIONS[operator] = translation
            if reads is not None:
                _READ_INPUTS[operator] = tuple(reads)
        return translation

    return add


def same_layer(w: NodeWriter) -> str:
    """The translation of a layer that ONNX has with the same inputs."""
    op_type, layer = next(row for row in LAYERS.items() if row[1].operator == w.operator)
    attrs = {theirs: w[ours] for ours, (theirs, _) in layer.attrs.items()}
    return w.op(op_type, *w.inputs, **attrs)


def inputs_read(operator: str, names: Sequence[str]) -> Sequence[str]:
    """The names of the inputs, among ``names``, that the translation of an operator reads."""
    return _READ_INPUTS.get(operator, names)
