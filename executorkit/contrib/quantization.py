"""``mx.contrib.quantization``: networks with operators on 8-bit integers.

    qsym, qarg_params, aux_params = mx.contrib.quantization.quantize_model(
        sym, arg_params, aux_params, calib_mode="naive", calib_data=batches, num_calib_examples=512)

Graphs are those that MXNet's pass makes, node for node. What belongs to Gluon (``quantize_net``)
and to the fusion of operators by oneDNN (``quantize_model_mkldnn``) raises NotSupportedError;
networks that MXNet quantised so can be loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ..context import Context, cpu
from ..errors import ArgumentValueError, NotSupportedError, explain
from ..io import DataIter
from ..ndarray import NDArray
from ..ndarray import contrib as operators
from ..ndarray import op as array_operators
from ..symbol import Symbol
from ._calibration import (
    HistogramCollector,
    MinMaxCollector,
    collect_outputs,
    combine_histogram,
)
from ._quantize_graph import QuantizedGraph, quantized_graph, set_ranges

__all__ = [
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]

Params = dict[str, NDArray]


def quantize_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    data_names: Iterable[str] = ("data",),
    label_names: Iterable[str] = ("softmax_label",),
    ctx: Context | list[Context] | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = logging,
) -> tuple[Symbol, Params, Params]:
    """The quantised symbol and parameters of a network for inference; auxiliary states as they are.

    excluded_sym_names, excluded_op_names
        names of nodes, and of operators, that stay as they are.
    calib_mode
        'none': ranges of inner tensors are found for every batch, while it is computed; 'naive':
        they are those of ``calib_data``; 'entropy': those that lose least of its information.
    calib_data, num_calib_examples
        an iterator, and the number of examples after which it is left (all).
    quantized_dtype
        'int8', 'uint8', or 'auto': unsigned where there are no negative values.
    quantize_mode
        'full': every operator that has a quantised form; 'smart': convolutions, dense layers, and
        what lies between two of them.
    quantize_granularity
        'tensor-wise' or 'channel-wise', without effect, as in MXNet without fused operators.

    ValueError (ArgumentValueError) for other arguments. Calibration runs the network as it is;
    MXNet's may fuse layers for it, and leaves those without a range.
    """
    graph, quantized_params = _quantized(
        sym, arg_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity, calib_mode,
    )  # fmt: skip
    if calib_mode == "none":
        return graph.symbol, quantized_params, aux_params
    if not isinstance(calib_data, DataIter):
        kind = "none" if calib_data is None else type(calib_data).__name__
        raise ArgumentValueError(
            explain("quantize_model", f"calib_data is {kind}, expected a DataIter")
        )
    collector = _collector(calib_mode)
    count = collect_outputs(
        sym,
        (arg_params, aux_params),
        graph.calibrated,
        calib_data,
        (data_names, label_names),
        cpu() if ctx is None else ctx,
        num_calib_examples,
        collector.collect,
    )
    logger.info("Ranges of %d tensors of %d examples", len(graph.calibrated), count)
    ranges = _ranges(collector, quantized_dtype)
    return set_ranges(graph.symbol, ranges), quantized_params, aux_params


def quantize_graph(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Any = None,  # noqa: N803 - MXNet's name
    logger: Any = None,
) -> tuple[Symbol, Params, Params, Any]:
    """The quantised symbol and parameters, without ranges, and a collector of outputs.

    The collector has ``collect(name, values)`` for the outputs (NumPy arrays or NDArrays) in its
    ``include_layer``; :func:`calib_graph` takes it. It is None for ``calib_mode='none'``. Other
    arguments are those of :func:`quantize_model`; ``LayerOutputCollector`` is used for 'customize'.
    """
    graph, params = _quantized(
        sym, arg_params, excluded_sym_names, excluded_op_names, quantized_dtype, quantize_mode,
        quantize_granularity, calib_mode, ("customize",),
    )  # fmt: skip
    collector = None
    if calib_mode == "customize":
        collector = LayerOutputCollector
    elif calib_mode != "none":
        collector = _LayerCollector(_collector(calib_mode), graph.calibrated)
    return graph.symbol, params, aux_params, collector


class _LayerCollector:
    """A collector that takes the outputs in ``include_layer`` only."""

    def __init__(
        self, collector: MinMaxCollector | HistogramCollector, include_layer: list[str]
    ) -> None:
        self.collector = collector
        self.include_layer = include_layer

    def collect(self, name: str, arr: Any) -> None:
        """Takes an output into account; a monitor's callback may call it."""
        if name in self.include_layer:
            values = arr.asnumpy() if isinstance(arr, NDArray) else arr
            self.collector.collect(name, values)


def calib_graph(
    qsym: Symbol,
    arg_params: Params,
    aux_params: Params,
    collector: Any,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> tuple[Symbol, Params, Params]:
    """A symbol of :func:`quantize_graph` with the ranges that its collector has collected.

    For 'customize' the collector has ``min_max_dict``: (least, greatest) by name.
    """
    if calib_mode == "customize":
        ranges: Mapping[str, tuple[float, float]] = collector.min_max_dict
    else:
        _check_choice("calib_mode", calib_mode, ("naive", "entropy", "customize"))
        ranges = _ranges(collector.collector, quantized_dtype)
    return set_ranges(qsym, ranges), arg_params, aux_params


def _quantized(
    sym: Symbol,
    arg_params: Params,
    excluded_sym_names: Any,
    excluded_op_names: Any,
    quantized_dtype: str,
    quantize_mode: str,
    quantize_granularity: str,
    calib_mode: str,
    more_modes: tuple[str, ...] = (),
) -> tuple[QuantizedGraph, Params]:
    for name, names in (
        ("excluded_sym_names", excluded_sym_names),
        ("excluded_op_names", excluded_op_names),
    ):
        if not (names is None or isinstance(names, list)):
            raise ArgumentValueError(explain("quantization", f"{name} is {names!r}, not a list"))
    _check_choice("quantized_dtype", quantized_dtype, ("int8", "uint8", "auto"))
    _check_choice("quantize_mode", quantize_mode, ("full", "smart"))
    granularities = ("tensor-wise", "channel-wise")
    _check_choice("quantize_granularity", quantize_granularity, granularities)
    _check_choice("calib_mode", calib_mode, ("none", "naive", "entropy", *more_modes))
    graph = quantized_graph(
        sym,
        excluded_sym_names or [],
        excluded_op_names or [],
        arg_params.keys(),
        quantized_dtype,
        quantize_mode,
    )
    return graph, _quantized_params(graph.symbol, arg_params)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ArgumentValueError(
            explain("quantization", f"{name} is {value!r}", hint=", ".join(map(repr, choices)))
        )


def _collector(calib_mode: str) -> MinMaxCollector | HistogramCollector:
    return MinMaxCollector() if calib_mode == "naive" else HistogramCollector()


def _ranges(
    collector: MinMaxCollector | HistogramCollector, quantized_dtype: str
) -> dict[str, tuple[float, float]]:
    if isinstance(collector, MinMaxCollector):
        return collector.ranges
    return collector.ranges(quantized_dtype)


def _quantized_params(qsym: Symbol, params: Params) -> Params:
    """The parameters of the quantised symbol: int8 with their least and greatest values, others as
    they are."""
    quantized: Params = {}
    for name in qsym.list_arguments():
        original = name.removesuffix("_quantize")
        if name in params:
            quantized[name] = params[name]
        elif name.endswith("_quantize") and original in params:
            values = params[original]
            low, high = array_operators.min(values), array_operators.max(values)
            results = operators.quantize(values, low, high, out_type="int8")
            for end, result in zip(("", "_min", "_max"), results, strict=True):
                quantized[f"{name}{end}"] = result
    return quantized


def _refuse(function: str, problem: str, hint: str) -> NoReturn:
    raise NotSupportedError(explain(f"quantization.{function}", problem, hint=hint))


def quantize_model_mkldnn(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotSupportedError: layers are not fused into oneDNN's operators here."""
    hint = "quantize_model, or quantise where MXNet runs and load the result"
    _refuse("quantize_model_mkldnn", "fusion by oneDNN is not served", hint)


def quantize_net(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotSupportedError: there are no blocks of Gluon."""
    _refuse("quantize_net", "Gluon is not served", "quantize_model of the exported symbol")


def quantize_net_v2(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotSupportedError: there are no blocks of Gluon."""
    _refuse("quantize_net_v2", "Gluon is not served", "quantize_model of the exported symbol")
