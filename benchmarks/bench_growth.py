"""Growth of the cost with depth, batch, size of pictures and number of shapes; memory that is held.

python -m benchmarks.bench_growth [--only depth batch size shapes memory] [--small]

Times of a loop by itself, minima; per row, picture or pixel where that says more. Steps of
recurrent networks: bench_unrolled; devices: bench_groups.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

import executorkit as mx
from executorkit.display import text_table

from ._measure import STAGES, Ours, processor_stages
from ._networks import network
from ._new_shapes import bind_and_step, perceptron
from ._timing import seconds
from ._workers import timed

#: Calls before a measurement: enough for everything to be prepared.
WARM_CALLS = 4
Rows = Iterator[list[str]]


def _fastest(call: Callable[[], Any], budget: float = 1.0) -> float:
    """Seconds of the fastest call of as many as fit into a budget in seconds, at least three."""
    for _ in range(WARM_CALLS):
        first = timed(lambda: jax.block_until_ready(call()))
    count = max(3, min(30, int(budget / first)))
    return min(timed(lambda: jax.block_until_ready(call())) for _ in range(count))


def _ms(value: float) -> str:
    return f"{value * 1e3:,.2f} ms"


def _mb(value: float) -> str:
    return f"{value / 2**20:,.1f} MiB"


def depth(small: bool) -> Rows:
    """Residual blocks of a layer of 256 units with separate weights. Stages are seconds of the
    processors for 16 rows; a step is one of training up to the gradients."""
    processor_stages(network("blocks", 16, 2))
    for blocks in (4, 8) if small else (4, 16, 64, 256):
        stages = [f"{s:.2f} s" for s in processor_stages(network("blocks", 16, blocks))]
        for batch in (1, 16) if small else (1, 16, 256):
            ours = Ours(network("blocks", batch, blocks))
            seconds(ours.step)
            step = min(seconds(ours.step) for _ in range(15))
            yield [str(blocks), str(batch), *stages, _ms(step)]
            stages = [""] * len(stages)


def batch(small: bool) -> Rows:
    """A ResNet-18 on pictures of 112 x 112, inference and training."""
    size = 64 if small else 112
    for images in (1, 4) if small else (1, 4, 16, 64):
        yield _pictures(images, size)


def size(small: bool) -> Rows:
    """A ResNet-18 on one picture, inference and training."""
    for pixels in (64, 96) if small else (64, 112, 224, 448):
        yield _pictures(1, pixels)


def _pictures(images: int, pixels: int) -> list[str]:
    ours = Ours(network("resnet18", images, pixels))
    million = images * pixels**2 / 1e6
    times = _fastest(ours.forward), _fastest(ours.step)
    memory = ours.executor.program.memory()
    cells = [cell for t in times for cell in (_ms(t), f"{t * 1e3 / million:,.0f} ms")]
    return [str(images), str(pixels), *cells, "" if memory is None else _mb(memory["peak"])]


def _resident() -> int:
    """Memory of this process in bytes, at present; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(x.split()[1]) * 1024 for x in lines if x.startswith("VmRSS")), 0)


def shapes(small: bool) -> Rows:
    """A perceptron, bound and trained one step with one number of rows after the other; then again
    with the first one. Memory is that of the process, above what it was at the beginning."""
    symbol = perceptron(mx)
    bind_and_step(mx, symbol, 2).asnumpy()
    start, number = _resident(), 0
    for count in (4, 8) if small else (10, 25, 50, 100):
        rows = range(3 + number, 3 + count)
        new = timed(lambda rows=rows: [bind_and_step(mx, symbol, n).asnumpy() for n in rows])
        known = min(timed(lambda: bind_and_step(mx, symbol, 3).asnumpy()) for _ in range(30))
        gc.collect()
        info = mx.program.cache_info()
        yield [
            str(count), _ms(new / len(rows)), _ms(known), str(info.size), _mb(info.bytes),
            _mb(_resident() - start),
        ]  # fmt: skip
        number = count


def memory(small: bool) -> Rows:
    """The memory that inference of one picture holds: parameters, prepared arrays, and the bytes
    that the caches count for it (compiled programs and prepared arrays)."""
    names = ("lenet", "mlp") if small else ("squeezenet", "mobilenet_v2", "resnet18", "resnet50")
    return (_held(name, 28 if small else 224) for name in names)


def _held(name: str, pixels: int) -> list[str]:
    gc.collect()
    before = mx.program.cache_info().bytes
    ours = Ours(network(name, 1, pixels))
    for _ in range(WARM_CALLS):
        jax.block_until_ready(ours.forward())
    executor = ours.executor
    arrays = [*executor.arg_dict.items(), *executor.aux_dict.items()]
    parameters = sum(4 * a.size for n, a in arrays if n not in ours.inputs)
    info = mx.program.cache_info()
    held = executor.program.prepared_bytes, info.bytes - before, info.limit_bytes
    return [name, *map(_mb, (parameters, *held))]


_PICTURES = ["pictures", "pixels of a side", "inference", "per million pixels", "training",
             "per million pixels", "peak of training by XLA"]  # fmt: skip
#: Tables by name: the rows, and the header.
TABLES: dict[str, tuple[Callable[[bool], Rows], list[str]]] = {
    "depth": (depth, ["blocks", "batch", *STAGES, "step"]),
    "batch": (batch, _PICTURES),
    "size": (size, _PICTURES),
    "shapes": (
        shapes,
        ["shapes", "a new one", "a known one", "programs held", "counted", "process"],
    ),
    "memory": (memory, ["network", "parameters", "prepared", "counted in all", "limit"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--small", action="store_true", help="small sizes")
    options = parser.parse_args()
    for name in options.only:
        rows, header = TABLES[name]
        print(f"{(rows.__doc__ or '').strip()}\n")
        print(text_table(header, list(rows(options.small)), right=set(range(len(header)))))
        print(flush=True)


if __name__ == "__main__":
    main()
