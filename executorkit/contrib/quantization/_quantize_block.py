"""MXNet's functions that quantise Gluon networks."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...context import Context, cpu
from ...errors import ArgumentValueError, DataArgumentError, InputTypeError
from ...gluon import HybridBlock, SymbolBlock
from ...io import DataBatch
from ...ndarray import NDArray
from ...symbol import Symbol
from ...symbol.node import Node, topological_order
from ._calibration import collect_layers
from ._quantize_model import CALIBRATIONS, calib_graph, check_options, quantize_graph
from ._quantized_graph import check_choice, check_names, copied_node


def quantize_net_v2(
    network: HybridBlock, quantized_dtype: Any = "auto", quantize_mode: Any = "full",
    quantize_granularity: Any = "tensor-wise", exclude_layers: list[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None, exclude_operators: list[str] | None = None,
    calib_data: Any = None, data_shapes: Any = None, calib_mode: str | None = "none",
    num_calib_examples: int | None = None, ctx: Context = cpu(),  # noqa: B008 - as in MXNet
    LayerOutputCollector: Any = None,  # noqa: N803 - MXNet's name
    logger: Any = None,
) -> SymbolBlock:  # fmt: skip
    """Returns a block that computes a network with 8-bit layers. The network is hybridized.

    network
        an initialized HybridBlock.
    quantized_dtype, quantize_mode, quantize_granularity
        see :func:`quantize_model`; "auto" is "int8" for a network with convolutions.
    exclude_layers, exclude_layers_match, exclude_operators
        nodes of the network's graph that stay floating: their names, parts of their names, and
        names of operators.
    calib_data, calib_mode, num_calib_examples
        a DataLoader, a DataIter or another iterable of batches, and how ranges are measured on
        them ("none", "naive", "entropy"), on how many examples. The last of several arrays of a
        batch is its label, unless ``data_shapes`` tells the number of inputs.
    data_shapes
        the inputs, as DataDesc or (name, shape); ``calib_data`` may replace them.
    ctx
        the device of calibration and of the new block.
    LayerOutputCollector
        with ``calib_mode="customize"``: its ``collect(name, array)`` gets all values of the graph,
        and its ``min_max_dict`` has the ranges.
    logger
        logs the steps.

    Raises ValueError (ArgumentValueError, AttributeValueError) for unsuitable arguments, TypeError
    (InputTypeError) for another network.
    """
    where, calib_mode = "quantize_net_v2", calib_mode or "none"
    check_options(where, ctx, quantized_dtype, quantize_granularity)
    check_choice(where, "calib_mode", calib_mode, (*CALIBRATIONS, "customize"))
    excluded = list(check_names(where, "exclude_layers", exclude_layers))
    operators = list(check_names(where, "exclude_operators", exclude_operators))
    if calib_mode != "none" and calib_data is None:
        raise ArgumentValueError(where, f"calib_mode={calib_mode!r} needs calib_data")
    if not isinstance(network, HybridBlock):
        raise InputTypeError(where, f"network is a {type(network).__name__}, not a HybridBlock")
    batches: Iterator[Any] = iter(())
    if data_shapes is not None:
        zeros = [(shape, getattr(d, "dtype", np.float32)) for d in data_shapes for _, shape in [d]]
        inputs = [nd.zeros(shape, dtype=dtype) for shape, dtype in zeros]
    elif calib_data is None:
        raise ArgumentValueError(where, "neither data_shapes nor calib_data is given")
    if calib_data is not None:
        batches = iter(calib_data)
    if data_shapes is None:
        first = next(batches, None)
        if first is None:
            raise DataArgumentError("calib_data", "it has no batch")
        arrays = _arrays(first)
        inputs, batches = arrays[: max(len(arrays) - 1, 1)], chain([first], batches)
    variables, symbol = _graph(network, inputs)
    arrays_by_name = {
        name: p.data(p.list_ctx()[0]).as_in_context(ctx)
        for name, p in network.collect_params().items()
        if name in symbol.list_inputs()
    }
    states = {n: arrays_by_name.pop(n) for n in symbol.list_auxiliary_states()}
    symbol = _move_biases(symbol, arrays_by_name, states)
    order = topological_order(symbol.heads)
    if quantized_dtype == "auto" and any(_is_operator(n, "Convolution") for n in order):
        quantized_dtype = "int8"
    nodes = [name.removesuffix("_output") for name in symbol.get_internals().list_outputs()]
    excluded += [n for n in nodes if any(part in n for part in exclude_layers_match or ())]
    if calib_mode == "none":
        operators.append("BatchNorm")  # whose 8-bit form needs a range
    quantised, params, _, collector = quantize_graph(
        symbol, arrays_by_name, states, ctx, excluded, operators, calib_mode=calib_mode,
        quantized_dtype=quantized_dtype, quantize_mode=quantize_mode,
        quantize_granularity=quantize_granularity, LayerOutputCollector=LayerOutputCollector,
        logger=logger,
    )  # fmt: skip
    if calib_mode != "none":
        names = symbol.get_internals().list_outputs()
        collect_layers(
            symbol, {**arrays_by_name, **states}, _by_name(batches, variables), collector,
            names=getattr(collector, "include_layer", None) or names, ctx=ctx,
            max_examples=num_calib_examples,
        )  # fmt: skip
        quantised, params, _ = calib_graph(
            quantised, arrays_by_name, states, collector, calib_mode=calib_mode,
            quantized_dtype=quantized_dtype, logger=logger,
        )  # fmt: skip
    block = SymbolBlock(quantised, variables)
    block.collect_params().load_dict(
        {**params, **states}, ctx, cast_dtype=True, dtype_source="saved"
    )
    return block


def quantize_net(
    network: HybridBlock, quantized_dtype: Any = "auto", quantize_mode: Any = "full",
    exclude_layers: list[str] | None = None, exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: list[str] | None = None, calib_data: Any = None, data_shapes: Any = None,
    calib_mode: str | None = "none", num_calib_examples: int | None = None,
    ctx: Context = cpu(), logger: Any = None,  # noqa: B008 - as in MXNet
) -> SymbolBlock:  # fmt: skip
    """Calls :func:`quantize_net_v2`, which describes the arguments, with a warning that MXNet
    deprecates this name. Scales are tensor-wise, and calibration by a collector of one's own is not
    possible."""
    warnings.warn("quantize_net is deprecated; use quantize_net_v2", stacklevel=2)
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, exclude_layers=exclude_layers,
        exclude_layers_match=exclude_layers_match, exclude_operators=exclude_operators,
        calib_data=calib_data, data_shapes=data_shapes, calib_mode=calib_mode,
        num_calib_examples=num_calib_examples, ctx=ctx, logger=logger,
    )  # fmt: skip


def _graph(network: HybridBlock, inputs: Sequence[NDArray]) -> tuple[list[Symbol], Symbol]:
    contexts = [p.list_ctx()[0] for p in network.collect_params().values()]
    network.hybridize(static_alloc=False, static_shape=False)
    network(*[x.as_in_context(contexts[0]) if contexts else x for x in inputs])
    return network.called_graph()


def _is_operator(node: Node, name: str) -> bool:
    return node.op is not None and node.op.name == name


def _move_biases(symbol: Symbol, arrays: dict[str, NDArray], states: dict[str, NDArray]) -> Symbol:
    """Moves biases of convolutions, which 8-bit ones add without scaling, to the moving mean of a
    following BatchNorm, whose state it changes, or else to a sum."""
    order = topological_order(symbol.heads)
    uses = Counter(entry for node in order for entry in node.inputs) + Counter(symbol.heads)
    followers = {node.inputs[0][0]: node for node in order if node.inputs}
    copies: dict[Node, Node] = {}
    for node in order:
        inputs = tuple((copies[child], index) for child, index in node.inputs)
        attrs, operator = dict(node.attrs), node.op and node.op.name
        if not _is_operator(node, "Convolution") or node.params is None or node.params.no_bias:
            copies[node] = copied_node(operator, node.name, attrs, inputs, node.subgraphs)
            continue
        bias, last = node.inputs[2][0].name, followers.get(node)
        attrs["no_bias"] = "True"
        convolution = copied_node(operator, node.name, attrs, inputs[:2])
        shape = [1] * (2 + len(node.params.kernel))
        axis = len(shape) - 1 if str(node.params.layout).endswith("C") else 1
        if last is not None and _is_operator(last, "BatchNorm") and last.params is not None:
            mean = last.inputs[3]
            if last.params.axis % len(shape) == axis and uses[node, 0] == uses[mean] == 1:
                states[mean[0].name] = states[mean[0].name] - arrays[bias]
                copies[node] = convolution
                continue
        shape[axis] = -1
        attrs = {"shape": str(tuple(shape))}
        reshaped = copied_node("Reshape", f"{node.name}_bias", attrs, inputs[2:])
        added = (convolution, 0), (reshaped, 0)
        copies[node] = copied_node("broadcast_add", f"{node.name}_sum", {}, added)
    return Symbol([(copies[node], index) for node, index in symbol.heads])


def _arrays(batch: Any) -> list[Any]:
    arrays = batch.data if isinstance(batch, DataBatch) else batch
    return list(arrays) if isinstance(arrays, list | tuple) else [arrays]


def _by_name(batches: Iterable[Any], variables: Sequence[Symbol]) -> Iterator[dict[str, NDArray]]:
    names = [str(variable.name) for variable in variables]
    for arrays in map(_arrays, batches):
        if len(arrays) < len(names) or not all(isinstance(x, NDArray) for x in arrays):
            kinds = ", ".join(type(x).__name__ for x in arrays)
            problem = f"a batch has {kinds}, expected NDArrays for {', '.join(names)}"
            raise DataArgumentError("calib_data", problem)
        yield dict(zip(names, arrays, strict=False))
