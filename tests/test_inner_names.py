"""Names of MXNet's modules that begin with an underscore, or are imported there: libraries use
them. Expected values are MXNet 1.9.1's."""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest

import executorkit as mx
from executorkit import gluon, nd
from executorkit.contrib.amp import amp
from executorkit.gluon.block import _BlockScope, _flatten, _regroup
from executorkit.gluon.data import dataloader
from executorkit.gluon.model_zoo import model_store
from executorkit.gluon.model_zoo.vision.resnet import _conv3x3
from executorkit.gluon.rnn.rnn_cell import (
    _cells_begin_state,
    _cells_state_info,
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
    _reverse_sequences,
)
from executorkit.gluon.utils import _brief_print_list, _get_repo_file_url, _get_repo_url, _indent

ONE, TWO = nd.ones((1,)), nd.ones((2,))
SEQUENCE = nd.arange(24).reshape((2, 3, 4))
STEPS = [SEQUENCE[0], SEQUENCE[1]]


def _shapes(values: Any) -> Any:
    if isinstance(values, list):
        return [_shapes(value) for value in values]
    return values.shape if isinstance(values, nd.NDArray) else values


# -- gluon.utils -----------------------------------------------------------------------------------


def test_addresses_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    amazon = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
    assert _get_repo_file_url("gluon/models", "x.zip") == f"{amazon}gluon/models/x.zip"
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://a")
    assert _get_repo_url() == "http://a/"
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://a/")
    assert _get_repo_url() == "http://a/"


def test_texts() -> None:
    assert _indent("a\n\nb", 3) == "a\n   \n   b"
    assert _indent(s_="a", numSpaces=4) == "a"
    assert _brief_print_list([1, 2]) == "'1', '2'"
    assert _brief_print_list(list("abcdefgh")) == "'a', 'b', 'c', ..., 'e', 'f', 'g', 'h'"
    assert _brief_print_list(list("abcdef"), limit=4) == "'a', 'b', ..., 'e', 'f'"
    assert _brief_print_list([]) == ""


# -- gluon.block -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "structure"),
    [
        (ONE, 0),
        (None, -1),
        ([ONE, [TWO, ONE]], [0, [0, 0]]),
        ([None, ONE], [-1, 0]),
        ([], []),
        (mx.sym.split(mx.sym.var("x"), num_outputs=3), 3),
    ],
)
def test_nested_values_are_flattened(values: Any, structure: Any) -> None:
    flat, found = _flatten(values, "input")
    assert found == structure
    if structure != 3:
        assert _regroup(flat, structure) == values


def test_values_are_regrouped() -> None:
    assert _shapes(_regroup([ONE, TWO, ONE], [2, 0])) == [[(1,), (2,)], (1,)]
    assert _regroup([ONE, TWO], 0) is ONE
    with pytest.raises(ValueError, match="the input has a str"):
        _flatten(["a"], "input")


class Nested(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
        (y,) = args
        return x + y[0], [x, y[1]]


def test_formats_of_a_hybridized_block() -> None:
    net = Nested()
    assert (net._in_format, net._out_format, net._cached_graph) == (None, None, ())
    net._in_format = [0]  # overwritten by the first call
    net.hybridize()
    net(ONE, [ONE, ONE])
    assert (net._in_format, net._out_format) == ([0, [0, 0]], [0, [0, 0]])
    inputs, output = net._cached_graph
    assert [x.name for x in inputs] == ["data0", "data1", "data2"]
    assert len(output.list_outputs()) == 3
    assert type(net.name_scope()) is _BlockScope


def test_formats_given_to_an_imported_block(tmp_path: Any) -> None:
    # Files hold no structures, so GluonTS keeps them in a file of its own.
    net = Nested()
    net.hybridize()
    expected = net(ONE, [ONE * 2, ONE * 3])
    net.export(str(tmp_path / "net"))
    names = [f"data{i}" for i in range(3)]
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), names)
    assert _shapes(block(ONE, ONE * 2, ONE * 3)) == [(1,)] * 3
    block._in_format, block._out_format = net._in_format, net._out_format
    result = block(ONE, [ONE * 2, ONE * 3])
    assert _shapes(result) == _shapes(list(expected)) == [(1,), [(1,), (1,)]]
    assert result[1][1].asscalar() == 3


# -- gluon.rnn.rnn_cell ----------------------------------------------------------------------------


def test_states_of_cells() -> None:
    cells = [gluon.rnn.LSTMCell(3), gluon.rnn.RNNCell(2)]
    infos = _cells_state_info(cells, 5)
    assert infos == [{"shape": (5, n), "__layout__": "NC"} for n in (3, 3, 2)]
    states = _cells_begin_state(cells, batch_size=2, func=nd.ones)
    assert [(x.shape, float(x.sum().asscalar())) for x in states] == [
        ((2, 3), 6), ((2, 3), 6), ((2, 2), 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3, SEQUENCE, "NTC", None), ((2, 3, 4), 1, 2)),
        ((3, SEQUENCE, "NTC", False), ([(2, 4)] * 3, 1, 2)),
        ((None, SEQUENCE, "TNC", False), ([(3, 4)] * 2, 0, 3)),
        ((2, STEPS, "NTC", None), ([(3, 4)] * 2, 1, 3)),
        ((2, STEPS, "TNC", True), ((2, 3, 4), 0, 3)),
        ((2, STEPS, "NTC", True, "TNC"), ((3, 2, 4), 1, 3)),
        ((3, SEQUENCE, "TNC", True, "NTC"), ((3, 2, 4), 0, 3)),
        ((3, SEQUENCE, "TNC", False, "NTC"), ([(2, 4)] * 3, 0, 3)),
        ((5, SEQUENCE, "NTC", True), ((2, 3, 4), 1, 2)),
    ],
)
def test_formats_of_sequences(arguments: Any, expected: Any) -> None:
    sequence, axis, functions, batch_size = _format_sequence(*arguments)
    assert functions is nd
    assert (_shapes(sequence), axis, batch_size) == expected


def test_formats_of_symbols_and_errors() -> None:
    steps, axis, functions, batch_size = _format_sequence(3, mx.sym.var("x"), "NTC", False)
    assert ([type(x) for x in steps], axis, batch_size) == ([mx.Symbol] * 3, 1, 0)
    assert functions is mx.sym
    for length, inputs in ((2, SEQUENCE), (3, STEPS), (3, None)):
        with pytest.raises(AssertionError):
            _format_sequence(length, inputs, "NTC", False)


def test_begin_states() -> None:
    cell = gluon.rnn.RNNCell(2)
    assert _get_begin_state(cell, nd, "given", SEQUENCE, 2) == "given"
    for inputs in (SEQUENCE, STEPS):
        (state,) = _get_begin_state(cell, nd, None, inputs, 3)
        assert (state.shape, state.context) == ((3, 2), SEQUENCE.context)
    (state,) = _get_begin_state(cell, mx.sym, None, mx.sym.var("x"), 0)
    assert state.list_arguments() == []


def test_masked_and_reversed_sequences() -> None:
    lengths = nd.array([1, 3])
    masked = _mask_sequence_variable_length(nd, SEQUENCE + 1, 3, lengths, 1, True)
    assert masked[:, :, 0].asnumpy().tolist() == [[1, 0, 0], [13, 17, 21]]
    steps = _mask_sequence_variable_length(nd, SEQUENCE + 1, 3, lengths, 1, False)
    assert [x[:, 0].asnumpy().tolist() for x in steps] == [[1, 13], [0, 17], [0, 21]]
    steps = _reverse_sequences([SEQUENCE[:, 0], SEQUENCE[:, 1]], 2, nd.array([1, 2]))
    assert [x[:, 0].asnumpy().tolist() for x in steps] == [[0, 16], [4, 12]]


# -- gluon.data.dataloader -------------------------------------------------------------------------


def test_an_iterator_over_the_batches_of_a_pool() -> None:
    dataset = [nd.array([i]) for i in range(6)]
    dataloader._worker_initializer(dataset, False, False)
    batches = [[0, 1], [2], [3, 4], [5]]
    with ThreadPool(1, dataloader._thread_worker_initializer, (False, False)) as pool:
        loaded = dataloader._MultiWorkerIter(
            pool, dataloader.default_mp_batchify_fn, batches, prefetch=2, pin_memory=True
        )
        assert (len(loaded), iter(loaded)) == (4, loaded)
        assert (loaded._sent_idx, loaded._rcvd_idx, [*loaded._data_buffer]) == (2, 0, [0, 1])
        first = next(loaded)
        assert (first.asnumpy().tolist(), first.context) == ([[0], [1]], mx.cpu_pinned())
        assert (loaded._sent_idx, loaded._rcvd_idx, [*loaded._data_buffer]) == (3, 1, [1, 2])
        assert [x.shape for x in loaded] == [(1, 1), (2, 1), (1, 1)]
        with pytest.raises(StopIteration):
            next(loaded)
        by_threads = dataloader._MultiWorkerIter(
            pool, sum, [[0, 1]], worker_fn=dataloader._thread_worker_fn, dataset=[5, 6]
        )
        assert [*by_threads] == [11]
    dataloader._worker_initializer(None, False, False)
    with ThreadPool(1, dataloader._thread_worker_initializer, (True, True)) as pool:
        assert pool.apply(mx.is_np_array)


def test_functions_of_workers() -> None:
    dataloader._worker_initializer([1.0, 2.0, 3.0], True, False)
    try:
        assert (dataloader._worker_dataset, mx.is_np_shape()) == ([1.0, 2.0, 3.0], True)
        assert pickle.loads(dataloader._worker_fn([0, 2], list)) == [1.0, 3.0]
        assert pickle.loads(dataloader._worker_fn([1], list, [7, 8])) == [8]
    finally:
        dataloader._worker_initializer(None, False, False)
    assert not mx.is_np_shape()
    moved = dataloader._as_in_context([ONE, (TWO, "a")], mx.cpu(1))
    assert [moved[0].context, moved[1][0].context, moved[1][1]] == [mx.cpu(1), mx.cpu(1), "a"]
    assert dataloader.ForkingPickler.__module__ == "multiprocessing.reduction"


# -- other modules ---------------------------------------------------------------------------------


def test_names_of_the_model_zoo(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(model_store._model_sha1) == 34
    sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    monkeypatch.setitem(model_store._model_sha1, "own", sha1)
    (tmp_path / "own-da39a3ee.params").touch()
    assert model_store.get_model_file("own", str(tmp_path)).endswith("own-da39a3ee.params")
    layer = _conv3x3(4, 2, 3)
    assert layer.weight.shape == (4, 3, 3, 3)
    assert layer.bias is None
    assert "stride=(2, 2), padding=(1, 1)" in repr(layer)


def test_modules_that_modules_show() -> None:
    quantization: Any = mx.contrib.quantization
    assert (quantization.os, quantization.logging, quantization.cpu) == (os, logging, mx.cpu)
    assert (mx.metric.ndarray, mx.init.random) == (nd, mx.random)
    assert (mx.contrib.amp.amp, amp.init) == (amp, mx.contrib.amp.init)
    assert amp._amp_initialized is False


def test_amp_knows_that_it_is_initialized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amp, "installed", lambda: object())
    assert amp._amp_initialized is True


def test_batches_are_copied_into_arrays() -> None:
    batch = mx.io.DataBatch([nd.array([[1], [2], [3]])], [nd.array([4, 5, 6])])
    whole, first, rest = nd.zeros((3, 1)), nd.zeros((1, 1)), nd.zeros((2, 1))
    mx.executor._load_data(batch, [whole])
    mx.executor._load_data(batch, [[(slice(0, 1), first), (slice(1, 3), rest)]])
    assert (whole.asnumpy().ravel().tolist(), rest.asnumpy().ravel().tolist()) == (
        [1, 2, 3], [2, 3],
    )  # fmt: skip
    label = nd.zeros((3,))
    mx.executor._load_label(batch, [label])
    assert label.asnumpy().tolist() == [4, 5, 6]


def test_training_on_several_devices() -> None:
    mx.random.seed(1)
    rows = np.random.RandomState(0).normal(size=(40, 3)).astype("float32")
    train = mx.io.NDArrayIter(rows, (rows[:, 0] > 0).astype("float32"), 10)
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(data, name="softmax")
    params = {"fc_weight": nd.zeros((2, 3)), "fc_bias": nd.zeros((2,))}
    metric, epochs = mx.metric.create("acc"), []
    mx.model._train_multi_device(
        net, [mx.cpu(0), mx.cpu(1)], net.list_arguments(), list(params), [], params, {},
        begin_epoch=0, end_epoch=3, epoch_size=None, kvstore=None, update_on_kvstore=False,
        optimizer=mx.optimizer.SGD(learning_rate=1.0, rescale_grad=0.1), train_data=train,
        eval_metric=metric, epoch_end_callback=lambda epoch, *rest: epochs.append(epoch),
    )  # fmt: skip
    assert epochs == [0, 1, 2]
    assert metric.get()[1] > 0.9
    assert params["fc_weight"].asnumpy()[1, 0] > 0.5


def test_handlers_by_event() -> None:
    handlers = gluon.contrib.estimator.event_handler
    stopping, logs = handlers.StoppingHandler(1), handlers.LoggingHandler()
    metrics = handlers.MetricHandler([mx.metric.Loss()])
    net = gluon.nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    estimator = gluon.contrib.estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
    categorize = estimator._categorize_handlers
    assert categorize([stopping, metrics, logs]) == (
        [stopping, logs], [metrics, logs], [logs],
        [stopping, metrics, logs], [stopping, logs], [logs],
    )  # fmt: skip
    assert categorize([object()]) == ([], [], [], [], [], [])


def test_operators_of_the_inner_namespace() -> None:
    function = nd._internal._backward_gather_nd
    sums = function(nd.array([1, 2, 3]), nd.array([[1, 1, 0], [0, 0, 2]]), shape=(2, 3))
    assert sums.asnumpy().tolist() == [[0, 0, 3], [3, 0, 0]]
    with pytest.raises(NotImplementedError, match=r"try: mx\.nd\.CachedOp"):
        mx.sym._internal._CachedOp(mx.sym.var("x"))


def test_numbers_of_subgraphs() -> None:
    mx.AttrScope._subgraph_names.clear()
    names = mx.AttrScope(a="1")._subgraph_names
    mx.sym.contrib.foreach(lambda x, s: (x, s), mx.sym.var("x"), [mx.sym.var("s")], name="loop")
    assert names is mx.AttrScope._subgraph_names
    assert names["loop"] == 1


def test_class_properties() -> None:
    descriptor = mx.base._MXClassPropertyDescriptor

    class Own:
        _number = 1

        @mx.base.classproperty
        def number(cls: Any) -> int:  # noqa: N805
            return cls._number

    assert type(vars(Own)["number"]) is descriptor
    assert Own.number == Own().number == 1
    assert descriptor(classmethod(lambda cls: cls.__name__)).__get__(None, Own) == "Own"


# -- the interface in C ----------------------------------------------------------------------------


def test_handles_are_types() -> None:
    assert mx.base.NDArrayHandle is mx.base.SymbolHandle is ctypes.c_void_p
    assert mx.base.NDArrayHandle(3).value == 3
    assert mx.base.mx_float_p is ctypes.POINTER(ctypes.c_float)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("MXGetVersion", mx.base._LIB.MXGetVersion),
        ("mx.base.check_call", mx.base.check_call),
        ("mx.base.c_str", mx.base.c_str),
        ("mx.base.c_array", mx.base.c_array),
        ("mx.base.ctypes2buffer", mx.base.ctypes2buffer),
    ],
)
def test_a_call_of_the_library_says_what_to_use(name: str, function: Any) -> None:
    with pytest.raises(NotImplementedError) as caught:
        function(0, x=1)
    assert str(caught.value) == (
        f"{name}: it has no MXNet library\n  because executorkit is Python on JAX\n  try: functions"
        " of mx.nd; mx.operator.register, or jax.ffi, for operators of one's own"
    )
    assert not hasattr(mx.base._LIB, "__wrapped__")
