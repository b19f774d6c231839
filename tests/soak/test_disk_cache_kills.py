"""Kills at random moments while eight processes fill one disk cache.

``python -m pytest --soak -n 0 -s tests/soak/test_disk_cache_kills.py``. ``--rounds`` is the number
of kills.
"""

from __future__ import annotations

import pytest

from tests.program.test_disk_cache_processes import fill

pytestmark = pytest.mark.soak
#: Number of processes at a time.
PROCESSES = 8


def test_kills_leave_no_damage(tmp_path, request):
    kills = request.config.getoption("--rounds") or 1000
    report = fill(tmp_path, kills, PROCESSES, 1)
    print(f"\n{report}")
    assert report["kills"] == kills
    assert report["problems"] == ""
    assert report["damaged"] == report["left"] == []
    assert report["programs"] > 0
