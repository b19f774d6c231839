"""``mx.image`` gives MXNet's images, labels, draws of random numbers and errors."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from tests.golden import _store, image_questions

pytestmark = pytest.mark.golden

pytest.importorskip("cv2")

ANSWERS = _store.Answers("image_functions")
FACTS = ANSWERS.facts

#: Of the largest element: floating results are sums of few products of float32.
TOLERANCE = 5e-7
#: Rotations: sines and cosines differ in the last place, and places between pixels with them.
ROTATION = 2e-5
#: Interpolated pixels that may be computed with fused multiplications.
FUSED = 3e-7


def _files() -> dict[str, bytes]:
    data, start, files = ANSWERS["files"].tobytes(), 0, {}
    for name, length in FACTS["files"]:
        files[name] = data[start : start + length]
        start += length
    return files


def _expected_elements() -> dict[tuple[str, int], np.ndarray]:
    start, elements = 0, {}
    for name in FACTS["order"]:
        for i, fact in enumerate(FACTS["values"][name]):
            if isinstance(fact, dict):
                elements[name, i] = ANSWERS["elements"][start : start + fact["stored"]]
                start += fact["stored"]
    return elements


FILES = _files()
ELEMENTS = _expected_elements()


def _tolerance(name: str) -> float:
    if name == "rotate":
        return ROTATION
    return FUSED if name.startswith("resize") else TOLERANCE


def _plain(value):
    """A tuple as the list that JSON makes of it."""
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def test_every_question_has_an_answer():
    assert set(FACTS["values"]) == set(image_questions.VALUES)
    assert set(FACTS["errors"]) == set(image_questions.ERRORS)


@pytest.mark.parametrize("name", image_questions.VALUES)
def test_value(name, tmp_path):
    results = image_questions.VALUES[name](mx, FILES, tmp_path)
    expected = FACTS["values"][name]
    assert len(results) == len(expected)
    for i, (result, fact) in enumerate(zip(results, expected, strict=True)):
        if isinstance(result, mx.nd.NDArray):
            result = result.asnumpy()
        if not isinstance(result, np.ndarray):
            assert _plain(result) == fact, i
            continue
        summary, stored = image_questions.summary(result)
        assert (summary["shape"], summary["dtype"]) == (fact["shape"], fact["dtype"]), i
        wanted = ELEMENTS[name, i]
        exact = result.dtype.kind in "iu"
        largest = np.nanmax(np.abs(wanted), initial=1.0)
        tolerance = 0 if exact else _tolerance(name) * largest
        np.testing.assert_allclose(stored, wanted, rtol=0, atol=tolerance, err_msg=str(i))
        assert summary == fact, i


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", image_questions.ERRORS)
def test_error_is_of_the_same_class(name, tmp_path):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        image_questions.ERRORS[name](mx, FILES, tmp_path)
    classes = [cls.__name__ for cls in type(caught.value).__mro__]
    assert set(FACTS["errors"][name]) <= set(classes), caught.value


def test_every_name_is_served():
    assert set(FACTS["names"]) <= set(dir(mx.image))
    for name in FACTS["names"]:
        getattr(mx.image, name)
    assert set(FACTS["operators"]) <= set(dir(mx.nd.image))
    assert set(FACTS["operators"]) <= set(dir(mx.sym.image))
    assert mx.img is mx.image


def test_colours_of_halved_rows_are_interpolated_alike():
    """JPEG with halved rows: newer libjpeg-turbo interpolates the colours, by 2 of 255 at most."""
    image = mx.image.imdecode(FILES["jpg_440"]).asnumpy().astype(int)
    assert abs(image - ANSWERS["jpg_440"]).max() <= 2
