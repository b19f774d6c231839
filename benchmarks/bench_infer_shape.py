"""Time of inference of shapes, first and repeated: ResNet-50, an LSTM of about 2,000 nodes.

python -m benchmarks.bench_infer_shape
"""

from __future__ import annotations

import time

import executorkit as mx
from tests.models.lstm import lstm
from tests.models.resnet import resnet50


def main() -> None:
    states = {f"l{i}_init_{s}": (32, 200) for i in range(2) for s in "hc"}
    sentences = {"data": (32, 63), "softmax_label": (32, 63), **states}
    images = {"data": (4, 3, 224, 224)}
    for name, symbol, shapes in (
        ("ResNet-50", resnet50(mx), images),
        ("LSTM, 63 steps", lstm(mx, steps=63, hidden=200), sentences),
    ):
        copy = mx.sym.load_json(symbol.tojson())
        nodes = len(symbol.get_internals().list_outputs())
        times = [_seconds(symbol, shapes), _seconds(copy, shapes), _seconds(copy, shapes)]
        first, equal_graph, repeated = (f"{t * 1e3:.1f} ms" for t in times)
        print(
            f"{name} ({nodes} values): {first}; an equal graph: {equal_graph}; repeated: {repeated}"
        )


def _seconds(symbol: mx.Symbol, shapes: dict[str, tuple[int, ...]]) -> float:
    start = time.perf_counter()
    arguments, _, _ = symbol.infer_shape(**shapes)
    assert arguments is not None
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
