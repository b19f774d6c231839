"""Saving: the old file or the new one, whole, whatever ends it; and nothing beside it."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import FileAccessError

ROOT = Path(__file__).parents[1]
ATOMIC_FILE = os.path.join("executorkit", "_files", "_atomic_file.py")
OLD, NEW = [mx.nd.zeros((4,))], [mx.nd.ones((6,)), mx.nd.ones((2,))]


def value(path: Path) -> list[list[float]]:
    arrays: Any = mx.nd.load(str(path))
    return [x.asnumpy().tolist() for x in arrays]


@pytest.fixture
def path(tmp_path):
    mx.nd.save(str(tmp_path / "x.params"), OLD)
    return tmp_path / "x.params"


class Interruption:
    """Raises KeyboardInterrupt at one of the bytecodes that a call runs."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.count = 0

    def __enter__(self) -> Interruption:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, kind: Any, *args: object) -> bool:
        sys.settrace(self._before)
        return kind is KeyboardInterrupt

    def _trace(self, frame: Any, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_code.co_filename.endswith(ATOMIC_FILE):
            self.count += 1
            if self.count == self.number:
                raise KeyboardInterrupt
        return self._trace


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_an_interrupt_at_any_bytecode_leaves_one_whole_file(path):
    old, new = [[0.0] * 4], [[1.0] * 6, [1.0] * 2]
    results = []
    for number in range(1, 10_000):
        with Interruption(number) as interruption:
            mx.nd.save(str(path), NEW)
        assert os.listdir(path.parent) == ["x.params"], number
        results.append(value(path))
        assert results[-1] in (old, new), number
        if interruption.count < number:
            break
        mx.nd.save(str(path), OLD)
    assert len(results) > 100
    assert results[0] == old
    assert results == sorted(results, key=lambda result: result == new)


def _leftover(path: Path, machine: str | None = None) -> Path:
    """A temporary file as a killed process leaves it: named by this machine, and not locked."""
    names: list[str] = []

    def watch(source: str, target: str) -> None:
        names.append(source)
        raise OSError(errno.EIO, "stopped")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", watch)
        with pytest.raises(FileAccessError, match="stopped"):
            mx.nd.save(str(path), NEW)
    (name,) = names
    if machine is not None:
        stem, rest = name.rsplit(".", 2)[0], name.rsplit(".", 2)[1]
        name = f"{stem}.{machine}{rest[8:]}.tmp"
    Path(name).write_bytes(b"half")
    return Path(name)


@pytest.mark.parametrize("action", ["save", "load", "load symbol"])
def test_the_next_save_or_load_removes_what_killed_processes_left(path, action):
    other = path.with_name("x.params.backup.tmp")
    other.touch()
    leftover = _leftover(path)
    elsewhere = _leftover(path.with_name("x.params2"))
    if action == "save":
        mx.nd.save(str(path), OLD)
    elif action == "load":
        mx.nd.load(str(path))
    else:
        with pytest.raises(mx.MXNetError):
            mx.sym.load(str(path))
    assert not leftover.exists()
    assert other.exists()
    assert elsewhere.exists()


def test_the_temporary_file_of_a_living_process_stays(path):
    leftover = _leftover(path)
    with open(leftover, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        mx.nd.save(str(path), OLD)
        mx.nd.load(str(path))
        assert leftover.exists()
    mx.nd.load(str(path))
    assert not leftover.exists()


def test_the_temporary_file_of_another_machine_stays_for_a_day(path):
    leftover = _leftover(path, machine="0" * 8)
    mx.nd.load(str(path))
    assert leftover.exists()
    os.utime(leftover, (0, time.time() - 25 * 3600))
    mx.nd.load(str(path))
    assert not leftover.exists()


def test_a_full_disk_leaves_the_old_file(path):
    """A limit on the size of files, which the kernel enforces in the middle of the writing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(FileAccessError) as caught:
            mx.nd.save(str(path), [mx.nd.ones((1000,))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(caught.value) == f"{path}: cannot be written: File too large"
    assert os.listdir(path.parent) == ["x.params"]
    assert value(path) == [[0.0] * 4]


@pytest.mark.parametrize("failing", ["open", "flush", "replace", "array"])
def test_a_failure_at_any_place_leaves_the_old_file(path, failing, monkeypatch):
    def fail(*args: object, **kwargs: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = {"open": "builtins.open", "flush": "os.fsync", "replace": "os.replace"}
    if failing == "array":
        monkeypatch.setattr(mx.nd.NDArray, "asnumpy", fail)
    else:
        monkeypatch.setattr(target[failing], fail)
    with pytest.raises(
        FileAccessError, match=f"^{path}: cannot be written: No space left on device$"
    ):
        mx.nd.save(str(path), NEW)
    monkeypatch.undo()
    assert os.listdir(path.parent) == ["x.params"]
    assert value(path) == [[0.0] * 4]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileAccessError) as caught:
        mx.nd.save(str(tmp_path / "folder"), NEW)
    assert str(caught.value) == f"{tmp_path}/folder: cannot be written: Is a directory"
    with pytest.raises(FileAccessError) as caught:
        mx.sym.Variable("x").save(str(tmp_path / "none" / "x.json"))
    assert str(caught.value) == (
        f"{tmp_path}/none/x.json: cannot be written: No such file or directory\n"
        f"  because the folder {tmp_path}/none does not exist"
    )
    with pytest.raises(FileAccessError, match="a null character"):
        mx.nd.save(str(tmp_path / "a\0b"), NEW)
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_protected_folders_and_files(path):
    path.chmod(0o400)
    with pytest.raises(FileAccessError, match="write-protected"):
        mx.nd.save(str(path), NEW)
    path.chmod(0o600)
    path.parent.chmod(0o500)
    try:
        with pytest.raises(FileAccessError, match="Permission denied"):
            mx.nd.save(str(path), NEW)
        assert value(path) == [[0.0] * 4]
    finally:
        path.parent.chmod(0o700)


def test_permissions_links_and_long_names_are_kept(path):
    path.chmod(0o640)
    link = path.with_name("link")
    link.symlink_to(path.name)
    mx.nd.save(str(link), NEW)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert len(value(path)) == 2
    long = path.with_name("n" * 255)
    mx.nd.save(str(long), OLD)
    assert sorted(os.listdir(path.parent)) == sorted(["x.params", "link", long.name])


def test_threads_that_save_the_same_file(path):
    values = [[[float(i)] * 50] for i in range(4)]
    arrays = [[mx.nd.full((50,), i)] for i in range(4)]

    def save(data: Any) -> None:
        for _ in range(10):
            mx.nd.save(str(path), data)

    threads = [threading.Thread(target=save, args=(data,)) for data in arrays]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert value(path) in [*values, [[0.0] * 4]]
    assert os.listdir(path.parent) == ["x.params"]
    assert value(path) in values


WORKER = """
import sys
import tempfile
import numpy as np
import executorkit as mx

prefix = sys.argv[1]
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=300, name="fc")
print("ready", flush=True)
for i in range(1_000_000):
    weight = mx.nd.array(np.full((300, 2000), i, "float32"))
    args = {"fc_weight": weight, "fc_bias": weight[:, 0]}
    mx.model.save_checkpoint(prefix, 1, net, args, {})
"""


@pytest.mark.soak
def test_many_kills_while_checkpoints_are_saved(tmp_path, pytestconfig):
    """Processes are killed at random moments of saving over and over; each checkpoint that they
    leave is whole, and the next process removes what the one before left."""
    rounds = pytestconfig.getoption("rounds") or 200
    prefix = tmp_path / "net"
    random = np.random.RandomState(7)
    most = 0
    for i in range(rounds):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(prefix)],
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert worker.stdout.readline() == b"ready\n"
        time.sleep(0.05 + 0.1 * random.rand())
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        most = max(most, len(list(tmp_path.glob("*.tmp"))))
        if not Path(f"{prefix}-0001.params").exists():
            continue
        _, args, _ = mx.model.load_checkpoint(prefix, 1)
        weight = args["fc_weight"].asnumpy()
        assert (weight == weight[0, 0]).all(), i
        np.testing.assert_array_equal(args["fc_bias"].asnumpy(), weight[:, 0])
        assert sorted(os.listdir(tmp_path)) == ["net-0001.params", "net-symbol.json"], i
    assert most == 1, "no process was killed while it wrote"


def test_a_file_that_the_program_holds_open_stays_the_same_file(tmp_path):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    symbol = mx.sym.var("x") + 1
    for save in (
        lambda name: mx.nd.save(name, NEW),
        net.save_parameters,
        net.collect_params().save,
        symbol.save,
        mx.gluon.Trainer(net.collect_params(), "adam").save_states,
    ):
        with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
            save(file.name)
            saved = file.read()
        save(str(tmp_path / "other"))
        assert saved == (tmp_path / "other").read_bytes() != b""
        os.remove(tmp_path / "other")
        assert os.listdir(tmp_path) == []


def test_a_reader_keeps_the_old_contents(path):
    old = path.read_bytes()
    with open(path, "rb") as file:
        mx.nd.save(str(path), NEW)
        assert file.read() == old
    assert len(value(path)) == 2


def test_pipes_and_the_standard_output_are_written(path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    mx.nd.save(str(tmp_path / "pipe"), OLD)
    thread.join()
    assert read == [path.read_bytes()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    reading, end = os.pipe()
    mx.nd.save(f"/dev/fd/{end}", OLD)
    assert os.read(reading, 1 << 16) == path.read_bytes()
    os.close(reading), os.close(end)


def test_states_go_to_whatever_open_takes(tmp_path):
    parameter = mx.gluon.Parameter("weight", shape=(2,))
    parameter.initialize()
    trainer = mx.gluon.Trainer([parameter], "adam")
    path = tmp_path / "states"
    trainer.save_states(path)
    expected = path.read_bytes()
    trainer.save_states(os.fsencode(tmp_path / "bytes"))
    number = os.open(tmp_path / "number", os.O_RDWR | os.O_CREAT)
    trainer.save_states(number)
    assert sorted(os.listdir(tmp_path)) == ["bytes", "number", "states"]
    for name in ("bytes", "number"):
        assert (tmp_path / name).read_bytes() == expected
    trainer.load_states(os.fsencode(path))
    trainer.load_states(number)
    os.close(number)
