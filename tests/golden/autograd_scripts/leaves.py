"""Marked arrays: requests, gradient arrays, freshness, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from ._facts import attempt, attempts, leaf, recorded, script


def _square(mx: Any, x: Any) -> Any:
    return recorded(mx, lambda: x * x)


@script
def gradient_before_and_after_marking(mx):
    x = mx.nd.array([1.0, 2.0])
    seen = [x.grad]
    for req in ("write", "null", "add"):
        x.attach_grad(req)
        seen.append([x.grad, x.grad.dtype, x.grad.context])
    return seen


@script
def attach_grad_returns_nothing(mx):
    return mx.nd.ones((2,)).attach_grad(), mx.nd.ones((2,)).attach_grad(grad_req="add", stype=None)


@script
def attach_grad_refusals(mx):
    x = mx.nd.ones((2,))
    return attempts(
        mx,
        unknown=lambda: x.attach_grad("foo"), nothing=lambda: x.attach_grad(None),
        number=lambda: x.attach_grad(1), storage=lambda: x.attach_grad(stype="foo"),
        default=lambda: x.attach_grad(stype="default"),
    )  # fmt: skip


@script
def requests(mx):
    seen = {}
    for req in ("write", "add", "null"):
        x, z = leaf(mx, req=req), leaf(mx, [3.0, 4.0])
        for _ in range(3):
            recorded(mx, lambda x=x, z=z: x * x * z).backward()
        seen[req] = [x.grad if req != "null" else None, z.grad]
    return seen


@script
def null_leaf_after_backward(mx):
    """The mark of a leaf without a gradient goes away with the graph."""
    x, z = leaf(mx, req="null"), leaf(mx, [3.0, 4.0])
    before = x.grad
    recorded(mx, lambda: x * z).backward()
    return before, x.grad is None


@script
def nothing_requires_gradients(mx):
    x = leaf(mx, req="null")
    y = _square(mx, x)
    return attempt(mx, y.backward), attempt(mx, y.backward)


@script
def add_after_write_and_back(mx):
    x = leaf(mx)
    seen = []
    for req in ("write", "add", "add", "write"):
        x.attach_grad(req)
        for _ in range(2):
            _square(mx, x).backward()
        seen.append(x.grad.copy())
    return seen


@script
def user_writes_the_gradient(mx):
    x = leaf(mx, req="add")
    x.grad[:] = 100
    _square(mx, x).backward()
    first = x.grad.copy()
    x.grad[0] = 0
    _square(mx, x).backward()
    w = leaf(mx)
    w.grad[:] = 100
    _square(mx, w).backward()
    return first, x.grad, w.grad


@script
def held_gradient_arrays(mx):
    x = leaf(mx)
    held = x.grad
    _square(mx, x).backward()
    first = held.copy()
    recorded(mx, lambda: x * 10).backward()
    second = held.copy()
    x.attach_grad()
    zeros = x.grad.copy()
    _square(mx, x).backward()
    return first, second, zeros, held, x.grad


@script
def gradient_arrays_are_one_memory(mx):
    x = leaf(mx)
    a, b = x.grad, x.grad
    a[:] = 5
    return b, x.grad, a is b, a.grad


@script
def gradient_of_an_unreached_leaf_stays(mx):
    x, z = leaf(mx), leaf(mx)
    _square(mx, x).backward()
    z.grad[:] = 7
    recorded(mx, lambda: z * 0 + 1 if False else x * 3).backward()
    return x.grad, z.grad


@script
def blocked_leaf_gets_zeros_or_stays(mx):
    """Leaves that are reached through an operator without a gradient."""
    x = leaf(mx)
    x.grad[:] = 7
    blocked = attempt(mx, lambda: recorded(mx, lambda: mx.nd.BlockGrad(x * x)).backward())
    seen = [blocked, x.grad.copy()]
    x.grad[:] = 7
    recorded(mx, lambda: mx.nd.BlockGrad(x * x) + x).backward()
    seen.append(x.grad.copy())
    x.grad[:] = 7
    seen.append(attempt(mx, lambda: recorded(mx, lambda: mx.nd.sign(x)).backward()))
    seen.append(x.grad.copy())
    x.attach_grad("add")
    x.grad[:] = 7
    recorded(mx, lambda: mx.nd.sign(x) + mx.nd.BlockGrad(x)).backward()
    return [*seen, x.grad]


@script
def freshness(mx):
    x, z, w = leaf(mx), leaf(mx), leaf(mx, req="add")
    seen = [x._fresh_grad]
    y = recorded(mx, lambda: x * w)
    seen.append(x._fresh_grad)
    y.backward()
    seen += [x._fresh_grad, z._fresh_grad, w._fresh_grad]
    x._fresh_grad = False
    seen.append(x._fresh_grad)
    y = _square(mx, x)
    seen.append(x._fresh_grad)
    mx.autograd.grad(y, [x])
    seen.append(x._fresh_grad)
    x._fresh_grad = True
    x.attach_grad()
    seen.append(x._fresh_grad)
    return [*seen, mx.nd.ones((2,))._fresh_grad, _square(mx, x)._fresh_grad]


@script
def copies_are_not_marked(mx):
    x = leaf(mx)
    return [
        x.copy().grad, copy.deepcopy(x).grad, copy.copy(x).grad, pickle.loads(pickle.dumps(x)).grad,
        x.detach().grad, x.reshape((2, 1)).grad, x[:].grad, x.astype("float64").grad,
        x.astype("float32", copy=False) is x, x.as_in_context(mx.cpu()) is x, mx.nd.array(x).grad,
    ]  # fmt: skip


@script
def detached_arrays_share_memory(mx):
    x = leaf(mx)
    d = x.detach()
    d[:] = 7
    before = x.copy()
    with mx.autograd.record():
        y = x * x
        e = y.detach()
        z = e * x
    z.backward()
    return before, x.grad, d.grad, e.grad, attempt(mx, e.backward)


@script
def detached_array_is_marked(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        d = y.detach()
        d.attach_grad()
        z = d * 3
    z.backward()
    first = [d.grad, x.grad.copy()]
    y.backward(d.grad)
    return first, x.grad


@script
def marked_inside_record(mx):
    x = mx.nd.array([1.0, 2.0])
    with mx.autograd.record():
        x.attach_grad()
        y = x * x
    y.backward()
    return x.grad


@script
def marked_after_use(mx):
    """An array that is marked after a call took it as a constant."""
    x, z = mx.nd.array([1.0, 2.0]), leaf(mx)
    with mx.autograd.record():
        y = x * z
        x.attach_grad()
        w = y * x
    w.backward()
    return x.grad, z.grad


@script
def marked_again_after_use(mx):
    """The graph knows the gradient array of the time at which the call was recorded."""
    x = leaf(mx)
    old = x.grad
    with mx.autograd.record():
        y = x * x
    x.attach_grad()
    y.backward()
    return old, x.grad


@script
def intermediate_is_marked(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        h.attach_grad()
        y = h * h
    y.backward()
    return x.grad, h.grad, attempt(mx, h.backward), h.grad


@script
def intermediate_is_marked_after_its_use(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        y = h * h
        h.attach_grad()
        z = h * y
    z.backward()
    return x.grad, h.grad


@script
def mark_variables_forms(mx):
    ag, nd = mx.autograd, mx.nd
    seen = []
    for req in ("write", ["add"], "null", ["write"]):
        x, g = nd.array([1.0, 2.0]), nd.array([5.0, 5.0])
        ag.mark_variables([x], [g], req)
        z = leaf(mx)
        recorded(mx, lambda x=x, z=z: x * x * z).backward()
        seen.append([g, z.grad])
    x, g = nd.array([1.0, 2.0]), nd.zeros((2,))
    ag.mark_variables(x, g)
    _square(mx, x).backward()
    seen.append([g, x.grad])
    g[:] = 9
    return [*seen, x.grad]


@script
def mark_variables_refusals(mx):
    ag, nd = mx.autograd, mx.nd
    x, g = nd.ones((2,)), nd.zeros((2,))
    return attempts(
        mx,
        request=lambda: ag.mark_variables([x], [g], "foo"),
        requests=lambda: ag.mark_variables([x], [g], ["foo"]),
        text=lambda: ag.mark_variables("x", [g]),
        mixed=lambda: ag.mark_variables(x, [g]),
    )


@script
def one_gradient_array_for_two(mx):
    x, z, g = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0]), mx.nd.zeros((2,))
    mx.autograd.mark_variables([x, z], [g, g])
    recorded(mx, lambda: x * z).backward()
    written = g.copy()
    mx.autograd.mark_variables([x, z], [g, g], "add")
    g[:] = 0
    recorded(mx, lambda: x * z).backward()
    return sorted(written.asnumpy().tolist()) in ([1, 2], [3, 4]), g


@script
def gradient_array_is_the_array(mx):
    x = mx.nd.array([1.0, 2.0])
    mx.autograd.mark_variables([x], [x])
    return attempt(mx, lambda: [recorded(mx, lambda: x * x * 5).backward(), x])


@script
def shapes_without_numbers(mx):
    x = leaf(mx, np.float32(3.0).reshape((1,)))
    y = recorded(mx, lambda: (x * x).sum())
    y.backward()
    return y.shape, x.grad


@script
def unused_outputs_and_inputs(mx):
    x, z = leaf(mx, np.arange(6).reshape(2, 3)), leaf(mx)
    with mx.autograd.record():
        a, b, c = mx.nd.split(x, 3, axis=1)
        d = a * 2 + c * 0
        e = z * z
    d.backward()
    return x.grad, z.grad, b, attempt(mx, e.backward), z.grad
