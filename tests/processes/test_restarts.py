"""A job that is started again ends with what it would have had without its fault."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
EPOCHS, BATCHES = 6, 10


def _result_of(folder: Path, fault: str, failing: int, batch: int, restarts: int) -> bytes:
    """The parameters and the optimizer's state after the last epoch."""
    folder.mkdir()
    script = ROOT / "tests/processes/restarted_training.py"
    launch = [sys.executable, "-m", "executorkit", "launch", "-n", "2", "--restarts", str(restarts)]
    command = [*launch, str(script), fault, str(failing), str(batch), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    if fault != "term":  # all agree on the step at which they stop, which may come after the last
        assert ("attempt 2 of" in done.stderr) == (restarts > 0), done.stderr
    return b"".join(
        (folder / f"net-{EPOCHS:04d}.{kind}").read_bytes() for kind in ("params", "states")
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _result_of(tmp_path_factory.mktemp("job") / "whole", "raise", 0, -1, 0)


@pytest.mark.slow
def test_a_restart_equals_the_undisturbed_run(tmp_path, undisturbed):
    assert _result_of(tmp_path / "job", "kill", 1, 34, 3) == undisturbed


@pytest.mark.soak
@pytest.mark.parametrize("number", range(40))
def test_restarts_after_faults_at_random_times(tmp_path, undisturbed, number):
    choose = random.Random(number)
    fault = choose.choice(["raise", "kill", "int", "term"])
    failing, batch = choose.randrange(2), choose.randint(1, EPOCHS * BATCHES - 1)
    assert _result_of(tmp_path / "job", fault, failing, batch, 3) == undisturbed
