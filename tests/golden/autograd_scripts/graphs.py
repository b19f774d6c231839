"""What is recorded, what uses it up, and what goes on over several blocks."""

from __future__ import annotations

import gc

from ._facts import attempt, attempts, leaf, recorded, script


@script
def two_losses_of_one_graph(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        a, b = h * 2, h * 3
    a.backward()
    return x.grad.copy(), attempts(mx, b=b.backward, h=h.backward, a=a.backward)


@script
def two_losses_with_retained_graph(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        a, b = h * 2, h * 3
    a.backward(retain_graph=True)
    first = x.grad.copy()
    b.backward()
    return first, x.grad, attempts(mx, a=a.backward, h=h.backward)


@script
def independent_losses(mx):
    x = leaf(mx)
    with mx.autograd.record():
        a, b = x * x, x * 3
    a.backward()
    first = x.grad.copy()
    b.backward()
    return first, x.grad


@script
def losses_that_share_a_constant(mx):
    x, z, c = leaf(mx), leaf(mx), mx.nd.array([3.0, 4.0])
    with mx.autograd.record():
        a, b = x * c, z * c
    a.backward()
    return x.grad, attempt(mx, lambda: [b.backward(), z.grad])


@script
def graph_over_two_blocks(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
    with mx.autograd.record():
        z = y * 3
    z.backward()
    return x.grad


@script
def operator_between_two_blocks(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
    between = y * 10
    with mx.autograd.record():
        z = y + between
    z.backward()
    return z, x.grad, attempt(mx, between.backward)


@script
def used_up_values_are_constants(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        y = h * 2
    y.backward()
    with mx.autograd.record():
        z = y * x + h
    z.backward()
    only = recorded(mx, lambda: y * 2)
    return x.grad, attempt(mx, only.backward)


@script
def used_constants_are_in_the_graph(mx):
    """A constant that took part; a call of it alone afterwards."""
    x, c = leaf(mx), mx.nd.array([3.0, 4.0])
    with mx.autograd.record():
        y = x * c
        only = c * 2
    return attempts(mx, only=only.backward, y=y.backward, c=c.backward), x.grad, c.grad


@script
def part_of_a_graph(mx):
    """A graph of which the end was used up goes on from its beginning."""
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        y = h * 2
    y.backward(retain_graph=True)
    with mx.autograd.record():
        z = h * h
    z.backward()
    return x.grad, attempt(mx, y.backward)


@script
def names_are_bound_again(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x
        for i in range(4):
            y = y * x + i
    y.backward()
    return x.grad


@script
def handles_are_deleted(mx):
    x = leaf(mx)
    with mx.autograd.record():
        h = x * x
        k = h * 3
        y = h + x
    del h, k
    gc.collect()
    y.backward()
    return x.grad


@script
def leaf_is_deleted(mx):
    x, z = leaf(mx), leaf(mx)
    held = x.grad
    y = recorded(mx, lambda a, b: a * b, x, z)
    del x
    gc.collect()
    y.backward()
    return held, z.grad


@script
def values_are_read_in_between(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        first = y.asnumpy()
        z = y * float(y[0].asscalar())
        second = z.sum().asscalar()
    z.backward()
    return first, second, x.grad


@script
def gradients_are_read_and_used(mx):
    x = leaf(mx)
    seen = []
    for _ in range(4):
        y = recorded(mx, lambda: (x * x).sum())
        y.backward()
        seen.append([y.asscalar(), x.grad.copy()])
        x[:] = x - 0.25 * x.grad
    return seen, x


@script
def two_steps_before_one_backward(mx):
    x = leaf(mx)
    total = 0
    for i in range(3):
        with mx.autograd.record():
            total = total + x * i
    total.backward()
    return x.grad


@script
def backward_of_every_step(mx):
    """A state goes from step to step, detached or not."""
    x = leaf(mx)
    state, seen = mx.nd.zeros((2,)), []
    for _ in range(3):
        with mx.autograd.record():
            state = state.detach() * 0.5 + x * x
        state.backward()
        seen.append(x.grad.copy())
    state = mx.nd.zeros((2,))
    for _ in range(3):
        with mx.autograd.record():
            state = state * 0.5 + x * x
        state.backward()
        seen.append(x.grad.copy())
    return seen


@script
def errors_leave_the_graph(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        refused = attempt(mx, lambda: mx.nd.dot(y, mx.nd.ones((3, 3))))
        z = y * 2
    z.backward()
    return refused, x.grad


@script
def wrong_calls(mx):
    nd, x = mx.nd, leaf(mx)
    with mx.autograd.record():
        return attempts(
            mx,
            dot=lambda: nd.dot(x, nd.ones((3, 3))),
            add=lambda: nd.elemwise_add(x, nd.ones((3,))),
            broadcast=lambda: nd.broadcast_add(x, nd.ones((3,))),
            reshape=lambda: x.reshape((3,)),
            attribute=lambda: nd.sum(x, nothing=1),
            axis=lambda: nd.sum(x, axis=3),
            concat=lambda: nd.concat(x, nd.ones((2, 2)), dim=0),
            dtype=lambda: x + nd.ones((2,), dtype="float64"),
        )


@script
def generative_adversarial_order(mx):
    """The generator's values outlive the discriminator's backward."""
    g, d = leaf(mx, [1.0, 2.0]), leaf(mx, [3.0, 4.0])
    seen = []
    for _ in range(3):
        with mx.autograd.record():
            fake = g * g
            loss_d = (fake.detach() * d * d).sum()
        loss_d.backward()
        d_grad = d.grad.copy()
        d[:] = d - 0.01 * d.grad
        with mx.autograd.record():
            loss_g = (fake * d).sum()
        loss_g.backward()
        seen.append([d_grad, g.grad.copy(), d.grad.copy(), loss_d, loss_g])
        g[:] = g - 0.01 * g.grad
    return seen


@script
def accumulated_batches(mx):
    w = leaf(mx, [1.0, 2.0], "add")
    seen = []
    for i in range(4):
        x = mx.nd.array([i, 1.0])
        recorded(mx, lambda x=x: (w * x - 1) ** 2).backward()
        if i % 2:
            w[:] = w - 0.1 * w.grad
            w.grad[:] = 0
        seen.append([w.copy(), w.grad.copy()])
    return seen


@script
def optimizer_steps(mx):
    seen = {}
    for name in ("sgd", "adam", "rmsprop"):
        w, b = leaf(mx, [[1.0, -2.0], [0.5, 3.0]]), leaf(mx, [0.0, 1.0])
        update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
        losses = []
        for i in range(5):
            x = mx.nd.array([[1.0, i], [2.0, -1.0]])
            with mx.autograd.record():
                y = mx.nd.FullyConnected(x, w, b, num_hidden=2)
                loss = (mx.nd.tanh(y) ** 2).sum()
            loss.backward()
            for index, p in enumerate((w, b)):
                update(index, p.grad, p)
            losses.append(loss)
        seen[name] = [losses, w, b]
    return seen
