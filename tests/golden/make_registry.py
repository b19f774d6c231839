"""Asks the real MXNet 1.9.1 for the names of all operators that it registers.

    python tests/golden/make_registry.py

Runs under MXNet's environment, as ``make.py``. Writes ``data/registry.json``: the operators in
alphabetical order of their canonical names, each with its aliases.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import mxnet as mx

PATH = Path(__file__).parent / "data" / "registry.json"


def registry() -> dict[str, list[str]]:
    """Aliases by canonical name."""
    base = mx.base
    canonical: dict[int, str] = {}
    count, handles = base.mx_uint(), ctypes.POINTER(ctypes.c_void_p)()
    base.check_call(
        base._LIB.MXSymbolListAtomicSymbolCreators(ctypes.byref(count), ctypes.byref(handles))
    )
    for handle in handles[: count.value]:
        name = ctypes.c_char_p()
        base.check_call(
            base._LIB.MXSymbolGetAtomicSymbolName(ctypes.c_void_p(handle), ctypes.byref(name))
        )
        canonical[handle] = base.py_str(name.value)
    aliases: dict[str, list[str]] = {name: [] for name in sorted(canonical.values())}
    for name in sorted(mx.operator.get_all_registered_operators()):
        handle = ctypes.c_void_p()
        base.check_call(base._LIB.NNGetOpHandle(base.c_str(name), ctypes.byref(handle)))
        if name != canonical[handle.value]:
            aliases[canonical[handle.value]].append(name)
    return aliases


def main() -> None:
    found = registry()
    lines = (f"{json.dumps(name)}: {json.dumps(others)}" for name, others in found.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(found)} operators, {sum(map(len, found.values()))} aliases")


if __name__ == "__main__":
    main()
