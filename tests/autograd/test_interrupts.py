"""Recording, backward and update are atomic: after an exception each has come about, or not."""

from __future__ import annotations

import pytest

from tests.autograd.recorded_ways import WAYS, Boundaries, distinct, interrupt_parts

pytestmark = pytest.mark.usefixtures("one_way")


@pytest.mark.parametrize("way", WAYS)
def test_reading_the_state_between_parts_changes_nothing(way):
    training, boundaries = WAYS[way](), Boundaries(WAYS[way])
    for number in range(3):
        boundaries.of_step(number)
    training = WAYS[way]()
    for number in range(3):
        training.step(number)
    assert not distinct(training.state(), boundaries.of_step(2)[-1])


@pytest.mark.parametrize(
    "way", [pytest.param(w, marks=pytest.mark.slow) if w == "adversaries" else w for w in WAYS]
)
def test_an_interrupt_at_a_bytecode_leaves_the_state_before_a_part_or_after_it(way):
    """At a few places of a step here; the soak test takes all of them."""
    raised, wrong = interrupt_parts(WAYS[way], range(1, 10**6, 499))
    assert raised >= 5
    assert not wrong
