"""Stores what MXNet makes of the scripts in ``cases/_graphs.py``: run it under MXNet 1.9.1.

python tests/golden/make_symbol.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def facts(symbol):
    """Every text that a symbol gives about itself."""
    return {
        "repr": repr(symbol),
        "arguments": symbol.list_arguments(),
        "states": symbol.list_auxiliary_states(),
        "inputs": symbol.list_inputs(),
        "outputs": symbol.list_outputs(),
        "internals": symbol.get_internals().list_outputs(),
        "attributes": symbol.attr_dict(),
        "json": symbol.tojson(),
        "debug": symbol.debug_str(),
    }


def error_of(function, mx):
    try:
        function(mx)
    except Exception as error:
        return type(error).__name__
    raise SystemExit(f"{function} raises nothing")


def main():
    import mxnet as mx
    from cases import _graphs

    answers = {"graphs": {}, "documents": {}, "values": {}, "errors": {}}
    for name, function in _graphs.GRAPHS.items():
        with mx.name.NameManager():
            answers["graphs"][name] = facts(function(mx))
    for name, text in _graphs.DOCUMENTS.items():
        answers["documents"][name] = facts(mx.sym.load_json(text))
    for name, function in _graphs.VALUES.items():
        with mx.name.NameManager():
            answers["values"][name] = function(mx)
    for name, function in _graphs.ERRORS.items():
        answers["errors"][name] = error_of(function, mx)
    text = json.dumps(answers, indent=0, sort_keys=True, ensure_ascii=False)
    (HERE / "data" / "symbol.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
