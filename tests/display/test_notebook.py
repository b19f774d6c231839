"""Views of objects: registered by class, shown in both forms, and falling back to the repr."""

from __future__ import annotations

import pytest

from executorkit.display import Line, View, Viewed, view_of

from ._html import checked

pytestmark = pytest.mark.notebook


class _Shown(Viewed):
    def __repr__(self):
        return "plain"


@view_of.register
def _(_: _Shown) -> View:
    return View("title", [Line("words")])


class _Failing(_Shown):
    pass


@view_of.register
def _(_: _Failing) -> View:
    raise RuntimeError("no view")


class _Hopeless(_Failing):
    def __repr__(self):
        raise RuntimeError("no repr either")


def test_bundle_holds_both_forms_as_far_as_asked_for():
    shown = _Shown()
    assert set(shown._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert shown._repr_mimebundle_(include={"text/plain"}) == {"text/plain": "title\nwords"}
    assert set(shown._repr_mimebundle_(exclude={"text/plain"})) == {"text/html"}
    assert shown._repr_mimebundle_()["text/html"] == shown._repr_html_()


def test_a_failing_view_falls_back_to_the_repr():
    assert _Failing()._repr_mimebundle_() == {"text/plain": "plain"}
    assert _Failing()._repr_html_() == "<pre>plain</pre>"
    assert "_Hopeless object" in _Hopeless()._repr_mimebundle_()["text/plain"]
    assert "_Hopeless object" in checked(_Hopeless()._repr_html_())


def test_a_class_without_a_view_says_so():
    with pytest.raises(NotImplementedError, match="no view is registered for int"):
        view_of(1)
