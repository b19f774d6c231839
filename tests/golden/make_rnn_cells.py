"""Stores what MXNet makes of ``cases/_rnn_cells.py``.

Runs under MXNet 1.9.1 (see ``make.py``), never under the project's environment:

    python tests/golden/make_rnn_cells.py
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def call(function, mx):
    """A script's answer; those that write files take a folder too."""
    with mx.name.NameManager(), tempfile.TemporaryDirectory() as folder:
        wants_folder = "folder" in inspect.signature(function).parameters
        return function(mx, Path(folder)) if wants_folder else function(mx)


def facts(symbol):
    """The graph as data: the version of MXNet in it is of no interest."""
    graph = json.loads(symbol.tojson())
    del graph["attrs"]
    return {"graph": graph, "outputs": symbol.list_outputs(), "arguments": symbol.list_arguments()}


def error_of(function, mx):
    try:
        call(function, mx)
    except Exception as error:
        return type(error).__name__
    raise SystemExit(f"{function} raises nothing")


def main():
    import mxnet as mx
    from _store import save
    from cases import _rnn_cells as cases

    arrays, graphs = {}, {}
    for name, function in cases.GRAPHS.items():
        symbol, shapes = call(function, mx)
        graphs[name] = facts(symbol)
        results = cases.results(mx, symbol, shapes) if name in cases.RUN else {}
        arrays.update((f"{name}|{key}", value) for key, value in results.items())
    answers = {
        "graphs": graphs,
        "values": {name: call(function, mx) for name, function in cases.VALUES.items()},
        "errors": {name: error_of(function, mx) for name, function in cases.ERRORS.items()},
    }
    path = save("rnn_cells", arrays, answers)
    print(path, path.stat().st_size, len(graphs))


if __name__ == "__main__":
    main()
