"""Layers: shapes, parameters and operations of every node, from data rather than from a run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import executorkit as mx
from executorkit.lowering.summary.cost_model import OPEN_LOOP, total_work
from executorkit.lowering.summary.layers import layers


def test_operations_grow_with_the_batch_and_parameters_do_not():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    one, two = (layers(net, {"data": (n, 8)}, ["fc_weight", "fc_bias"])[0] for n in (1, 2))
    assert one.parameters == two.parameters == {"fc_weight": (3, 8), "fc_bias": (3,)}
    assert (one.output_shapes, two.output_shapes) == (((1, 3),), ((2, 3),))
    assert one.flops is not None
    assert two.flops == 2 * one.flops
    assert one.flops == 2 * 24 + 3


def test_transcendental_functions_count():
    net = mx.sym.exp(mx.sym.Variable("data"))
    assert layers(net, {"data": (4, 5)}, [])[0].flops == 20


def test_all_visible_outputs_have_shapes_and_hidden_ones_do_not_show():
    data = mx.sym.Variable("data")
    split = mx.sym.SliceChannel(data, num_outputs=2, name="split")
    norm = mx.sym.BatchNorm(split[0], name="bn")
    rows = layers(mx.sym.Group([split, norm]), {"data": (2, 6)}, [])
    assert [layer.output_shapes for layer in rows] == [((2, 3), (2, 3)), ((2, 3),)]


def test_random_operators_are_counted_too():
    rows = layers(mx.sym.Dropout(mx.sym.Variable("data"), name="drop"), {"data": (2, 6)}, [])
    assert rows[0].flops is not None


def test_unknown_facts_are_none():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    (layer,) = layers(net, {}, ["fc_weight", "fc_bias"])
    assert layer.output_shapes == (None,)
    assert layer.parameters == {"fc_weight": None, "fc_bias": (3,)}
    assert layer.flops is None


def test_types_are_inferred_from_those_of_inputs():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    (layer,) = layers(net, {"data": (4, 8)}, ["fc_weight"], {"data": "float16"})
    assert layer.output_dtypes == ("float16",)
    assert layer.parameter_dtypes == {"fc_weight": "float16"}


def test_products_are_counted_separately():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=2, name="c")
    (layer,) = layers(net, {"data": (1, 6, 8, 8)}, [])
    assert layer.macs == 4 * 64 * (3 * 9)
    assert layer.flops == pytest.approx(2 * layer.macs + 4 * 64, abs=8)


def test_a_transposed_convolution_does_not_count_the_zeros_between():
    data = mx.sym.Variable("data")
    net = mx.sym.Deconvolution(
        data, kernel=(2, 2), stride=(2, 2), num_filter=4, no_bias=True, name="up"
    )
    (layer,) = layers(net, {"data": (1, 6, 8, 8)}, [])
    assert layer.macs == 6 * 64 * 4 * 4


def test_recurrences_count_every_step():
    net = mx.sym.RNN(mx.sym.Variable("data"), state_size=5, num_layers=1, mode="lstm", name="rnn")
    short, long = (layers(net, {"data": (n, 2, 3)}, [])[0].macs for n in (2, 20))
    assert short == 2 * 2 * (4 * 5) * (3 + 5)
    assert long == 10 * short


def test_uncounted_work_is_described():
    data = mx.sym.Variable("data")
    (layer,) = layers(mx.sym.linalg.syevd(data, name="e"), {"data": (4, 4)}, [])
    assert (layer.flops, layer.macs, layer.uncounted) == (None, None, ("no rule for eigh",))


def test_an_operator_that_cannot_be_traced_is_no_error(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ValueError

    monkeypatch.setattr("executorkit.lowering.summary.layers.jax.make_jaxpr", fail)
    net = mx.sym.tile(mx.sym.Variable("data"), reps=(7, 3), name="t")
    (layer,) = layers(net, {"data": (11, 13)}, [])
    assert layer.output_shapes == ((77, 39),)
    assert (layer.flops, layer.uncounted) == (None, ("tile cannot be traced: ValueError",))


def test_scatters_and_factorisations():
    data = mx.sym.Variable("data")
    (layer,) = layers(mx.sym.linalg.potrf(data, name="p"), {"data": (2, 6, 6)}, [])
    checks = 4 * 2 * 36  # is_finite and its reduction, of the matrices and of their factors
    assert layer.flops == pytest.approx(2 * 6**3 / 3 + checks, abs=2 * 2 * 36)
    (layer,) = layers(
        mx.sym.scatter_nd(data, mx.sym.Variable("i"), shape=(9,), name="s"),
        {"data": (4,), "i": (1, 4)},
        [],
    )
    assert layer.flops <= 9


def test_loops_in_graphs_count_their_iterations():
    def body(x, states):
        return mx.sym.FullyConnected(x, num_hidden=4, no_bias=True, name="q"), states

    data, state = mx.sym.Variable("data"), mx.sym.Variable("s")
    out, _ = mx.sym.contrib.foreach(body, data, [state], name="loop")
    macs = [layers(out, {"data": (n, 2, 3), "s": (1,)}, [])[0].macs for n in (2, 7)]
    assert macs == [2 * 2 * 3 * 4, 7 * 2 * 3 * 4]


def test_constants_branches_and_loops_of_a_traced_function_are_counted():
    x, weight = jnp.ones((4, 4)), jnp.ones((4, 4))

    def function(x):
        x = lax.fori_loop(0, 3, lambda _, x: x @ weight, x)
        return lax.cond(x[0, 0] > 0, jax.jit(lambda x: x @ weight), lambda x: x + 1, x)

    closed = jax.make_jaxpr(function)(x)
    assert closed.consts
    for jaxpr in (closed, closed.jaxpr):
        assert total_work(jaxpr).macs == 4 * 4**3
        assert total_work(jaxpr).uncounted == set()
    endless = jax.make_jaxpr(lambda x: lax.while_loop(lambda x: x[0, 0] < 9, jnp.exp, x))(x)
    assert total_work(endless.jaxpr).uncounted == {OPEN_LOOP}
    assert total_work(endless.jaxpr).flops == 16 + 1
