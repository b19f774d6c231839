"""``mx.nd.CachedOp``: a symbol called with arrays, recorded or not."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit import nd
from executorkit.errors import MXNetError

A, B = mx.sym.Variable("a"), mx.sym.Variable("b")


def leaf(values):
    x = nd.array(values)
    x.attach_grad()
    return x


def listed(arrays):
    return [x.asnumpy().tolist() for x in arrays]


class TestCall:
    def test_arrays_are_in_the_order_of_list_inputs(self):
        net = mx.sym.BatchNorm(A + B, name="norm", eps=1e-3)
        assert net.list_inputs() == ["a", "b", "norm_gamma", "norm_beta", "norm_moving_mean",
                                     "norm_moving_var"]  # fmt: skip
        x, rest = (
            nd.array([[1, 2], [3, 6]]),
            [nd.array(v) for v in ([5, 5], [1, 2], [0, 0], [1, 1])],
        )
        out = nd.CachedOp(net)(x, x, *rest)
        np.testing.assert_allclose(out.asnumpy(), [[2.999, 5.998], [6.997, 13.994]], rtol=1e-4)
        assert listed(rest) == [[5, 5], [1, 2], [0, 0], [1, 1]]

    def test_one_output_or_a_list(self):
        x = nd.array([1, 2])
        assert nd.CachedOp(A * 2)(x).asnumpy().tolist() == [2, 4]
        assert listed(nd.CachedOp(mx.sym.Group([A * 2, A * 3]))(x)) == [[2, 4], [3, 6]]

    def test_it_reads_contents_when_it_is_called(self):
        x, function = nd.ones((2,)), nd.CachedOp(A * 1)
        first = function(x)
        x[:] = 5
        assert listed([first, function(x)]) == [[1, 1], [5, 5]]

    def test_an_output_that_is_an_input_is_a_copy(self):
        x = nd.ones((2,))
        result = nd.CachedOp(A)(x)
        result[:] = 7
        assert x.asnumpy().tolist() == [1, 1]

    def test_out(self):
        x, z = nd.array([1, 2]), nd.zeros((2,))
        function = nd.CachedOp(A * B)
        assert function(x, x, out=z) is z
        assert z.asnumpy().tolist() == [1, 4]
        targets = [nd.zeros((2,))]
        assert function(x, z, out=targets) is targets
        assert listed(targets) == [[1, 8]]

    def test_training_is_that_of_autograd(self):
        x, function = nd.ones((100,)), nd.CachedOp(mx.sym.Dropout(A))
        assert (function(x).asnumpy() == 1).all()
        with mx.autograd.train_mode():
            assert {*function(x).asnumpy().tolist()} == {0, 2}

    def test_results_are_in_the_context_of_the_arrays(self):
        assert nd.CachedOp(A * 2)(nd.ones((2,), ctx=mx.cpu(1))).context == mx.cpu(1)

    def test_shapes_that_depend_on_values(self):
        function = nd.CachedOp(mx.sym.contrib.boolean_mask(A, B) * 2)
        x, mask = leaf([[1, 2], [3, 4]]), nd.array([0, 1])
        assert function(x, mask).asnumpy().tolist() == [[6, 8]]
        with mx.autograd.record():
            y = function(x, mask)
        y.backward()
        assert x.grad.asnumpy().tolist() == [[0, 0], [2, 2]]

    def test_flags_choose_nothing(self):
        flags = [("static_alloc", "true"), ("data_indices", "[0]"), ("param_indices", "[]")]
        assert nd.CachedOp(A * 2, flags)(nd.ones((1,))).asnumpy().tolist() == [2]


class TestErrors:
    @pytest.mark.parametrize(
        ("arrays", "text"),
        [
            ([nd.ones((2,))], "it is given 1 arrays, expected 2"),
            ([nd.ones((2,))] * 3, "it is given 3 arrays, expected 2"),
            ([nd.ones((2,)), nd.ones((3,))], "expected"),
            ([nd.ones((2,)), nd.ones((2,), dtype="float64")], "float64"),
            ([nd.ones((2,)), 3], "'b': int is not an NDArray"),
            (
                [nd.ones((2,)), nd.ones((2,), ctx=mx.cpu(1))],
                r"its inputs are in cpu\(0\), cpu\(1\)",
            ),
        ],
    )
    def test_arrays_that_do_not_fit(self, arrays, text):
        with pytest.raises(MXNetError, match=text):
            nd.CachedOp(A * B)(*arrays)

    @pytest.mark.parametrize(
        "out", [nd.ones((3,)), nd.ones((2,), dtype="int32"), [nd.ones((2,))] * 2]
    )
    def test_out_that_does_not_fit(self, out):
        with pytest.raises(MXNetError, match="out"):
            nd.CachedOp(A * B)(nd.ones((2,)), nd.ones((2,)), out=out)

    def test_other_arguments(self):
        with pytest.raises(TypeError, match="unexpected keyword"):
            nd.CachedOp(A)(a=nd.ones((2,)))
        with pytest.raises(MXNetError, match="unknown flags: nonsense"):
            nd.CachedOp(A, [("nonsense", "1")])
        with pytest.raises(MXNetError, match="int is not a Symbol"):
            nd.CachedOp(3)
        with pytest.raises(MXNetError, match="expected one or more"):
            nd.CachedOp(mx.sym.zeros((2,)))()


class TestRecorded:
    def test_gradients(self):
        x, y = leaf([1, 2]), leaf([3, 4])
        with mx.autograd.record():
            z = nd.CachedOp(A * B + A)(x, y) * 2
        z.backward()
        assert listed([x.grad, y.grad]) == [[8, 10], [2, 4]]

    def test_out_is_recorded(self):
        x, z = leaf([1, 2]), nd.zeros((2,))
        with mx.autograd.record():
            nd.CachedOp(A * B)(x, x, out=z)
            y = z * 2
        y.backward()
        assert x.grad.asnumpy().tolist() == [4, 8]

    def test_an_output_that_is_an_input(self):
        x = leaf([1, 2])
        with mx.autograd.record():
            (y, z) = nd.CachedOp(mx.sym.Group([A, A * 2]))(x)
            w = y * z
        w.backward()
        assert x.grad.asnumpy().tolist() == [4, 8]

    def test_second_order(self):
        x, y = leaf([1, 2]), leaf([3, 4])
        with mx.autograd.record():
            z = nd.CachedOp(A * A * B)(x, y)
            (g,) = mx.autograd.grad(z, [x], create_graph=True)
        g.backward()
        assert listed([x.grad, y.grad]) == [[6, 8], [2, 4]]

    def test_statistics_change_in_backward(self):
        net = mx.sym.BatchNorm(A, name="norm", momentum=0.5, fix_gamma=True)
        arrays = [leaf([[1, 2], [3, 6]]), leaf([2, 3]), leaf([0, 0])]
        mean, var = nd.zeros((2,)), nd.ones((2,))
        with mx.autograd.record():
            y = nd.CachedOp(net)(*arrays, mean, var)
        assert listed([arrays[1], mean]) == [[1, 1], [0, 0]]
        y.backward()
        assert mean.asnumpy().tolist() == [1, 2]

    def test_without_a_variable_nothing_is_recorded(self):
        with mx.autograd.record():
            y = nd.CachedOp(A * 2)(nd.ones((2,)))
        with pytest.raises(MXNetError, match="not in a computational graph"):
            y.backward()

    def test_masks_are_those_of_calls(self):
        net = mx.sym.Dropout(A) + mx.sym.Dropout(A * 2, p=0.25)
        x, seen = leaf([1] * 32), []
        modes = (mx.autograd.record, mx.autograd.train_mode)
        for mode in modes:
            for function in (nd.CachedOp(net), lambda x: nd.Dropout(x) + nd.Dropout(x * 2, p=0.25)):
                mx.random.seed(3)
                with mode():
                    seen.append(function(x).asnumpy().tolist())
        assert all(mask == seen[0] for mask in seen)

    def test_loops(self):
        outs, last = mx.sym.contrib.foreach(lambda x, s: (x * s, s + x), A, B)
        function = nd.CachedOp(mx.sym.Group([outs, last]))
        for length in range(1, 12):  # the later ones run call by call
            x, s = leaf([[2, 2]] * length), nd.ones((2,))
            with mx.autograd.record():
                outs, last = function(x, s)
                loss = outs.sum() + last.sum()
            loss.backward()
            states = 1 + 2.0 * np.arange(length)
            expected = states + 2 * np.arange(length)[::-1] + 1
            np.testing.assert_array_equal(x.grad.asnumpy()[:, 0], expected)
            assert listed(function(x, s)) == listed([outs, last])

    def test_symbols_that_draw_and_shapes_that_follow(self):
        net = mx.sym.zeros((0, 3)) + A + mx.sym.random.normal(shape=(2, 3))
        x = leaf([[1, 1, 1], [2, 2, 2]])
        with mx.autograd.record():
            y = nd.CachedOp(net)(x) * 3
        y.backward()
        assert (x.grad.asnumpy() == 3).all()
        assert len(np.unique(y.asnumpy())) == 6

    def test_it_is_the_program_of_its_calls(self, fresh_programs):
        def step(function):
            x, w = nd.ones((2, 3)), leaf(np.ones((4, 3)))
            with mx.autograd.record():
                loss = (function(x, w) ** 2).sum()
            loss.backward()
            return loss.asscalar(), w.grad.asnumpy().tolist()

        net = mx.sym.FullyConnected(A, B, no_bias=True, num_hidden=4)
        net = mx.sym.Activation(net, act_type="tanh")

        def plain(x, w):
            y = nd.FullyConnected(x, w, no_bias=True, num_hidden=4)
            return nd.Activation(y, act_type="tanh")

        assert step(nd.CachedOp(net)) == step(plain)
        programs = mx.program.cache_info()
        assert (programs.misses, programs.hits) == (1, 0)  # one trace, and one plan of it
