"""The methods by which notebooks ask an object for its view; they never raise."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ._html import escape, tag
from ._parts import View


def safe_repr(obj: object) -> str:
    """``repr(obj)``, or what every object has where that fails."""
    try:
        return repr(obj)
    except Exception:
        return object.__repr__(obj)


class Viewed:
    """An object that notebooks show by its ``_as_view()``; by its repr where that fails."""

    __slots__ = ()

    #: Whether its text in a notebook is its repr rather than the view's text form.
    _text_is_repr = False

    def _as_view(self) -> View:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Static HTML: no scripts, nothing loaded, names escaped."""
        try:
            return self._as_view().html()
        except Exception:
            return tag("pre", escape(safe_repr(self)))

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """The view as HTML and as text, as far as they are asked for."""
        kinds = {"text/plain", "text/html"} - set(exclude or ())
        if include:
            kinds &= set(include)
        bundle: dict[str, Any] = {}
        view = None
        try:
            if "text/html" in kinds or not self._text_is_repr:
                view = self._as_view()
            if "text/html" in kinds and view is not None:
                bundle["text/html"] = view.html()
            if "text/plain" in kinds:
                bundle["text/plain"] = safe_repr(self) if self._text_is_repr else _text(view)
        except Exception:
            return {"text/plain": safe_repr(self)} if "text/plain" in kinds else {}
        return bundle


def _text(view: View | None) -> str:
    return "" if view is None else view.text()
