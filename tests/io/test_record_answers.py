"""Records and the iterators over them, compared with the stored answers of MXNet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import executorkit as mx
from tests._tools.answers import differences, stored_answers
from tests.golden.cases import _records as cases

pytestmark = pytest.mark.golden

DATA = Path(__file__).parents[1] / "golden/data"
ANSWERS = stored_answers("records")


def test_every_script_has_an_answer():
    assert set(ANSWERS) == set(cases.VALUES)


@pytest.mark.parametrize("name", cases.VALUES)
def test_value(name, tmp_path):
    ours = json.loads(json.dumps(cases.VALUES[name](mx, tmp_path)))
    assert list(differences(ours, ANSWERS[name], name)) == []


@pytest.fixture(scope="module")
def pixels():
    with np.load(DATA / "records.npz") as arrays:
        return dict(arrays)


@pytest.fixture
def options(tmp_path):
    mx.nd.save(str(tmp_path / "mean.nd"), {"mean_img": mx.nd.array(cases.mean_image())})

    def combine(file, keywords):
        combined = {**cases.COMMON, **keywords, "path_imgrec": str(DATA / file)}
        if "mean_img" in combined:
            combined["mean_img"] = str(tmp_path / combined["mean_img"])
        return combined

    return combine


def _compare(ours, theirs):
    assert ours.shape == theirs.shape
    if theirs.dtype != np.uint8:
        assert ours.dtype == theirs.dtype
    difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    assert difference.max() <= 2e-6 * np.abs(theirs).max(initial=0)


@pytest.mark.parametrize("name", cases.PIXELS)
def test_pixels(name, pixels, options):
    iterator = mx.io.ImageRecordIter(**options("images.rec", cases.PIXELS[name]))
    _compare(iterator.next().data[0].asnumpy(), pixels[f"ImageRecordIter|{name}"])


@pytest.mark.filterwarnings("ignore:ImageDetRecordIter. ignored, not known. 'rand_crop'")
@pytest.mark.parametrize("name", cases.BOXES)
def test_boxes(name, pixels, options):
    batch = mx.io.ImageDetRecordIter(**options("boxes.rec", cases.BOXES[name])).next()
    _compare(batch.data[0].asnumpy(), pixels[f"ImageDetRecordIter|{name}"])
    np.testing.assert_array_equal(batch.label[0].asnumpy(), pixels[f"label|{name}"])
