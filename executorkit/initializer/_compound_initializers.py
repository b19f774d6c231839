"""Initializers that delegate to others: Load, Mixed, and FusedRNN for packed recurrent layers."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .._support.keyword_arguments import CheckedKeywords
from ..errors import InitializerError
from ..ndarray import NDArray, array, load
from ..ops.nn.rnn_parameters import GateParameters, Mode
from ._initializer import InitDesc, Initializer, create, register

AnyInitializer = Callable[[str, NDArray], None]


class Load(CheckedKeywords):
    """Copies of parameters from a file or dict; ``default_init`` initialises the missing ones.

    param
        The name of a ``.params`` file, or {name: NDArray}. The prefixes 'arg:' and 'aux:' of names
        are removed.
    default_init
        The initializer of parameters that are missing.
    verbose
        Whether the source of each parameter is logged.

    Raises AssertionError for another shape, or a missing parameter without ``default_init``.
    """

    def __init__(
        self,
        param: str | Mapping[str, NDArray],
        default_init: AnyInitializer | None = None,
        verbose: bool = False,
    ) -> None:
        arrays = load(param) if isinstance(param, str) else param
        if not isinstance(arrays, Mapping):
            problem = f"a {type(arrays).__name__}, expected arrays by name"
            raise InitializerError("Load: param", problem)
        self.param: dict[str, NDArray] = {
            name[4:] if name.startswith(("arg:", "aux:")) else name: value
            for name, value in arrays.items()
        }
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        loaded = self.param.get(name)
        if loaded is not None:
            if loaded.shape != arr.shape:
                problem = f"the loaded array has shape {loaded.shape}, the parameter {arr.shape}"
                raise InitializerError(f"Load: parameter {name!r}", problem)
            arr[:] = loaded
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            problem = "it is not among the loaded arrays"
            because = "they are " + (", ".join(sorted(self.param)) or "none")
            hint = "default_init=mx.init.Xavier()"
            raise InitializerError(f"Load: parameter {name!r}", problem, because=because, hint=hint)
        if self.verbose:
            how = "by default_init" if loaded is None else "from the loaded arrays"
            logging.info("%s initialized %s", name, how)


class Mixed(CheckedKeywords):
    """Initializers by pattern: the first regular expression that matches the start of a name
    counts; a last pattern ``".*"`` matches all other names. Raises ValueError for a name that no
    pattern matches.

    >>> import executorkit as mx
    >>> initializer = Mixed(["fc1_", ".*"], [mx.init.One(), mx.init.Zero()])
    >>> weight = mx.nd.empty((1, 2))
    >>> initializer(mx.init.InitDesc("fc1_weight"), weight)
    >>> weight.asnumpy().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[AnyInitializer]) -> None:
        if len(patterns) != len(initializers):
            problem = f"{len(patterns)} patterns, {len(initializers)} initializers"
            raise InitializerError("Mixed", problem)
        self.map = [(re.compile(p), i) for p, i in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        problem = "no pattern fits"
        because = "they are " + ", ".join(repr(p.pattern) for p, _ in self.map)
        hint = "'.*' as the last pattern"
        raise InitializerError(f"Mixed: parameter {name!r}", problem, because=because, hint=hint)


@register
class FusedRNN(Initializer):
    """The packed parameters of the operator RNN: weight and bias of every gate separately.

    init
        The initializer of the weights and biases, or its JSON text; None for the whole network's.
        It gets the names of ``FusedRNNCell.unpack_weights``.
    num_hidden, num_layers, mode, bidirectional
        The attributes of the operator.
    forget_bias
        The value of both biases of an LSTM's forget gates.

    Raises AssertionError for a length that the layers' parameters cannot have. Unlike in MXNet, one
    with an ``init`` can be created from its ``dumps()``.
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
        network_init = name.global_init if isinstance(name, InitDesc) else None
        initializer = network_init if self._init is None else self._init
        if initializer is None or initializer is self:
            raise InitializerError(
                f"FusedRNN: parameter {name!r}",
                "no initializer for the weights inside",
                because="both init and the network's initializer are None",
                hint="init=mx.init.Xavier()",
            )
        host = arr.asnumpy().copy()
        for piece_name, piece_slice, shape in self._gates.pieces(self._gates.features(arr.size)):
            piece_values = host[piece_slice]
            if self._mode == "lstm" and piece_name.endswith("_f_bias"):
                piece_values[:] = self._forget_bias
                continue
            piece = array(piece_values.reshape(shape), ctx=arr.context, dtype=arr.dtype)
            initializer(InitDesc(piece_name, global_init=network_init), piece)
            piece_values[:] = np.ravel(piece.asnumpy())
        arr[:] = host
