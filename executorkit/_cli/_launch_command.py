"""``launch``: a script in several processes that train together."""

from __future__ import annotations

import argparse
import glob
import os
import random
import shlex
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArgumentValueError, MissingDependencyError
from ..processes import ADDRESS, ATTEMPT, NUMBER, RANK
from ._launched_job import Command, Job

#: The line for the shell of another host. Signals for the command come as lines of the input, and
#: the end of the input kills it.
_REMOTE = (
    "cd {folder} || exit 1; exec 3<&0; env {variables} {command} </dev/null & p=$!; "
    '{{ while read s <&3; do kill -s "$s" $p; done; kill -s KILL $p; }} 2>/dev/null & w=$!; '
    "wait $p; c=$?; kill $w 2>/dev/null; exit $c"
)
#: Launchers of MXNet's ``launch.py`` that are not served, and their substitutes.
_OTHER_LAUNCHERS = {
    "mpi": "mpirun -n N python train.py ..., without a launcher",
    "sge": "a job of the batch system that runs executorkit launch, or EXECUTORKIT_* variables",
    "yarn": "a job of the batch system that runs executorkit launch, or EXECUTORKIT_* variables",
}
#: Beginnings of variables that go to other hosts.
_FORWARDED = ("JAX_", "XLA_", "MXNET_", "EXECUTORKIT_", "NCCL_")
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class _Place:
    host: str
    local_rank: int
    local_number: int

    @property
    def is_local(self) -> bool:
        return self.host in (*_LOCAL_NAMES, socket.gethostname())


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "launch",
        help="run a script in several processes, on this host or on several, that train together",
        usage="executorkit launch -n N [options] train.py [arguments of the script]",
        description="Starts N processes of a script and tells each its rank; kv.create('dist_sync')"
        " joins them. Lines of output begin with the rank. Signals are handed on. When one process "
        "fails all end, the end of its output comes last, and its status is returned. The options "
        "of MXNet's launch.py are understood.",
    )
    add = parser.add_argument
    add("-n", "--num-workers", type=int, required=True, metavar="N", help="number of processes")
    add(
        "-s", "--num-servers", type=int, metavar="N", help="ignored: processes sum among themselves"
    )
    add(
        "-H",
        "--hostfile",
        metavar="HOSTS",
        help="a file with a host per line, or hosts with commas between them, each perhaps with "
        ":N, its number of processes; reached by ssh, with the same folders as here",
    )
    add("--launcher", choices=("local", "ssh", *_OTHER_LAUNCHERS), help="local, or ssh with -H")
    add("--devices", type=int, metavar="K", help="number of CPU devices of each process")
    add(
        "--restarts",
        type=int,
        default=0,
        metavar="K",
        help="after a failure start all processes again, at most K times. The script has to find "
        f"its newest checkpoint by itself; {ATTEMPT} is 0, 1, ... in its environment",
    )
    add("--port", type=int, metavar="P", help="port of rank 0 for the others; default: any")
    add(
        "--env",
        "--env-worker",
        action="append",
        default=[],
        metavar="NAME:VALUE",
        help="a variable for the environment of the processes (or NAME=VALUE)",
    )
    add("--env-server", action="append", help="ignored, as -s")
    add("--sync-dst-dir", metavar="DIR", help="not served: share the folder, or use rsync before")
    add("command", nargs=argparse.REMAINDER, help="train.py ..., or any command with arguments")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    command = _command(options)
    places = _places(options)
    if any(not place.is_local for place in places) and shutil.which("ssh") is None:
        raise MissingDependencyError("launch", "ssh is needed to reach the hosts")
    job = Job()
    for attempt in range(options.restarts + 1):
        status = job.run(_commands(options, command, places, attempt))
        if status == 0 or job.interrupted:
            break
        if attempt < options.restarts:
            sys.stderr.write(
                f"executorkit launch: attempt {attempt + 2} of {options.restarts + 1} begins\n"
            )
    return status


def _command(options: argparse.Namespace) -> list[str]:
    for name in ("num_workers", "devices", "restarts"):
        value = getattr(options, name)
        if value is not None and value < (name != "restarts"):
            option = name.replace("_", "-")
            raise ArgumentValueError(f"--{option}", f"{value}, expected a positive number")
    if options.sync_dst_dir is not None:
        problem = "files are not copied to other hosts"
        hint = "a folder that all hosts share, or rsync -a . HOST:FOLDER before"
        raise ArgumentValueError("--sync-dst-dir", problem, hint=hint)
    if options.launcher in _OTHER_LAUNCHERS:
        hint = _OTHER_LAUNCHERS[options.launcher].replace("N", str(options.num_workers), 1)
        raise ArgumentValueError(f"--launcher {options.launcher}", "it is not served", hint=hint)
    if (options.launcher == "ssh") > (options.hostfile is not None):
        raise ArgumentValueError("--launcher ssh", "the hosts are missing", hint="-H HOSTS")
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise ArgumentValueError("launch", "the script is missing", hint="launch -n 2 train.py")
    if command[0].endswith(".py"):
        return [sys.executable, *command]
    if shutil.which(command[0]) is None:
        raise ArgumentValueError("launch", f"unknown command {command[0]!r}")
    return command


def _places(options: argparse.Namespace) -> list[_Place]:
    number = options.num_workers
    hosts = [("localhost", number)]
    if options.hostfile is not None and options.launcher != "local":
        hosts = _hosts(options.hostfile, number)
    places: list[_Place] = []
    for host, slots in hosts:
        local_number = min(slots, number - len(places))
        places += [_Place(host, i, local_number) for i in range(local_number)]
    if len(places) < number:
        raise ArgumentValueError("-H", f"the hosts take {len(places)} processes of {number}")
    return places


def _hosts(text: str, number: int) -> list[tuple[str, int]]:
    # Without numbers, processes are divided evenly.
    path = Path(text)
    words = path.read_text().split("\n") if path.is_file() else text.split(",")
    words = [word.partition("#")[0].replace(" slots=", ":").strip() for word in words]
    hosts = [word.rpartition(":")[::2] if ":" in word else (word, "") for word in words if word]
    if not hosts:
        raise ArgumentValueError("-H", f"{text!r} has no host")
    if any(slots and not slots.isdecimal() for _, slots in hosts):
        raise ArgumentValueError("-H", f"{text!r}: expected HOST or HOST:NUMBER")
    shares = [number * (i + 1) // len(hosts) - number * i // len(hosts) for i in range(len(hosts))]
    return [(h, int(slots or share)) for (h, slots), share in zip(hosts, shares, strict=True)]


def _commands(
    options: argparse.Namespace, command: Sequence[str], places: Sequence[_Place], attempt: int
) -> list[Command]:
    port = options.port or _free_port(places[0])
    host = places[0].host
    if places[0].is_local:
        is_alone = all(place.is_local for place in places)
        host = "127.0.0.1" if is_alone else socket.gethostname()
    host = host.rpartition("@")[2]
    common = {ADDRESS: f"{host}:{port}", NUMBER: str(len(places)), ATTEMPT: str(attempt)}
    common["PYTHONUNBUFFERED"] = "1"
    if options.devices is not None:
        common["JAX_NUM_CPU_DEVICES"] = str(options.devices)
    for text in options.env:
        name, _, value = text.partition("=" if "=" in text.partition(":")[0] else ":")
        common[name] = value
    return [
        _on_place(command, place, {**_share(place), **common, RANK: str(rank)})
        for rank, place in enumerate(places)
    ]


def _on_place(command: Sequence[str], place: _Place, variables: dict[str, str]) -> Command:
    if place.is_local:
        return Command(command, variables)
    forwarded = {k: v for k, v in os.environ.items() if k.startswith(_FORWARDED)}
    forwarded |= {k: os.environ[k] for k in ("PYTHONPATH", "LD_LIBRARY_PATH") if k in os.environ}
    text = _REMOTE.format(
        folder=shlex.quote(os.getcwd()),
        variables=" ".join(f"{k}={shlex.quote(v)}" for k, v in {**forwarded, **variables}.items()),
        command=shlex.join(command),
    )
    return Command(["ssh", "-o", "BatchMode=yes", place.host, text], {}, is_remote=True)


def _share(place: _Place) -> dict[str, str]:
    if not place.is_local or place.local_number == 1:
        return {}
    available = getattr(os, "sched_getaffinity", None)
    cores = len(available(0)) if available else os.cpu_count() or 1
    shares = {"NPROC": str(max(1, cores // place.local_number))}  # XLA's number of threads
    if "OMP_NUM_THREADS" not in os.environ:
        shares["OMP_NUM_THREADS"] = shares["NPROC"]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = visible.split(",") if visible else glob.glob("/dev/nvidia[0-9]*")
    per_process = len(gpus) // place.local_number
    if per_process:
        first = place.local_rank * per_process
        shares["JAX_LOCAL_DEVICE_IDS"] = ",".join(map(str, range(first, first + per_process)))
    return shares


def _free_port(place: _Place) -> int:
    if not place.is_local:
        return random.SystemRandom().randrange(20_000, 30_000)
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]
