"""Arrays of several contexts in one graph."""

from __future__ import annotations

from ._facts import attempt, leaf, script


def _leaf(mx, values, number):
    x = mx.nd.array(values, ctx=mx.cpu(number))
    x.attach_grad()
    return x


@script
def copies_between_contexts(mx):
    seen = {}
    for name, copied in {
        "as_in_context": lambda x: x.as_in_context(mx.cpu(1)),
        "copyto": lambda x: x.copyto(mx.cpu(1)),
        "as_in_ctx": lambda x: x.as_in_ctx(mx.cpu(1)),
        "same context": lambda x: x.as_in_context(mx.cpu(0)),
        "copyto same": lambda x: x.copyto(mx.cpu(0)),
        "there and back": lambda x: x.copyto(mx.cpu(1)).copyto(mx.cpu(0)),
    }.items():

        def run(copied=copied):
            x = leaf(mx)
            with mx.autograd.record():
                h = copied(x * x)
                y = h * 3
            y.backward()
            return h.context, y.context, x.grad.context, x.grad

        seen[name] = attempt(mx, run)
    return seen


@script
def copy_into_an_array(mx):
    x, z = leaf(mx), mx.nd.zeros((2,), ctx=mx.cpu(1))
    with mx.autograd.record():
        result = x.copyto(z)
        y = z * z
    y.backward()
    return result is z, x.grad


@script
def inputs_of_two_contexts(mx):
    a, b = _leaf(mx, [1.0, 2.0], 0), _leaf(mx, [3.0, 4.0], 1)

    def run():
        with mx.autograd.record():
            y = a * b
        y.backward()
        return y, y.context, a.grad, b.grad, b.grad.context

    return attempt(mx, run)


@script
def two_contexts_side_by_side(mx):
    a, b = _leaf(mx, [1.0, 2.0], 0), _leaf(mx, [3.0, 4.0], 1)
    with mx.autograd.record():
        y, z = a * a, b * b
    mx.autograd.backward([y, z])
    first = [a.grad.copy(), b.grad.copy()]
    seen = []
    for _ in range(3):
        losses = []
        with mx.autograd.record():
            losses += [(w * w).sum() for w in (a, b)]
        for loss in losses:
            loss.backward()
        total = a.grad + b.grad.as_in_context(mx.cpu(0))
        for w in (a, b):
            w -= 0.1 * total.as_in_context(w.context)
        seen.append([a.copy(), b.copy()])
    return first, seen


@script
def head_gradient_of_another_context(mx):
    x = leaf(mx)

    def run():
        with mx.autograd.record():
            y = x * x
        y.backward(mx.nd.array([3.0, 4.0], ctx=mx.cpu(1)))
        return x.grad

    return attempt(mx, run)


@script
def gradient_array_of_another_context(mx):
    def run():
        x, g = mx.nd.array([1.0, 2.0]), mx.nd.zeros((2,), ctx=mx.cpu(1))
        mx.autograd.mark_variables([x], [g])
        with mx.autograd.record():
            y = x * x
        y.backward()
        return g

    return attempt(mx, run)
