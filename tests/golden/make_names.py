"""Asks the real MXNet 1.9.1 for the public names of its modules, and stores them as JSON.

    python tests/golden/make_names.py

Runs under MXNet's environment (see ``make.py``), never under the project's. Left out are the
modules of Gluon, ``mx.np``, ONNX and mixed precision, those of MXNet's code generator, and what a
module imports for its own use; ``test_utils`` is whole, because scripts import all of it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import warnings
from pathlib import Path
from types import ModuleType

import mxnet as mx

ANSWERS = Path(__file__).parent / "data" / "names.json"
LEFT_OUT = (
    "gluon", "numpy", "numpy_extension", "onnx", "contrib.onnx", "autograd", "rtc", "tvmop", "api",
    "libmxnet", "ndarray.numpy", "ndarray.numpy_extension", "symbol.numpy",
    "symbol.numpy_extension", "contrib.amp", "contrib.autograd", "cython", "ndarray.register",
    "symbol.register", "torch", "ndarray_doc", "symbol_doc", "space", "numpy_dispatch_protocol",
    "numpy_op_fallback", "numpy_op_signature",
)  # fmt: skip
WHOLE = ("mxnet.test_utils",)
ALSO = ("mxnet.gluon.utils",)


def is_own(value: object) -> bool:
    """True for what MXNet defines, and for constants."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith("mxnet")
    defined = getattr(value, "__module__", None)
    return defined is None or (isinstance(defined, str) and defined.startswith("mxnet"))


def is_imported(value: object, module: ModuleType) -> bool:
    """True for what a module that is no package has from another one of MXNet's."""
    if hasattr(module, "__path__"):
        return False
    defined = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return bool(defined) and defined != module.__name__


def public_names(module: ModuleType) -> list[str]:
    names = [n for n in dir(module) if not n.startswith("_")]
    if module.__name__ in WHOLE:
        return names
    values = {name: inspect.getattr_static(module, name) for name in names}
    return [n for n, v in values.items() if is_own(v) and not is_imported(v, module)]


def module_names() -> list[str]:
    names = ["mxnet", *(m.name for m in pkgutil.walk_packages(mx.__path__, "mxnet."))]
    left_out = tuple(f"mxnet.{name}" for name in LEFT_OUT)
    kept = [
        name
        for name in names
        if not any(part.startswith(("_", "gen_")) for part in name.split("."))
        and not any(name == out or name.startswith(f"{out}.") for out in left_out)
    ]
    return sorted({*kept, *ALSO})


def main() -> None:
    warnings.simplefilter("ignore")
    answers = {name: public_names(importlib.import_module(name)) for name in module_names()}
    text = json.dumps(answers, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{len(answers)} modules, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
