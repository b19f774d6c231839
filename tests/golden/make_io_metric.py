"""Stores what MXNet makes of ``cases/_io.py``, ``_metric.py`` and ``_monitor.py``.

Runs under MXNet 1.9.1 (see ``make.py``), never under the project's environment:

    python tests/golden/make_io_metric.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def error_of(function, mx, folder):
    try:
        function(mx, folder)
    except Exception as error:
        return type(error).__name__
    raise SystemExit(f"{function} raises nothing")


def main():
    import mxnet as mx
    from cases import _io, _metric, _monitor

    for name, cases in (("io", _io), ("metric", _metric), ("monitor", _monitor)):
        answers = {"values": {}, "errors": {}}
        for key, function in cases.VALUES.items():
            with tempfile.TemporaryDirectory() as folder:
                answers["values"][key] = function(mx, Path(folder))
        for key, function in cases.ERRORS.items():
            with tempfile.TemporaryDirectory() as folder:
                answers["errors"][key] = error_of(function, mx, Path(folder))
        text = json.dumps(answers, separators=(",", ":"), sort_keys=True)
        (HERE / "data" / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
