"""Programs that all processes of a job call together; the epochs of their steps, and the check that
their parameters agree."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import processes
from .._support.annotations import Function, Operands, Raw, Tree
from ..arrays.protocol import PendingValue
from ..calls.rollback import complete
from ..calls.update_call import UpdatableStep, UpdateCall
from ..context import Device
from ..errors import MXNetError, listed
from ..jax_internals import in_x64, parts_of
from ..program import (
    REPLICATED_ARGS,
    Arrays,
    CompileTask,
    Donated,
    Program,
    StepSpec,
    UpdateSpec,
    apply_updates,
    make_step,
)
from ._job_messages import JOB_AXES, StepFlags, joint_sums, lockstep, offsets_of
from ._model_sharding import ProgramSharding, constrained_each, constrained_updates
from ._pmap_function import PmapFunction, device_key, group_functions
from ._replicas import JobReplicas, Replicas, Spec, first_entry, own_entries, spec_of
from ._replicated_array import ReplicatedArray
from ._state_sharding import (
    LateUpdates,
    finish_of_step,
    finish_updates,
    gather_offsets,
    summed_whole,
    update_in_program,
)


class JoiningFunction(PmapFunction):
    """A function over the devices of all processes, each with the entries of its own devices."""

    __slots__ = ("job",)

    def __init__(
        self,
        function: Function,
        name: str,
        job: JobReplicas,
        donates: bool = False,
        replicated: tuple[int, ...] = (),
        finish: Function | None = None,
    ) -> None:
        self.job = job
        super().__init__(function, name, job.mesh, donates, replicated, finish)

    def placed(self, args: Operands) -> Operands:
        first, *others = args
        if isinstance(first, Donated):
            first.tree = self.job.spread(first.tree)
            return (first, *self.job.spread(others))
        return self.job.spread(args)


class JoiningStep(JoiningFunction):
    """A training step of all processes, with flags and message offsets as further arguments."""

    __slots__ = ("_averages_states", "_forward_states", "_offsets", "_spec")

    def __init__(
        self,
        program: Program,
        train: bool,
        spec: StepSpec,
        job: JobReplicas,
        sharding: ProgramSharding | None = None,
        averages_states: bool = True,
    ) -> None:
        self._averages_states = averages_states
        self._forward_states = program.forward_state_indices
        self._spec = spec
        #: The avals of the latest weights and states, and their offsets.
        self._offsets: tuple[list[Any], Any] = [], ()
        step = joining_step(program, train, spec, job, sharding, averages_states)
        super().__init__(step, "step", job, True, REPLICATED_ARGS, finish=finish_of_step(spec))

    def call_into(self, results: list[Raw], donated: Donated, args: Operands) -> None:
        super().call_into(results, donated, self._completed(donated.tree, args))

    def compile(self, *args: Tree) -> jax.stages.Compiled:
        return super().compile(*self._placed_avals(args))

    def trace(self, *args: Tree) -> jax.stages.Traced:
        return super().trace(*self._placed_avals(args))

    def lower(self, *args: Tree) -> jax.stages.Lowered:
        return super().lower(*self._placed_avals(args))

    def precompile(self, *args: Tree) -> CompileTask:
        return super().precompile(*self._placed_avals(args))

    def _placed_avals(self, args: Operands) -> Operands:
        donated, *others = args
        if len(others) <= max(REPLICATED_ARGS):
            others = self._completed(donated, others)
        return self.job.spread((donated, *others))

    def _completed(self, donated: Tree, args: Arrays) -> Operands:
        weights, _, states = donated
        aux = [*states, *[args[1][i] for i in self._forward_states]]
        # JAX gives the results of an executable the same avals in every step.
        avals = [getattr(x, "aval", x) for x in chain(*weights, aux)]
        known, offsets = self._offsets
        if avals != known or not avals:
            averaged = aux if self._averages_states else ()
            offsets = step_offsets(self.job, self._spec, weights, averaged)
            self._offsets = avals, offsets
        return (*args, lockstep.flags(self.job.local), offsets)


def joining_step(
    program: Program,
    train: bool,
    spec: StepSpec,
    job: JobReplicas,
    sharding: ProgramSharding | None = None,
    averages_states: bool = True,
) -> Function:
    """Returns the function of a step by the sums of the gradients over all devices of the job: the
    results of :func:`make_step`, then the sums of the flags. With ``averages_states`` auxiliary
    states become means. Where a process has no batch, everything stays as it is."""

    def mapped(
        donated: Tree, args: Tree, aux: Tree, key_data: Raw, heads: Tree, accumulated: Tree,
        update_keys: Tree, hyperparams: Raw, flags: Raw, offsets: Tree,
    ) -> Tree:  # fmt: skip
        out_of_data: list[Raw] = []
        places, places_of_parts = offsets
        late = LateUpdates(spec, places_of_parts)

        def reduce(grads: Arrays, states: Arrays) -> tuple[Arrays, Arrays]:
            averaged = states if averages_states else ()
            sums, means, total = _joint_sums(late, grads, averaged, flags, places, job)
            out_of_data.append(total)
            return sums, means if averages_states else states

        step = make_step(program, train, late.spec, reduce)
        new, outputs, forward_states, grads = step(
            donated, args, aux, device_key(key_data), heads, accumulated,
            update_keys=_keys_of_first(update_keys), hyperparams=hyperparams,
        )  # fmt: skip
        old = tuple(aux[i] for i in program.forward_state_indices)
        replaced = *map(late.not_late, donated[:2]), donated[2]
        new, forward_states = _if_all_have_batches(
            out_of_data[0], (new, tuple(forward_states)), (replaced, old)
        )
        results = new, outputs, forward_states, grads, out_of_data[0]
        if sharding is not None:
            return sharding.of_step(program, spec, results)
        return late.with_operands(results)

    return mapped


def step_offsets(
    job: JobReplicas, spec: StepSpec, weights: Sequence[Arrays], aux: Arrays
) -> tuple[Any, Any]:
    whole = summed_whole(spec, weights)
    return offsets_of(job, [*whole, *aux]), gather_offsets(spec, weights)


def _joint_sums(
    late: LateUpdates, grads: Arrays, states: Arrays, flags: Raw, places: Arrays, job: JobReplicas
) -> tuple[Arrays, Arrays, Tree]:
    others: list[Raw] = []

    def sums_of(whole: Arrays) -> Arrays:
        sums, *means_and_total = joint_sums(whole, states, flags, places, job)
        others.extend(means_and_total)
        return sums

    return late.sums(grads, sums_of), *others


def _if_all_have_batches(out_of_data: Raw, new: Tree, old: Tree) -> Any:
    leaves, tree = jax.tree.flatten(new)
    everyone = out_of_data[0] == 0
    pairs = zip(leaves, jax.tree.leaves(old), strict=True)
    return jax.tree.unflatten(tree, [jnp.where(everyone, x, y) for x, y in pairs])


def update_function(spec: StepSpec, job: JobReplicas, aux_specs: tuple[Spec, ...]) -> PmapFunction:
    """Returns the function of an update by gradients that have been computed already: it sends what
    a step sends, and computes equal bits. It takes (weights, states, grads, aux, update_keys,
    hyperparams, flags, offsets) and returns weights, states, aux, the sums if the spec asks for
    them, and the sums of the flags."""

    def update(
        weights: Tree, states: Tree, grads: Arrays, aux: Arrays, update_keys: Tree,
        hyperparams: Raw, flags: Raw, offsets: Tree,
    ) -> Tree:  # fmt: skip
        places, places_of_parts = offsets
        late = LateUpdates(spec, places_of_parts)
        sums, means, out_of_data = _joint_sums(late, grads, aux, flags, places, job)
        keys = _keys_of_first(update_keys) if len(job) > 1 else update_keys
        new = apply_updates(late.spec, weights, sums, states, keys=keys, hyperparams=hyperparams)
        old = *map(late.not_late, (weights, states)), tuple(aux)
        *new, means = _if_all_have_batches(out_of_data, (*new, means), old)
        visible = tuple(sums) if spec.sums_gradients else ()
        constrained = *constrained_updates(spec, *new), constrained_each(means, aux_specs)
        return late.with_operands((*constrained, visible, out_of_data))

    def finish(mesh: jax.sharding.Mesh, args: Arrays, results: Tree, operands: Tree) -> Tree:
        *updated, means, sums, out_of_data = results
        new = finish_updates(spec, mesh, args, updated, operands, out_of_data)
        return *new, means, sums, out_of_data

    is_finished = finish_of_step(spec) is None
    return group_functions.get_or_make(
        ("update", spec, job, aux_specs),
        lambda: JoiningFunction(
            update, "update", job, replicated=(4, 5), finish=None if is_finished else finish
        ),
    )


def _keys_of_first(update_keys: Arrays) -> Operands:
    return tuple(None if k is None else lax.all_gather(k, JOB_AXES)[0] for k in update_keys)


def _sum_function(job: JobReplicas, specs: tuple[Spec, ...]) -> PmapFunction:
    def sums(grads: Arrays, states: Arrays, flags: Raw, offsets: Arrays) -> Tree:
        sums, means, out_of_data = joint_sums(grads, states, flags, offsets, job)
        totals = constrained_each((*sums, *means), specs)
        return totals[: len(grads)], totals[len(grads) :], out_of_data

    return group_functions.get_or_make(
        ("sums", job, specs), lambda: JoiningFunction(sums, "sums", job)
    )


def sum_over_job(
    replicas: Replicas, grads: Sequence[jax.Array], states: Sequence[jax.Array] = ()
) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
    """Returns sums of stacked arrays over all processes, means of states, and sums of the flags.
    All processes call this, or take a step with such arrays, in one order."""
    job = replicas.of_job
    arrays = *grads, *states
    function, offsets = _sum_function(job, tuple(map(spec_of, arrays))), offsets_of(job, arrays)
    return function(tuple(grads), tuple(states), lockstep.flags(replicas), offsets)


@in_x64
def first_of_job(device: Device, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sends the first process's arrays to all, which call this together; one message."""
    words = [np.frombuffer(_padded(x), np.uint32) for x in arrays]
    whole = np.concatenate(words) if words else np.zeros(0, np.uint32)
    mine = whole if jax.process_index() == 0 else np.zeros_like(whole)
    replicas = Replicas.on([device])
    (total,), _, _ = sum_over_job(replicas, [replicas.from_host(mine[None])])
    received = np.asarray(own_entries(total))[0]
    results, begin = [], 0
    for x, part in zip(arrays, words, strict=True):
        content = received[begin : begin + part.size].tobytes()[: x.nbytes]
        results.append(np.frombuffer(content, x.dtype).reshape(x.shape).copy())
        begin += part.size
    return results


def bytes_of_first(device: Device, content: bytes) -> bytes:
    (length,) = first_of_job(device, [np.array([len(content)])])
    own = content if jax.process_index() == 0 else bytes(int(length[0]))
    (received,) = first_of_job(device, [np.frombuffer(own, np.uint8)])
    return received.tobytes()


def _padded(array: np.ndarray) -> bytes:
    content = np.ascontiguousarray(array).tobytes()
    return content + b"\0" * (-len(content) % 4)


#: Number of steps after which parameters are compared.
CHECK_INTERVAL = 100


def check_when_due(parameters: Sequence[jax.Array]) -> None:
    if lockstep.steps % CHECK_INTERVAL == 0:
        check_ranks(parameters)


def note_joint_step(
    results: Tree, parameters: Sequence[PendingValue], undo: Sequence[Callable[[], object]]
) -> None:
    """Counts a step that has changed these parameters; ``undo`` takes its counts back."""
    (weights, _, _), *_, sums_of_flags = results
    lockstep.note(sums_of_flags, parameters, undo)
    check_when_due([w for group in weights for w in group])


def check_ranks(parameters: Iterable[jax.Array]) -> None:
    """Compares checksums of stacked arrays between the processes, which call this together;
    MXNetError in all of them names the ranks that differ."""
    parts = [part for x in parameters for part in first_entry(x)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(np.asarray(part).reshape(-1).view(np.uint8).data, checksum)
    own = np.zeros((1, jax.process_count()), np.uint32)
    own[0, jax.process_index()] = checksum
    replicas = Replicas.on([parts[0].device])
    (sums,), _, _ = sum_over_job(replicas, [replicas.from_host(own)])
    checksums = np.asarray(parts_of(sums)[0])[0].tolist()
    common, _ = Counter(checksums).most_common(1)[0]
    different = [rank for rank, each in enumerate(checksums) if each != common]
    if different:
        raise MXNetError(
            f"step {lockstep.steps}",
            f"the parameters of rank {listed(different, 8)} differ from the other ranks'",
            because="all processes of a job make the same updates",
            hint="parameters, rates and states that a script sets have to be set in every process; "
            "go on from the last checkpoint",
        )


class UpdateStep(UpdatableStep):
    """An update by gradients that have been computed already, in a step with other processes.
    Auxiliary ``states`` become means; ``sums_gradients`` writes the sums to the gradients."""

    def __init__(
        self,
        grads: Sequence[ReplicatedArray],
        states: Sequence[ReplicatedArray],
        sums_gradients: bool,
    ) -> None:
        self._grads = grads
        self._states = states
        self._sums_gradients = sums_gradients

    @property
    def targets(self) -> list[Raw]:
        return [_StepTarget(self)] * len(self._grads)

    def attach_update(
        self,
        weights: Arrays,
        grads: Sequence[PendingValue],
        prepare: Callable[[], UpdateCall | None],
    ) -> bool:
        call = prepare()
        if call is None:
            return False
        cells, tree = jax.tree.flatten(call.state)
        values = [w.value for w in weights]
        state = jax.tree.unflatten(tree, [cell.value for cell in cells])
        aux = [s.value for s in self._states]
        update = update_in_program(call.update, weights, cells)
        targets = tuple(range(len(values)))
        spec = StepSpec(
            (UpdateSpec(targets, update, len(call.hyperparams)),), False, self._sums_gradients
        )
        replicas = self._grads[0].replicas
        aux_specs = tuple([s.replicas.spec for s in self._states])
        new, new_state, means, sums, flags = update_function(spec, replicas.of_job, aux_specs)(
            (tuple(values),),
            (state,),
            [g.value for g in self._grads],
            tuple(aux),
            (call.key_data,),
            np.array(call.hyperparams, np.float64),
            lockstep.flags(replicas),
            step_offsets(replicas.of_job, spec, [values], aux),
        )
        pairs = [
            *zip(weights, new[0], strict=True),
            *zip(cells, new_state[0], strict=True),
            *zip(self._states, means, strict=True),
            *zip(self._grads, sums, strict=False),
        ]
        complete(lambda: [cell.assign(own_entries(value)) for cell, value in pairs])
        call.attached = True
        lockstep.note(flags, weights, [call.undo])
        check_when_due(new[0])
        return True


class _StepTarget:
    def __init__(self, step: UpdateStep) -> None:
        self.pending = step


class JointEpoch:
    """The batches of an epoch, which ends for all processes as soon as one has no batch left. A
    step's flags are read one step later, so that reading does not wait: all processes end after the
    step that follows the first one without a batch. ``stops`` is True once one is asked to."""

    def __init__(self) -> None:
        self.stops = False
        self._uneven = False
        self._count = 0
        self._ends_after: int | None = None
        self._former: list[StepFlags] = []
        self._last: list[StepFlags] = []
        lockstep.take()

    def end_batch(self) -> None:
        self._count += 1
        self._former, self._last = self._last, lockstep.take()
        self.stops = bool(self._last) and processes.stop_requested(lockstep.steps)

    def is_over(self) -> bool:
        self._read(self._former, self._count - 1)
        return self.stops or self._has_ended

    def finish(self, step: Callable[[], object], logger: Any) -> None:
        """Takes part in the steps of others (calls of ``step``) after this process's last batch."""
        while self._last and not self.stops:
            self._read(self._former, self._count - 1)
            self._read(self._last, self._count)
            if self._has_ended:
                break
            with lockstep.without_batch():
                step()
            self.end_batch()
        void = [flags for flags in (*self._former, *self._last) if flags.share < 1]
        for flags in reversed(void):
            for undo in flags.undo:
                undo()
        if lockstep.parameters:
            check_ranks([p.value for p in lockstep.parameters])
        if self._uneven:
            logger.warning("the epoch ends early: some processes have fewer batches than others")

    @property
    def _has_ended(self) -> bool:
        return self._ends_after is not None and self._count >= self._ends_after

    def _read(self, flags: Sequence[StepFlags], number: int) -> None:
        if self._ends_after is not None or not flags:
            return
        share = min(t.share for t in flags)
        if share < 1:
            self._uneven = share > 0
            self._ends_after = number + (share > 0)
