"""Coverage of a graph: for each operator, everything that is not served, before anything runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..display import text_table
from ..errors import AttributeValueError, MXNetError, UnknownOperatorError, listed, shorten
from ._document import RawNode, read_document
from ._upgrade import CoverageProblem, Status, resolve_node

#: Maximum number of nodes that a line of the report names.
_NAMES = 8
#: Maximum number of lines of the report that an error holds.
_ROWS = 100


#: A node of a file and its problems.
CheckedNode = tuple[RawNode, tuple[CoverageProblem, ...]]


@dataclass(frozen=True, slots=True)
class CoverageRow:
    operator: str
    status: Status
    nodes: tuple[str, ...]
    subject: str = ""

    def __str__(self) -> str:
        names = listed(map(shorten, self.nodes), _NAMES)
        subject = f" ({self.subject})" if self.subject else ""
        return f"{self.operator}: {self.status}{subject}: {names}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The report: for each operator its status, and reasons and nodes if it is not served."""

    rows: tuple[CoverageRow, ...]

    @property
    def missing(self) -> tuple[CoverageRow, ...]:
        """The rows of operators and attributes that are not served."""
        return tuple(row for row in self.rows if row.status != "served")

    @property
    def complete(self) -> bool:
        """True if everything is served."""
        return not self.missing

    def __str__(self) -> str:
        rows = []
        for row in self.rows:
            where = "" if row.status == "served" else str(row).partition(row.status)[2]
            rows.append((row.operator, str(len(row.nodes)), row.status, where.lstrip(": ")))
        return text_table(("operator", "nodes", "status", "where"), rows, right={1})

    def error(self) -> MXNetError:
        """Returns the exception that names everything that is not served."""
        absent = [row.operator for row in self.missing if row.status == "absent"]
        lines = listed(self.missing, _ROWS, "\n  ")
        text = f"this graph needs operators or attributes that are not served:\n  {lines}"
        if not absent:
            return AttributeValueError(text)
        kind, _, name = absent[0].rpartition(" ")
        register = "operator" if kind else "ops"
        what = "CustomOpProp" if kind else "function of jax.Arrays"
        hint = f"before loading, @mx.{register}.register({name!r}) on a {what}"
        return UnknownOperatorError(f"{text}\n  try: {hint}")


def report(checked: Iterable[CheckedNode]) -> Coverage:
    groups: dict[tuple[str, Status, str], list[str]] = {}
    for raw, problems in checked:
        if raw.is_variable:
            continue
        keys: list[tuple[str, Status, str]] = [(p.operator, p.status, p.subject) for p in problems]
        for key in keys or [(raw.op, "served", "")]:
            groups.setdefault(key, []).append(raw.name)
    items = groups.items()
    rows = (CoverageRow(op, status, tuple(ns), subject) for (op, status, subject), ns in items)
    return Coverage(tuple(sorted(rows, key=lambda row: (-len(row.nodes), row.operator))))


def coverage(text: str | bytes) -> Coverage:
    """Returns the coverage of a symbol's JSON text.

    >>> node = '{"op": "Nope", "name": "n", "inputs": []}'
    >>> print(coverage('{"nodes": [' + node + '], "arg_nodes": [], "heads": [[0, 0]]}'))
    operator  nodes  status  where --------  -----  ------  ----- Nope          1  absent  n
    """
    document = read_document(text)
    nodes = (node for node in document.all_nodes() if not node.is_variable)
    return report((raw, resolve_node(raw, document.version).problems) for raw in nodes)
