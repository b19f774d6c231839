"""The language of the Gluon scripts: that of autograd, and blocks, files and warnings."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from .._scripts import Scripts
from ..autograd_scripts import _facts as autograd_facts
from ..autograd_scripts._facts import attempt, attempts, leaf, recorded
from ..executor_scripts._facts import numbers

__all__ = [
    "SCRIPTS", "attempt", "attempts", "contents", "digest", "fill", "folder", "graph", "leaf",
    "numbers", "parameters", "recorded", "run", "script", "warned",
]  # fmt: skip

SCRIPTS = script = Scripts()


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``; blocks are numbered from 0."""
    return autograd_facts.observe(SCRIPTS[name], mx)


def fill(block: Any) -> Any:
    """Gives every parameter of a block, or of a ``ParameterDict``, small numbers that depend on its
    place and are positive in ``gamma`` and variances; returns it. Unknown shapes stay unknown."""
    held = block.collect_params() if hasattr(block, "collect_params") else block
    for place, (name, parameter) in enumerate(held.items()):
        if parameter.shape is None or 0 in parameter.shape:
            continue
        values = numbers(f"{place} {name.rpartition('_')[2]}", parameter.shape) * 0.5
        if name.endswith(("gamma", "running_var")):
            values = abs(values) + 0.5
        parameter.set_data(values if parameter.dtype is None else values.astype(parameter.dtype))
    return block


def parameters(block: Any) -> dict[str, Any]:
    """Shapes of the parameters of a block, or of a ``ParameterDict``, by name, in order."""
    held = block.collect_params() if hasattr(block, "collect_params") else block
    return {name: parameter.shape for name, parameter in held.items()}


def graph(symbol: Any) -> list[Any]:
    """Nodes of a symbol in order: operator, name, inputs as [node, output], attributes. The address
    at the end of a constant's initializer is left out."""
    nodes = json.loads(re.sub(r"(\"Constant_\w+)_\d{6,}", r"\1", symbol.tojson()))["nodes"]
    return [
        [node["op"], node["name"], [i[:2] for i in node["inputs"]], node.get("attrs", {})]
        for node in nodes
    ]


@contextmanager
def folder() -> Iterator[Path]:
    """A working directory that is gone afterwards, so that messages name files alone."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        yield Path()


def digest(path: Any) -> str:
    """A hash of a file's bytes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def contents(mx: Any, path: Any) -> Any:
    """Names, dtypes and shapes of the arrays of a ``.params`` file, in order."""
    arrays = mx.nd.load(str(path))
    return {n: [a.dtype, a.shape] for n, a in arrays.items()} if arrays else arrays


def warned(mx: Any, action: Callable[[], Any]) -> Any:
    """The result or exception of an action, and the classes of the warnings that users see."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(mx, action)
    kinds = [w.category.__name__ for w in caught]
    return {"result": result, "warns": [k for k in kinds if k != "DeprecationWarning"]}
