"""What of a graph is served: per operator, all that is missing at once, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..display._parts import text_table
from ..errors import AttributeValueError, MXNetError, UnknownOperatorError
from ..ops import OpDef, Params, lookup
from ..ops.schema.unsupported import unsupported_reason
from ._compose import operator_attrs
from ._document import RawNode, read_document
from .node import HIDDEN_KEYS

Status = Literal["served", "attribute not served", "absent"]

#: Attributes that only steer speed or memory; some release or fork wrote them, no result depends
#: on them, so they are dropped where the operator does not have them.
_SPEED_ONLY = ("workspace", "cudnn_", "mkldnn_", "onednn_")
#: Of how many nodes a line of the report gives the names.
_NAMES = 8


@dataclass(frozen=True, slots=True)
class CoverageProblem:
    """Why one node cannot be served: its operator is absent, or an attribute is not understood."""

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
        given = f"{self.attribute}={self.text!r}" if self.text is not None else self.attribute
        return f"{given}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ResolvedNode:
    """A file's node with its operator and attributes, or the problems that stand against it.

    ``input_attrs`` are attributes that belong to the variables it reads, by input name:
    ``weight_lr_mult``.
    """

    op: OpDef | None
    attrs: dict[str, str]
    params: Params | None
    input_attrs: dict[str, dict[str, str]]
    problems: tuple[CoverageProblem, ...]


def resolve(raw: RawNode, version: int) -> ResolvedNode:
    """Looks up the operator of a file's node and reads its attributes."""
    op = lookup(raw.op)
    if op is None:
        problem = CoverageProblem(raw.op, raw.name, reason=unsupported_reason(raw.op) or "")
        return ResolvedNode(None, raw.attrs, None, {}, (problem,))
    attrs: dict[str, str] = {}
    input_attrs: dict[str, dict[str, str]] = {}
    for written, text in raw.attrs.items():
        key = _FORMER_NAMES.get((op.name, written), written)
        if key != written and key in raw.attrs:
            continue
        owner, hidden = _owner(key)
        if owner in op.array_names and key not in op.attrs and op.attrs and not op.open_attrs:
            input_attrs.setdefault(owner, {})[hidden] = text
        elif not (version < 905 and op.name in ("argmax", "argmin") and (key, text) == _LAST):
            attrs[key] = text
    strict = operator_attrs(op, attrs)
    for key in strict:
        if key not in op.attrs and not op.open_attrs and key.startswith(_SPEED_ONLY):
            del attrs[key]
    strict = {key: text for key, text in strict.items() if key in attrs}
    try:
        params = op.parse(strict)
        op.inputs(params)
    except UnknownOperatorError:  # a user's own operator, by the name it was to be registered under
        problem = CoverageProblem(f"{op.name} {strict.get('op_type')}", raw.name)
        return ResolvedNode(op, attrs, None, input_attrs, (problem,))
    except AttributeValueError:
        return ResolvedNode(op, attrs, None, input_attrs, tuple(_problems(op, raw.name, strict)))
    return ResolvedNode(op, attrs, params, input_attrs, ())


#: Attributes that early releases knew under another name.
_FORMER_NAMES = {("SoftmaxActivation", "type"): "mode"}
#: Before 0.9.5, this axis meant all axes, which is now said by saying nothing.
_LAST = ("axis", "-1")


def _owner(key: str) -> tuple[str, str]:
    """``weight_lr_mult`` as ("weight", "__lr_mult__"): an annotation of the input ``weight``."""
    for hidden in HIDDEN_KEYS:
        if key.endswith(f"_{hidden}"):
            return key.removesuffix(f"_{hidden}"), f"__{hidden}__"
    return "", key


def _problems(op: OpDef, node: str, attrs: dict[str, str]) -> Iterable[CoverageProblem]:
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
            yield CoverageProblem(
                op.name, node, attr.name, None, f"missing, expected {attr.accepts}"
            )


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One line of the report: an operator, or one thing about it that is not served."""

    operator: str
    status: Status
    nodes: tuple[str, ...]
    subject: str = ""

    def __str__(self) -> str:
        more = len(self.nodes) - _NAMES
        names = ", ".join(self.nodes[:_NAMES]) + (f" and {more} more" if more > 0 else "")
        about = f" ({self.subject})" if self.subject else ""
        return f"{self.operator}: {self.status}{about}: {names}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The report: per operator, whether it is served, and if not, what and where."""

    rows: tuple[CoverageRow, ...]

    @property
    def missing(self) -> tuple[CoverageRow, ...]:
        """The rows about what is not served."""
        return tuple(row for row in self.rows if row.status != "served")

    @property
    def complete(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        rows = []
        for row in self.rows:
            where = "" if row.status == "served" else str(row).partition(f"{row.status}")[2]
            rows.append((row.operator, str(len(row.nodes)), row.status, where.lstrip(": ")))
        return text_table(("operator", "nodes", "status", "where"), rows, right={1})

    def error(self) -> MXNetError:
        """The exception that names everything that is not served."""
        absent = [row.operator for row in self.missing if row.status == "absent"]
        lines = "\n  ".join(str(row) for row in self.missing)
        text = f"this graph needs what is not served:\n  {lines}"
        if not absent:
            return AttributeValueError(text)
        kind, _, name = absent[0].rpartition(" ")
        register = "operator" if kind else "ops"
        what = "CustomOpProp" if kind else "function of jax.Arrays"
        hint = f"before loading, @mx.{register}.register({name!r}) on a {what}"
        return UnknownOperatorError(f"{text}\n  try: {hint}")


def report(checked: Iterable[tuple[RawNode, tuple[CoverageProblem, ...]]]) -> Coverage:
    """The report on nodes and their problems, most frequent operators first."""
    groups: dict[tuple[str, Status, str], list[str]] = {}
    for raw, problems in checked:
        if raw.is_variable:
            continue
        keys: list[tuple[str, Status, str]] = [(p.operator, p.status, p.subject) for p in problems]
        for key in keys or [(raw.op, "served", "")]:
            groups.setdefault(key, []).append(raw.name)
    rows = (
        CoverageRow(op, status, tuple(nodes), what) for (op, status, what), nodes in groups.items()
    )
    return Coverage(tuple(sorted(rows, key=lambda row: (-len(row.nodes), row.operator))))


def coverage(text: str | bytes) -> Coverage:
    """What of a symbol's JSON text is served.

    >>> node = '{"op": "Nope", "name": "n", "inputs": []}'
    >>> print(coverage('{"nodes": [' + node + '], "arg_nodes": [], "heads": [[0, 0]]}'))
    operator  nodes  status  where
    --------  -----  ------  -----
    Nope          1  absent  n
    """
    document = read_document(text)
    nodes = (node for node in document.all_nodes() if not node.is_variable)
    return report((raw, resolve(raw, document.version).problems) for raw in nodes)
