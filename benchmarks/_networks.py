"""The networks that are measured, for MXNet and executorkit alike: no mxnet, jax or executorkit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tests.models import parameter
from tests.models.lstm import lstm
from tests.models.resnet import resnet50
from tests.models.simple import lenet, mlp

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """A builder of symbols, the shapes of its inputs, and how many classes labels are of.

    Inputs whose name is in ``words`` hold whole numbers below the count that is given there.
    """

    build: Callable[[Any], Any]
    shapes: Mapping[str, Shape]
    words: Mapping[str, int]

    def bind(self, mx: Any, symbol: Any) -> Any:
        """An executor with gradients of the parameters, filled in alike on either side."""
        requests = {n: "null" if n in self.shapes else "write" for n in symbol.list_arguments()}
        executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **self.shapes)
        for arrays in (executor.arg_dict, executor.aux_dict):
            for name, array in arrays.items():
                array[:] = self.value(name, array.shape)
        return executor

    def value(self, name: str, shape: Shape) -> np.ndarray:
        """The contents of an input or parameter, seeded by its name."""
        if name in self.words:
            random = np.random.RandomState(0)
            return random.randint(0, self.words[name], shape).astype(np.float32)
        return parameter(name, shape)

    def inputs(self) -> dict[str, np.ndarray]:
        """What is fed in every step."""
        return {name: self.value(name, shape) for name, shape in self.shapes.items()}


def _images(build: Callable[[Any], Any], batch: int, *shape: int) -> Network:
    shapes = {"data": (batch, *shape), "softmax_label": (batch,)}
    return Network(build, shapes, {"softmax_label": 10})


def network(name: str, batch: int, size: int) -> Network:
    """``mlp``, ``lenet``, ``resnet50`` (images of ``size`` pixels) or ``lstm`` (35 steps)."""
    if name == "resnet50":
        return _images(resnet50, batch, 3, size, size)
    if name == "lstm":
        words, hidden = 1000, 200
        shapes: dict[str, Shape] = {"data": (batch, 35), "softmax_label": (batch, 35)}
        for layer in range(2):
            shapes[f"l{layer}_init_h"] = shapes[f"l{layer}_init_c"] = (batch, hidden)
        build = partial(lstm, hidden=hidden, embed=hidden, words=words)
        return Network(build, shapes, {"data": words, "softmax_label": words})
    return _images({"mlp": mlp, "lenet": lenet}[name], batch, 1, 28, 28)
