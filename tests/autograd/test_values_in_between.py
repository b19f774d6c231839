"""Values that are computed, or made, between recorded calls stay what was recorded."""

from __future__ import annotations

import executorkit as mx
from executorkit import autograd


class _Doubled(autograd.Function):
    def forward(self, x):
        return x * 2

    def backward(self, head):
        return head * 2


def test_an_output_of_a_function_that_is_on_the_host_belongs_to_the_graph():
    for _ in range(3):  # NumPy computes the product from the second time on
        x = mx.nd.array([1.0, -1.0])
        x.attach_grad()
        with autograd.record():
            y = _Doubled()(x) * 3
        y.backward()
        assert x.grad.asnumpy().tolist() == [6, 6]


def test_a_view_of_an_array_on_the_host_belongs_to_the_graph():
    for _ in range(3):
        x = mx.nd.array([[1.0, 2.0], [3.0, 4.0]]) * 2
        x.attach_grad()
        with autograd.record():
            row = x[0]
            x.wait_to_read()
            assert row.asnumpy().tolist() == [2, 4]
            y = row * row
        y.backward()
        assert x.grad.asnumpy().tolist() == [[4, 8], [0, 0]]


def test_scopes_that_are_interrupted_leave_the_modes_before_them():
    scope = autograd.record()
    for _ in range(2):
        try:
            with scope, scope, autograd.pause():
                assert not autograd.is_recording()
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert (autograd.is_recording(), autograd.is_training()) == (False, False)
