"""The interface of a program: how a lowered graph runs, and the questions it answers.

:class:`Program` (one device), :class:`PartitionedProgram` (a segment per context) and the pmapped
program of :mod:`executorkit.parallel` implement it. Pending steps, ahead-of-time compilation and
views use nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from .._support.annotations import Key, Tree
from ..display import Viewed, brief, many
from ..lowering import Cost, Graph
from ._analysis import Analysis
from ._background_tasks import CompileTask
from ._compiled_function import CompiledFunction
from ._prepared_inference import FedArguments, PreparedInference, State
from ._program_options import Options
from ._trace_history import History
from ._train_step import Arrays, StepSpec


class ProgramFunction(Protocol):
    """A function of a program: called with arrays, compiled for abstract ones."""

    def __call__(self, *args: Tree) -> Tree:
        """Runs the function; the first call with arguments of new shapes compiles it."""
        ...

    def compile(self, *args: Tree) -> Any:
        """Compiles the function for arguments of these shapes and dtypes."""
        ...

    def precompile(self, *args: Tree) -> CompileTask:
        """Compiles the function in the background."""
        ...


#: A function of a program with the abstract arguments of one call.
ProgramCall = tuple[ProgramFunction, tuple[Any, ...]]


class BaseProgram(Viewed, ABC):
    """The functions of one graph and one choice of gradients.

    Arrays come and go as flat tuples in the graph's order, which is the cheapest call that JAX
    offers. Functions with an evaluation and a training mode are pairs, indexed by ``train``::

        infer[train](args, aux, key)     -> outputs, forward_states
        forward[train](args, aux, key)   -> outputs, forward_states, backward_states, residuals
        backward(residuals, heads, accumulated=())
                                         -> gradients
        forward_backward[train](args, aux, key, heads, accumulated=())
                                         -> outputs, forward_states, backward_states, gradients

    ``key`` is None for graphs without random operators. ``heads`` are head gradients, None for an
    output that needs none. ``accumulated`` has for each gradient None or the array that it is added
    to; it is left out where there is none. Functions that add are another compilation of the same
    program: an addition after it takes 10 us, and for 16 million numbers 34 ms in place of 2.
    ``residuals.completed(args, aux, results)``, with the other results of ``forward``, are the
    residuals that ``backward`` takes.

    graph
        the lowered graph.
    options
        the precision it computes in, and the values that are saved for backward.
    argnums
        positions of the arguments whose gradients are computed.
    constant_inputs
        (argument position, constant) of the arguments that MXNet overwrites before it runs.
    forward_state_indices
        positions of the auxiliary states that change whenever the graph runs (a Custom
        operator's).
    backward_state_indices
        positions of the states that MXNet changes in backward (BatchNorm's statistics).
    may_need_head_gradient
        for every output, whether a head gradient can matter, as far as the graph alone tells.
    """

    graph: Graph
    options: Options
    argnums: tuple[int, ...]
    constant_inputs: tuple[tuple[int, float], ...]
    forward_state_indices: tuple[int, ...]
    backward_state_indices: tuple[int, ...]
    may_need_head_gradient: tuple[bool, ...]

    def _take_facts(self, program: BaseProgram) -> None:
        self.graph, self.options, self.argnums = program.graph, program.options, program.argnums
        self.constant_inputs = program.constant_inputs
        self.forward_state_indices = program.forward_state_indices
        self.backward_state_indices = program.backward_state_indices
        self.may_need_head_gradient = program.may_need_head_gradient

    infer: Sequence[ProgramFunction]
    forward: Sequence[ProgramFunction]
    backward: ProgramFunction
    forward_backward: Sequence[ProgramFunction]

    @abstractmethod
    def needs_head_gradient(self, args: Arrays, aux: Arrays, key: Key) -> tuple[bool, ...]:
        """Tells for every output whether a head gradient can change a computed gradient.

        ``args`` and ``aux`` may be arrays, or shapes and dtypes. Where the graph alone cannot tell
        (an output that is not a loss, on a path to an active argument), forward and backward are
        traced once: comparisons, argmax, index inputs and so on have no gradient anywhere.
        """

    def comes_once(self, args: Arrays, aux: Arrays, key: Key) -> bool:
        """Tells whether sizes are new, and others came before. Forward then runs without residuals,
        whose structure would be traced for each."""
        return False

    #: Inference in two stages; None where it cannot gain anything.
    prepared: PreparedInference | None = None

    def infer_fed(self, args: Arrays, aux: Arrays, key: Key, fed: FedArguments) -> Tree:
        """Runs inference, prepared if possible; returns outputs and states that forward changes."""
        if self.prepared is None or fed.state is State.NOT_WORTH_IT:
            return self.infer[False](args, aux, key)
        return self.prepared(args, aux, key, fed)

    @property
    def prepares(self) -> int:
        """The number of times that arrays were prepared for inference."""
        return 0 if self.prepared is None else self.prepared.prepares

    @property
    def prepared_bytes(self) -> int:
        """The size of the prepared arrays that inference uses at present, in bytes."""
        return 0 if self.prepared is None else self.prepared.prepared_bytes

    # -- its code in memory ----------------------------------------------------------------------

    #: The number of its last request; the cache of programs sets it.
    last_use: int = 0

    @property
    def in_use(self) -> bool:
        """True if an executor would have to compile it again, as far as it is known."""
        return False

    def add_user(self, user: object) -> None:
        """Keeps the compiled code as long as ``user`` lives, though the cache may drop it."""
        return

    @property
    def code_bytes(self) -> int:
        """The estimated memory of the compiled code, in bytes."""
        return sum(function.code_bytes for function in self.all_functions)

    def clear(self) -> None:
        """Frees the compiled code of this program; it is compiled again where it is called."""
        for function in self.all_functions:
            function.clear()

    # -- training steps: forward, backward and updates as one function ---------------------------

    @property
    @abstractmethod
    def can_fuse_updates(self) -> bool:
        """True if updates can become a part of this program: :meth:`step_function` works."""

    @abstractmethod
    def step_function(self, train: bool, spec: StepSpec) -> CompiledFunction:
        """Returns the compiled training step with these updates; equal specs share it."""

    def backward_step_function(self, spec: StepSpec) -> CompiledFunction:
        """Returns the compiled backward with these updates, for runnables with
        ``updates_by_residuals``; equal specs share it."""
        raise NotImplementedError

    #: The compiled training steps by mode and updates, in the order in which they were asked for.
    _train_steps: Mapping[tuple[bool | None, StepSpec], CompiledFunction] = {}

    def train_steps(self, train: bool) -> Sequence[CompiledFunction]:
        """Returns the training steps of a mode, in the order in which they were first asked for."""
        return [step for (mode, _), step in self._train_steps.items() if mode == train]

    def prefetch(self, bound: Hashable, calls: Callable[[], Iterable[ProgramCall]]) -> None:
        """Loads executables for the calls from the disk cache, in the background.

        Does nothing, and does not ask for the calls, unless the disk cache is enabled, this kind of
        program uses it, it is large, and it was not done before for equal ``bound`` arrays.
        """
        return

    # -- questions; none of them runs the program ------------------------------------------------

    @property
    @abstractmethod
    def functions(self) -> Sequence[CompiledFunction]:
        """Every jitted function of this program, without its derived forms."""

    @property
    def all_functions(self) -> Sequence[CompiledFunction]:
        """Every jitted function of this program and of its derived forms."""
        return self.functions

    @property
    def traces(self) -> int:
        """The number of traces (compilations) so far."""
        return sum(function.traces for function in self.functions)

    @property
    def compile_seconds(self) -> float:
        """Seconds spent in calls that traced and compiled."""
        return sum(function.seconds for function in self.functions)

    def __repr__(self) -> str:
        compiled = f"{many(self.traces, 'compilation')} in {self.compile_seconds:.2f} s"
        return brief(self, f"of {many(len(self.graph.steps), 'operator')}", [compiled])

    @abstractmethod
    def analyse(self) -> Analysis:
        """Returns XLA's analysis of the most complete function that has been compiled so far."""

    def memory(self) -> dict[str, int] | None:
        """Returns bytes of arguments, outputs and temporaries; None without an answer."""
        return self.analyse().memory

    def flops(self) -> float | None:
        """Returns floating-point operations of a run as XLA counts; None where it has no answer.

        On CPUs XLA leaves out the products that it hands to a library; :meth:`cost` has them.
        """
        return self.analyse().flops

    @abstractmethod
    def hlo(self, function: str | None = None, optimized: bool = True) -> str:
        """Returns the text of a compiled function: XLA's HLO, with node names as ``op_name``.

        function
            ``infer``, ``infer_train``, ``forward_train``, ``backward``,
            ``forward_backward_train``, ``step``, ...; by default the most complete one that has
            been compiled.
        optimized
            after XLA's passes, as it runs; otherwise before them, in StableHLO.

        Raises MXNetError if it has not been compiled yet.
        """

    @abstractmethod
    def cost(self, function: str | None = None) -> Cost:
        """Counts operations and bytes of every node, forward and backward; printed, a table.

        They are counted on the traced program, since XLA tells totals only: two operations for each
        product of a dot or a convolution, one for each element of another result, none for moving
        elements. Bytes are read and written by every operation; a fused program moves fewer. Nodes
        are named as in the optimized graph of the first executor; ``(between nodes)`` are sums of
        gradients and updates. Of a pmapped program it is the cost on each device.

        Raises MXNetError if the function has not been compiled yet.
        """

    @abstractmethod
    def explain(self) -> History:
        """Gives the reason of each compilation: the new fields of the arguments' signature.

        Each of the latest traces of a function is compared with the nearest earlier one, as in
        ``args['data']: shape (32, 10) -> (64, 10)``. The executor that was bound first gives the
        names; executors of equal graphs share the program.
        """
