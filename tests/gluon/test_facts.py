"""Gluon scripts give the answers that they give under MXNet; deviations have a reason."""

from __future__ import annotations

from typing import Any

import pytest

import executorkit as mx
from tests._tools.answers import check_script, f32, raises, stored_answers
from tests.golden import gluon_scripts

pytestmark = pytest.mark.golden

ANSWERS = stored_answers("gluon")


CHECKED = "a call that is refused changes nothing; MXNet begins with its changes"
DECLARED = (
    "contents are converted to the dtype that the parameter has; MXNet takes over another one"
)
COPIED = "a copy is trained on; in MXNet it has lost its gradients"
SERVED = "it has a plain meaning and works; MXNet refuses it"
KIND = "the wrong type of an argument is a TypeError; in MXNet an attribute is missing"
KNOWN = "an array that is loaded makes the shape known"
WISH = "a store that is asked to update and is not there is a ValueError; MXNet misses an attribute"
VALUE = "a symbol tells the value of a constant; in MXNet a name that only its process knows"
FLAGS = "flags of MXNet's memory planning have no meaning here, and are not checked"

#: Places (script/key/...) where another answer is meant: why, and the answer.
DEVIATIONS: dict[str, tuple[str, Any]] = {
    "arrays_are_loaded/0/cast": (SERVED, [None, f32(-2.3135440349578857, 0.7954851984977722)]),
    "arrays_are_loaded/0/numpy": (SERVED, [None, f32(1.0, 1.0)]),
    **{
        f"checkpoints_as_networks/1/{name}": (KNOWN, shape)
        for name, shape in {
            "fc1_weight": [3, 4], "fc1_bias": [3], "fc2_weight": [2, 3], "fc2_bias": [2]
        }.items()
    },
    "contents_are_set/0/list/0": (KIND, raises("TypeError")),
    "contents_are_set/0/number/0": (KIND, raises("TypeError")),
    "contents_are_set_while_it_waits/5": (DECLARED, "float32"),
    "contents_are_set_while_it_waits/6/1": (CHECKED, 0),
    **{
        f"copies_of_parameters/0/{way}/{place}": (COPIED, answer)
        for way in ("deepcopy", "pickle")
        for place, answer in (("1/1/0", f32(5.0, 5.0)), ("2", f32(5.0, 5.0)))
    },
    "copies_of_networks/3": (
        SERVED,
        [
            ["net_dense0_weight", "net_dense0_bias", "net_dense1_weight", "net_dense1_bias"],
            False,
            f32([0.812956690788269, 0.1215249598026275], [0.30754923820495, -0.32209643721580]),
            False,
            f32([0.47301873564720, -0.79764461517333], [0.47301873564720, -0.79764461517333]),
        ],
    ),
    "exported_inputs_and_outputs/4/15/3/__init__": (VALUE, '["constant", {"value": [0.25, -0.5]}]'),
    **{
        f"files_are_loaded/more/1/{place}": (CHECKED, answer)
        for place, answer in enumerate(
            (f32([3.0, 3.0], [3.0, 3.0]), f32(0.0, 0.0), f32(1.0, 1.0))
        )
    },
    "files_give_shapes_and_contexts/no_shape/3": (KNOWN, [2, 3]),
    **{
        f"imported_networks/4/image_{name}": (KNOWN, shape)
        for name, shape in {
            "conv0_weight": [2, 1, 3, 3], "conv0_bias": [2], "batchnorm0_gamma": [2],
            "batchnorm0_beta": [2], "dense0_weight": [2, 8], "dense0_bias": [2], "scale": [2],
            "batchnorm0_running_mean": [2], "batchnorm0_running_var": [2],
        }.items()
    },
    **{
        f"flags_of_hybridize/{place}": (
            FLAGS,
            [None, f32([0.812956690788269, 0.12152495980262756], [0.307549178, -0.322096378])],
        )
        for place in (2, 4)
    },
    "initialized_twice/9": (CHECKED, f32(0.0, 0.0)),
    **{
        f"stale_gradients_that_are_refused/{place}": (CHECKED, answer)
        for place, answer in {
            "one/1/2/0/0": True,
            "sums/1/2/0/0": True, "sums/1/2/0/1": True,
            "apart/1/2/0/0": True, "apart/1/2/0/1": True,
            "on store/0/3": {}, "on store/1/3": {},
            "on store/1/1/0/0": 1.0, "on store/1/1/0/1": 1.0,
        }.items()
    },
    **{
        f"stores_and_updates/{case}/0": (WISH, raises("ValueError"))
        for case in (
            "None True 1", "None True 2", "local True 1", "device True 1", "teststore True 1",
        )
    },
    "structures/17": (
        SERVED,
        [
            "list",
            f32(
                [-2.3135440349578857, 0.7954851984977722, -0.3106275796890259],
                [0.48348864912986755, 1.0487117767333984, -0.6726002097129822],
            ),
            None,
        ],
    ),
}  # fmt: skip


#: Scripts that fork processes; ``dataloader_cases.py`` runs them.
FORKING = frozenset({"loaders", "record_files"})


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("both_readings")
@pytest.mark.parametrize("name", [n for n in gluon_scripts.SCRIPTS if n not in FORKING])
def test_script_sees_the_same_as_under_mxnet(name):
    """The second run takes up what the first one has traced and compiled."""
    check_twice(name)


def check_twice(name: str) -> None:
    for _ in range(2):
        check_script(name, gluon_scripts.run(name, mx), ANSWERS[name], DEVIATIONS)


def test_every_place_is_one_of_a_script():
    assert {p.split("/")[0] for p in DEVIATIONS} <= set(ANSWERS)
    assert set(gluon_scripts.SCRIPTS) == set(ANSWERS)
