"""Stores what MXNet prints and draws of ``cases/_visualization.py``.

Runs under MXNet 1.9.1 with the package graphviz beside it, never under the project's environment:

    python tests/golden/make_visualization.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def main():
    import mxnet as mx
    from _store import save
    from cases import _visualization as cases

    pictures = {}
    for name, case in cases.PICTURES.items():
        graph, warned = cases.picture(mx, *case)
        pictures[name] = [graph.source, graph.format, warned]
    errors = {}
    for name, case in cases.ERRORS.items():
        try:
            cases.fail(mx, *case)
        except Exception as error:
            classes = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
            errors[name] = classes[0]
        else:
            raise SystemExit(f"{name} raises nothing")
    answers = {
        "tables": {name: cases.table(mx, *case) for name, case in cases.TABLES.items()},
        "pictures": pictures,
        "errors": errors,
    }
    path = save("visualization", {}, answers)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
