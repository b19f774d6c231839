"""Environment variables of job starters: the number of processes, and this one's rank. MXNet's
launcher, ``executorkit launch``, Slurm, MPI and Kubernetes set them. Several processes without
enough to find the others are an error."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import MXNetError

#: Variables of ``executorkit launch``, which may also be set by hand.
ADDRESS, NUMBER, RANK = "EXECUTORKIT_ADDRESS", "EXECUTORKIT_NUM_PROCESSES", "EXECUTORKIT_RANK"
#: Number of the attempt, from 0, where the launcher starts a job again after a failure.
ATTEMPT = "EXECUTORKIT_ATTEMPT"
#: Address of the first process, for JAX and for the starters that do not tell it.
COORDINATOR = "JAX_COORDINATOR_ADDRESS"

#: Variables with the rank of a worker, the first that is set counts. MXNet's launcher sets the
#: second in its local and sge modes, and leaves it to MPI in its mpi mode.
_WORKER_RANKS = (
    "DMLC_WORKER_ID", "DMLC_TASK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
    "SLURM_PROCID",
)  # fmt: skip
#: Variables that Slurm sets for each task that ``srun`` starts, all of which JAX needs.
_SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")
#: Number of processes and rank, as Open MPI and the kin of MPICH name them.
_MPI = (
    ("Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("MPI", "PMI_SIZE", "PMI_RANK"),
)
#: Open MPI's variable that JAX takes the address from; Open MPI 5 does not set it.
_OPEN_MPI_ADDRESS = "OMPI_MCA_orte_hnp_uri"


@dataclass(frozen=True)
class Environment:
    """The place of a process in its job."""

    #: The starter, for messages.
    source: str
    #: None where JAX asks the starter (Kubernetes).
    rank: int | None
    number: int | None
    #: ``host:port`` of process 0; None where JAX asks the starter, or there is one process.
    address: str | None = None

    def __str__(self) -> str:
        where = f", joined at {self.address}" if self.address else ""
        return f"rank {self.rank} of {self.number}{where} ({self.source})"


def read_environment(variables: Mapping[str, str] | None = None) -> Environment | None:
    """Returns the place of this process in its job; None without a starter. Raises MXNetError if a
    starter names several processes, and not how to find them."""
    variables = os.environ if variables is None else variables
    for read in (_of_launcher, _of_mxnet, _of_slurm, _of_mpi, _of_tpu, _of_kubernetes):
        environment = read(variables)
        if environment is not None:
            return environment
    return None


def _of_launcher(variables: Mapping[str, str]) -> Environment | None:
    if not {ADDRESS, NUMBER, RANK} & set(variables):
        return None
    source = "executorkit launch" if ATTEMPT in variables else "EXECUTORKIT_* variables"
    number = _number(variables, NUMBER, source)
    if number == 1:
        return Environment(source, 0, 1)
    rank = _rank(variables, [RANK], number, source)
    return Environment(source, rank, number, _text(variables, ADDRESS, source, number))


def _of_mxnet(variables: Mapping[str, str]) -> Environment | None:
    if not {"DMLC_ROLE", "DMLC_NUM_WORKER"} & set(variables):
        return None
    source = "DMLC_* variables"
    number = _number(variables, "DMLC_NUM_WORKER", source)
    if number == 1:
        return Environment(source, 0, 1)
    rank = _rank(variables, _WORKER_RANKS, number, source)
    host = _text(variables, "DMLC_PS_ROOT_URI", source, number)
    port = _text(variables, "DMLC_PS_ROOT_PORT", source, number)
    return Environment(source, rank, number, f"{host}:{port}")


def _of_slurm(variables: Mapping[str, str]) -> Environment | None:
    if "SLURM_JOB_ID" not in variables or "SLURM_NTASKS" not in variables:
        return None
    number = _number(variables, "SLURM_NTASKS", "Slurm")
    if number == 1:
        return Environment("Slurm", 0, 1)
    hint = "srun python ... instead of python ... in the batch script"
    for name in _SLURM:
        _text(variables, name, "Slurm", number, hint)
    rank = _rank(variables, ["SLURM_PROCID"], number, "Slurm")
    return Environment("Slurm", rank, number, variables.get(COORDINATOR))


def _of_mpi(variables: Mapping[str, str]) -> Environment | None:
    for source, number_name, rank_name in _MPI:
        if number_name not in variables:
            continue
        number = _number(variables, number_name, source)
        if number == 1:
            return Environment(source, 0, 1)
        rank = _rank(variables, [rank_name], number, source)
        if source == "Open MPI" and _OPEN_MPI_ADDRESS in variables:
            return Environment(source, rank, number, variables.get(COORDINATOR))
        option = "-x" if source == "Open MPI" else "-genv"
        sign = "=" if source == "Open MPI" else " "
        hint = f"mpirun {option} {COORDINATOR}{sign}HOST:PORT ..., with the host of rank 0"
        return Environment(
            source, rank, number, _text(variables, COORDINATOR, source, number, hint)
        )
    return None


def _of_tpu(variables: Mapping[str, str]) -> Environment | None:
    hosts = variables.get("TPU_WORKER_HOSTNAMES", "")
    return Environment("TPU hosts", None, hosts.count(",") + 1) if "," in hosts else None


def _of_kubernetes(variables: Mapping[str, str]) -> Environment | None:
    if "KUBERNETES_SERVICE_HOST" not in variables or "JOB_COMPLETION_INDEX" not in variables:
        return None
    return Environment("Kubernetes", None, None)


def _text(
    variables: Mapping[str, str], name: str, source: str, number: int, hint: str | None = None
) -> str:
    value = variables.get(name)
    if not value:
        problem = f"{source}: there are {number} processes, and {name} is not set"
        raise MXNetError("processes", problem, hint=hint or _manual_start(number))
    return value


def _number(variables: Mapping[str, str], name: str, source: str) -> int:
    text = variables.get(name)
    if text is None:
        problem = f"{source}: {name} is not set, so the number of processes is unknown"
        raise MXNetError("processes", problem, hint=_manual_start(2))
    if not text.isdecimal() or int(text) == 0:
        raise MXNetError("processes", f"{source}: {name} is {text!r}, expected a positive number")
    return int(text)


def _rank(variables: Mapping[str, str], names: Iterable[str], number: int, source: str) -> int:
    names = list(names)
    for name in names:
        text = variables.get(name, "")
        if text.isdecimal() and int(text) < number:
            return int(text)
        if text:
            problem = f"{source}: {name} is {text!r}, expected 0 to {number - 1}"
            raise MXNetError("processes", problem)
    one_of = "none of " if len(names) > 1 else ""
    verb = "is" if one_of else "is not"
    problem = f"{source}: there are {number} processes, and {one_of}{', '.join(names)} {verb} set"
    because = None
    if source == "DMLC_* variables":
        because = "MXNet's launcher gives workers no rank in its ssh mode"
    raise MXNetError("processes", problem, because=because, hint=_manual_start(number))


def _manual_start(number: int) -> str:
    return (
        f"executorkit launch -n {number} [-H HOSTS] train.py ..., or {ADDRESS}=HOST:PORT "
        f"{NUMBER}={number} {RANK}=0 (1, ...) before the command of each process"
    )
