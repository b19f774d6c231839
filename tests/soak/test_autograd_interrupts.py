"""Exceptions at every event of recorded steps, and of trainers'.

``python -m pytest --soak -n 0 -s tests/soak/test_autograd_interrupts.py``. ``--rounds`` is the
distance between two events; without it every event within the package is taken.
"""

from __future__ import annotations

import pytest

from tests.autograd.recorded_ways import WAYS, interrupt_parts
from tests.gluon.test_trainer import WAYS as TRAINERS

ALL_WAYS = {**WAYS, **{f"trainer, {mode}": way for mode, way in TRAINERS.items()}}

pytestmark = [
    pytest.mark.soak,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("way", ALL_WAYS)
def test_an_interrupt_at_any_bytecode(way, request):
    distance = request.config.getoption("--rounds") or 1
    raised, wrong = interrupt_parts(ALL_WAYS[way], range(1, 10**6, distance), only="executorkit")
    print(f"{way}: {raised} interrupts")
    assert not wrong, "\n".join(wrong[:20])
