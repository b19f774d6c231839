"""What an executor is bound to: its arrays, and the program of its graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ..context import Context
from ..lowering import graph_of, optimized, placements
from ..ndarray import NDArray
from ..ndarray._pending import register_pending_owner, resolve_pending
from ..ndarray._random_state import next_key
from ..program import Options, PartitionedProgram, Program, current_options, program_for
from ..program._compiling import can_split_temp_buffers
from ..program._counted import InstrumentedJit
from ..program._keeping import disk_cache_enabled
from ..program._options import use_options
from ..program._stepping import StepSpec, step_function
from ..symbol import Symbol
from ._ahead import prefetch
from ._fitting import check_arrays
from ._fresh import full, lazy_zeros, zeros
from ._named import NamedArrays
from ._run import PendingStep
from ._slots import Buffers


class Bound(NamedArrays):
    """A symbol with the arrays of its arguments, gradients, auxiliary states and outputs."""

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        arg_arrays: Sequence[NDArray],
        grad_arrays: Sequence[NDArray | None] | None,
        grad_req: Sequence[str],
        aux_arrays: Sequence[NDArray],
        group2ctx: Mapping[str, Context] | None = None,
        outputs: Sequence[NDArray] | None = None,
        options: Options | None = None,
    ) -> None:
        self._symbol = symbol
        self._options = options or current_options()
        self._ctx = ctx
        self._grad_req = list(grad_req)
        self._group2ctx = dict(group2ctx or {})
        self._graph = graph_of(symbol.heads)
        self.arg_arrays = list(arg_arrays)
        self.grad_arrays = None if grad_arrays is None else list(grad_arrays)
        self.aux_arrays = list(aux_arrays)
        wanted = tuple(
            i
            for i, req in enumerate(self._grad_req)
            if req != "null" and grad_arrays is not None and grad_arrays[i] is not None
        )
        self._grad_targets: list[NDArray] = [self.grad_arrays[i] for i in wanted]  # type: ignore[index,misc]
        self._arg_dict: dict[str, NDArray] | None = None
        self._aux_dict: dict[str, NDArray] | None = None
        self._pinned: dict[int, jax.Array] = {}
        self._run: PendingStep | None = None
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        found = check_arrays(self._graph, self.arg_arrays, self.aux_arrays, self.grad_arrays)
        self._wanted = wanted
        self._add = tuple(self._grad_req[i] == "add" for i in wanted)
        self._again = _duplicate_positions(self._grad_targets)
        self._target_numbers = {id(g): k for k, g in enumerate(self._grad_targets)}
        self._keep_gradients = True
        self._in_pieces = can_split_temp_buffers(self._graph, found)
        self._program = self._make_program()
        self._eager = self._graph.has_effects
        self._draws = (self._graph.uses_rng(False), self._graph.uses_rng(True))
        self._output_names = self._graph.output_names
        self._no_heads = (None,) * len(self._output_names)
        if outputs is None:
            made = zip(found.out_shapes, found.out_dtypes, self._output_contexts(), strict=True)
            outputs = [lazy_zeros(shape or (), dtype, place) for shape, dtype, place in made]
        self.outputs = list(outputs)
        self._places = Buffers.of(
            self.arg_arrays, self.aux_arrays, self._grad_targets, self.outputs
        )
        register_pending_owner(self)
        if disk_cache_enabled():
            prefetch(self)

    def _make_program(self) -> Program | PartitionedProgram:
        lowered = graph_of(optimized(self._graph.head_entries))
        wanted, add = self._wanted, self._add
        with use_options(self._options):
            if self._group2ctx:
                return PartitionedProgram(lowered, wanted, add, self._ctx, self._group2ctx)
            if not lowered.has_effects:
                return program_for(lowered, wanted, add, self._in_pieces)
        # A Python operator may keep something between forward and backward: its object belongs to
        # a program, so executors must not share one.
        return Program(lowered, wanted, add, self._options, self._in_pieces)

    def _output_contexts(self) -> list[Context]:
        if not self._group2ctx:
            return [self._ctx] * len(self._graph.heads)
        placed = placements(self._graph, self._ctx, self._group2ctx)
        return [placed[node] for node, _ in self._graph.head_entries]

    @property
    def _fusable(self) -> bool:
        """Whether an update can be a part of this executor's program."""
        return isinstance(self._program, Program) and not (self._eager or self._again)

    def _step_function(self, train: bool, plan: StepSpec) -> InstrumentedJit:
        assert isinstance(self._program, Program)
        return step_function(self._program, train, plan)

    def _next_key(self) -> jax.Array:
        """A key from the stream of the executor's own context, as its device needs it."""
        return next_key(self._ctx)

    def _key_aval(self) -> Any:
        return jax.eval_shape(lambda: jax.random.key(0))

    def force(self) -> None:
        """Computes whatever is promised to one of these arrays and not computed yet."""
        promised = (self._grad_targets, self.outputs, self.aux_arrays, self.arg_arrays)
        resolve_pending(itertools.chain(*promised))

    def _pin(self, constant_inputs: Sequence[tuple[int, float]]) -> None:
        """Overwrites what MXNet overwrites when it runs (gamma, with fix_gamma)."""
        for number, constant in constant_inputs:
            target = self.arg_arrays[number]
            pinned = self._pinned.get(number)
            if pinned is None or target.value is not pinned:
                dtype = target.storage.dtype
                self._pinned[number] = full(target.shape, dtype, target.context, constant)
                target.assign(self._pinned[number], shared=True)

    def zero_grad(self) -> None:
        """Sets every gradient array to zero (for ``grad_req='add'``)."""
        for target in self._grad_targets:
            target.assign(zeros(target.shape, target.dtype_name, target.context))

    @property
    def program(self) -> Program | PartitionedProgram:
        """The compiled programs, shared with every executor of an equal graph."""
        return self._program

    @property
    def symbol(self) -> Symbol:
        """The symbol that was bound."""
        return self._symbol


def _duplicate_positions(arrays: Sequence[NDArray]) -> frozenset[int]:
    """Positions of arrays that stand earlier in the list already."""
    seen: set[int] = set()
    return frozenset(i for i, a in enumerate(arrays) if id(a) in seen or seen.add(id(a)))
