"""Stores what MXNet makes of ``cases/_initializer.py``.

Runs under MXNet 1.9.1 (see ``make.py``), never under the project's environment:

    python tests/golden/make_initializers.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def error_of(function, mx):
    try:
        function(mx)
    except Exception as error:
        return type(error).__name__
    raise SystemExit(f"{function} raises nothing")


def moments_of(make, shape, mx, cases):
    array = mx.nd.zeros(shape)
    make(mx.init)(mx.init.InitDesc("fc_weight"), array)
    return cases.moments(array.asnumpy())


def main():
    import mxnet as mx
    from cases import _initializer as cases

    mx.random.seed(5)
    answers = {
        "values": {name: function(mx) for name, function in cases.VALUES.items()},
        "errors": {name: error_of(function, mx) for name, function in cases.ERRORS.items()},
        "spreads": {name: moments_of(*case, mx, cases) for name, case in cases.SPREADS.items()},
    }
    text = json.dumps(answers, separators=(",", ":"), sort_keys=True)
    path = HERE / "data" / "initializer.json"
    path.write_text(text.replace(',"', ',\n"') + "\n")


if __name__ == "__main__":
    main()
