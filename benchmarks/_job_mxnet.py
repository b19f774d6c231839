"""MXNet's side of ``bench_processes``: a worker, a server or the scheduler, as DMLC_ROLE says.

python -m benchmarks._job_mxnet NETWORK RANK
"""

from __future__ import annotations

import sys

from ._job_networks import contents, joined_module, serve_steps


def main(name: str, rank: str) -> None:
    import mxnet as mx  # does not return in servers and in the scheduler

    module, batch = joined_module(mx, name, int(rank), "dist_sync")

    def step() -> None:
        module.forward_backward(batch)
        module.update()
        mx.nd.waitall()

    serve_steps({"mxnet": step}, lambda mode: contents(module.get_params()[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
