"""``contrib.quantization``: graphs, ranges and parameters are MXNet's."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit.contrib import quantization
from executorkit.errors import MXNetError
from tests._tools import golden as _golden
from tests.golden import make_quantized

GRAPHS = _golden.answers("quantized_graphs").facts


def plain(text):
    """A graph without versions and numbers of outputs: nodes, calibrated ranges, heads."""
    graph, ranges = json.loads(text), {}
    nodes = []
    for node in graph["nodes"]:
        attrs = dict(node.get("attrs", {}))
        for key in ("min_calib_range", "max_calib_range"):
            if key in attrs:
                ranges[node["name"], key] = float(attrs.pop(key))
        nodes.append((node["op"], node["name"], attrs, [i[:2] for i in node["inputs"]]))
    return nodes, ranges, [h[:2] for h in graph["heads"]]


def network(name):
    """A network of the golden answers, its parameters, its data."""
    build, low, shape, _ = make_quantized.NETWORKS[name]
    rng = np.random.RandomState(7)
    with mx.name.NameManager():
        symbol = build(mx)
    args, aux = make_quantized.parameters(mx, symbol, rng, shape)
    return symbol, args, aux, mx.nd.array(rng.uniform(low, 1, shape))


def batches(data, size=None):
    return mx.io.NDArrayIter(data, None, size or data.shape[0])


@pytest.mark.parametrize("way", make_quantized.WAYS)
@pytest.mark.parametrize("name", make_quantized.GRAPHS)
def test_graph_is_mxnets_node_by_node(name, way):
    facts = GRAPHS["graphs"][name]
    symbol = mx.sym.load_json(facts["json"])
    arguments = [n for n in symbol.list_arguments() if n != "data"]
    options: dict[str, Any] = {"offline_params": arguments, **make_quantized.WAYS[way]}
    quantised, layers = quantization.quantize_symbol(symbol, mx.cpu(), **options)
    assert plain(quantised.tojson()) == plain(facts["ways"][way]["json"])
    assert layers == facts["ways"][way]["layers"]


@pytest.mark.parametrize(("kind", "mode"), [("bytes", "naive"), ("bytes_uncalibrated", "none")])
def test_model_is_mxnets(kind, mode):
    answers = _golden.answers("quantized_networks")
    symbol, args, aux, data = network("plain")
    quantised, new_args, new_aux = quantization.quantize_model(
        symbol, args, aux, calib_mode=mode, calib_data=batches(data), quantized_dtype="uint8",
        excluded_op_names=["BatchNorm"],
    )  # fmt: skip
    nodes, ranges, heads = plain(quantised.tojson())
    their_nodes, their_ranges, their_heads = plain(answers.facts[f"plain_{kind}"]["json"])
    assert (nodes, heads) == (their_nodes, their_heads)
    assert ranges == pytest.approx(their_ranges, abs=3e-6)
    assert new_aux is aux
    assert {*new_args, *aux} == set(answers.facts[f"plain_{kind}"]["parameters"])
    for name, array in new_args.items():
        key = f"plain_{kind}|{name}"
        theirs = answers[key] if key in answers else answers[f"plain|{name}"]
        assert array.dtype == theirs.dtype
        np.testing.assert_array_equal(array.asnumpy(), theirs)


@pytest.mark.parametrize("case", GRAPHS["thresholds"])
def test_threshold_is_mxnets(case):
    """Within a bin of MXNet's, whose divergences are sums in float32."""
    name, dtype = case.split("_")
    threshold, divergence, bins, limit = GRAPHS["thresholds"][case]
    first, second = make_quantized.samples()[name]
    collector = quantization._LayerHistogramCollector(num_bins=601, include_layer=[name])
    collector.collect("another", mx.nd.array([9e9]))
    for values in (first, second):
        collector.collect(name, mx.nd.array(values))
    histogram = collector.hist_dict[name]
    assert len(histogram.counts) == bins
    assert histogram.counts.sum() == first.size + second.size
    assert histogram.limit == pytest.approx(limit, rel=1e-7)
    _, _, ours, ours_divergence = quantization._get_optimal_threshold(histogram, dtype)
    assert ours[0] == pytest.approx(threshold, abs=2 * limit / bins)
    assert ours_divergence[0] == pytest.approx(divergence, rel=2e-3)


def test_ranges_of_nonnegative_layers_begin_at_zero_unless_they_are_signed():
    values = mx.nd.array(make_quantized.samples()["rectified"][0])
    for dtype, lowest in (("auto", 0), ("int8", -1)):
        collector = quantization.LayerHistogramCollector(num_bins=601, include_layer=["x"])
        collector.collect("x", values)
        ranges = quantization.optimal_thresholds(collector.hist_dict, dtype)
        low, high = (float(np.asarray(end).item()) for end in ranges["x"])
        assert low == lowest * high < high
        assert collector.hist_dict == {}


def floats(symbol, args, aux, data):
    executor = symbol.bind(mx.cpu(), {**args, "data": data}, aux_states=aux, grad_req="null")
    return executor.forward(is_train=False)[0].asnumpy()


def test_calibrated_network_is_near_the_floating_one():
    symbol, args, aux, data = network("plain")
    want = floats(symbol, args, aux, data)
    quantised = quantization.quantize_model_mkldnn(
        symbol, args, aux, calib_mode="naive", calib_data=batches(data, 1),
        logger=logging.getLogger("quantization"),
    )  # fmt: skip
    distance = np.abs(floats(*quantised, data) - want).max()
    assert 0 < distance < 0.1 * np.abs(want).max()


def test_entropy_calibration_cuts_off_rare_values():
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc", no_bias=True)
    args = {"fc_weight": mx.nd.array([[1, 1, 1, 1], [1, -1, 1, -1]])}
    values = np.random.RandomState(0).normal(0, 1, (500, 4))
    values[0] = 9
    data = mx.nd.array(values)
    quantised = quantization.quantize_model(symbol, args, {}, calib_data=batches(data, 100))
    ranges = plain(quantised[0].tojson())[1]
    for name in ("data_quantize", "requantize_fc"):
        low, high = (ranges[name, f"{end}_calib_range"] for end in ("min", "max"))
        assert -low == high < 0.8 * (9 if name == "data_quantize" else 36)
    ours, want = (floats(*x, data)[1:] for x in (quantised, (symbol, args, {})))
    assert np.sqrt(np.mean((ours - want) ** 2)) < 0.05 * want.std()


def test_graph_and_ranges_apart_give_what_both_at_once_give():
    symbol, args, aux, data = network("plain")
    options: dict[str, Any] = {"calib_mode": "naive", "quantize_mode": "full"}
    at_once, *_ = quantization.quantize_model(
        symbol, args, aux, calib_data=batches(data), **options
    )
    quantised, new_args, new_aux, collector = quantization.quantize_graph(
        symbol, args, aux, **options
    )
    executor = symbol.bind(mx.cpu(), {**args, "data": data}, aux_states=aux, grad_req="null")
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    executor.forward(is_train=False)
    calibrated, cal_args, cal_aux = quantization.calib_graph(
        quantised, args, aux, collector, calib_mode="naive"
    )
    assert plain(calibrated.tojson())[0] == plain(at_once.tojson())[0]
    ours, want = plain(calibrated.tojson())[1], plain(at_once.tojson())[1]
    assert ours == pytest.approx(want, abs=3e-6)
    assert list(cal_args) == list(new_args)
    assert cal_aux is new_aux is aux
    assert plain(quantised.tojson())[1] == {}


def test_number_of_calibration_examples_is_heard():
    symbol, args, aux, data = network("dense")
    tables = []
    for count in (1, None):
        quantised, *_ = quantization.quantize_model(
            symbol, args, aux, calib_mode="naive", calib_data=batches(data, 1),
            num_calib_examples=count,
        )  # fmt: skip
        tables.append(plain(quantised.tojson())[1])
    one, whole = tables
    key = ("data_quantize", "max_calib_range")
    assert one[key] == pytest.approx(data[0].max().asscalar(), abs=1e-6)
    assert whole[key] == pytest.approx(data.max().asscalar(), abs=1e-6)


def test_custom_collector_is_returned():
    symbol, args, aux, _ = network("dense")
    mine = object()
    *_, collector = quantization.quantize_graph(
        symbol, args, aux, calib_mode="customize", LayerOutputCollector=mine
    )
    assert collector is mine


def test_unsuitable_arguments_are_refused():
    symbol, args, aux, data = network("dense")
    quantize: Any = quantization.quantize_model
    wrong: list[dict[str, Any]] = [
        {"quantized_dtype": "int4"},
        {"quantize_mode": "clever"},
        {"quantize_granularity": "row"},
        {"calib_mode": "guess", "calib_data": batches(data)},
        {"calib_mode": "naive"},
        {"calib_mode": "naive", "calib_data": data},
        {"excluded_sym_names": "fc0"},
        {"excluded_op_names": "Flatten"},
        {"ctx": [mx.cpu()]},
    ]
    for options in wrong:
        with pytest.raises(ValueError):  # noqa: PT011 - the class is what MXNet raises
            quantize(symbol, args, aux, **{"calib_mode": "none", **options})
    with pytest.raises(ValueError, match="expected one CPU"):
        quantization.quantize_model_mkldnn(symbol, args, aux, ctx=mx.gpu(0), calib_mode="none")
    with pytest.raises(ValueError, match="expected one of 'naive'"):
        quantization.calib_graph(symbol, args, aux, None, calib_mode="none")
    with pytest.raises(MXNetError, match="nothing gives 'fc0_weight'"):
        quantize(symbol, {}, aux, calib_mode="naive", calib_data=batches(data))


def _block():
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Conv2D(4, 3, in_channels=3), mx.gluon.nn.Conv2D(2, 1, in_channels=4))
        net.add(mx.gluon.nn.BatchNorm(in_channels=2))
    net.initialize(mx.init.Xavier())
    for parameter in net.collect_params(".*bias|.*mean").values():
        parameter.set_data(mx.nd.ones(parameter.shape) * 5)
    return net


def test_biases_of_convolutions_are_kept_and_the_network_is_not_changed():
    """MXNet's 8-bit convolutions add a bias without scaling; its quantised blocks fuse it."""
    net, data = _block(), mx.nd.random.uniform(shape=(4, 3, 6, 6))
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    want = net(data).asnumpy()
    block = quantization.quantize_net_v2(net, calib_mode="naive", calib_data=[[data]])
    np.testing.assert_allclose(block(data).asnumpy(), want, atol=0.05 * np.abs(want).max())
    parameters = block.collect_params()
    assert "net_conv0_bias" in parameters
    assert "net_conv1_bias" not in parameters
    assert parameters["net_batchnorm0_running_mean"].data().asnumpy().tolist() == [0, 0]
    for name, p in net.collect_params().items():
        np.testing.assert_array_equal(p.data().asnumpy(), before[name])


def test_blocks_are_quantised_on_loaders_of_inputs_alone():
    """MXNet needs a label, or lists; a custom collector may choose the ranges."""
    net, data = _block(), mx.nd.random.uniform(shape=(4, 3, 6, 6))
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(data), batch_size=2)

    class Wide:
        def __init__(self):
            self.min_max_dict = {}

        def collect(self, name, arr):
            limit = 2 * abs(arr).max().asscalar()
            self.min_max_dict[name] = (-limit, limit)

    collector = Wide()
    with pytest.warns(UserWarning, match="deprecated"):
        naive = quantization.quantize_net(net, calib_mode="naive", calib_data=loader)
    custom = quantization.quantize_net_v2(
        net, calib_mode="customize", calib_data=loader, LayerOutputCollector=collector
    )
    assert {"data", "net_conv0_fwd_output"} <= set(collector.min_max_dict)
    ranges = [plain(b(mx.sym.var("data")).tojson())[1] for b in (naive, custom)]
    key = ("data_quantize", "max_calib_range")
    assert ranges[1][key] >= 1.9 * ranges[0][key]


def test_unsuitable_blocks_and_batches_are_refused():
    net: Any = _block()
    quantize = quantization.quantize_net_v2
    with pytest.raises(TypeError, match="network is a Sequential, not a HybridBlock"):
        quantize(mx.gluon.nn.Sequential(), data_shapes=[("data", (1, 3, 6, 6))])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it has no batch"):
        quantize(net, calib_mode="naive", calib_data=[])
    with pytest.raises(ValueError, match="a batch has ndarray, expected NDArrays for data"):
        quantize(
            net, calib_mode="naive", data_shapes=[("data", (1, 3, 6, 6))],
            calib_data=[np.ones((1, 3, 6, 6), "float32")],
        )  # fmt: skip
