"""Arrays without elements: a size of 0 is an unknown one, in graphs here as in MXNet."""

from __future__ import annotations

import numpy as np
import pytest

import executorkit as mx
from executorkit.errors import MXNetError, ShapeError

X = mx.sym.var("x")
GRAPHS = {
    "relu": mx.sym.relu(X),
    "Concat": mx.sym.Concat(X, X, dim=0, num_args=2),
    "FullyConnected": mx.sym.FullyConnected(X, num_hidden=2, name="fc"),
    "transpose": mx.sym.transpose(X),
    "slice_axis": mx.sym.slice_axis(X, axis=1, begin=0, end=1),
}


@pytest.fixture(name="empty")
def _empty():
    return mx.nd.array(np.zeros((0, 3)))


def test_empty_arrays_can_be_created_and_read(empty):
    assert empty.shape == (0, 3)
    assert empty.asnumpy().shape == (0, 3)


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_refuse_them(name, empty):
    symbol = GRAPHS[name]
    args = dict.fromkeys(symbol.list_arguments(), mx.nd.ones((2, 3))) | {"x": empty}
    with pytest.raises(ShapeError):
        symbol.bind(mx.cpu(), args, grad_req="null").forward()
    with pytest.raises(MXNetError, match="cannot be inferred"):
        symbol.simple_bind(mx.cpu(), x=(0, 3))


def test_a_result_of_known_shape_is_returned(empty):
    """MXNet refuses this too; with its NumPy shapes it gives 0."""
    (total,) = mx.sym.sum(X).bind(mx.cpu(), {"x": empty}, grad_req="null").forward()
    assert total.asnumpy().tolist() == [0]


@pytest.mark.parametrize("name", GRAPHS)
def test_inference_fills_them_in_or_leaves_them_unknown(name):
    _, (out,), _ = GRAPHS[name].infer_shape_partial(x=(0, 3))
    assert out == () or 0 in out


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)])
def test_stacks_of_matrices_may_have_none_or_empty_ones(shape):
    """MXNet cannot make such arrays; one whose shape is known has a result here."""
    empty = mx.nd.array(np.zeros(shape))
    assert mx.nd.linalg.trsm(empty, empty).shape == shape
    assert mx.nd.linalg.potri(empty).shape == shape
