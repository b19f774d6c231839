"""Fused layers and cells compute the same; cells where MXNet's fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import executorkit as mx
from executorkit.initializer import InitDesc

STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 5, 3


def fused_cell(mode, bidirectional, layers=2):
    return mx.rnn.FusedRNNCell(
        HIDDEN, layers, mode, bidirectional, get_next_state=True, prefix="net_"
    )


def run(cell, params, layout):
    """Merged outputs, and gradients of their sum, the parameters' unpacked."""
    outputs, _ = cell.unroll(STEPS, mx.sym.var("data"), layout=layout, merge_outputs=True)
    shape = (BATCH, STEPS, FEATURES) if layout == "NTC" else (STEPS, BATCH, FEATURES)
    data = mx.nd.array(np.random.RandomState(1).normal(size=shape))
    args = {"data": data, **cell.pack_weights(params)}
    grads = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
    executor = outputs.bind(mx.cpu(), args, grads)
    (out,) = executor.forward(is_train=True)
    executor.backward(mx.nd.ones(out.shape))
    return out.asnumpy(), cell.unpack_weights(grads)


@pytest.mark.parametrize(("bidirectional", "layout"), [(False, "TNC"), (True, "NTC")])
@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
def test_fused_layers_compute_what_their_cells_do(mode, bidirectional, layout):
    cell = fused_cell(mode, bidirectional)
    directions = 2 if bidirectional else 1
    length = cell._gates.sizes.count(FEATURES)
    packed = mx.nd.array(np.random.RandomState(0).normal(scale=0.4, size=length))
    params = cell.unpack_weights({"net_parameters": packed})
    assert params[f"net_l1_h2h{cell._gate_names[0]}_weight"].shape == (HIDDEN, HIDDEN)
    fused, fused_grads = run(cell, params, layout)
    assert fused.shape[-1] == directions * HIDDEN
    cells, cell_grads = run(cell.unfuse(), params, layout)
    np.testing.assert_allclose(fused, cells, 1e-5, 1e-6)
    assert fused_grads.keys() == cell_grads.keys()
    for name, grad in fused_grads.items():
        np.testing.assert_allclose(
            grad.asnumpy(), cell_grads[name].asnumpy(), 1e-4, 1e-5, err_msg=name
        )


def test_unpacked_weights_are_in_the_order_of_checkpoints():
    cell = mx.rnn.RNNCell(2, prefix="a_")
    sizes = {"i2h": 3, "h2h": 2}
    packed = {f"a_{g}_weight": mx.nd.ones((2, n)) for g, n in sizes.items()}
    packed |= {f"a_{g}_bias": mx.nd.ones((2,)) for g in sizes}
    assert list(cell.unpack_weights(packed)) == [
        "a_i2h_weight", "a_i2h_bias", "a_h2h_weight", "a_h2h_bias"
    ]  # fmt: skip
    gru = mx.rnn.GRUCell(2, prefix="g_")
    packed = {f"g_{g}_weight": mx.nd.ones((6, n)) for g, n in sizes.items()}
    packed |= {f"g_{g}_bias": mx.nd.ones((6,)) for g in sizes}
    assert list(gru.unpack_weights(packed))[:3] == [
        "g_i2h_r_weight", "g_i2h_r_bias", "g_i2h_z_weight"
    ]  # fmt: skip


def test_packing_inverts_unpacking_in_any_type():
    for dtype in ("float16", "float32", "float64"):
        cell = fused_cell("lstm", True)
        restored = mx.nd.array(
            np.random.RandomState(0).normal(size=cell._gates.sizes.count(FEATURES)), dtype=dtype
        )
        unpacked = cell.unpack_weights({"net_parameters": restored, "other": restored})
        again = cell.pack_weights(unpacked)
        assert again.keys() == {"net_parameters", "other"}
        assert again["net_parameters"].dtype == restored.dtype
        np.testing.assert_array_equal(again["net_parameters"].asnumpy(), restored.asnumpy())
        stack = cell.unfuse()
        restored = stack.unpack_weights(stack.pack_weights(unpacked))
        assert restored.keys() == unpacked.keys()
        assert all(np.array_equal(restored[n].asnumpy(), a.asnumpy()) for n, a in unpacked.items())


def test_variables_initialise_themselves():
    """Forget gates are open; other biases are 0; weights are the network's initializer's."""
    for cell, biases in ((mx.rnn.LSTMCell(HIDDEN, forget_bias=2.0), 1), (
        mx.rnn.FusedRNNCell(HIDDEN, forget_bias=2.0), 2
    )):  # fmt: skip
        outputs, _ = cell.unroll(STEPS, mx.sym.var("data"), merge_outputs=True)
        executor = outputs.simple_bind(mx.cpu(), data=(BATCH, STEPS, FEATURES))
        attrs, params = outputs.attr_dict(), {}
        for name, array in executor.arg_dict.items():
            if name != "data":
                params[name] = array
                mx.init.Constant(0.5)(InitDesc(name, attrs.get(name)), array)
        unpacked = cell.unpack_weights(params)
        forget_biases = [
            np.unique(a.asnumpy()) for n, a in unpacked.items() if n.endswith("f_bias")
        ]
        assert sum(2.0 in values for values in forget_biases) == biases
        for name, array in unpacked.items():
            expected = 0.5 if name.endswith("weight") else 0.0
            if not name.endswith("f_bias"):
                assert set(array.asnumpy().ravel()) == {expected}, name


def test_zoneout_keeps_previous_values():
    """Output and states of the previous step stay at zeros of the mask."""
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(HIDDEN), 0.5, 0.5)
    outputs, _ = cell.unroll(2, mx.sym.var("data"))
    executor = mx.sym.Group(outputs).simple_bind(mx.cpu(), data=(200, 2, FEATURES))
    for array in executor.arg_arrays:
        array[:] = 0.3
    mx.random.seed(2)
    first, second = (o.asnumpy() for o in executor.forward(is_train=True))
    assert 0.4 < np.mean(first == 0) < 0.6
    assert 0.4 < np.mean(first == second) < 0.6
    whole = [o.asnumpy() for o in executor.forward(is_train=False)]
    assert np.all(whole[0] > 0)
    assert np.all(whole[0] != whole[1])


def test_states_of_modified_stacks():
    """MXNet raises TypeError or AttributeError for these."""
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(HIDDEN, prefix="a_"), 0.1))
    stack.add(mx.rnn.GRUCell(HIDDEN, prefix="b_"))
    states = stack.begin_state(func=mx.sym.ones)
    assert [s.name for s in states] == [
        "a_begin_state_0", "a_begin_state_1", "b_begin_state_0",
    ]  # fmt: skip
    assert all("ones" in s.tojson() for s in states)
    around = mx.rnn.ZoneoutCell(stack, 0.1)
    assert len(around.begin_state()) == 3
    with pytest.raises(mx.errors.ArgumentValueError):
        stack.begin_state()


def test_cells_of_users():
    class Adding(mx.rnn.BaseRNNCell):
        state_info = property(lambda self: [{"shape": (0, FEATURES), "__layout__": "NC"}])

        def __call__(self, inputs, states):
            self._counter += 1
            name = f"{self._prefix}t{self._counter}_out"
            output = self._get_activation(inputs + states[0], "relu", name=name)
            return output, [output]

    outputs, _ = Adding(prefix="own_").unroll(2, mx.sym.var("data"))
    assert [o.name for o in outputs] == ["own_t0_out", "own_t1_out"]
    executor = outputs[1].simple_bind(mx.cpu(), data=(1, 2, FEATURES))
    executor.arg_dict["data"][:] = 1
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [[2] * FEATURES])


def test_rnn_unroll_is_deprecated():
    with pytest.warns(DeprecationWarning, match=r"call cell\.unroll"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(HIDDEN), 2, mx.sym.var("data"))
    assert len(outputs) == 2


def test_fused_cells_do_not_warn_of_layouts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.rnn.FusedRNNCell(HIDDEN).unroll(2, mx.sym.var("data"), layout="NTC")


def test_nothing_is_written_without_all_parameters(tmp_path):
    cell = mx.rnn.LSTMCell(HIDDEN)
    symbol = mx.sym.Group(cell.unroll(1, [mx.sym.var("x")])[0])
    with pytest.raises(KeyError):
        mx.rnn.save_rnn_checkpoint(cell, tmp_path / "net", 1, symbol, {}, {})
    assert not list(tmp_path.iterdir())


def test_import_paths():
    assert mx.rnn.rnn_cell.LSTMCell is mx.rnn.LSTMCell
    assert mx.rnn.io.BucketSentenceIter is mx.rnn.BucketSentenceIter
    assert mx.rnn.rnn.save_rnn_checkpoint is mx.rnn.save_rnn_checkpoint


def _modified():
    cell = mx.rnn.RNNCell(HIDDEN)
    mx.rnn.ResidualCell(cell)
    cell.begin_state()


MESSAGES = {
    "missing": (
        lambda: mx.rnn.LSTMCell(3).unpack_weights({"a": mx.nd.ones((1,)), "b": mx.nd.ones((1,))}),
        "unpack_weights: 'lstm_i2h_weight' is not among the parameters\n  given by: a, b",
    ),
    "modified": (
        _modified,
        "RNNCell.begin_state: the cell is inside a modifier cell, which is called in its place\n"
        "  try: begin_state of the modifier cell",
    ),
    "few": (
        lambda: mx.rnn.RNNCell(3).unroll(2, [mx.sym.var("x")]),
        "unroll: inputs: 1 symbols, expected 2, one for each step",
    ),
    "none": (
        lambda: mx.rnn.RNNCell(3).unroll(2, None),  # type: ignore[arg-type]
        "unroll: inputs: None, expected 2, one for each step",
    ),
    "layout": (
        lambda: mx.rnn.RNNCell(3).unroll(2, mx.sym.var("x"), layout="NC"),
        "unroll: layout: 'NC', expected 'NTC' or 'TNC'",
    ),
    "group": (
        lambda: mx.rnn.RNNCell(3).unroll(2, mx.sym.Group([mx.sym.var("x"), mx.sym.var("y")])),
        "unroll: inputs: a symbol of 2 outputs, expected one sequence\n"
        "  try: list(inputs), if each output is a step",
    ),
    "zoneout": (
        lambda: mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3)),
        "ZoneoutCell: a FusedRNNCell cannot be stepped\n  try: base_cell.unfuse()",
    ),
    "step": (
        lambda: mx.rnn.FusedRNNCell(3)(mx.sym.var("x"), []),
        "FusedRNNCell: it cannot be stepped\n  try: unroll, or unfuse()",
    ),
    "kernel": (
        lambda: mx.rnn.ConvRNNCell((1, 2, 5, 5), 3, h2h_kernel=(2, 2)),
        "ConvRNNCell: h2h_kernel: (2, 2), expected odd numbers, which keep the state's size",
    ),
    "pack": (
        lambda: mx.rnn.FusedRNNCell(2, mode="rnn_tanh").pack_weights(
            {
                f"rnn_tanh_l0_{g}2h_{k}": mx.nd.ones((2, 2) if k == "weight" else (3,))
                for g in "ih"
                for k in ("weight", "bias")
            }
        ),
        "pack_weights: 'rnn_tanh_l0_i2h_bias' is (3,), expected (2,)\n"
        "  because of 'rnn_tanh_l0_i2h_weight'",
    ),
    "mode": (
        lambda: mx.rnn.FusedRNNCell(2, mode="elman"),  # type: ignore[arg-type]
        "recurrent layers: mode is 'elman', expected one of 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    function, text = MESSAGES[name]
    with pytest.raises((mx.MXNetError, NotImplementedError)) as caught:
        function()
    assert str(caught.value) == text
