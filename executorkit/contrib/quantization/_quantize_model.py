"""MXNet's functions that quantise a network: all at once, or the graph and the ranges apart."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...context import Context, cpu
from ...errors import ArgumentValueError, MissingParameterError
from ...ndarray import NDArray
from ...symbol import Symbol
from ._calibration import (
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    batches_by_name,
    collect_layers,
    optimal_thresholds,
)
from ._quantized_graph import (
    DTYPES,
    GRANULARITIES,
    calibrate_symbol,
    check_choice,
    check_names,
    quantize_symbol,
)

Params = dict[str, NDArray]
CALIBRATIONS = ("none", "naive", "entropy")


def quantize_params(
    qsym: Symbol, params: Mapping[str, NDArray], th_dict: Mapping[str, tuple[Any, Any]]
) -> Params:
    """Returns the arguments of a quantised symbol.

    ``w_quantize`` is the parameter ``w`` as int8 over its own range, with the ends
    ``w_quantize_min`` and ``w_quantize_max``, (1,) each. Other parameters stay. ``th_dict`` holds
    ranges of layers, for ends that are inputs. MissingParameterError names a missing parameter.
    """
    quantised: Params = {}
    for name in qsym.list_arguments():
        source = name.removesuffix("_quantize")
        if name in params:
            quantised[name] = params[name]
        elif source != name:
            if source not in params:
                problem = f"{name!r} is made of {source!r}, which is not given"
                raise MissingParameterError("quantize_params", problem)
            array = params[source]
            low, high = array.min().reshape((1,)), array.max().reshape((1,))
            arrays = nd.contrib.quantize(array, low, high, out_type="int8")
            quantised.update(zip((name, f"{name}_min", f"{name}_max"), arrays, strict=True))
        else:
            for position, suffix in enumerate(("_min", "_max")):
                if name.endswith(suffix) and name.removesuffix(suffix) in th_dict:
                    end = th_dict[name.removesuffix(suffix)][position]
                    quantised[name] = nd.array(np.reshape(end, (1,)))
    return quantised


def quantize_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    data_names: Any = ("data",),
    label_names: Any = ("softmax_label",),
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: Any = None,
    num_calib_examples: int | None = None,
    quantized_dtype: Any = "int8",
    quantize_mode: Any = "smart",
    quantize_granularity: Any = "tensor-wise",
    logger: Any = None,
) -> tuple[Symbol, Params, Params]:
    """Returns a network with 8-bit layers: the symbol, its arguments, and the auxiliary states.

    sym, arg_params, aux_params
        the network of floats.
    ctx
        the device of calibration, the CPU by default.
    excluded_sym_names, excluded_op_names
        nodes and operators that stay floating.
    calib_mode
        "none": ranges are measured whenever the network runs. "naive": smallest and largest value
        over ``calib_data``. "entropy": the ranges that lose least there.
    calib_data, num_calib_examples
        a DataIter, and the number of examples to use, all by default. It names the inputs;
        ``data_names`` and ``label_names`` are not needed.
    quantized_dtype
        "int8", "uint8", or "auto": uint8 where a calibrated range has nothing below 0.
    quantize_mode, quantize_granularity
        see ``quantize_symbol``.
    logger
        logs the steps.

    Raises AttributeValueError for other values and ArgumentValueError for unsuitable arguments;
    both are a ValueError, as in MXNet.
    """
    where, ctx, calib_mode = "quantize_model", ctx or cpu(), calib_mode or "none"
    check_options(where, ctx, quantized_dtype, quantize_granularity)
    check_choice(where, "calib_mode", calib_mode, CALIBRATIONS)
    if calib_mode != "none" and calib_data is None:
        raise ArgumentValueError(where, f"calib_mode={calib_mode!r} needs calib_data")
    if logger:
        logger.info("Quantizing the symbol")
    qsym, layers = quantize_symbol(
        sym, ctx, check_names(where, "excluded_sym_names", excluded_sym_names),
        check_names(where, "excluded_op_names", excluded_op_names), offline_params=list(arg_params),
        quantized_dtype=quantized_dtype, quantize_mode=quantize_mode,
        quantize_granularity=quantize_granularity,
    )  # fmt: skip
    ranges: Mapping[str, tuple[Any, Any]] = {}
    if calib_mode != "none":
        collector = _collector(calib_mode, quantized_dtype, layers, logger)
        examples = collect_layers(
            sym, {**arg_params, **aux_params}, batches_by_name(calib_data), collector,
            names=layers, ctx=ctx, max_examples=num_calib_examples,
        )  # fmt: skip
        if logger:
            logger.info("Collected the ranges of %d layers on %d examples", len(layers), examples)
        ranges = _ranges(collector, calib_mode, quantized_dtype, logger)
        qsym = calibrate_symbol(qsym, ranges)
    return qsym, quantize_params(qsym, arg_params, ranges), aux_params


def quantize_model_mkldnn(
    sym: Symbol, arg_params: Params, aux_params: Params, *args: Any, **kwargs: Any
) -> tuple[Symbol, Params, Params]:
    """Equals ``quantize_model``, without oneDNN subgraphs. ArgumentValueError except for CPUs."""
    ctx = args[2] if len(args) > 2 else kwargs.get("ctx") or cpu()
    if not isinstance(ctx, Context) or ctx.device_type != "cpu":
        raise ArgumentValueError("quantize_model_mkldnn", f"ctx is {ctx}, expected one CPU")
    return quantize_model(sym, arg_params, aux_params, *args, **kwargs)


def quantize_graph(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: Any = "int8",
    quantize_mode: Any = "full",
    quantize_granularity: Any = "tensor-wise",
    LayerOutputCollector: Any = None,  # noqa: N803 - MXNet's name
    logger: Any = None,
) -> tuple[Symbol, Params, Params, Any]:
    """Returns a network with 8-bit layers without ranges, and a collector of ranges.

    :func:`quantize_model` describes the arguments; ``calib_mode`` may also be "customize", which
    takes ``LayerOutputCollector`` as the collector. ``collector.collect`` is a callback for
    ``set_monitor_callback(..., monitor_all=True)`` of the floating network, and ``calib_graph``
    takes the collector, which is None with ``calib_mode="none"``.
    """
    where, calib_mode = "quantize_graph", calib_mode or "none"
    check_options(where, ctx or cpu(), quantized_dtype, quantize_granularity)
    check_choice(where, "calib_mode", calib_mode, (*CALIBRATIONS, "customize"))
    if calib_mode == "customize" and LayerOutputCollector is None:
        raise ArgumentValueError(where, "calib_mode='customize' needs LayerOutputCollector")
    qsym, layers = quantize_symbol(
        sym, ctx, check_names(where, "excluded_sym_names", excluded_sym_names),
        check_names(where, "excluded_op_names", excluded_op_names), offline_params=list(arg_params),
        quantized_dtype=quantized_dtype, quantize_mode=quantize_mode,
        quantize_granularity=quantize_granularity,
    )  # fmt: skip
    collector = LayerOutputCollector
    if calib_mode != "customize":
        collector = _collector(calib_mode, quantized_dtype, layers, logger)
    return qsym, quantize_params(qsym, arg_params, {}), aux_params, collector


def calib_graph(
    qsym: Symbol,
    arg_params: Params,
    aux_params: Params,
    collector: Any,
    calib_mode: str | None = "entropy",
    quantized_dtype: Any = "int8",
    logger: Any = logging,
) -> tuple[Symbol, Params, Params]:
    """Returns a quantised network with the ranges of a filled collector of ``quantize_graph``.

    qsym, aux_params, collector
        The symbol, states and collector that ``quantize_graph`` returned.
    arg_params
        The floating arguments.
    calib_mode
        "naive", "entropy" (which empties the collector), or "customize".
    quantized_dtype, logger
        As for :func:`quantize_model`.
    """
    check_choice("calib_graph", "calib_mode", calib_mode, (*CALIBRATIONS[1:], "customize"))
    ranges = _ranges(collector, str(calib_mode), quantized_dtype, logger)
    qsym = calibrate_symbol(qsym, ranges)
    return qsym, quantize_params(qsym, arg_params, ranges), aux_params


def check_options(
    where: str, ctx: object, quantized_dtype: object, quantize_granularity: object
) -> None:
    if not isinstance(ctx, Context):
        raise ArgumentValueError(where, f"ctx: {type(ctx).__name__}, expected one Context")
    check_choice(where, "quantized_dtype", quantized_dtype, DTYPES)
    check_choice(where, "quantize_granularity", quantize_granularity, GRANULARITIES)


def _collector(calib_mode: str, quantized_dtype: str, layers: list[str], logger: object) -> Any:
    if calib_mode == "entropy":
        return LayerHistogramCollector(include_layer=layers, logger=logger)
    if calib_mode == "naive":
        return LayerOutputMinMaxCollector(quantized_dtype, include_layer=layers, logger=logger)
    return None


def _ranges(
    collector: Any, calib_mode: str, quantized_dtype: str, logger: Any
) -> Mapping[str, tuple[Any, Any]]:
    if calib_mode == "entropy":
        return optimal_thresholds(collector.hist_dict, quantized_dtype, logger=logger)
    return collector.min_max_dict
