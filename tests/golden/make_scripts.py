"""Asks the real MXNet 1.9.1 a subject's scripts or questions and stores its answers as JSON.

    python tests/golden/make_scripts.py SUBJECT [script ...]

Runs under MXNet's environment (see ``make.py``), never under the project's. With names only those
scripts run, and the others' stored answers stay.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]


class Subject(NamedTuple):
    """A module in this folder, and the file in ``data`` that holds the answers.

    The module has ``SCRIPTS`` and ``run``, or ``THEMES``, ``questions`` and ``ask``.

    line_end
        text after which the file begins a new line.
    fused
        whether MXNet may rewrite graphs that are bound without gradients. Monitors then see other
        names, and executors keep weights that are overwritten later.
    """

    module: str
    answers: str
    line_end: str = "],"
    fused: bool = True


SUBJECTS = {
    "amp": Subject("amp_scripts", "amp.json"),
    "autograd": Subject("autograd_scripts", "autograd.json"),
    "examples": Subject("example_scripts", "examples.json", fused=False),
    "executor": Subject("executor_scripts", "executor.json", fused=False),
    "gluon": Subject("gluon_scripts", "gluon.json"),
    "libraries": Subject("library_scripts", "library_scripts.json"),
    "modules": Subject("module_scripts", "modules.json"),
    "training_tools": Subject("training_scripts", "training_tools.json", "},"),
    "ndarray": Subject("ndarray_questions", "ndarray.json"),
    "numpy": Subject("numpy_questions", "numpy.json"),
    "numpy_scripts": Subject("numpy_scripts", "numpy_scripts.json"),
    "operators": Subject("operator_questions", "operators.json"),
    "small_names": Subject("small_name_questions", "small_names.json"),
}


def main(name: str, scripts: list[str]) -> None:
    subject = SUBJECTS[name]
    if not subject.fused:
        os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    sys.path.insert(0, str(ROOT))
    module: Any = importlib.import_module(f"tests.golden.{subject.module}")
    path = Path(__file__).parent / "data" / subject.answers
    answers = _answers(module, json.loads(path.read_text()) if scripts else {}, scripts)
    text = json.dumps(answers, separators=(",", ":"))
    path.write_text(text.replace(f'{subject.line_end}"', f'{subject.line_end}\n"') + "\n")
    print(f"{len(answers)} scripts or themes, {path.stat().st_size // 1024} KiB")


def _answers(module: Any, stored: dict[str, Any], scripts: list[str]) -> dict[str, Any]:
    import mxnet as mx
    import mxnet.misc
    import numpy as np

    if hasattr(module, "THEMES"):
        themes = module.THEMES
        return {t: {q: module.ask(q, mx, np) for q in module.questions(t)} for t in themes}
    for script in scripts or module.SCRIPTS:
        print(script, flush=True)
        stored[script] = module.run(script, mx)
    return {script: stored[script] for script in module.SCRIPTS if script in stored}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
