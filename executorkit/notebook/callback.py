"""``mx.notebook.callback``: callbacks of ``fit`` that record metrics and draw them.

    curve = mx.notebook.callback.LiveLearningCurve("accuracy", display_freq=2)
    log = mx.notebook.callback.PandasLogger(batch_size=64)
    module.fit(
        train, eval_data=test, num_epoch=10, **mx.notebook.callback.args_wrapper(curve, log)
    )
    log.train_df.plot(x="elapsed", y="accuracy")

Both begin the training metric anew whenever they read it, as in MXNet, and so tell of the batches
since then. At the same batch both see the same; a Speedometer beside them, which begins it anew
too, should report at other batches. The metric of an evaluation is left as it is: in MXNet they
clear that too, and ``fit`` then logs NaN. MXNet's Bokeh charts are not here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..errors import MissingDependencyError, UnknownNameError
from ._curve import LiveLearningCurve
from ._frames import PandasLogger

__all__ = [
    "LiveLearningCurve",
    "UnknownNameError",
    "MissingDependencyError",
    "PandasLogger",
    "args_wrapper",
]


def args_wrapper(*args: Any) -> dict[str, list[Any]]:
    """The arguments of ``fit`` that have it call several of these objects.

    Each of ``args`` has a ``callback_args()`` that gives its own; the result has lists of them.
    """
    joined: dict[str, list[Any]] = defaultdict(list)
    for callback in args:
        for name, function in callback.callback_args().items():
            joined[name].append(function)
    return dict(joined)
