"""Has the real MXNet 1.9.1 quantise networks, and stores the graphs and ranges as JSON.

    python tests/golden/make_quantization.py

Runs under MXNet's environment (see ``make.py``), never under the project's; without the fusion of
layers by oneDNN, which hides the outputs of the fused ones from calibration.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx
from mxnet.contrib import quantization

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.golden import quantization_questions as qq

ANSWERS = Path(__file__).parent / "data" / "quantization.json"


def main() -> None:
    quantization.stats = quantization.stats or qq.STATS
    text = json.dumps(qq.ask(mx, quantization), separators=(",", ":"))
    ANSWERS.write_text(text.replace(']],"', ']],\n"') + "\n")
    print(f"{ANSWERS.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
