"""Graph passes: the same results with and without each, names and randomness unchanged."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import executorkit as mx
from executorkit.lowering import PASSES, disabled, evaluate, graph_of, infer, optimized
from tests.lowering._graphs import graphs


def _nodes(heads) -> list[str]:
    return [step.node.name for step in graph_of(heads).steps]


def _evaluated(heads, arrays):
    graph = graph_of(heads)
    args = [arrays[n] for n in graph.arg_names]
    aux = [arrays[n] for n in graph.aux_names]
    with jax.enable_x64(True):
        values, new_aux = evaluate(graph, args, aux, None, True)
    return [values[i] for i in graph.heads], new_aux


@settings(max_examples=15, deadline=None)
@given(graphs(), st.sampled_from([*PASSES, ""]))
def test_results_are_the_same_without_each_pass(drawn, name):
    net, shapes = drawn
    graph = graph_of(net.heads)
    inferred = infer(graph, shapes)
    rng = np.random.default_rng(0)
    arrays = {
        n: jax.numpy.asarray(rng.uniform(0.5, 1, s).astype("float32"))
        for n, s in zip(
            (*graph.arg_names, *graph.aux_names),
            (*inferred.arg_shapes, *inferred.aux_shapes),
            strict=True,
        )
    }
    with disabled(*([name] if name else [])):
        plain = optimized(net.heads)
    for ours, theirs in zip(
        jax.tree.leaves(_evaluated(optimized(net.heads), arrays)),
        jax.tree.leaves(_evaluated(plain, arrays)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_passes_keep_names_arguments_and_outputs(drawn):
    net, _ = drawn
    after = mx.sym.Symbol(optimized(net.heads))
    assert after.list_arguments() == net.list_arguments()
    assert after.list_auxiliary_states() == net.list_auxiliary_states()
    assert after.list_outputs() == net.list_outputs()
    names_before = iter(_nodes(net.heads))
    assert all(name in names_before for name in _nodes(after.heads))


def _repeated():
    x = mx.sym.Variable("x")
    a = mx.sym.sin(mx.sym.identity(x, name="copy"), name="first")
    b = mx.sym.sin(x, name="second")
    return mx.sym.exp(a, name="e") + mx.sym.exp(b, name="f")


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ([], ["first", "e", "sum"]),
        (["identities"], ["copy", "first", "e", "second", "f", "sum"]),
        (["common_subexpressions"], ["first", "e", "second", "f", "sum"]),
        (list(PASSES), ["copy", "first", "e", "second", "f", "sum"]),
    ],
)
def test_nodes_after_each_pass(off, left):
    with mx.name.NameManager():
        net = _repeated()
    if off:
        with disabled(*off):
            names = _nodes(optimized(net.heads))
    else:
        names = _nodes(optimized(net.heads))
    assert [n.replace("_plus0", "sum") for n in names] == left


def test_equal_zeros_of_open_shapes_stay_two():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    states = [mx.sym.zeros((0, 2)) + v for v in (x, y)]
    net = mx.gluon.SymbolBlock(states, [x, y])
    outputs = net(mx.nd.ones((3, 2)), mx.nd.ones((5, 2)))
    assert [o.shape for o in outputs] == [(3, 2), (5, 2)]


def test_an_unknown_pass_is_refused():
    with pytest.raises(ValueError, match="no pass named"), disabled("fusion"):
        pass


def test_get_optimized_symbol_shows_the_result():
    executor = _repeated().simple_bind(mx.cpu(), x=(2,))
    after = executor.get_optimized_symbol()
    assert len(after.get_internals().list_outputs()) == 4
    assert after.list_outputs() == executor.symbol.list_outputs()
    assert "second" not in _nodes(after.heads)


def test_a_copy_that_is_an_output_stays_and_shows_its_name():
    net = mx.sym.identity(mx.sym.Variable("x"), name="shown")
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 3
    assert list(executor.output_dict) == ["shown_output"]
    assert executor.forward()[0].asnumpy().tolist() == [3, 3]
    assert executor.get_optimized_symbol().list_outputs() == ["shown_output"]


def test_equal_outputs_are_not_merged():
    x = mx.sym.Variable("x")
    net = mx.sym.Group([mx.sym.sin(x, name="a"), mx.sym.sin(x, name="b")])
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2), mx.nd.ones(2)])
    assert executor.grad_arrays[0].asnumpy().tolist() == [2, 2]
    assert list(executor.output_dict) == ["a_output", "b_output"]


def _shown(*heads: mx.sym.Symbol) -> tuple[list[str], list[str]]:
    """Nodes and outputs that ``get_optimized_symbol`` shows."""
    executor = mx.sym.Group(list(heads)).simple_bind(mx.cpu(), x=(2,))
    symbol = executor.get_optimized_symbol()
    return _nodes(symbol.heads), symbol.list_outputs()


def test_equal_outputs_are_shown_as_copies_of_one():
    """The answers are MXNet's."""
    x = mx.sym.Variable("x")
    a, b, c = (mx.sym.sin(x, name=name) for name in "abc")
    assert _shown(a, b) == (["a", "a_0_copy"], ["a_output", "a_0_copy_output"])
    assert _shown(a, b, c)[1] == ["a_output", "a_0_copy_output", "a_0_copy_0_copy_output"]
    assert _shown(a, a) == (["a"], ["a_output", "a_output"])
    assert _shown(a, mx.sym.cos(b, name="d")) == (["a", "d"], ["a_output", "d_output"])
    assert _shown(mx.sym.cos(b, name="d"), a) == (["b", "d"], ["d_output", "b_output"])
    assert _shown(a, x, x) == (["a"], ["a_output", "x", "x"])
    with disabled("common_subexpressions"):
        assert _shown(a, b) == (["a", "b"], ["a_output", "b_output"])


def test_random_operators_are_never_merged():
    x = mx.sym.Variable("x")
    net = mx.sym.Group([mx.sym.Dropout(x, p=0.5) * 1, mx.sym.Dropout(x, p=0.5) * 1])
    executor = net.simple_bind(mx.cpu(), x=(20, 20))
    executor.arg_dict["x"][:] = 1
    a, b = executor.forward(is_train=True)
    assert (a.asnumpy() != b.asnumpy()).any()


def test_passes_do_not_change_what_is_drawn():
    def net():
        x = mx.sym.identity(mx.sym.Variable("x"))
        y = mx.sym.Dropout(mx.sym.sin(x) + mx.sym.sin(x), p=0.5)
        return mx.sym.Dropout(mx.sym.identity(y), p=0.5)

    def drawn():
        executor = net().simple_bind(mx.cpu(), x=(10, 10))
        executor.arg_dict["x"][:] = 1
        mx.random.seed(3)
        return executor.forward(is_train=True)[0].asnumpy()

    with disabled():
        plain = drawn()
    np.testing.assert_array_equal(drawn(), plain)


def test_batch_normalisations_are_never_merged():
    x = mx.sym.Variable("x")
    gamma, beta, mean, var = (mx.sym.Variable(n) for n in ("gamma", "beta", "mean", "var"))
    nets = [mx.sym.BatchNorm(x, gamma, beta, mean, var, name=n) for n in "ab"]
    assert _nodes(optimized((nets[0] + nets[1]).heads))[:2] == ["a", "b"]


def test_equal_nodes_of_different_contexts_are_not_merged():
    x = mx.sym.Variable("x")
    parts = []
    for group, name in itertools.product(("near", "far"), "ab"):
        with mx.AttrScope(ctx_group=group):
            parts.append(mx.sym.sin(x, name=f"{group}_{name}"))
    total = mx.sym.add_n(*parts)
    assert _nodes(optimized(total.heads))[:2] == ["near_a", "far_a"]
