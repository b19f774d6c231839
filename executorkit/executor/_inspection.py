"""Looking into an executor: internal outputs, plans, the graph as it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..context import Context
from ..display import View, Viewed
from ..errors import MXNetError, explain
from ..lowering import Graph, optimized
from ..ndarray import NDArray
from ..program import Options, program_for
from ..program._options import use_options
from ..symbol import Symbol
from ._run import PendingStep

if TYPE_CHECKING:
    from ._executor import Executor
    from ._report import FiniteReport


class Inspection(Viewed):
    """What an executor tells about itself. Nothing here changes an array."""

    _graph: Graph
    _ctx: Context
    _options: Options
    _run: PendingStep | None

    def internals(self, names: str | Sequence[str]) -> Any:
        """Values of internal outputs (``"relu1_output"``) for the last forward's inputs.

        One name gives an NDArray, a list of names a list; names are those of
        ``symbol.get_internals().list_outputs()``. Compiles one extra program per set of names.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        entries = {}
        for node in self._graph.nodes:
            for k, name in enumerate(node.output_names):
                entries[name] = (node, k)
        unknown = [n for n in wanted if n not in entries]
        if unknown:
            raise MXNetError(
                explain(
                    "internals",
                    f"no output named {', '.join(map(repr, unknown))}",
                    hint="symbol.get_internals().list_outputs() lists the names",
                )
            )
        first = {s.node: s.first_output for s in self._graph.steps}
        first.update(zip(self._graph.args, self._graph.arg_values, strict=True))
        first.update(zip(self._graph.aux, self._graph.aux_values, strict=True))
        heads = tuple(entries[n] for n in wanted)
        graph = dataclasses.replace(
            self._graph,
            heads=tuple(first[node] + k for node, k in heads),
            head_entries=heads,
        )
        run = self._run or PendingStep(cast("Executor", self), False)
        with use_options(self._options):
            program = program_for(graph)
        values, _ = program.infer[run.train](run.args, run.aux, run.key)
        arrays = [NDArray.from_jax(v, self._ctx) for v in values]
        return arrays[0] if isinstance(names, str) else arrays

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity of what was finite.

            executor.forward(is_train=True)
            executor.backward()
            print(executor.check_finite())

        Runs the last forward again, node by node, with the same inputs, random numbers and mode,
        then, if all is finite, backward with the head gradients that were used last. Without a
        forward it is the bound arrays that are checked, in training mode if gradients are bound.
        No array of the executor changes; operators written in Python are called again. Nodes of
        equal attributes and shapes are compiled once, at the first check.

        out_grads
            other head gradients, as ``backward`` takes them.
        raise_error
            raises NotFiniteError (a FloatingPointError) if something is not finite.

        The report is true if everything is finite, tells the first place where something else came
        up, with the ranges of the node's inputs, and lists all such places in ``findings``.
        """
        from ._finite import check

        report = check(cast("Executor", self), out_grads)
        return report.raise_if_found() if raise_error else report

    def _as_view(self) -> View:
        from ._views import executor_view

        return executor_view(cast("Executor", self))

    def debug_str(self) -> str:
        """The execution plan in MXNet's form, then what XLA says of memory and operations."""
        from ._debug import debug_str

        return debug_str(cast("Executor", self))

    def get_optimized_symbol(self) -> Symbol:
        """The symbol after the graph passes, as it is lowered."""
        return Symbol(optimized(self._graph.head_entries))
