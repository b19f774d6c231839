"""Networks written with plain ``mx.sym`` calls: each builder takes the namespace that it uses.

The same builders run under MXNet, which records results, and under executorkit. This file
imports neither mxnet nor jax nor executorkit.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..golden.cases._case import Spec, integers, normal, uniform, values
from .densenet import densenet121
from .inception import inception_v3
from .lstm import lstm
from .mobilenet import mobilenet
from .resnet import resnet50
from .simple import lenet, mlp
from .ssd import ssd_detect, ssd_train
from .vgg import vgg16


@dataclass(frozen=True)
class Model:
    """A network, its inputs, and True for a training step or False for inference only.

    Deep networks with relu and batch statistics of two small images are run in float64: in float32
    rounding flips the sign of some relu's input, and MXNet's gradients in float32 and in float64
    then differ by up to 40 % of their size.
    """

    build: Callable[[Any], Any]
    inputs: Mapping[str, Spec]
    train: bool = True
    dtype: str = "float32"
    rtol: float | None = None
    scales: Mapping[str, float] = field(default_factory=dict)

    def bind(self, mx: Any, symbol: Any) -> Any:
        """An executor of the network with its inputs, parameters and states filled in."""
        other = "write" if self.train else "null"
        whole = {n for n, s in self.inputs.items() if s.kind == "integers"}
        requests = {n: "null" if n in whole else other for n in symbol.list_arguments()}
        shapes = {n: s.shape for n, s in self.inputs.items()}
        types = dict.fromkeys(symbol.list_arguments(), self.dtype)
        executor = symbol.simple_bind(mx.cpu(), grad_req=requests, type_dict=types, **shapes)
        for arrays in (executor.arg_dict, executor.aux_dict):
            for name, value in self.arrays({n: a.shape for n, a in arrays.items()}).items():
                arrays[name][:] = value
        return executor

    def arrays(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
        """Inputs, and parameters and states for the shapes that were inferred."""
        inputs = {n: s.make(n, "float32") for n, s in self.inputs.items()}
        return {
            n: inputs[n] if n in inputs else parameter(n, s, self.scales) for n, s in shapes.items()
        }


def parameter(
    name: str, shape: tuple[int, ...], scales: Mapping[str, float] | None = None
) -> np.ndarray:
    """A parameter or state seeded by its name, scaled so that activations stay near one."""
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    if name.endswith(("_var", "_scale")):
        array = rng.uniform(0.5, 1.5, size=shape)
    elif name.endswith("gamma"):
        array = 1 + 0.1 * rng.standard_normal(shape)
    elif name.endswith("weight"):
        array = rng.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[1:]))
    else:
        array = 0.1 * rng.standard_normal(shape)
    return (array * (scales or {}).get(name, 1.0)).astype(np.float32)


def _images(*shape: int) -> dict[str, Spec]:
    return {"data": normal(*shape), "softmax_label": integers(shape[0], high=10)}


_BOXES = values(
    [
        [[0, 0.1, 0.15, 0.55, 0.6], [2, 0.45, 0.5, 0.9, 0.8], [1, 0.05, 0.7, 0.2, 0.95]],
        [[1, 0.3, 0.2, 0.7, 0.95], [-1, -1, -1, -1, -1], [-1, -1, -1, -1, -1]],
    ]
)
_STATES = {f"l{i}_init_{s}": uniform(4, 32, low=-1.0) for i in range(2) for s in "hc"}

MODELS: dict[str, Model] = {
    "mlp": Model(mlp, _images(8, 1, 28, 28)),
    "lenet": Model(lenet, _images(4, 1, 28, 28)),
    "resnet50": Model(partial(resnet50, width=0.25), _images(2, 3, 64, 64), dtype="float64"),
    "resnet50_inference": Model(
        resnet50, _images(2, 3, 64, 64), train=False, scales={"fc1_weight": 0.002}
    ),
    "inception_v3": Model(
        partial(inception_v3, width=0.25), _images(2, 3, 139, 139), dtype="float64"
    ),
    "vgg16": Model(partial(vgg16, width=0.25), _images(2, 3, 64, 64)),
    "mobilenet": Model(mobilenet, _images(2, 3, 64, 64), dtype="float64"),
    "densenet121": Model(partial(densenet121, growth=8), _images(2, 3, 64, 64), dtype="float64"),
    "lstm": Model(
        lstm,
        {"data": integers(4, 35, high=50), "softmax_label": integers(4, 35, high=50), **_STATES},
    ),
    "ssd_train": Model(
        partial(ssd_train, width=0.25),
        {"data": normal(2, 3, 300, 300), "label": _BOXES},
        rtol=1e-3,  # no float64 in MXNet's MultiBox operators; see dtype above
    ),
    "ssd_detect": Model(
        partial(ssd_detect, width=0.25),
        {"data": normal(1, 3, 300, 300)},
        train=False,
        scales={f"cls{i}_weight": 0.15 for i in range(1, 6)},  # scores that differ clearly
    ),
}
