"""Types of values and gradients."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, leaf, recorded, script

_TYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "int8")


@script
def gradients_of_types(mx):
    seen = {}
    for dtype in _TYPES:
        x = leaf(mx, [1, 2], dtype=dtype)
        y = recorded(mx, lambda x=x: x * x)
        seen[dtype] = [y, attempt(mx, lambda y=y, x=x: [y.backward(), x.grad])]
    return seen


@script
def casts(mx):
    seen = {}
    for source in ("float32", "float16", "float64", "int32"):
        for target in ("float64", "float16", "int32", "float32", "bool"):
            x = leaf(mx, [1, 2], dtype=source)

            def run(x=x, target=target):
                y = recorded(mx, lambda: (x * x).astype(target))
                y.backward()
                return y, x.grad

            seen[f"{source} to {target}"] = attempt(mx, run)
    return seen


@script
def cast_in_the_middle(mx):
    x = leaf(mx, [1.0, 2.0])
    with mx.autograd.record():
        h = (x * x).astype("float16")
        y = (h * 3).astype("float64") * mx.nd.array([1.5, 2.5], dtype="float64")
    y.backward()
    return y, x.grad


@script
def types_of_gradient_arrays(mx):
    """A gradient array of another type than its leaf's."""
    seen = []
    for dtype in ("float64", "float16", "int32"):
        x, g = mx.nd.array([1.0, 2.0]), mx.nd.zeros((2,), dtype=dtype)

        def run(x=x, g=g):
            mx.autograd.mark_variables([x], [g])
            recorded(mx, lambda: x * x).backward()
            return g

        seen.append(attempt(mx, run))
    return seen


@script
def comparisons(mx):
    x = leaf(mx, [1.0, 2.0, 3.0])
    with mx.autograd.record():
        y = (x > 1.5) * x + (x == 2) + mx.nd.floor(x) * x
    y.backward()
    first = x.grad.copy()
    only = recorded(mx, lambda: x > 1.5)
    return first, attempt(mx, lambda: [only.backward(), x.grad])


@script
def integer_results(mx):
    x = leaf(mx, [3.0, 1.0, 2.0])
    x.grad[:] = 7
    seen = []
    for function in (mx.nd.argmax, mx.nd.argsort, mx.nd.shape_array, mx.nd.size_array):
        y = recorded(mx, lambda function=function: function(x))
        seen.append([y, attempt(mx, lambda y=y: [y.backward(), x.grad])])
    return seen


@script
def numbers_keep_types(mx):
    seen = []
    for dtype in ("float16", "float64", "int32"):
        x = leaf(mx, [1, 2], dtype=dtype)
        y = recorded(mx, lambda x=x: (x * 2.5 + 1) / 2 - x**2)
        y.backward()
        seen.append([y, x.grad])
    return seen


@script
def arrays_of_one_number(mx):
    x = leaf(mx, np.array([3.0]))
    y = recorded(mx, lambda: x * x)
    y.backward()
    first = [y.asscalar(), x.grad]
    z = recorded(mx, lambda: (x * x).sum())
    return first, z.shape, attempt(mx, lambda: [z.backward(), x.grad])


@script
def arrays_without_numbers(mx):
    """Arrays of size 0 under NumPy's meaning of shapes."""

    def run():
        with mx.np_shape():
            x = mx.nd.zeros((0, 2))
            x.attach_grad()
            with mx.autograd.record():
                y = x * 2
            y.backward()
            return y, x.grad

    def joined():
        with mx.np_shape():
            x, z = mx.nd.ones((2, 2)), mx.nd.zeros((0, 2))
            x.attach_grad()
            z.attach_grad()
            with mx.autograd.record():
                y = mx.nd.concat(x * 3, z * 2, dim=0)
            y.backward()
            return y, x.grad, z.grad

    return attempt(mx, run), attempt(mx, joined)


@script
def embedding_of_integers(mx):
    w = leaf(mx, np.arange(8).reshape(4, 2))
    i = mx.nd.array([1, 3, 1], dtype="int32")
    y = recorded(mx, lambda: mx.nd.Embedding(i, w, input_dim=4, output_dim=2) * 2)
    y.backward()
    return y, w.grad
