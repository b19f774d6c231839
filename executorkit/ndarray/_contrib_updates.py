"""AdamW and LAMB updates of ``mx.nd.contrib``, which take one list per kind of array."""

from collections.abc import Sequence
from typing import Any

from ..calls.ways import invoke
from ..ops import lookup
from ._creation import full
from ._ndarray import NDArray

Arrays = Sequence[NDArray]


def _run(name: str, arrays: Arrays, attrs: dict[str, Any], out: Any) -> Any:
    op = lookup(name)
    assert op is not None, name
    return invoke(op, NDArray, arrays, attrs, out)


def _adamw(name: str, arrays: Arrays, rescale_grad: Any, out: Any, **attrs: Any) -> Any:
    return _run(name, [*arrays, _scale(rescale_grad, arrays[0])], attrs, out)


def _scale(rescale_grad: Any, like: NDArray) -> NDArray:
    # 0 and numbers that are not finite skip the update.
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return full((1,), rescale_grad, ctx=like.context)


def adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: Any,
    lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
    wd: float = 0, clip_gradient: float = -1, out: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Updates a weight by AdamW: ``weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd *
    weight)``.

    weight, grad, mean and var are of one shape and dtype; mean and var, the moving averages of the
    gradient (``beta1``) and its square (``beta2``), change in place. ``rescale_grad``, a number or
    an array (1,), multiplies the gradient; 0, NaN and infinity skip the update. ``clip_gradient``
    then bounds it, unless negative. Returns the new weight, or writes to ``out``. ``name`` has no
    effect.
    """
    return _adamw(
        "_adamw_update", [weight, grad, mean, var], rescale_grad, out, lr=lr, eta=eta, beta1=beta1,
        beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient,
    )  # fmt: skip


def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray,
    rescale_grad: Any, lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-8, wd: float = 0, clip_gradient: float = -1, out: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Calls :func:`adamw_update` of a float16 weight with its float32 copy ``weight32``, in which
    the update is computed; mean and var are float32, too. Other arguments are the same."""
    return _adamw(
        "_mp_adamw_update", [weight, grad, mean, var, weight32], rescale_grad, out, lr=lr, eta=eta,
        beta1=beta1, beta2=beta2, epsilon=epsilon, wd=wd, clip_gradient=clip_gradient,
    )  # fmt: skip


def _interleaved(*lists: Arrays) -> list[NDArray]:
    return [x for one in zip(*lists, strict=True) for x in one]


def multi_adamw_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, rescale_grad: Any,
    lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float], out: Any = None,
    name: str | None = None, size: int = 0, **attrs: Any,
) -> Any:  # fmt: skip
    """Calls :func:`adamw_update` of several weights: ``lrs``, ``wds`` and ``etas`` have a number
    for each, the other lists an array. ``size`` is the number of weights, 0 for all; ``attrs`` are
    the numbers that all share. Returns a list, or writes to the arrays ``out``."""
    arrays = _interleaved(weights, grads, mean, var)
    attrs |= {"num_weights": size or len(weights), "lrs": lrs, "wds": wds, "etas": etas}
    return _adamw("_multi_adamw_update", arrays, rescale_grad, out, **attrs)


def multi_mp_adamw_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
    rescale_grad: Any, lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float],
    out: Any = None, name: str | None = None, size: int = 0, **attrs: Any,
) -> Any:  # fmt: skip
    """Calls :func:`multi_adamw_update` of float16 weights with their float32 copies
    ``weights32``; other arguments are the same."""
    arrays = _interleaved(weights, grads, mean, var, weights32)
    attrs |= {"num_weights": size or len(weights), "lrs": lrs, "wds": wds, "etas": etas}
    return _adamw("_multi_mp_adamw_update", arrays, rescale_grad, out, **attrs)


def multi_lamb_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, step_count: Any,
    lrs: Sequence[float], wds: Sequence[float], out: Any = None, num_tensors: int = 0,
    **attrs: Any,
) -> Any:  # fmt: skip
    """Calls ``_multi_lamb_update``: LAMB (You et al., 2020) of several weights at once.

    ``step_count``, ``lrs`` and ``wds`` have a number for each weight, the other lists an array;
    mean and var change in place. ``num_tensors`` is the number of weights, 0 for all; ``attrs`` are
    the numbers that all share. Returns a list, or writes to the arrays ``out``.
    """
    attrs |= {"num_tensors": num_tensors or len(weights), "step_count": step_count}
    attrs |= {"learning_rates": lrs, "wds": wds}
    return _run("_multi_lamb_update", _interleaved(weights, grads, mean, var), attrs, out)


def multi_mp_lamb_update(
    weights: Arrays, grads: Arrays, mean: Arrays, var: Arrays, weights32: Arrays,
    step_count: Any, lrs: Sequence[float], wds: Sequence[float], out: Any = None,
    num_tensors: int = 0, **attrs: Any,
) -> Any:  # fmt: skip
    """Calls :func:`multi_lamb_update` of float16 weights with their float32 copies ``weights32``;
    other arguments are the same."""
    attrs |= {"num_tensors": num_tensors or len(weights), "step_count": step_count}
    attrs |= {"learning_rates": lrs, "wds": wds}
    arrays = _interleaved(weights, grads, mean, var, weights32)
    return _run("_multi_mp_lamb_update", arrays, attrs, out)
