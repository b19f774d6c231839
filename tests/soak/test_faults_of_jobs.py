"""Faults of jobs at random times: all processes end in time, and no file is damaged."""

from __future__ import annotations

import random

import pytest

from tests.processes.test_faults import check_checkpoint, ended_job

pytestmark = [pytest.mark.soak, pytest.mark.processes]

#: Seconds in which a job ends.
LIMITS = {"stop": 20.0, "term": 20.0}


@pytest.mark.parametrize("number", range(200))
def test_a_fault_at_a_random_time(tmp_path, number):
    choose = random.Random(number)
    fault = choose.choice(["raise", "kill", "int", "exit", "term", "stop"])
    status, text, seconds = ended_job(fault, choose.randrange(2), choose.randint(11, 60), tmp_path)
    assert status != 0, text
    assert seconds < LIMITS.get(fault, 5.0), (fault, text)
    check_checkpoint(tmp_path)
