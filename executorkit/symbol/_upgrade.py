"""A file's node brought up to MXNet 1.9.1: its operator looked up, its attributes read.

Early releases had other names or meanings for some attributes, and annotated inputs through the
node that reads them. Everything that is not served is collected as problems.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..errors import AttributeValueError, UnknownOperatorError, shorten
from ..ops.schema.inference import Params
from ..ops.schema.operator_modules import unsupported_reason
from ..ops.schema.operator_registry import OpDef, lookup
from ._compose import operator_attrs
from ._document import RawNode
from .node import HIDDEN_KEYS

Status = Literal["served", "attribute not served", "absent"]

#: Attributes that only steer speed or memory; some release or fork wrote them, no result depends
#: on them, so they are dropped if the operator does not have them.
_SPEED_ONLY = ("workspace", "cudnn_", "mkldnn_", "onednn_")
#: Attributes that say how many inputs or outputs a node has.
_COUNTS = ("num_args", "num_outputs", "num_weights", "num_arrays", "num_tensors", "sections")
#: Maximum number of outputs of a node, and of inputs beyond the listed ones.
MAX_COUNT = 1 << 16
#: Before 0.9.5, this axis meant all axes; later files say so by leaving it out.
_ALL_AXES = ("axis", "-1")


@dataclass(frozen=True, slots=True)
class CoverageProblem:
    operator: str
    node: str
    attribute: str | None = None
    text: str | None = None
    reason: str = ""

    @property
    def status(self) -> Status:
        return "absent" if self.attribute is None else "attribute not served"

    @property
    def subject(self) -> str:
        if self.attribute is None:
            return self.reason
        setting = "" if self.text is None else f"={shorten(self.text)!r}"
        return f"{self.attribute}{setting}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ResolvedNode:
    """A file's node with operator and attributes, or problems. ``input_attrs`` are attributes of
    its variables (``weight_lr_mult``), by input name."""

    op: OpDef | None
    attrs: dict[str, str]
    params: Params | None
    input_attrs: dict[str, dict[str, str]]
    problems: tuple[CoverageProblem, ...]


def resolve_node(raw: RawNode, version: int) -> ResolvedNode:
    op = lookup(raw.op)
    if op is None:
        problem = CoverageProblem(raw.op, raw.name, reason=unsupported_reason(raw.op) or "")
        return ResolvedNode(None, raw.attrs, None, {}, (problem,))
    attrs: dict[str, str] = {}
    input_attrs: dict[str, dict[str, str]] = {}
    for written, text in raw.attrs.items():
        key = op.file_format.former_attrs.get(written, written)
        if key != written and key in raw.attrs:
            continue
        owner, hidden = _owner(key)
        if owner in op.array_names and key not in op.attrs and op.attrs and not op.open_attrs:
            input_attrs.setdefault(owner, {})[hidden] = text
        elif not (version < 905 and op.name in ("argmax", "argmin") and (key, text) == _ALL_AXES):
            attrs[key] = text
    strict = operator_attrs(op, attrs)
    for key in strict:
        if key not in op.attrs and not op.open_attrs and key.startswith(_SPEED_ONLY):
            del attrs[key]
    strict = {key: text for key, text in strict.items() if key in attrs}
    try:
        params = op.parse(strict)
        counts = {key: params.get(key) for key in _COUNTS}
        most = len(raw.inputs) + MAX_COUNT
        excess = next((k for k, n in counts.items() if isinstance(n, int) and n > most), None)
        if excess is not None:
            reason = f"more than {MAX_COUNT} inputs or outputs"
            problem = CoverageProblem(op.name, raw.name, excess, str(params[excess]), reason)
            return ResolvedNode(op, attrs, None, input_attrs, (problem,))
        op.inputs(params)
    except UnknownOperatorError:  # a user's own operator, by the name it was to be registered under
        problem = CoverageProblem(f"{op.name} {strict.get('op_type')}", raw.name)
        return ResolvedNode(op, attrs, None, input_attrs, (problem,))
    except AttributeValueError:
        return ResolvedNode(op, attrs, None, input_attrs, tuple(_problems(op, raw.name, strict)))
    return ResolvedNode(op, attrs, params, input_attrs, ())


def _owner(key: str) -> tuple[str, str]:
    for hidden in HIDDEN_KEYS:
        if key.endswith(f"_{hidden}"):
            return key.removesuffix(f"_{hidden}"), f"__{hidden}__"
    return "", key


def _problems(op: OpDef, node: str, attrs: dict[str, str]) -> Iterator[CoverageProblem]:
    for key, text in attrs.items():
        attr = op.attrs.get(key)
        if attr is None:
            if op.attrs and not op.open_attrs:
                yield CoverageProblem(op.name, node, key, text, "unknown attribute")
            continue
        try:
            attr.read(op.name, text)
        except AttributeValueError:
            yield CoverageProblem(op.name, node, key, text, f"expected {attr.accepts}")
    for attr in op.attrs.values():
        if attr.required and not attr.tuning and attr.name not in attrs:
            reason = f"missing, expected {attr.accepts}"
            yield CoverageProblem(op.name, node, attr.name, None, reason)
