"""Scripts in MXNet's style train as they do under MXNet, with the import line changed."""

from __future__ import annotations

import numpy as np
import pytest

from tests import training_scripts
from tests._tools.answers import stored_answers

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("training")


@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", training_scripts.NAMES)
def test_script_trains_as_under_mxnet(name, devices):
    ours = training_scripts.run(name, devices, "executorkit")
    theirs = ANSWERS[name][str(devices)]
    assert len(theirs["losses"]) == 20
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-4)
    assert list(ours["reached"]) == list(theirs["reached"])
    # A hundred steps and more amplify rounding.
    for what, value in theirs["reached"].items():
        assert ours["reached"][what] == pytest.approx(value, rel=0.01), what


def test_every_script_has_answers():
    assert list(ANSWERS) == list(training_scripts.NAMES)
