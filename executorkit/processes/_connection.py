"""``connect``: the one place where a process joins the other processes of its job."""

import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass

import jax
from jax.experimental import multihost_utils

from ..errors import MXNetError
from ..jax_internals import distributed_state
from ._faults import Faults, Termination, current_handler
from ._job_environment import NUMBER, Environment, read_environment

#: Seconds after which a process that has not been heard of counts as frozen.
_HEARTBEAT_SECONDS = 15
#: Seconds in which all processes have to ask for what they have parts of, and the environment
#: variable that gives another number.
_MEET_SECONDS = 60
_MEET_VARIABLE = "EXECUTORKIT_MEET_SECONDS"
#: Seconds in which all processes have to come; the environment variable gives another number.
_JOIN_SECONDS = 300
_JOIN_VARIABLE = "EXECUTORKIT_JOIN_SECONDS"


@dataclass
class _Connection:
    environment: Environment | None = None
    faults: Faults | None = None
    termination: Termination | None = None
    meetings: int = 0


_connection = _Connection()


def connect(where: str) -> Environment | None:
    """Joins the processes of this job, as the environment says; returns None if it says nothing.
    Does nothing in a process that has joined, by this function or by ``jax.distributed``. One line
    on stderr tells of it. Raises MXNetError, which begins with ``where``, if this process of
    several cannot join: variables are missing, JAX is in use already, or the others do not come."""
    joined = connected_environment()
    if joined is not None:
        _watch_others(joined)
        return joined
    environment = read_environment()
    if environment is None or environment.number == 1:
        return environment
    _check_address(environment)
    if jax.config.jax_cpu_collectives_implementation is None:  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    terminate = signal.getsignal(signal.SIGTERM)
    try:
        _initialize(environment)
    except (RuntimeError, ValueError) as error:
        raise _refusal(where, environment, error) from error
    joined = _connected(environment.source, environment.address)
    if environment.number not in (None, joined.number):
        problem = f"{joined.source}: joined {joined.number} processes of {environment.number}"
        raise MXNetError(where, problem)
    sys.stderr.write(f"executorkit: {joined}\n")
    sys.stderr.flush()
    if terminate not in (signal.SIG_DFL, None) and _in_main_thread():
        signal.signal(signal.SIGTERM, terminate)  # the user's, which JAX has replaced
    _watch_others(joined)
    return joined


def join_named_job() -> None:
    """Joins the processes of MXNet's launcher or ``executorkit launch``, at the first use of a
    device, since JAX cannot join later. Slurm and MPI also start independent processes, so only a
    dist store joins those."""
    worker = os.environ.get("DMLC_ROLE") == "worker"
    if (worker or NUMBER in os.environ) and connected_environment() is None:
        connect("first use of a device")


def note_step(number: int) -> None:
    """Begins a step in which all processes take part; its number is for messages. Raises MXNetError
    if the script of another process has ended before this step, which would wait for ever. Does
    nothing in a process that is alone."""
    if _connection.faults is not None:
        _connection.faults.note_step(number)


def note_checkpoint(name: str) -> None:
    """Notes the newest checkpoint, for messages."""
    if _connection.faults is not None:
        _connection.faults.note_checkpoint(name)


def peer_error(error: BaseException) -> MXNetError | None:
    """Returns the error to raise instead of a collective's error because a process has gone. It
    names the rank, the reason, the step, and the checkpoint to start from. None for all other
    errors, and in a process that is alone."""
    return None if _connection.faults is None else _connection.faults.peer_error(error)


def meet(what: str, because: str, hint: str) -> None:
    """Waits until all processes have called this equally often, so that they can send a message.
    Raises MXNetError naming ``what``, if the others do not arrive within a minute, or the seconds
    of the environment variable EXECUTORKIT_MEET_SECONDS."""
    client = distributed_state.client
    if client is None:
        return
    _connection.meetings += 1
    seconds = int(os.environ.get(_MEET_VARIABLE) or _MEET_SECONDS)
    try:
        client.wait_at_barrier(f"executorkit meeting {_connection.meetings}", seconds * 1000)
    except Exception as error:
        problem = f"the other processes have not asked for it in {seconds} s"
        raise MXNetError(what, problem, because=because, hint=hint) from error


def stop_requested(step: int) -> bool:
    """Returns True if all processes are to stop now, since one of them has got SIGTERM.

    Every process calls this once in each step with the same numbers, and gets True at the same
    step: it saves, and ends with status 143 (``raise SystemExit(143)``). A process that gets
    SIGTERM before it has called this ends at once. False in a process that is alone.
    """
    if _connection.termination is None:
        return False
    return _connection.termination.is_due(multihost_utils.reached_preemption_sync_point, step)


def _watch_others(joined: Environment) -> None:
    if _connection.faults is not None or joined.number == 1:
        return
    _connection.faults = faults = Faults(joined)
    is_free = signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, None)
    if is_free and jax.config.jax_enable_preemption_service and _in_main_thread():  # pyright: ignore[reportAttributeAccessIssue]
        _connection.termination = Termination(faults, current_handler(signal.SIGTERM))


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def connected_environment() -> Environment | None:
    """Returns the place of this process in the job that it has joined; None if it is alone."""
    if _connection.environment is None and jax.distributed.is_initialized():
        return _connected("jax.distributed", None)
    return _connection.environment


def process_count() -> int:
    """Returns the number of processes in this job, if possible without using devices."""
    environment = connected_environment()
    return 1 if environment is None else environment.number or 1


def process_index() -> int:
    """Returns the rank of this process; one that is alone uses no device for it."""
    environment = connected_environment()
    return 0 if environment is None else environment.rank or 0


def end_other_roles() -> None:
    """Ends a process that MXNet's launcher has started as a server or as the scheduler."""
    role = os.environ.get("DMLC_ROLE")
    if role in ("server", "scheduler"):
        sys.stderr.write(
            f"executorkit: this {role} ends, since workers sum among themselves (DMLC_ROLE)\n"
        )
        sys.stderr.flush()
        raise SystemExit(0)


def _connected(source: str, address: str | None) -> Environment:
    state = distributed_state
    address = address or state.coordinator_address
    joined = Environment(source, state.process_id, state.num_processes, address)
    _connection.environment = joined
    return joined


def _initialize(environment: Environment) -> None:
    seconds = int(os.environ.get(_JOIN_VARIABLE) or _JOIN_SECONDS)
    jax.distributed.initialize(
        environment.address,
        environment.number if environment.address else None,
        environment.rank if environment.address else None,
        initialization_timeout=seconds,
        heartbeat_timeout_seconds=_HEARTBEAT_SECONDS,
    )


def _check_address(environment: Environment) -> None:
    if environment.rank != 0 or environment.address is None:
        return
    host, _, port = environment.address.rpartition(":")
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, ValueError) as error:
        problem = f"{environment.source}: rank 0 cannot serve {environment.address}: {error}"
        hint = "an address of the host on which rank 0 runs, and a port that is free there"
        raise MXNetError("processes", problem, hint=hint) from error


def _refusal(where: str, environment: Environment, error: Exception) -> MXNetError:
    number = "several" if environment.number is None else environment.number
    says = f"{environment.source}: there are {number} processes"
    if "before any JAX" in str(error):
        return MXNetError(
            where, "this process has used JAX before it joined the others", because=says,
            hint=f"move mx.kv.create({where.partition(' ')[2]}) before the first array, context of "
            "a GPU, iterator or jax call of the script, and pass the store on: fit(kvstore=store)",
        )  # fmt: skip
    seconds = int(os.environ.get(_JOIN_VARIABLE) or _JOIN_SECONDS)
    reason = str(error).partition("\n")[0]
    if "DEADLINE_EXCEEDED" in reason or "timed out" in reason.lower():
        place = "" if environment.rank is None else f" (rank {environment.rank} waits)"
        return MXNetError(
            where, f"the others have not come to {environment.address} in {seconds} s{place}",
            because=says, hint=f"see that all are started and reach this host; {_JOIN_VARIABLE}=S",
        )  # fmt: skip
    hint = None
    if environment.source == "Kubernetes":
        hint = (
            "pip install 'jax[k8s]' and an indexed job with a headless service; or "
            "EXECUTORKIT_ADDRESS, EXECUTORKIT_NUM_PROCESSES and EXECUTORKIT_RANK in its pods"
        )
    return MXNetError(where, f"cannot join: {reason}", because=says, hint=hint)
