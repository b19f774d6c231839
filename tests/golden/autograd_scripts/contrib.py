"""The old interface: ``mx.contrib.autograd``."""

from __future__ import annotations

from ._facts import attempt, attempts, flags, leaf, script


@script
def old_sections(mx):
    old = mx.contrib.autograd
    seen = [flags(mx)]
    with old.train_section():
        seen.append(flags(mx))
        with old.test_section():
            seen.append(flags(mx))
        seen.append(flags(mx))
    with old.test_section():
        seen.append(flags(mx))
    seen.append(old.set_is_training(True))
    seen.append(flags(mx))
    seen.append(old.set_is_training(False))
    return [*seen, flags(mx)]


@script
def old_backward(mx):
    old, nd = mx.contrib.autograd, mx.nd
    x, g = nd.array([1.0, 2.0]), nd.zeros((2,))
    old.mark_variables([x], [g])
    with old.train_section():
        y = x * x
    seen = [old.backward([y]), g.copy()]
    with old.train_section():
        y = x * x
    old.backward([y], [nd.array([3.0, 4.0])], retain_graph=True)
    seen.append(g.copy())
    old.backward([y])
    seen.append(g.copy())
    with old.train_section():
        y = x * 3
    seen += [old.compute_gradient([y]), g.copy()]
    old.mark_variables([x], [g], "add")
    with old.train_section():
        y = x * 3
    old.compute_gradient([y])
    return [*seen, g]


@script
def old_grad_and_loss(mx):
    old, nd = mx.contrib.autograd, mx.nd
    x, z = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])

    def product(a, b):
        return a * b * b

    def pair(a, b):
        return [a * b, a + b]

    return attempts(
        mx,
        all=lambda: old.grad_and_loss(product)(x, z),
        first=lambda: old.grad_and_loss(product, 0)(x, z),
        second=lambda: old.grad_and_loss(product, [1])(x, z),
        pair=lambda: old.grad_and_loss(pair)(x, z),
        grad=lambda: old.grad(product)(x, z),
        grad_first=lambda: old.grad(product, argnum=0)(x, z),
        kept=lambda: [x.grad, flags(mx)],
        number=lambda: old.grad(product)(x, 3.0),
        again=lambda: old.grad(lambda a: a * a * x)(x),
    )


@script
def old_functions_on_marked_arrays(mx):
    old = mx.contrib.autograd
    x = leaf(mx)
    seen = attempt(mx, lambda: old.grad(lambda a: a * a)(x))
    with mx.autograd.record():
        y = x * x
    y.backward()
    return seen, x.grad
