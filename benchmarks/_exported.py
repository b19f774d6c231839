"""A network for other libraries: its operators in order, its parameters as NumPy arrays.

``export`` writes it with executorkit; workers that have neither executorkit nor JAX read it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._networks import Network

Entry = tuple[int, int]


@dataclass(frozen=True)
class Call:
    """One operator: ``inputs`` are (node number, output number)."""

    number: int
    op: str
    name: str
    inputs: tuple[Entry, ...]
    attrs: dict[str, str]

    def __getitem__(self, name: str) -> Any:
        """An attribute as a Python value."""
        return self.get(name)

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.attrs:
            return default
        try:
            return ast.literal_eval(self.attrs[name])
        except (ValueError, SyntaxError):
            return self.attrs[name]


def export(mx: Any, net: Network, folder: Path) -> Path:
    """Writes the symbol and the shapes of its variables."""
    symbol = net.build(mx)
    arguments, _, states = symbol.infer_shape(**net.shapes)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    shapes = dict(zip(names, [*arguments, *states], strict=True))
    path = folder / "network.json"
    path.write_text(json.dumps({"symbol": json.loads(symbol.tojson()), "shapes": shapes}))
    return path


class Exported:
    """A network that ``export`` has written.

    variables
        the name of each variable, by the number of its node.
    head
        the first output.
    """

    def __init__(self, path: str, net: Network) -> None:
        document = json.loads(Path(path).read_text())
        self.nodes = document["symbol"]["nodes"]
        self.head: Entry = tuple(document["symbol"]["heads"][0][:2])  # type: ignore[assignment]
        self.variables = {i: n["name"] for i, n in enumerate(self.nodes) if n["op"] == "null"}
        self.values = {
            n: net.value(n, tuple(document["shapes"][n])).astype(np.float32)
            for n in self.variables.values()
        }
        self.inputs = set(net.shapes)

    def calls(self) -> Iterator[Call]:
        """The operators in an order in which inputs come first."""
        for i, node in enumerate(self.nodes):
            if node["op"] != "null":
                inputs = tuple((a, b) for a, b, *_ in node["inputs"])
                yield Call(i, node["op"], node["name"], inputs, node.get("attrs", {}))
