"""``Custom`` operators and those that need values, under ``record()``."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit import nd, operator
from executorkit.errors import MXNetError
from executorkit.ops import custom


def leaf(values, request="write"):
    x = nd.array(values)
    x.attach_grad(request)
    return x


@pytest.fixture(autouse=True)
def _doubling_operator(monkeypatch):
    """An operator with a state: twice its input and the state, which counts."""
    monkeypatch.setattr(custom, "_op_factories", dict(custom._op_factories))

    class Double(operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2 + aux[0])
            aux[0][:] = aux[0] + 1

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @operator.register("double")
    class DoubleProp(operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [[1]]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Double()


def double(x, count):
    return nd.Custom(x, count, op_type="double")


class TestCustom:
    def test_it_runs_once_when_it_is_called(self):
        x, count = leaf([1, 2]), nd.zeros((1,))
        with mx.autograd.record():
            y = double(x, count)
            z = y * y
        assert count.asscalar() == 1
        z.backward()
        assert x.grad.asnumpy().tolist() == [8, 16]
        assert count.asscalar() == 1

    @pytest.mark.parametrize("request_", ["write", "add"])
    def test_twice_in_one_graph(self, request_):
        x, count = leaf([1, 2], request_), nd.zeros((1,))
        for _ in range(2):
            with mx.autograd.record():
                y = double(double(x * 3, count), count)
            y.backward()
        assert y.asnumpy().tolist() == [19, 31]
        assert x.grad.asnumpy().tolist() == {"write": [12, 12], "add": [24, 24]}[request_]
        assert count.asscalar() == 4

    def test_retained_graph(self):
        x, count = leaf([1, 2]), nd.zeros((1,))
        with mx.autograd.record():
            y = double(x, count)
        y.backward(retain_graph=True)
        y.backward(nd.array([3, 4]))
        assert x.grad.asnumpy().tolist() == [6, 8]
        with pytest.raises(MXNetError, match="not in a computational graph"):
            y.backward()

    def test_without_gradients(self):
        """As in MXNet: nothing upstream takes a gradient."""
        x, count = leaf([1, 2], "null"), nd.zeros((1,))
        with mx.autograd.record():
            y = double(x, count)
            z = y * y
        for head in (y, z):
            with pytest.raises(MXNetError, match="no inputs in computation graph"):
                head.backward()

    def test_what_it_raises(self):
        class Broken(operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                if in_data[0].asnumpy()[0] == 0:
                    raise KeyError("no result")
                self.assign(out_data[0], req[0], in_data[0])

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                raise ValueError("no gradient")

        @operator.register("broken")
        class BrokenProp(operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Broken()

        x = leaf([1, 2])
        with mx.autograd.record():
            y = nd.Custom(x, op_type="broken")
            with pytest.raises(MXNetError, match=r"\('broken'\): forward raised") as forward:
                nd.Custom(x * 0, op_type="broken")
        with pytest.raises(MXNetError, match=r"\('broken'\): backward raised") as backward:
            y.backward()
        assert str(forward.value).endswith("because KeyError: 'no result'")
        assert str(backward.value).endswith("because ValueError: no gradient")
        causes = [type(error.value.__cause__) for error in (forward, backward)]
        assert causes == [KeyError, ValueError]
        assert x.grad.asnumpy().tolist() == [0, 0]


class TestValues:
    def test_boolean_mask_between_other_calls(self):
        x, mask = leaf([[1, 2], [3, 4], [5, 6]]), nd.array([0, 1, 1])
        with mx.autograd.record():
            y = nd.contrib.boolean_mask(x * 2, mask)
            z = (y * y).sum()
        z.backward()
        assert x.grad.asnumpy().tolist() == [[0, 0], [24, 32], [40, 48]]

    def test_masks_of_other_sizes_step_after_step(self):
        w = leaf([1.0, 2.0, 3.0])
        for mask in ([1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]):
            with mx.autograd.record():
                loss = (nd.contrib.boolean_mask(w, nd.array(mask)) ** 2).sum()
            loss.backward()
            np.testing.assert_array_equal(w.grad.asnumpy(), 2 * w.asnumpy() * mask)

    def test_gradients_of_gradients_are_refused(self):
        x = leaf([[1, 2], [3, 4]])
        with mx.autograd.record():
            y = nd.contrib.boolean_mask(x, nd.array([0, 1]))
            with pytest.raises(MXNetError, match="can be differentiated once"):
                mx.autograd.grad(y, [x], create_graph=True)


class TestRandom:
    @pytest.mark.parametrize("read", [False, True])
    def test_masks_are_those_of_the_seed(self, read):
        def masks(read):
            mx.random.seed(5)
            x = leaf([1.0] * 64)
            with mx.autograd.record():
                y = nd.Dropout(x, p=0.5)
                if read:
                    y.wait_to_read()
                z = nd.Dropout(y + 1, p=0.5)
            z.backward()
            return [y.asnumpy().tolist(), z.asnumpy().tolist(), x.grad.asnumpy().tolist()]

        assert masks(read) == masks(False)

    def test_recurrent_layers_with_dropout(self):
        size = 4 * 2 * (3 + 2 + 2) + 4 * 2 * (2 + 2 + 2)
        x, w = leaf(np.ones((4, 2, 3))), leaf(np.sin(np.arange(size)))
        h, c = nd.zeros((2, 2, 2)), nd.zeros((2, 2, 2))
        seen = []
        for read in (False, True):
            mx.random.seed(3)
            with mx.autograd.record():
                y = nd.RNN(x * 1, w, h, c, state_size=2, num_layers=2, mode="lstm", p=0.5)
                if read:
                    y.wait_to_read()
            y.backward()
            seen.append([a.asnumpy().tolist() for a in (y, x.grad, w.grad)])
        for a, b in zip(*seen, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        inference = nd.RNN(x, w, h, c, state_size=2, num_layers=2, mode="lstm", p=0.5)
        assert not np.allclose(inference.asnumpy(), seen[0][0])


class TestContexts:
    def test_variables_of_two_contexts(self):
        a, b = leaf([1.0, 2.0]), nd.array([3.0, 4.0], ctx=mx.cpu(1))
        b.attach_grad()
        for _ in range(2):
            with mx.autograd.record():
                c = a.as_in_context(mx.cpu(1)) * b
                d = (c * c).copyto(mx.cpu(0)) + a
            d.backward()
            assert (c.context, a.grad.context, b.grad.context) == (mx.cpu(1), mx.cpu(0), mx.cpu(1))
            assert a.grad.asnumpy().tolist() == [19, 65]
            assert b.grad.asnumpy().tolist() == [6, 32]

    def test_gradients_of_gradients(self):
        a, b = leaf([1.0, 2.0]), nd.array([3.0, 4.0], ctx=mx.cpu(1))
        b.attach_grad()
        with mx.autograd.record():
            c = (a * a * a).as_in_context(mx.cpu(1)) * b * b
            (g,) = mx.autograd.grad(c, [a], create_graph=True)
        assert g.context == mx.cpu(0)
        assert g.asnumpy().tolist() == [27, 192]
        g.backward()
        assert a.grad.asnumpy().tolist() == [54, 192]
        assert b.grad.asnumpy().tolist() == [18, 96]

    def test_calls_on_arrays_of_two_contexts(self):
        a, b = leaf([1.0, 2.0]), nd.array([3.0, 4.0], ctx=mx.cpu(1))
        b.attach_grad("add")
        for _ in range(2):
            with mx.autograd.record():
                y = a * b
            y.backward()
        assert (y.context, b.grad.context) == (mx.cpu(0), mx.cpu(1))
        assert b.grad.asnumpy().tolist() == [2, 4]

    def test_replicas_and_the_sum_of_their_gradients(self):
        contexts = [mx.cpu(i) for i in range(4)]
        weights = [nd.array([1.0, 2.0], ctx=c) for c in contexts]
        for w in weights:
            w.attach_grad()
        for _ in range(3):
            with mx.autograd.record():
                losses = [(w * w * (i + 1)).sum() for i, w in enumerate(weights)]
            mx.autograd.backward(losses)
            grads = [w.grad.as_in_context(mx.cpu(0)) for w in weights]
            total = nd.add_n(*grads)
            for w in weights:
                w -= 0.01 * total.as_in_context(w.context)
        values = [w.asnumpy().tolist() for w in weights]
        assert all(v == values[0] for v in values)
        np.testing.assert_allclose(values[0], [0.512, 1.024], rtol=1e-6)
