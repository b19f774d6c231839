"""``Executor.debug_str``: the plan, then the costs that XLA reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._executor import Executor


def debug_str(executor: Executor) -> str:
    """MXNet's plan form (the graph in order, then megabytes bound), then XLA's analysis of the
    most complete program that has been compiled."""
    arrays = [*executor.arg_arrays, *executor.aux_arrays, *executor._grad_targets]
    arrays += executor.outputs
    bound = sum(a.size * a.storage.dtype.itemsize for a in arrays)
    lines = [
        executor._symbol.debug_str().rstrip("\n"),
        f"Total {bound // 2**20} MB allocated",
    ]
    analysis = executor._program.analyse()
    if analysis.function is None:
        lines.append("XLA: not compiled yet; run it, or call executor.compile()")
    else:
        lines.append(f"XLA program {analysis.function}:")
        if analysis.memory is None:
            lines.append("\tmemory: not told by this backend")
        else:
            lines += [f"\t{k}: {v} bytes" for k, v in analysis.memory.items()]
        flops = analysis.flops
        lines.append(f"\toperations: {'not told' if flops is None else f'{flops:.6g} FLOPs'}")
    return "\n".join(lines) + "\n"
