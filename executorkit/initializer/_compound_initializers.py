"""Initialisers that hand over to others: by name, by pattern, and for packed recurrent layers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InitializerError, explain
from ..ndarray import NDArray, array, load
from ..ops.nn.rnn_parameters import GateParameters, Mode
from ._initializer import InitDesc, Initializer, create, register

AnyInitializer = Callable[[str, NDArray], None]


class Load:
    """Copies parameters from a file or dict; ``default_init`` initialises those that are not there.

    param
        the name of a ``.params`` file, or {name: NDArray}. 'arg:' and 'aux:' before names are
        dropped.
    verbose
        logs where each parameter came from.

    A shape that differs, or a missing parameter without ``default_init``, is an AssertionError.
    """

    def __init__(
        self,
        param: str | Mapping[str, NDArray],
        default_init: AnyInitializer | None = None,
        verbose: bool = False,
    ) -> None:
        found: Any = load(param) if isinstance(param, str) else param
        if not isinstance(found, Mapping):
            raise InitializerError(
                explain("Load: param", f"a {type(found).__name__}, expected arrays by name")
            )
        self.param: dict[str, NDArray] = {
            name[4:] if name.startswith(("arg:", "aux:")) else name: value
            for name, value in found.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Overwrites ``arr`` by the parameter of that name."""
        loaded = self.param.get(name)
        if loaded is not None:
            if loaded.shape != arr.shape:
                problem = f"the loaded array has shape {loaded.shape}, the parameter {arr.shape}"
                raise InitializerError(explain(f"Load: parameter {name!r}", problem))
            arr[:] = loaded
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise InitializerError(
                explain(
                    f"Load: parameter {name!r}",
                    "it is not among the loaded arrays",
                    because="they are " + (", ".join(sorted(self.param)) or "none"),
                    hint="default_init=mx.init.Xavier()",
                )
            )
        if self.verbose:
            how = "by default_init" if loaded is None else "from the loaded arrays"
            logging.info("%s initialized %s", name, how)


class Mixed:
    """The initialiser of the first pattern, a regular expression, that a name begins with.

    patterns, initializers
        as many of each; ``".*"`` last takes all other names.

    Raises ValueError for a name that no pattern fits.

    >>> import executorkit as mx
    >>> initializer = Mixed(["fc1_", ".*"], [mx.init.One(), mx.init.Zero()])
    >>> weight = mx.nd.empty((1, 2))
    >>> initializer(mx.init.InitDesc("fc1_weight"), weight)
    >>> weight.asnumpy().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[AnyInitializer]) -> None:
        if len(patterns) != len(initializers):
            raise InitializerError(
                explain("Mixed", f"{len(patterns)} patterns, {len(initializers)} initializers")
            )
        self.map = [(re.compile(p), i) for p, i in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Overwrites ``arr`` by the initialiser for that name."""
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise InitializerError(
            explain(
                f"Mixed: parameter {name!r}",
                "no pattern fits",
                because="they are " + ", ".join(repr(p.pattern) for p, _ in self.map),
                hint="'.*' as the last pattern",
            )
        )


@register
class FusedRNN(Initializer):
    """The packed parameters of the operator RNN, every gate's weight and bias for itself.

    init
        initialises the weights and biases, named as ``FusedRNNCell.unpack_weights`` names them; an
        initialiser, its JSON text, or None for that of the whole network.
    num_hidden, num_layers, mode, bidirectional
        the operator's.
    forget_bias
        the value of both biases of an LSTM's forget gates.

    Raises AssertionError for a length that such a layer's parameters cannot have. Unlike MXNet's,
    one with an ``init`` can be made from its own ``dumps()``.
    """

    def __init__(
        self,
        init: Initializer | str | None,
        num_hidden: int,
        num_layers: int,
        mode: Mode,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        inner = create(init) if isinstance(init, str) else init
        super().__init__(
            init=None if inner is None else inner.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = inner
        self._mode = mode
        self._forget_bias = forget_bias
        self._gates = GateParameters.of(mode, num_hidden, num_layers, bidirectional)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        network = name.global_init if isinstance(name, InitDesc) else None
        inner = network if self._init is None else self._init
        if inner is None or inner is self:
            raise InitializerError(
                explain(
                    f"FusedRNN: parameter {name!r}",
                    "no initializer for the weights inside",
                    because="init is None, and so is that of the whole network",
                    hint="init=mx.init.Xavier()",
                )
            )
        host = arr.asnumpy().copy()
        for piece_name, place, shape in self._gates.pieces(self._gates.features(arr.size)):
            part = host[place]
            if self._mode == "lstm" and piece_name.endswith("_f_bias"):
                part[:] = self._forget_bias
                continue
            piece = array(part.reshape(shape), ctx=arr.context, dtype=arr.dtype)
            inner(InitDesc(piece_name, global_init=network), piece)
            part[:] = np.ravel(piece.asnumpy())
        arr[:] = host
