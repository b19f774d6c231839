"""Bounds of the Python calls that a step makes; they may only fall.

``python -m tests._hot_paths PATH`` prints where the calls of a path are.
"""

from __future__ import annotations

import pytest

from tests import _hot_paths

#: Maximum number of Python calls of each path; programs from the disk cache take a few more calls.
BOUNDS = {
    "inference forward": 27,
    "eager 2 * a + b": 32,
    "Module step": 228,
    "Gluon step, hybridized": 281,
    "Gluon step, plain": 377,
}


@pytest.mark.parametrize("path", _hot_paths.PATHS)
def test_calls_of_hot_paths(path: str, automatic: None) -> None:
    count = _hot_paths.measure(path)
    assert count.calls <= BOUNDS[path], "\n".join(
        f"{calls:5} {function}" for function, calls in count.functions.most_common()
    )


def test_counts_are_of_the_package_alone() -> None:
    count = _hot_paths.count_calls(lambda: sorted([2, 1], key=lambda x: x))
    assert (count.calls, count.files) == (0, 0)
