"""``mx.npx.random``: Bernoulli samples, samples with leading axes, and the seed."""

from typing import Any

from ..errors import ArgumentValueError
from ..numpy.random import draw
from ..random import seed as seed


def bernoulli(
    prob: Any = None, logit: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Draws 1 with probability ``prob`` (or the sigmoid of ``logit``), else 0. Raises ValueError
    (ArgumentValueError) unless one of them is given: a number or an array."""
    if (prob is None) is (logit is None):
        problem = "prob and logit are both given, or neither"
        raise ArgumentValueError("npx.random.bernoulli", problem)
    parameters = {"prob": prob} if logit is None else {"logit": logit}
    flag = {"is_logit": logit is not None}
    return draw("bernoulli", parameters, size, dtype, ctx, out, **flag)


def uniform_n(
    low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None
) -> Any:
    """Draws uniform numbers of shape ``batch_shape`` in front of the parameters'."""
    return draw("uniform_n", {"low": low, "high": high}, batch_shape, dtype, ctx)


def normal_n(
    loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None
) -> Any:
    """Draws normal numbers of shape ``batch_shape`` in front of the parameters'."""
    return draw("normal_n", {"loc": loc, "scale": scale}, batch_shape, dtype, ctx)
