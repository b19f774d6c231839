"""The language of the scripts of mixed precision: that of autograd, graphs as texts, types.

``amp.init`` is for the rest of a process: under MXNet every script has a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .._scripts import Scripts
from ..autograd_scripts import _facts as autograd_facts
from ..autograd_scripts._facts import attempt, attempts

__all__ = ["SCRIPTS", "attempt", "attempts", "graph", "low", "run", "script", "type_of"]

SCRIPTS = script = Scripts()
_ROOT = Path(__file__).parents[3]
_ALONE = """
import json, sys, mxnet, mxnet.contrib.amp
from tests.golden.amp_scripts import _facts
print(json.dumps(_facts.observe(sys.argv[1], mxnet)))
"""


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    if mx.__name__ != "mxnet":
        return observe(name, mx)
    command = [sys.executable, "-c", _ALONE, name]
    answer = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def observe(name: str, mx: Any) -> Any:
    """Observations of a script run in this process."""
    return autograd_facts.observe(SCRIPTS[name], mx)


def low(mx: Any) -> Any:
    """bfloat16 as functions on arrays take it; MXNet has a name of its own for it."""
    return mx.contrib.amp.amp.bfloat16 if mx.__name__ == "mxnet" else "bfloat16"


def type_of(array: Any) -> str:
    """The name of an array's type."""
    name = getattr(array.dtype, "__name__", str(array.dtype))
    return "bfloat16" if "bfloat16" in name else name


def graph(symbol: Any) -> list[str]:
    """A line for each node of a symbol, casts too, and one for its heads."""
    parts = json.loads(symbol.tojson(remove_amp_cast=False))
    lines = []
    for node in parts["nodes"]:
        inputs = " ".join(f"{source}:{index}" for source, index, *_ in node["inputs"])
        attrs = " ".join(f"{k}={v}" for k, v in sorted(node.get("attrs", {}).items()))
        lines.append(f"{node['op']} {node['name']} ({inputs}) {attrs}".strip())
    return [*lines, " ".join(f"{head[0]}:{head[1]}" for head in parts["heads"])]
