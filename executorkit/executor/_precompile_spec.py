"""What an executor will run, said in shapes: for compiling it before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from ..errors import MXNetError, explain
from ..program import Precompilation, Program
from ..program._background_tasks import CompileTask, submit
from ..program._jit import InstrumentedJit
from ._buffers import aval

if TYPE_CHECKING:
    from ._executor import Executor

#: Shapes, dtypes and devices of arrays.
AbstractArrays = tuple[jax.ShapeDtypeStruct, ...]
#: A function of a program, and what it is called with.
ProgramCall = tuple[Any, tuple[Any, ...]]


class PrecompileSpec(NamedTuple):
    """Which functions are asked for; see ``Executor.compile``."""

    is_train: bool
    backward: bool | None = None

    def calls(
        self,
        executor: Any,
        args: AbstractArrays,
        aux: AbstractArrays,
        outputs: AbstractArrays,
        steps: bool = False,
    ) -> Iterator[ProgramCall]:
        """What ``forward`` (and ``backward``) of an executor (or all of a group's, mapped) with
        such arrays will run; with ``steps`` the last step with an update, if one has been compiled
        for other shapes."""
        train, program = bool(self.is_train), executor._program
        key = executor._key_aval() if executor._draws[train] else None
        backward = self.backward
        if backward is None:
            backward = train and bool(program.argnums)
        if not backward:
            yield program.infer[train], (args, aux, key)
            return
        heads = tuple(
            output if need else None
            for output, need in zip(
                outputs, program.needs_head_gradient(args, aux, key), strict=True
            )
        )
        old = tuple(
            args[i]
            for i, accumulate in zip(program.argnums, program.accumulate, strict=True)
            if accumulate
        )
        step = _last_train_step(program.steps(train), args, aux) if steps else None
        if step is None:
            yield program.forward_backward[train], (args, aux, key, heads, old)
            return
        function, donated, (their_args, their_aux), rest = step
        kept = tuple(None if a is None else b for a, b in zip(their_args, args, strict=True))
        states = tuple(None if a is None else b for a, b in zip(their_aux, aux, strict=True))
        yield function, (donated, kept, states, key, heads, old, *rest)


def bound_avals(executor: Executor) -> tuple[AbstractArrays, AbstractArrays, AbstractArrays]:
    """The arguments, auxiliary states and outputs of an executor."""
    lists = (executor.arg_arrays, executor.aux_arrays, executor.outputs)
    args, aux, outputs = (tuple([aval(a) for a in arrays]) for arrays in lists)
    return args, aux, outputs


def precompile(
    executor: Executor, shapes: Sequence[Mapping[str, Sequence[int]]], request: PrecompileSpec
) -> Precompilation:
    """See ``Executor.warm``. All shapes are checked before anything is compiled."""
    if executor._eager:
        raise MXNetError(
            explain(
                "warm",
                "the symbol has Python operators",
                because="their objects belong to one executor, so that programs are not shared",
            )
        )
    bound = bound_avals(executor)
    calls: dict[Any, list[ProgramCall]] = {}
    for given in shapes:
        from ._bind import infer_new_shapes

        found = infer_new_shapes(executor, given, "warm")
        groups = (found.arg_shapes, found.aux_shapes, found.out_shapes)
        avals = [
            tuple([_with_shape(a, s) for a, s in zip(arrays, new, strict=True)])
            for arrays, new in zip(bound, groups, strict=True)
        ]
        name = tuple((n, tuple(s)) for n, s in given.items())
        calls[name] = list(request.calls(executor, *avals, steps=True))  # type: ignore[arg-type]
    return Precompilation(
        {n: [submit_compilation(*call) for call in some] for n, some in calls.items()}
    )


def prefetch(executor: Any) -> None:
    """Loads in the background what an executor will run, if an earlier process has kept it: what
    follows ``forward(is_train=True)`` where gradients are bound, else inference."""
    program = executor._program
    if not isinstance(program, Program) or (
        program.argnums and any(program.may_need_head_gradient)
    ):
        return  # which head gradients there will be is not known yet
    for function, avals in PrecompileSpec(bool(program.argnums)).calls(
        executor, *bound_avals(executor)
    ):
        function.prefetch(*avals)


def submit_compilation(function: Any, avals: tuple[Any, ...]) -> CompileTask:
    if isinstance(function, InstrumentedJit):
        return function.precompile(*avals)
    return submit(lambda: function.compile(*avals))


def _with_shape(array: jax.ShapeDtypeStruct, shape: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, array.dtype, sharding=array.sharding)


def _last_train_step(
    steps: Sequence[InstrumentedJit], args: AbstractArrays, aux: AbstractArrays
) -> Any:
    """The step that was compiled last, if its weights and states are as these:
    (function, donated, (args, aux), keys and numbers)."""
    for function in reversed(steps):
        if function.avals is None:
            continue
        donated, their_args, their_aux, *_, keys, numbers = function.avals
        weights, _, states = donated
        own = [a for a, b in zip(args, their_args, strict=True) if b is None]
        own += [a for a, b in zip(aux, their_aux, strict=True) if b is None]
        theirs = [*(w for group in weights for w in group), *states]
        if sorted((a.shape, a.dtype.name) for a in own) == sorted(
            (a.shape, a.dtype.name) for a in theirs
        ):
            return function, donated, (their_args, their_aux), (keys, numbers)
    return None
