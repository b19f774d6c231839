"""Asks the real MXNet 1.9.1 for the names of all operators that it registers and their arguments.

    python tests/golden/make_registry.py

Runs under MXNet's environment, as ``make.py``. Writes ``data/registry.json``: the operators in
alphabetical order of their canonical names, each with its aliases; and ``data/arguments.json``:
for each, the types of its arguments, in their order, as MXNet describes them ("int, required").
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import mxnet as mx

PATH = Path(__file__).parent / "data" / "registry.json"
ARGUMENTS = PATH.with_name("arguments.json")


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


def arguments(name: str) -> dict[str, str]:
    """Types of the arguments of one operator, arrays and attributes, by name."""
    base, handle = mx.base, ctypes.c_void_p()
    base.check_call(base._LIB.NNGetOpHandle(base.c_str(name), ctypes.byref(handle)))
    texts, strings = ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p
    operator_name, text, key, kind = strings(), strings(), strings(), strings()
    names, types, docs, count = texts(), texts(), texts(), base.mx_uint()
    base.check_call(
        base._LIB.MXSymbolGetAtomicSymbolInfo(
            handle, *map(ctypes.byref, (operator_name, text, count, names, types, docs, key, kind))
        )
    )
    return {base.py_str(names[i]): base.py_str(types[i]) for i in range(count.value)}


def write(path: Path, facts_by_name: dict) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in facts_by_name.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    aliases = registry()
    write(PATH, aliases)
    of_symbols = (n for n in aliases if not n.startswith(("_np", "_backward")))
    write(ARGUMENTS, {n: arguments(n) for n in of_symbols})
    print(f"{len(aliases)} operators, {sum(map(len, aliases.values()))} aliases")


if __name__ == "__main__":
    main()
