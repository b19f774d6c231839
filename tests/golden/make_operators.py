"""Asks the real MXNet 1.9.1 the questions about operators and stores its answers as JSON.

    python tests/golden/make_operators.py

Runs under MXNet's environment (see ``make.py``), never under the project's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import operator_questions as oq

ANSWERS = Path(__file__).parent / "data" / "operators.json"


def main() -> None:
    answers = {t: {q: oq.ask(q, mx, np) for q in oq.questions(t)} for t in oq.THEMES}
    text = json.dumps(answers, indent=None, separators=(",", ":"))
    ANSWERS.write_text(text.replace('],"', '],\n"') + "\n")
    print(f"{sum(map(len, answers.values()))} answers, {ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
