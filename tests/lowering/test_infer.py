"""Inference of whole graphs: sound, linear, and equal to the functions' own."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import executorkit as mx
from executorkit.lowering import _infer, evaluate, graph_of, infer
from executorkit.lowering._infer import (
    _GENERAL_GRAPHS,
    _OUTPUTS,
    _OUTPUTS_LIMIT,
    _RESULTS,
    _RESULTS_LIMIT,
)
from tests._tools.work import count_calls
from tests.lowering._graphs import graphs

QUICK = settings(max_examples=40, deadline=None)


def _agrees(shape: tuple[int, ...] | None, actual: tuple[int, ...]) -> bool:
    """True if a partly known shape agrees with the actual one."""
    return shape is None or (
        len(shape) == len(actual) and all(a in (0, b) for a, b in zip(shape, actual, strict=True))
    )


@QUICK
@given(graphs())
def test_inferred_shapes_and_types_are_those_of_the_values(drawn):
    net, shapes = drawn
    graph = graph_of(net.heads)
    inferred = infer(graph, shapes, dict.fromkeys(shapes, "float32"))
    assert inferred.complete
    with jax.enable_x64(True):
        args, aux = (
            [jax.ShapeDtypeStruct(s, d) for s, d in zip(ss, ds, strict=True)]
            for ss, ds in (
                (inferred.arg_shapes, inferred.arg_dtypes),
                (inferred.aux_shapes, inferred.aux_dtypes),
            )
        )
        values = jax.eval_shape(lambda a, b: tuple(evaluate(graph, a, b, None, True)[0]), args, aux)
    assert [v.shape for v in values] == list(inferred.values)
    assert [values[i].dtype.name for i in graph.heads] == list(inferred.out_dtypes)


@QUICK
@given(graphs(), st.data())
def test_inference_from_less_agrees_with_inference_from_all(drawn, data):
    net, shapes = drawn
    graph = graph_of(net.heads)
    whole = infer(graph, shapes)
    every = {
        node.name: shape
        for node, shape in zip(graph.args, whole.arg_shapes, strict=True)
        if shape is not None
    }
    chosen = data.draw(st.lists(st.sampled_from(sorted(every)), unique=True))
    less = {
        name: tuple(d * data.draw(st.booleans(), label=name) for d in every[name])
        for name in chosen
    }
    part = infer(graph, less)
    for partial, actual in zip(part.values, whole.values, strict=True):
        assert actual is not None
        assert _agrees(partial, actual), (less, partial, actual)


@QUICK
@given(graphs())
def test_inferring_again_from_the_result_changes_nothing(drawn):
    net, shapes = drawn
    graph = graph_of(net.heads)
    once = infer(graph, shapes)
    again = infer(graph, dict(zip(graph.arg_names, once.arg_shapes, strict=True)))  # type: ignore[arg-type]
    assert again.values == once.values


def _chain(length: int, step):
    net = mx.sym.Variable("x")
    for _ in range(length):
        net = step(net)
    return net


@pytest.mark.parametrize(
    ("shapes", "expected"), [({"x": (2, 3)}, (2, 3)), ({"end": (2, 3)}, (2, 3))],
    ids=["forwards", "backwards"],
)  # fmt: skip
def test_a_chain_of_20000_nodes_neither_recurses_nor_takes_more_than_linear_time(shapes, expected):
    def calls(length: int) -> int:
        net = _chain(length, mx.sym.sin) + mx.sym.Variable("end")

        def action() -> None:
            (x, end), outs, _ = net.infer_shape(**shapes)
            assert [x, end, *outs] == [expected] * 3

        return count_calls(action)

    short, long = calls(4_000), calls(20_000)
    assert long < 5.2 * short


def test_inference_of_a_chain_without_shapes_ends_in_linear_time():
    def calls(length: int) -> int:
        net = _chain(length, lambda x: mx.sym.FullyConnected(x, num_hidden=3))

        def action() -> None:
            arguments, outputs, _ = net.infer_shape_partial()
            assert arguments[0] == ()
            assert arguments[-1] == (3,)
            assert outputs == [()]

        return count_calls(action)

    short, long = calls(500), calls(2_000)
    assert long < 4.2 * short


def test_the_second_time_costs_a_look_up():
    net = _chain(2_000, lambda x: mx.sym.FullyConnected(x, num_hidden=3))
    first = count_calls(lambda: net.infer_shape(x=(2, 4)))
    second = count_calls(lambda: infer(graph_of(net.heads), {"x": (2, 4)}))
    assert second < first / 1000


def test_a_graph_composed_anew_is_not_inferred_again(monkeypatch):
    def net():
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax")

    net().simple_bind(mx.cpu(), data=(2, 5))
    with monkeypatch.context() as patch:
        patch.setattr(_infer, "_settle", _not_again)
        executor = net().simple_bind(mx.cpu(), data=(2, 5))
        assert executor.arg_dict["fc_weight"].shape == (3, 5)
        with pytest.raises(AssertionError, match="inferred"):
            net().simple_bind(mx.cpu(), data=(2, 6))
    assert net().simple_bind(mx.cpu(), data=(2, 6)).arg_dict["fc_weight"].shape == (3, 6)


def _not_again(*args):
    raise AssertionError("inferred")


def test_binding_infers_a_graph_once(monkeypatch):
    passes = []
    settle = _infer._settle
    monkeypatch.setattr(_infer, "_settle", lambda *args: passes.append(args) or settle(*args))
    x = mx.sym.Variable("a") * mx.sym.Variable("b") + mx.sym.Variable("c")
    x.simple_bind(mx.cpu(), a=(2, 7))
    # Types, with float32 where none follows, and shapes.
    assert len(passes) == 3


def test_shapes_of_new_sizes_are_those_of_fixed_ones(monkeypatch):
    x = mx.sym.Convolution(
        mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), stride=(2, 2), name="conv"
    )
    pooled = [
        mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pooling_convention=rule)
        for rule in ("full", "valid")
    ]
    x = mx.sym.Concat(*[mx.sym.Flatten(p) for p in pooled], mx.sym.Variable("more"), dim=1)
    graph = graph_of(mx.sym.FullyConnected(x, num_hidden=3, name="fc").heads)
    sizes = [(1, 3, 9, 9), (2, 3, 11, 12), (2, 3, 12, 11), (5, 2, 30, 5), (4, 2, 3, 3)]
    shapes = [{"data": size, "more": (size[0], 7)} for size in sizes]
    passes = []
    settle = _infer._settle
    monkeypatch.setattr(_infer, "_settle", lambda *args: passes.append(args) or settle(*args))
    results = [infer(graph, s) for s in (*shapes, shapes[-1] | {"more": (4, 9)})]
    n_passes = len(passes)
    assert infer(graph, {"data": (6, 3, 40, 50), "more": (6, 9)}).out_shapes == ((6, 3),)
    assert len(passes) == n_passes
    with pytest.raises(mx.base.MXNetError, match="more"):
        infer(graph, {"data": (6, 3, 40, 50), "more": (5, 9)})
    monkeypatch.setattr(_infer, "_at_any_sizes", lambda general, sizes, make, compute: compute())
    with mx.program.fresh_caches():
        graph.memo.clear()
        _RESULTS.clear()
        assert [infer(graph, s) for s in shapes] == results[: len(shapes)]


def test_memos_are_bounded():
    graph = graph_of((mx.sym.Variable("x") * 2).heads)
    for n in range(1, 200):
        infer(graph, {"x": (n,)})
    assert len(graph.memo) <= 64
    assert len(_OUTPUTS) <= _OUTPUTS_LIMIT
    assert len(_RESULTS) <= _RESULTS_LIMIT
    assert len(_GENERAL_GRAPHS) <= _RESULTS_LIMIT


@pytest.mark.parametrize(
    ("build", "shape", "outputs"),
    [
        (lambda x: mx.sym.sum(x, axis=1), (0, 3, 4), (0, 4)),
        (lambda x: mx.sym.transpose(x), (2, 0, 4), (4, 0, 2)),
        (lambda x: mx.sym.Reshape(x, shape=(0, -1)), (0, 3, 4), (0, 12)),
        (lambda x: mx.sym.Reshape(x, shape=(-1, 4)), (0, 3, 4), (0, 4)),
        (lambda x: mx.sym.Concat(x, x, dim=2), (0, 3, 4), (0, 3, 8)),
        (lambda x: mx.sym.expand_dims(x, axis=0), (0, 3), (1, 0, 3)),
        (lambda x: mx.sym.slice_axis(x, axis=1, begin=0, end=2), (0, 3), (0, 2)),
        (lambda x: mx.sym.FullyConnected(x, num_hidden=7), (0, 3), (0, 7)),
        (lambda x: mx.sym.Convolution(x, kernel=(3, 3), num_filter=2), (0, 3, 8, 8), (0, 2, 6, 6)),
        (lambda x: mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2)), (2, 3, 0, 8), (2, 3, 0, 4)),
        (lambda x: mx.sym.broadcast_add(x, mx.sym.ones((5, 3))), (0, 3), (5, 3)),
        (lambda x: mx.sym.broadcast_add(x, mx.sym.ones((1, 3))), (0, 3), (0, 3)),
        (lambda x: mx.sym.softmax(x), (0, 3), (0, 3)),
    ],
)
def test_unknown_dimensions_pass_through(build, shape, outputs):
    assert build(mx.sym.Variable("x")).infer_shape_partial(x=shape)[1] == [outputs]


@pytest.mark.parametrize(
    ("build", "data", "weight", "output"),
    [
        (lambda x, w: mx.sym.FullyConnected(x, w, num_hidden=5), (3, 0), (5, 4), (3, 5)),
        (
            lambda x, w: mx.sym.FullyConnected(x, w, num_hidden=5, flatten=False),
            (0, 2, 0),
            (5, 4),
            (0, 2, 5),
        ),
        (lambda x, w: mx.sym.InstanceNorm(x, w), (2, 0, 3), (4,), (2, 4, 3)),
        (lambda x, w: mx.sym.BatchNorm(x, w), (0, 0, 3), (4,), (0, 4, 3)),
        (lambda x, w: mx.sym.LayerNorm(x, w), (2, 0, 0), (4,), (2, 0, 4)),
    ],
)
def test_weights_tell_the_sizes_of_data(build, data, weight, output):
    net = build(mx.sym.Variable("x"), mx.sym.Variable("w"))
    assert net.infer_shape_partial(x=data, w=weight)[1][0] == output


def test_states_of_unknown_batch_size_are_filled_from_their_consumers():
    cell = mx.sym.FullyConnected(mx.sym.zeros(shape=(0, 4), name="begin"), num_hidden=4, name="h")
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="i") + cell
    executor = net.simple_bind(mx.cpu(), x=(3, 5))
    executor.arg_dict["h_bias"][:] = 2
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.full((3, 4), 2))
    assert executor.reshape(x=(2, 5)).forward()[0].shape == (2, 4)
