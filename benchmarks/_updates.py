"""The operators that update parameters, on a weight of 4 million numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._operators import Case

_SIZE = 4_000_000


def cases(mx: Any) -> Iterator[Case]:
    """The update alone, of each optimizer."""
    rng = np.random.RandomState(0)
    arrays = {"weight": rng.randn(_SIZE), "grad": rng.randn(_SIZE)}
    common = {"lr": 1e-3, "wd": 1e-4, "rescale_grad": 1 / 32}

    def update(name: str, **attrs: float) -> Callable[..., Any]:
        function = getattr(mx.nd, name)
        return lambda weight, *others: function(weight, *others, out=weight, **attrs)

    for name, states, options in (
        ("sgd_update", (), {}),
        ("sgd_mom_update", ("mom",), {"momentum": 0.9}),
        ("nag_mom_update", ("mom",), {"momentum": 0.9}),
        ("adam_update", ("mean", "var"), {}),
        ("rmsprop_update", ("n",), {}),
        ("rmspropalex_update", ("n", "g", "delta"), {}),
        ("ftrl_update", ("z", "n"), {}),
        ("ftml_update", ("d", "v", "z"), {"t": 3}),
        ("signsgd_update", (), {}),
        ("signum_update", ("mom",), {"momentum": 0.9}),
    ):
        inputs = arrays | dict.fromkeys(states, np.full(_SIZE, 0.01))
        yield Case(f"{name}, {_SIZE:,} numbers", update(name, **(common | options)), inputs)
