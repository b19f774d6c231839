"""Growth of the cost with the batch and with the depth of a network.

python -m benchmarks.bench_growth

A chain of residual blocks, each a layer of 256 units with separate weights. (Steps of recurrent
networks: bench_unrolled; devices: bench_groups.) Bind, trace, lower and compile are seconds of the
processors; a step is one of training up to the gradients.
"""

from __future__ import annotations

from statistics import median

from executorkit._cli._timing import seconds
from executorkit.display import text_table

from ._measure import STAGES, Ours, processor_stages
from ._networks import network

DEPTHS = (4, 16, 64, 256)
BATCHES = (1, 16, 256)


def main() -> None:
    processor_stages(network("blocks", 16, 2))
    rows = []
    for depth in DEPTHS:
        stages = [f"{s:.2f} s" for s in processor_stages(network("blocks", 16, depth))]
        for batch in BATCHES:
            ours = Ours(network("blocks", batch, depth))
            seconds(ours.step)
            step = median(seconds(ours.step) for _ in range(15))
            rows.append([str(depth), str(batch), *stages, f"{step * 1e3:,.2f} ms"])
            stages = [""] * len(stages)
    print(text_table(["blocks", "batch", *STAGES, "step"], rows, right=set(range(7))))


if __name__ == "__main__":
    main()
