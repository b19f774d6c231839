"""Errors of the package for names that it does not have."""

from __future__ import annotations

import pytest

import executorkit as mx


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("metrics", "'metric'"),
        (
            "autograd",
            mx._ELSEWHERE["autograd"],
        ),
    ],
)
def test_a_missing_module_is_reported_with_an_alternative(name, hint):
    with pytest.raises(AttributeError) as caught:
        getattr(mx, name)
    assert str(caught.value).endswith(f"has no attribute {name!r}\n  try: {hint}")


def test_no_hint_for_private_names():
    assert not hasattr(mx, "__wrapped__")
    with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
        mx.zzzzzz  # type: ignore[attr-defined]  # noqa: B018
