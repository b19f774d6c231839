"""Asks the real MXNet 1.9.1 every golden case and stores what it answers.

    python tests/golden/make.py [family ...]

Runs under an environment of its own (Python 3.11, numpy==1.23.5, mxnet==1.9.1), never under the
project's. Each family is asked in a process of its own, because some questions crash MXNet; such a
case is recorded as an error and skipped. Naming families leaves the others' data untouched.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import _store

CASES = Path(__file__).parent / "cases"


def families() -> list[str]:
    """Names of all families that have cases."""
    return sorted(p.stem for p in CASES.glob("*.py") if not p.stem.startswith("_"))


def handle_of(mx: Any, op: str) -> Any:
    """MXNet's handle of any registered operator, whatever its name."""
    handle = ctypes.c_void_p()
    mx.base.check_call(mx.base._LIB.NNGetOpHandle(mx.base.c_str(op), ctypes.byref(handle)))
    return handle


def as_texts(attrs: dict[str, Any]) -> dict[str, str]:
    """Attributes as MXNet takes them."""
    return {k: np.dtype(v).name if isinstance(v, type) else str(v) for k, v in attrs.items()}


def create(mx: Any, op: str, inputs: dict[str, Any], attrs: dict[str, Any]) -> Any:
    """The symbol of any registered operator; variables are the inputs."""
    base = mx.base
    handle = handle_of(mx, op)
    texts, strings = ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p
    name, text, count_key, kind = strings(), strings(), strings(), strings()
    names, types, docs, n = texts(), texts(), texts(), base.mx_uint()
    base.check_call(
        base._LIB.MXSymbolGetAtomicSymbolInfo(
            handle, *map(ctypes.byref, (name, text, n, names, types, docs, count_key, kind))
        )
    )
    attrs = as_texts(attrs)
    variables = {n: mx.sym.Variable(n) for n in inputs}
    counted = base.py_str(count_key.value)
    if counted:
        attrs.setdefault(counted, str(len(inputs)))
    return mx.symbol._internal._symbol_creator(
        handle.value,
        list(variables.values()) if counted else None,
        None if counted else variables,
        list(attrs),
        list(attrs.values()),
        "op",
        False,
    )


def first_line(error: BaseException) -> str:
    """Class and first meaningful line of an error, without MXNet's stack trace."""
    lines = [s.strip() for s in str(error).splitlines()]
    lines = [s for s in lines if s and not s.startswith(("Stack trace", "[bt]", "Traceback"))]
    line = next((s for s in lines if "Error" in s or "Check failed" in s), (lines or [""])[0])
    line = line[max(line.find("Check failed"), 0) :]
    return f"{type(error).__name__}: {line[:300]}"


def type_name(value: Any) -> str | None:
    return None if value is None else np.dtype(value).name


def inferred(sym: Any, what: str, inputs: dict[str, Any]) -> dict[str, Any] | None:
    """All results of infer_shape_partial or infer_type_partial, or None if it raises."""
    try:
        answer = getattr(sym, f"infer_{what}_partial")(**inputs)
    except Exception:
        return None
    clean = (lambda v: v and list(v)) if what == "shape" else type_name
    args, outs, aux = ([clean(v) for v in part or ()] for part in answer)
    names = sym.list_arguments() + sym.list_auxiliary_states()
    return {"inputs": dict(zip(names, args + aux, strict=False)), "outs": outs}


def ask(mx: Any, case: Any, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Runs one case in MXNet: arrays by ``out0``, ``grad:data``, ``aux:moving_mean``; facts."""
    inputs = case.arrays(dtype)
    facts: dict[str, Any] = {"fingerprint": case.fingerprint}
    arrays_by_name: dict[str, np.ndarray] = {}
    try:
        sym = create(mx, case.op, inputs, dict(case.attrs))
        shown = [n.removeprefix("op_") for n in sym.list_outputs()]
        every = [n for n in sym.get_internals().list_outputs() if n not in inputs]
        facts["outputs"], facts["all_outputs"] = shown, [n.removeprefix("op_") for n in every]
        facts["inputs"], facts["aux"] = sym.list_arguments(), sym.list_auxiliary_states()
        first = next(iter(inputs), None)
        for what, facts_of_inputs in (
            ("shape", {n: a.shape for n, a in inputs.items()}),
            ("type", {n: a.dtype for n, a in inputs.items()}),
        ):
            facts[f"{what}_all"] = inferred(sym, what, facts_of_inputs)
            if first is not None and len(inputs) > 1 and first in facts["inputs"]:
                facts[f"{what}_first"] = inferred(sym, what, {first: facts_of_inputs[first]})
        arrays = {n: mx.nd.array(a, dtype=a.dtype) for n, a in inputs.items()}
        wanted = case.compared(dtype)
        args = [arrays[n] for n in facts["inputs"]]
        grads = {n: mx.nd.zeros(inputs[n].shape, dtype=inputs[n].dtype) for n in wanted}
        exe = sym.bind(
            mx.cpu(),
            args,
            args_grad=grads,
            grad_req={n: "write" if n in wanted else "null" for n in facts["inputs"]},
            aux_states=[arrays[n] for n in facts["aux"]],
        )
        outs = exe.forward(is_train=case.train)
        arrays_by_name.update({f"out{i}": o.asnumpy() for i, o in enumerate(outs)})
    except Exception as error:
        facts["error"] = first_line(error)
        return {}, facts
    if wanted:
        try:
            heads = [case.head(i, o.shape, type_name(o.dtype)) for i, o in enumerate(outs)]
            exe.backward([mx.nd.array(h, dtype=h.dtype) for h in heads])
            arrays_by_name.update({f"grad:{n}": grads[n].asnumpy() for n in wanted})
            arrays_by_name.update({f"aux:{n}": a.asnumpy() for n, a in exe.aux_dict.items()})
            mx.nd.waitall()
        except Exception as error:
            facts["backward_error"] = first_line(error)
            arrays_by_name = {n: a for n, a in arrays_by_name.items() if n.startswith("out")}
    return arrays_by_name, facts


def ask_eager(mx: Any, case: Any, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Calls one operator on arrays: results by ``out0``, changed inputs by ``aux:weight``."""
    from mxnet._ctypes.ndarray import _imperative_invoke

    inputs = case.arrays(dtype)
    arrays = {n: mx.nd.array(a, dtype=a.dtype) for n, a in inputs.items()}
    texts = as_texts(dict(case.attrs))
    out = [arrays[n] for n in case.out] or None
    facts: dict[str, Any] = {"fingerprint": case.fingerprint}
    try:
        handle = handle_of(mx, case.op).value
        outs = _imperative_invoke(
            handle, list(arrays.values()), list(texts), list(texts.values()), out, False, True
        )
        results = {f"out{i}": o.asnumpy() for i, o in enumerate(outs)}
        after = {n: a.asnumpy() for n, a in arrays.items()}
    except Exception as error:
        facts["error"] = first_line(error)
        return {}, facts
    changed = {n: a for n, a in after.items() if a.tobytes() != inputs[n].tobytes()}
    facts["outputs"] = list(results)
    facts["inputs"], facts["aux"] = list(inputs), list(changed)
    results.update({f"aux:{n}": a for n, a in changed.items()})
    return results, facts


def make(family: str, progress: Path, skip: set[str]) -> None:
    """Asks and stores one family; ``progress`` always names the question being asked."""
    import mxnet as mx

    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    for case in importlib.import_module(f"cases.{family}").CASES:
        for dtype in case.dtypes:
            key = case.key(dtype)
            if key in facts:
                raise SystemExit(f"{family}: two cases are called {case.name!r}")
            progress.write_text(key)
            if key in skip:
                facts[key] = {"fingerprint": case.fingerprint, "error": "crashes MXNet"}
                continue
            results, facts[key] = (ask_eager if case.eager else ask)(mx, case, dtype)
            facts[key]["arrays"] = {n: [list(a.shape), a.dtype.name] for n, a in results.items()}
            arrays.update({f"{key}|{n}": _store.condense(a) for n, a in results.items()})
    path = _store.save(family, arrays, facts)
    errors = [(k, f[e]) for k, f in facts.items() for e in ("error", "backward_error") if e in f]
    print(
        f"{family}: {len(facts)} answers, {path.stat().st_size // 1024} KiB, {len(errors)} errors"
    )
    for key, error in errors:
        print(f"    {key:44} {error}")


def main(names: list[str]) -> int:
    status = 0
    for family in names or families():
        skip: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            progress = Path(folder) / "progress"
            while True:
                command = [sys.executable, __file__, "--one", family, str(progress), *skip]
                code = subprocess.run(command).returncode
                if code >= 0 or not progress.exists() or progress.read_text() in skip:
                    break
                skip.append(progress.read_text())
        status = status or code
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2) if not os.environ.get("VERBOSE") else None
        try:
            make(sys.argv[2], Path(sys.argv[3]), set(sys.argv[4:]))
        except Exception:
            import traceback

            print(traceback.format_exc())
            sys.exit(1)
    else:
        sys.exit(main(sys.argv[1:]))
