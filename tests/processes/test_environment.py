"""The place of a process in its job, as starters tell it; what is missing is named."""

from __future__ import annotations

import os

import jax
import pytest

import executorkit as mx
from executorkit.processes import Environment, end_other_roles, read_environment

MXNET = {
    "DMLC_ROLE": "worker",
    "DMLC_NUM_WORKER": "4",
    "DMLC_NUM_SERVER": "4",
    "DMLC_PS_ROOT_URI": "10.0.0.1",
    "DMLC_PS_ROOT_PORT": "9091",
}
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[001-004]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "0",
}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
LAUNCHER = {"EXECUTORKIT_ADDRESS": "h:1", "EXECUTORKIT_NUM_PROCESSES": "2", "EXECUTORKIT_RANK": "1"}
KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
OTHERS = ("DMLC_", "SLURM_", "OMPI_", "PMI_", "PMIX_", "EXECUTORKIT_", "KUBERNETES_", "TPU_")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({**MXNET, "DMLC_TASK_ID": "2"}, ("DMLC_* variables", 2, 4, "10.0.0.1:9091")),
        ({**MXNET, "DMLC_WORKER_ID": "1", "DMLC_TASK_ID": "2"}, ("DMLC_* variables", 1, 4, ...)),
        ({**MXNET, "OMPI_COMM_WORLD_RANK": "3"}, ("DMLC_* variables", 3, 4, ...)),
        ({"DMLC_ROLE": "worker", "DMLC_NUM_WORKER": "1"}, ("DMLC_* variables", 0, 1, None)),
        (SLURM, ("Slurm", 3, 4, None)),
        ({**SLURM, "SLURM_NTASKS": "1"}, ("Slurm", 0, 1, None)),
        ({"SLURM_JOB_ID": "7"}, None),
        ({**OPEN_MPI, "OMPI_MCA_orte_hnp_uri": "1.0;tcp://h:1"}, ("Open MPI", 1, 4, None)),
        ({**OPEN_MPI, "JAX_COORDINATOR_ADDRESS": "h:1"}, ("Open MPI", 1, 4, "h:1")),
        ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}, ("Open MPI", 0, 1, None)),
        (
            {"PMI_SIZE": "2", "PMI_RANK": "0", "JAX_COORDINATOR_ADDRESS": "h:1"},
            ("MPI", 0, 2, "h:1"),
        ),
        (LAUNCHER, ("EXECUTORKIT_* variables", 1, 2, "h:1")),
        ({**LAUNCHER, "EXECUTORKIT_ATTEMPT": "0"}, ("executorkit launch", 1, 2, "h:1")),
        ({**SLURM, **LAUNCHER}, ("EXECUTORKIT_* variables", 1, 2, "h:1")),
        (KUBERNETES, None),
        ({**KUBERNETES, "JOB_COMPLETION_INDEX": "1"}, ("Kubernetes", None, None, None)),
        ({"TPU_WORKER_HOSTNAMES": "a,b"}, ("TPU hosts", None, 2, None)),
        ({"TPU_WORKER_HOSTNAMES": "a"}, None),
    ],
)
def test_place_of_a_process(variables, expected):
    environment = read_environment(variables)
    if expected is None:
        assert environment is None
    else:
        assert environment is not None
        source, rank, number, address = expected
        address = environment.address if address is ... else address
        assert environment == Environment(source, rank, number, address)


START = (
    "\n  try: executorkit launch -n {n} [-H HOSTS] train.py ..., or EXECUTORKIT_ADDRESS=HOST:PORT "
    "EXECUTORKIT_NUM_PROCESSES={n} EXECUTORKIT_RANK=0 (1, ...) before the command of each process"
)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            MXNET,
            "processes: DMLC_* variables: there are 4 processes, and none of DMLC_WORKER_ID, "
            "DMLC_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, SLURM_PROCID is set\n"
            "  because MXNet's launcher gives workers no rank in its ssh mode" + START.format(n=4),
        ),
        (
            {"DMLC_ROLE": "worker"},
            "processes: DMLC_* variables: DMLC_NUM_WORKER is not set, so the number of processes "
            "is unknown" + START.format(n=2),
        ),
        (
            {"DMLC_NUM_WORKER": "2", "DMLC_TASK_ID": "0", "DMLC_PS_ROOT_URI": "h"},
            "processes: DMLC_* variables: there are 2 processes, and DMLC_PS_ROOT_PORT is not set"
            + START.format(n=2),
        ),
        (
            {**MXNET, "DMLC_TASK_ID": "4"},
            "processes: DMLC_* variables: DMLC_TASK_ID is '4', expected 0 to 3",
        ),
        (
            {**MXNET, "DMLC_NUM_WORKER": "two"},
            "processes: DMLC_* variables: DMLC_NUM_WORKER is 'two', expected a positive number",
        ),
        (
            {k: v for k, v in SLURM.items() if k != "SLURM_STEP_NODELIST"},
            "processes: Slurm: there are 4 processes, and SLURM_STEP_NODELIST is not set\n"
            "  try: srun python ... instead of python ... in the batch script",
        ),
        (
            OPEN_MPI,
            "processes: Open MPI: there are 4 processes, and JAX_COORDINATOR_ADDRESS is not set\n"
            "  try: mpirun -x JAX_COORDINATOR_ADDRESS=HOST:PORT ..., with the host of rank 0",
        ),
        (
            {"PMI_SIZE": "4"},
            "processes: MPI: there are 4 processes, and PMI_RANK is not set" + START.format(n=4),
        ),
        (
            {k: v for k, v in LAUNCHER.items() if k != "EXECUTORKIT_RANK"},
            "processes: EXECUTORKIT_* variables: there are 2 processes, and EXECUTORKIT_RANK is "
            "not set" + START.format(n=2),
        ),
    ],
)
def test_what_is_missing_is_named(variables, message):
    with pytest.raises(mx.MXNetError) as caught:
        read_environment(variables)
    assert str(caught.value) == message


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No starter says anything."""
    for name in [n for n in os.environ if n.startswith(OTHERS)]:
        if name not in ("EXECUTORKIT_CACHE_DIR", "EXECUTORKIT_INTERPRET"):
            monkeypatch.delenv(name)
    return monkeypatch


def test_a_store_of_a_process_alone(alone):
    store = mx.kv.create("dist_sync")
    assert (store.rank, store.num_workers) == (0, 1)
    alone.setenv("DMLC_ROLE", "worker")
    alone.setenv("DMLC_NUM_WORKER", "1")
    assert mx.kv.create("dist_sync").num_workers == 1


@pytest.mark.parametrize("name", ["dist_sync", "dist_async", "dist_device_sync"])
def test_a_store_that_cannot_join_is_an_error(alone, name):
    for variable, text in {**MXNET, "DMLC_PS_ROOT_URI": "127.0.0.1"}.items():
        alone.setenv(variable, text)
    with pytest.raises(mx.MXNetError, match="there are 4 processes, and none of DMLC_WORKER_ID"):
        mx.kv.create(name)
    assert mx.kv.create("local").num_workers == 1


def test_jax_used_too_early(alone):
    jax.devices()
    for variable, text in {**LAUNCHER, "EXECUTORKIT_ADDRESS": "127.0.0.1:1"}.items():
        alone.setenv(variable, text)
    with pytest.raises(mx.MXNetError) as caught:
        mx.kv.create("dist_sync")
    assert str(caught.value) == (
        "kvstore 'dist_sync': this process has used JAX before it joined the others\n"
        "  because EXECUTORKIT_* variables: there are 2 processes\n"
        "  try: move mx.kv.create('dist_sync') before the first array, context of a GPU, iterator "
        "or jax call of the script, and pass the store on: fit(kvstore=store)"
    )


def test_address_of_another_host(alone):
    for variable, text in {
        **LAUNCHER,
        "EXECUTORKIT_ADDRESS": "192.0.2.1:9999",
        "EXECUTORKIT_RANK": "0",
    }.items():
        alone.setenv(variable, text)
    with pytest.raises(mx.MXNetError, match=r"rank 0 cannot serve 192.0.2.1:9999") as caught:
        mx.kv.create("dist_sync")
    assert "an address of the host on which rank 0 runs" in str(caught.value)


@pytest.mark.parametrize("role", ["server", "scheduler"])
def test_other_roles_end(alone, capsys, role):
    end_other_roles()
    alone.setenv("DMLC_ROLE", role)
    with pytest.raises(SystemExit) as caught:
        end_other_roles()
    assert caught.value.code == 0
    assert capsys.readouterr().err == (
        f"executorkit: this {role} ends, since workers sum among themselves (DMLC_ROLE)\n"
    )
