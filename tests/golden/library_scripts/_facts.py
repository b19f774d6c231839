"""Registry, parameters and small helpers of the libraries' scripts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.libraries.zoo import digest, flat, normal, value_of

SCRIPTS: dict[str, Callable[[Any], Any]] = {}
#: The library of each script.
LIBRARY: dict[str, str] = {}


def script(library: str) -> Callable[..., Any]:
    """Adds a script of a library; its name is its function's."""

    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        SCRIPTS[function.__name__] = function
        LIBRARY[function.__name__] = library
        return function

    return add


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    mx.random.seed(7)
    np.random.seed(7)
    random.seed(7)
    with mx.name.NameManager():
        return SCRIPTS[name](mx)


def fill(mx: Any, net: Any) -> Any:
    """Gives the parameters of a network that has run once their values; returns the network."""
    for index, parameter in enumerate(net.collect_params().values()):
        if parameter.grad_req == "null" and not parameter.name.endswith(("mean", "var")):
            continue  # anchors and other constants
        value = value_of(index, parameter.name, tuple(parameter.shape))
        parameter.set_data(mx.nd.array(value))
    return net


def facts(arrays: Any) -> Any:
    """Shape, sum, mean magnitude and some numbers of each of some nested arrays."""
    return [digest("facts", np.asarray(_numpy(x))) for x in flat(arrays)]


def _numpy(array: Any) -> Any:
    return array.asnumpy() if hasattr(array, "asnumpy") else array


def step(
    mx: Any, net: Any, losses: Callable[[], Any], optimizer: str = "sgd", exact: bool = True
) -> Any:
    """Facts about losses, their gradients, and the losses after a step of an optimizer.

    Without ``exact`` about losses alone: the rounding of float32 changes gradients of a deep
    network with such parameters by a tenth, in MXNet as well.
    """
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 1e-5})
    with mx.autograd.record():
        values = flat(losses())
        total = sum(x.sum() for x in values)
    total.backward()
    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    gradients = facts([p.grad() for p in trained[:: max(len(trained) // 6, 1)]])
    trainer.step(1, ignore_stale_grad=True)
    seen = {"losses": facts(values), "trained": len(trained)}
    if not exact:
        moved = [bool(np.isfinite(p.data().asnumpy()).all()) for p in trained]
        return {**seen, "finite": all(moved)}
    with mx.autograd.record():
        after = flat(losses())
    return {**seen, "gradients": gradients, "after": facts(after)}


__all__ = ["LIBRARY", "SCRIPTS", "facts", "fill", "flat", "normal", "run", "script", "step"]
