"""``mx.notebook.plots``: matplotlib's plots in the colours of the page that shows them.

    import matplotlib.pyplot as plt
    mx.notebook.plots.follow_page()
    plt.plot([3, 2, 1])

A picture in a notebook cannot know whether its page is light or dark, and may be looked at on
both. These plots have no background, and lines and words in colours that are readable on either.
"""

from typing import Any

from ..errors import MissingDependencyError

#: A grey with a contrast of 4 to 1 on white pages, and more on dark ones.
_GREY = "#7f7f7f"
#: Almost the same grey, just above medium lightness where the other is just below. IPython puts
#: transparent plots whose tick labels are all dark on white: matplotlib_inline/backend_inline.py.
_LIGHT_GREY = "#808080"
#: Colours of curves with a contrast of at least 3 to 1 on white and on dark pages.
_CYCLE = ("#3b7dc4", "#d5483f", "#2e8b57", "#a06bc9", "#b8741a", "#1f8f9c", "#c2518f", "#7f7f7f")

#: Settings of matplotlib, as ``plt.rc_context`` and ``plt.style.use`` take them.
PAGE_STYLE: dict[str, Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.facecolor": "none",
    "legend.framealpha": 0.0,
    "text.color": _GREY,
    "axes.labelcolor": _GREY,
    "axes.titlecolor": _GREY,
    "axes.edgecolor": _GREY,
    "xtick.color": _LIGHT_GREY,
    "ytick.color": _GREY,
    "grid.color": _GREY,
    "grid.alpha": 0.35,
    "legend.edgecolor": _GREY,
    "patch.edgecolor": _GREY,
}


def follow_page() -> None:
    """Gives all later plots no background, and colours for light and dark pages (``PAGE_STYLE`` of
    a ``plt.rc_context``). MissingDependencyError without matplotlib."""
    try:
        from matplotlib import rcParams, rcsetup
    except ImportError:
        problem, hint = "matplotlib is not installed", "pip install matplotlib"
        raise MissingDependencyError("follow_page", problem, hint=hint) from None
    settings: Any = {**PAGE_STYLE, "axes.prop_cycle": rcsetup.cycler(color=_CYCLE)}
    rcParams.update(settings)
