"""Ahead-of-time compilation: the programs that an executor will need, and for which avals."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from .._support.annotations import Arrays, Operands, Tree
from ..errors import MXNetError
from ..ndarray import NDArray
from ..program import CompiledFunction, Precompilation, ProgramCall
from ._buffers import aval
from ._reshape import infer_new_shapes
from .runnable import Runnable

#: Shapes, dtypes and devices of arrays.
AbstractArrays = tuple[jax.ShapeDtypeStruct, ...]


class PrecompileSpec(NamedTuple):
    is_train: bool
    backward: bool | None = None

    def calls(
        self,
        runnable: Runnable[Any],
        args: AbstractArrays,
        aux: AbstractArrays,
        outputs: AbstractArrays,
        with_update: bool = False,
    ) -> Iterator[ProgramCall]:
        """Returns the calls that ``forward`` (and ``backward``) will make; with ``with_update`` the
        last train step that was compiled for other shapes."""
        train, program = bool(self.is_train), runnable.program
        key = runnable.key_aval() if runnable.uses_rng[train] else None
        backward = self.backward
        if backward is None:
            backward = train and bool(program.argnums)
        if not backward:
            yield program.infer[train], (args, aux, key)
            if not train and program.prepared is not None:
                yield from program.prepared.calls(args, aux, key, runnable.fed_positions)
            return
        needed = program.needs_head_gradient(args, aux, key)
        heads = tuple(o if need else None for o, need in zip(outputs, needed, strict=True))
        accumulated: Operands = ()
        if True in runnable.accumulate:
            added = enumerate(zip(program.argnums, runnable.accumulate, strict=True))
            accumulated = tuple(
                None if target in runnable.duplicate_targets or not add else args[i]
                for target, (i, add) in added
            )
        step = _last_train_step(program.train_steps(train), args, aux) if with_update else None
        if step is None:
            sums = [accumulated] if accumulated else []
            yield program.forward_backward[train], (args, aux, key, heads, *sums)
            return
        rest_of_args = _where_present(step.args, args)
        rest_of_aux = _where_present(step.aux, aux)
        operands = (step.donated, rest_of_args, rest_of_aux, key, heads, accumulated)
        yield step.function, (*operands, *step.replicated)


class _TrainStep(NamedTuple):
    """A compiled train step and its avals; donated ones are None in ``args`` and ``aux``."""

    function: CompiledFunction
    donated: Tree
    args: Arrays
    aux: Arrays
    replicated: Operands


def _last_train_step(
    functions: Sequence[CompiledFunction], args: AbstractArrays, aux: AbstractArrays
) -> _TrainStep | None:
    for function in reversed(functions):
        if function.avals is None:
            continue
        donated, step_args, step_aux, *_, key_data, hyperparams = function.avals
        weights, _, states = donated
        new = [a for a, b in zip(args, step_args, strict=True) if b is None]
        new += [a for a, b in zip(aux, step_aux, strict=True) if b is None]
        compiled = [*(w for group in weights for w in group), *states]
        if sorted(map(_shape_and_dtype, new)) == sorted(map(_shape_and_dtype, compiled)):
            return _TrainStep(function, donated, step_args, step_aux, (key_data, hyperparams))
    return None


def _shape_and_dtype(array: jax.ShapeDtypeStruct) -> tuple[tuple[int, ...], str]:
    return array.shape, array.dtype.name


def _where_present(mask: Sequence[Any], arrays: AbstractArrays) -> Operands:
    return tuple(None if m is None else a for m, a in zip(mask, arrays, strict=True))


def bound_avals(
    runnable: Runnable[NDArray],
) -> tuple[AbstractArrays, AbstractArrays, AbstractArrays]:
    lists = (runnable.arg_arrays, runnable.aux_arrays, runnable.outputs)
    args, aux, outputs = (tuple([aval(a) for a in arrays]) for arrays in lists)
    return args, aux, outputs


def precompile_shapes(
    runnable: Runnable[NDArray], shapes: Sequence[Mapping[str, Sequence[int]]], spec: PrecompileSpec
) -> Precompilation:
    """Compiles for other shapes in the background; all shapes are checked first."""
    if runnable.runs_eagerly:
        because = "their objects belong to one executor, so that programs are not shared"
        raise MXNetError("precompile", "the symbol has Python operators", because=because)
    bound = bound_avals(runnable)
    arrays = [*runnable.arg_arrays, *runnable.aux_arrays]
    calls: dict[Hashable, list[ProgramCall]] = {}
    for by_name in shapes:
        inferred = infer_new_shapes(runnable.graph, arrays, by_name, "precompile")
        new_shapes = (inferred.arg_shapes, inferred.aux_shapes, inferred.out_shapes)
        args, aux, outputs = (
            tuple([a.update(shape=s) for a, s in zip(avals, new, strict=True)])
            for avals, new in zip(bound, new_shapes, strict=True)
        )
        label = tuple((name, tuple(shape)) for name, shape in by_name.items())
        calls[label] = list(spec.calls(runnable, args, aux, outputs, with_update=True))
    compiled = {label: [f.precompile(*avals) for f, avals in each] for label, each in calls.items()}
    return Precompilation(compiled)


def expected_calls(runnable: Runnable[NDArray]) -> list[ProgramCall]:
    """Returns the calls expected after bind; empty where head gradients may be needed."""
    program = runnable.program
    if program.argnums and any(program.may_need_head_gradient):
        return []
    # Both stages of inference would follow, which are traced to be known.
    return [next(PrecompileSpec(bool(program.argnums)).calls(runnable, *bound_avals(runnable)))]
