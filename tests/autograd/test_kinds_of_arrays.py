"""Variables of all types and sizes, views of views, targets, and graphs of any length."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit import autograd, nd
from executorkit.autograd._trace import MAX_CALLS
from executorkit.errors import MXNetError


def leaf(values, dtype="float32"):
    x = nd.array(values, dtype=dtype)
    x.attach_grad()
    return x


class TestTypes:
    @pytest.mark.parametrize(
        "dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int8"]
    )
    @pytest.mark.parametrize("read", [False, True])
    def test_gradients_have_the_type_of_their_variable(self, dtype, read):
        x = leaf([1, 2, 3]).astype(dtype)
        x.attach_grad()
        with autograd.record():
            y = x * x
            if read:
                y.wait_to_read()
            z = y + x
        z.backward()
        assert z.storage.dtype == x.grad.storage.dtype == x.storage.dtype
        assert x.grad.astype("float32").asnumpy().tolist() == [3, 5, 7]

    def test_types_between(self):
        x = leaf([1.0, 2.0])
        with autograd.record():
            h = (x * x).astype("float16")
            y = (h * 3).astype("float64") * nd.array([1.5, 2.5], dtype="float64")
        y.backward()
        assert x.grad.asnumpy().tolist() == [9, 30]
        assert y.dtype is np.float64

    def test_indices_are_constants(self):
        w = leaf(np.arange(8).reshape(4, 2))
        i = nd.array([1, 3, 1], dtype="int32")
        with autograd.record():
            y = nd.Embedding(i, w, input_dim=4, output_dim=2) * 2
        y.backward()
        assert w.grad.asnumpy().tolist() == [[0, 0], [4, 4], [0, 0], [2, 2]]


class TestSizes:
    def test_arrays_without_elements(self):
        with mx.np_shape():
            x, z = nd.ones((2, 2)), nd.zeros((0, 2))
            x.attach_grad()
            z.attach_grad()
            for _ in range(2):
                with autograd.record():
                    y = nd.concat(x * 3, z * 2, dim=0)
                y.backward()
                assert x.grad.asnumpy().tolist() == [[3, 3], [3, 3]]
                assert z.grad.shape == (0, 2)

    @pytest.mark.parametrize("rows", [0, 2])
    @pytest.mark.parametrize(
        "part",
        [
            lambda x: x[1:1],
            lambda x: x[:0, None],
            lambda x: x[:0, ::-1],
            lambda x: x[:0, 1],
            lambda x: x[[]],
            lambda x: x[:0].reshape((-1,)),
            lambda x: nd.slice_axis(x, axis=0, begin=0, end=None)[:0],
        ],
    )
    def test_empty_parts_have_gradients_of_zero(self, part, rows):
        with mx.np_shape():
            x = leaf(np.ones((rows, 2)))
            with autograd.record():
                y = part(x) * 2
                z = (x * 2).sum()
            y.backward(retain_graph=True)
            assert (y.size, x.grad.asnumpy().tolist()) == (0, [[0, 0]] * rows)
            autograd.backward([y, z])
            assert x.grad.asnumpy().tolist() == [[2, 2]] * rows

    def test_arrays_without_axes(self):
        with mx.np_shape():
            x = nd.ones(()) * 3
            x.attach_grad()
            with autograd.record():
                y = x * x * nd.ones(())
            y.backward()
            assert (y.shape, x.grad.shape) == ((), ())
            assert x.grad.item() == 6
            with autograd.record():
                (g,) = autograd.grad(x * x * x, [x], create_graph=True)
            g.backward()
            assert x.grad.item() == 18


class TestViews:
    def test_views_of_views(self):
        x = leaf(np.arange(12).reshape(3, 4))
        with autograd.record():
            v = x[1:][0].reshape((2, 2))[1]
            y = (v * v).sum() + x.T[0].sum() + x[::2, 1:3][1].sum()
        y.backward()
        expected = np.zeros((3, 4))
        expected[1, 2:] = [12, 14]
        expected[:, 0] += 1
        expected[2, 1:3] += 1
        assert x.grad.asnumpy().tolist() == expected.tolist()

    def test_a_view_of_what_was_read(self):
        x = leaf([[1, 2], [3, 4]])
        with autograd.record():
            y = x * x
            y.wait_to_read()
            z = y[1].reshape((2, 1)) * 3
            z.wait_to_read()
            w = z[1] * 2
        w.backward()
        assert x.grad.asnumpy().tolist() == [[0, 0], [0, 48]]

    def test_indices_of_any_kind(self):
        x = leaf(np.arange(6).reshape(3, 2))
        with autograd.record():
            y = x[nd.array([0, 2, 0])].sum() + x[[1, 1], [0, 1]].sum() + x[-1, ::-1].sum()
        y.backward()
        assert x.grad.asnumpy().tolist() == [[2, 2], [1, 1], [2, 2]]

    def test_iteration(self):
        x = leaf([[1, 2], [3, 4]])
        with autograd.record():
            first, second = x
            y = first + second * 2
        y.backward()
        assert x.grad.asnumpy().tolist() == [[1, 1], [2, 2]]

    @pytest.mark.parametrize("read", [False, True])
    def test_what_is_written_outside_is_what_later_calls_read(self, read):
        """The array that a view shows, or that shows in a view, was written to."""
        for shown, written in ((0, 1), (1, 0)):
            for make in (lambda x: x, lambda x: x * x):
                x = leaf([[1, 2], [3, 4]])
                with autograd.record():
                    y = make(x)
                    arrays = y, y.reshape((4,))
                    if read:
                        arrays[1].wait_to_read()
                arrays[written][:] = 9
                with autograd.record():
                    z = arrays[shown] * 2
                assert z.asnumpy().ravel().tolist() == [18] * 4

    def test_a_view_of_a_view_of_a_value_that_waits(self):
        x = leaf([[1, 2], [3, 4]])
        with autograd.record():
            y = x * x
            v = y[1]
            w = v[1:]
            z = w * 2
            v.wait_to_read()
            z = z + w
        z.backward()
        assert x.grad.asnumpy().tolist() == [[0, 0], [0, 24]]


class TestTargets:
    def test_out_of_a_fresh_array(self):
        x, z = leaf([1, 2]), nd.zeros((2,))
        with autograd.record():
            assert nd.exp(x * 0, out=z) is z
            y = z * x
        y.backward()
        assert x.grad.asnumpy().tolist() == [1, 1]

    def test_out_of_several_results(self):
        x, parts = leaf([[1, 2, 3, 4]]), [nd.zeros((1, 2)), nd.zeros((1, 2))]
        with autograd.record():
            nd.split(x * x, num_outputs=2, axis=1, out=parts)
            y = parts[0] * parts[1]
        y.backward()
        assert x.grad.asnumpy().tolist() == [[18, 64, 6, 32]]

    def test_out_of_an_array_in_the_graph(self):
        x = leaf([1, 2])
        with autograd.record():
            y = x * x
            for target in (x, y):
                with pytest.raises(MXNetError, match="already in a computational graph"):
                    nd.exp(x, out=target)
        y.backward()
        assert x.grad.asnumpy().tolist() == [2, 4]

    def test_out_of_another_type_or_shape(self):
        x = leaf([1, 2])
        for out in (nd.zeros((3,)), nd.zeros((2,), dtype="float64")):
            with autograd.record(), pytest.raises(MXNetError):
                nd.exp(x, out=out)
            assert not out.asnumpy().any()

    def test_a_part_as_a_target(self):
        """As in MXNet: the handle on the part belongs to the graph, the array does not."""
        x, z = leaf([1, 2]), nd.zeros((2, 2))
        with autograd.record():
            part = z[1]
            nd.exp(x * 0, out=part)
            y = part * x
        y.backward()
        assert z.asnumpy().tolist() == [[0, 0], [1, 1]]
        assert x.grad.asnumpy().tolist() == [1, 1]
        with autograd.record():
            y = z * 2
        with pytest.raises(MXNetError, match="not in a computational graph"):
            y.backward()

    def test_a_target_on_another_context(self):
        x = leaf([1, 2])
        for write in (
            lambda z: z.__setitem__(slice(None), x * 3),
            lambda z: (x * 3).copyto(z),
            lambda z: nd.broadcast_mul(x, nd.array([3, 3]), out=z),
        ):
            z = nd.zeros((2,), ctx=mx.cpu(1))
            with autograd.record():
                write(z)
                y = z * nd.array([2, 2], ctx=mx.cpu(1))
            y.backward()
            assert x.grad.asnumpy().tolist() == [6, 6]
            assert (z.context, y.context) == (mx.cpu(1), mx.cpu(1))
            assert {*z.jax.devices()} == {mx.cpu(1).device}

    def test_a_target_of_a_call_that_needs_values(self):
        x, z = leaf([[1, 2], [3, 4]]), nd.zeros((1, 2))
        with autograd.record():
            nd.contrib.boolean_mask(x, nd.array([0, 1]), out=z)
            y = z * z
        y.backward()
        assert x.grad.asnumpy().tolist() == [[0, 0], [6, 8]]


class TestLength:
    def test_more_calls_than_a_trace_has(self):
        w = leaf([1.0])
        with autograd.record():
            y = w * 1
            for _ in range(MAX_CALLS + 10):
                y = y + w
        y.backward()
        assert w.grad.asscalar() == MAX_CALLS + 11

    def test_a_deep_chain(self):
        w = leaf([0.5, 1.0])
        with autograd.record():
            y = w
            for _ in range(300):
                y = nd.sin(y) * w + y * 0.5
        y.backward()
        x = np.array([0.5, 1.0])

        def value(w):
            y = w
            for _ in range(300):
                y = np.sin(y) * w + y * 0.5
            return y

        expected = (value(x + 1e-6) - value(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(w.grad.asnumpy(), expected, rtol=1e-3)
