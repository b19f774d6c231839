"""``executorkit launch``: processes are started, told their ranks, signalled and ended together.

The scripts do not import JAX, so that a start takes a fraction of a second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executorkit.__main__ import main

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(
        "import os, sys, time\n"
        "rank, attempt = os.environ['EXECUTORKIT_RANK'], os.environ['EXECUTORKIT_ATTEMPT']\n"
        "names = ['NUM_PROCESSES', 'ATTEMPT']\n"
        "words = [os.environ['EXECUTORKIT_' + name] for name in names]\n"
        "words += [os.environ.get(n, '-') for n in ('JAX_NUM_CPU_DEVICES', 'NAME')]\n"
        "print(rank, *words, *sys.argv[1:], flush=True)\n"
        "print('warned', file=sys.stderr)\n"
        "if 'fail' in sys.argv and rank == '1' and attempt == '0':\n"
        "    raise ValueError('bad')\n"
        "if 'wait' in sys.argv:\n"
        "    time.sleep(60)\n"
    )
    return path


def test_lines_have_ranks(capfd, script):
    arguments = ["launch", "-n", "2", "-s", "2", "--launcher", "local", "--devices", "3"]
    arguments += ["--env", "NAME:value", str(script), "--kv-store", "dist_sync"]
    assert main(arguments) == 0
    out, err = capfd.readouterr()
    assert sorted(out.splitlines()) == [
        "[0] 0 2 0 3 value --kv-store dist_sync",
        "[1] 1 2 0 3 value --kv-store dist_sync",
    ]
    assert sorted(err.splitlines()) == ["[0] warned", "[1] warned"]


def test_all_end_when_one_fails_and_its_traceback_comes_last(capfd, script, monkeypatch):
    monkeypatch.setattr("executorkit._cli._launched_job._PATIENCE", 0.1)
    assert main(["launch", "-n", "3", str(script), "fail", "wait"]) == 1
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 3
    end = err.partition("executorkit launch: ")[2].splitlines()
    assert end[:2] == [
        "rank 1 was the first that failed, with status 1",
        "Traceback (most recent call last):",
    ]
    assert end[-1] == "ValueError: bad"


def test_a_failed_job_is_started_again(capfd, script):
    command = [sys.executable, str(script)]
    assert main(["launch", "-n", "2", "--restarts", "3", "--", *command, "fail"]) == 0
    out, err = capfd.readouterr()
    assert sorted(line[:9] for line in out.splitlines()) == [
        "[0] 0 2 0", "[0] 0 2 1", "[1] 1 2 0", "[1] 1 2 1",
    ]  # fmt: skip
    assert "executorkit launch: attempt 2 of 4 begins\n" in err


@pytest.mark.parametrize(("hosts", "number"), [(None, signal.SIGINT), ("one,two", signal.SIGTERM)])
def test_signals_are_handed_on(script, tmp_path, hosts, number):
    """To other hosts too: ``ssh`` is a script here that runs what it is given."""
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nshift 3\nexec sh -c "$1"\n')
    ssh.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    options = [] if hosts is None else ["-H", hosts, "--launcher", "ssh"]
    process = subprocess.Popen(
        [sys.executable, "-m", "executorkit", "launch", "-n", "2", *options, script, "wait"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        assert sorted(line[:5] for line in lines) == ["[0] 0", "[1] 1"]
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert not subprocess.run(["pgrep", "-f", script], stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-n", "2"], "launch: the script is missing\n  try: launch -n 2 train.py"),
        (["-n", "2", "no-such-command"], "launch: unknown command 'no-such-command'"),
        (["-n", "0", "a.py"], "--num-workers: 0, expected a positive number"),
        (["-n", "2", "--restarts", "-1", "a.py"], "--restarts: -1, expected a positive number"),
        (
            ["-n", "2", "--launcher", "mpi", "a.py"],
            "--launcher mpi: it is not served\n"
            "  try: mpirun -n 2 python train.py ..., without a launcher",
        ),
        (
            ["-n", "2", "--sync-dst-dir", "/tmp", "a.py"],
            "--sync-dst-dir: files are not copied to other hosts\n"
            "  try: a folder that all hosts share, or rsync -a . HOST:FOLDER before",
        ),
        (
            ["-n", "2", "--launcher", "ssh", "a.py"],
            "--launcher ssh: the hosts are missing\n  try: -H HOSTS",
        ),
        (["-n", "3", "-H", "a:1,b:1", "a.py"], "-H: the hosts take 2 processes of 3"),
        (["-n", "3", "-H", "a:b", "a.py"], "-H: 'a:b': expected HOST or HOST:NUMBER"),
    ],
)
def test_wrong_options(capsys, arguments, problem):
    assert main(["launch", *arguments]) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"


def test_help_says_who_finds_the_checkpoint(capsys):
    with pytest.raises(SystemExit):
        main(["launch", "-h"])
    text = " ".join(capsys.readouterr().out.split())
    assert "The script has to find its newest checkpoint by itself" in text


def test_the_abort_of_a_process_that_has_lost_another_is_one_line(tmp_path):
    script = tmp_path / "aborted.py"
    script.write_text(
        "import sys\n"
        "sys.stderr.write('''before\n"
        "E1128 02:02:36.566133   15521 coordination_service_agent.cc:289] Polled an error from it\n"
        "F1128 02:02:36.566156   15521 client.h:80] Terminating process because the JAX "
        "distributed service detected fatal errors.\n"
        "Additional GRPC error information from remote target coordination_service\n"
        ":UNKNOWN:Error received from peer  {grpc_status:14}\n"
        "*** Check failure stack trace: ***\n"
        "    @     0x7fe3d8240634  absl::lts::log_internal::LogMessage::SendToLog()\n"
        "''')\nsys.exit(6)\n"
    )
    command = [sys.executable, "-m", "executorkit", "launch", "-n", "1", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 6
    lines = done.stderr.splitlines()
    assert lines[:2] == [
        "[0] before",
        "[0] executorkit: another process is gone, and JAX has aborted this one",
    ]
    assert not [x for x in lines if "0x7fe3" in x or "Terminating" in x]
