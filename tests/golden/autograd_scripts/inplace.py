"""Writes to arrays while recording, and to recorded arrays."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, leaf, recorded, script


@script
def writes_to_arrays_in_the_graph(mx):
    nd = mx.nd

    def tried(write):
        x = leaf(mx)
        with mx.autograd.record():
            y = x * x
            return attempt(mx, lambda: write(x, y)), attempt(mx, lambda: [y.backward(), x.grad])

    return {
        "x += 1": tried(lambda x, y: x.__iadd__(1)),
        "y += 1": tried(lambda x, y: y.__iadd__(1)),
        "y -= y": tried(lambda x, y: y.__isub__(y)),
        "y *= 2": tried(lambda x, y: y.__imul__(2)),
        "y divided by x": tried(lambda x, y: y.__itruediv__(x)),
        "x[:] = 5": tried(lambda x, y: x.__setitem__(slice(None), 5)),
        "x[:] = y": tried(lambda x, y: x.__setitem__(slice(None), y)),
        "x[:] = other": tried(lambda x, y: x.__setitem__(slice(None), nd.ones((2,)))),
        "y[0] = 5": tried(lambda x, y: y.__setitem__(0, 5)),
        "y[0:1] = x": tried(lambda x, y: y.__setitem__(slice(0, 1), x[0:1])),
        "y[[0]] = 5": tried(lambda x, y: y.__setitem__([0], 5)),
        "out=y": tried(lambda x, y: nd.exp(x, out=y)),
        "out=x": tried(lambda x, y: nd.exp(x, out=x)),
        "constant, out=y": tried(lambda x, y: nd.ones((2,), out=y)),
        "copyto(x)": tried(lambda x, y: y.copyto(x)),
        "other.copyto(x)": tried(lambda x, y: nd.ones((2,)).copyto(x)),
        "random, out=y": tried(lambda x, y: nd.random.uniform(shape=(2,), out=y) is y),
        "sgd_update": tried(lambda x, y: nd.sgd_update(x, nd.ones((2,)), lr=0.1, out=x)),
    }


@script
def writes_to_fresh_arrays(mx):
    nd = mx.nd

    def tried(write):
        x, z = leaf(mx), nd.zeros((2,))
        with mx.autograd.record():
            seen = attempt(mx, lambda: (write(x, z), None)[1])
            y = z * z
        return seen, attempt(mx, lambda: [y.backward(), x.grad]), z

    return {
        "z += x": tried(lambda x, z: z.__iadd__(x)),
        "z -= x": tried(lambda x, z: z.__isub__(x)),
        "z *= x": tried(lambda x, z: z.__imul__(x)),
        "z += 1": tried(lambda x, z: z.__iadd__(1)),
        "z[:] = x * 3": tried(lambda x, z: z.__setitem__(slice(None), x * 3)),
        "z[:] = x": tried(lambda x, z: z.__setitem__(slice(None), x)),
        "z[...] = x * 3": tried(lambda x, z: z.__setitem__(Ellipsis, x * 3)),
        "z[0:2] = x * 3": tried(lambda x, z: z.__setitem__(slice(0, 2), x * 3)),
        "z[1:2] = x[1:2]": tried(lambda x, z: z.__setitem__(slice(1, 2), x[1:2])),
        "z[0] = x[0]": tried(lambda x, z: z.__setitem__(0, x[0])),
        "z[0] = 3": tried(lambda x, z: z.__setitem__(0, 3)),
        "z[:] = 3": tried(lambda x, z: z.__setitem__(slice(None), 3)),
        "z[[0, 1]] = x": tried(lambda x, z: z.__setitem__([0, 1], x)),
        "z[:] = numpy": tried(lambda x, z: z.__setitem__(slice(None), np.ones(2))),
        "out=z": tried(lambda x, z: nd.exp(x, out=z)),
        "copyto": tried(lambda x, z: x.copyto(z)),
        "copyto of a value": tried(lambda x, z: (x * 3).copyto(z)),
    }


@script
def numpy_values_are_copied_silently(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        y[:] = np.array([7.0, 8.0], "float32")
        z = y * 1
        x[:] = np.array([5.0, 6.0], "float32")
    return x, y, z


@script
def constant_is_written_while_recording(mx):
    x, c = leaf(mx), mx.nd.array([3.0, 4.0])
    with mx.autograd.record():
        y = x * c
        written = attempt(mx, lambda: c.__setitem__(slice(None), 100))
    y.backward()
    return written, x.grad


@script
def constant_is_written_after_recording(mx):
    x, c = leaf(mx), mx.nd.array([3.0, 4.0])
    y = recorded(mx, lambda: x * c)
    c[:] = 100
    y.backward()
    return x.grad, c


@script
def leaf_is_written_before_backward(mx):
    seen = []
    for write in (lambda x: x.__setitem__(slice(None), 10), lambda x: x.__iadd__(10)):
        x = leaf(mx)
        y = recorded(mx, lambda x=x: x * x)
        write(x)
        y.backward()
        seen.append([x, y, x.grad])
    return seen


@script
def value_is_written_before_backward(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * 2
        z = y * y
    y[:] = 10
    z.backward()
    return x.grad, y


@script
def weights_are_updated_between_two_backwards(mx):
    w = leaf(mx, [2.0, 3.0])
    y = recorded(mx, lambda: w * w)
    y.backward(retain_graph=True)
    first = w.grad.copy()
    w[:] = w - 0.5 * w.grad
    y.backward()
    return first, w, w.grad


@script
def value_is_written_outside_and_used_again(mx):
    """The handle stays in the graph; its contents are the new ones."""
    x = leaf(mx)
    y = recorded(mx, lambda: x * 2)
    y[:] = 10
    z = recorded(mx, lambda: y * 3)
    z.backward()
    return z, x.grad


@script
def gradient_is_written_while_recording(mx):
    x = leaf(mx)
    with mx.autograd.record():
        y = x * x
        x.grad[:] = 3
        z = y * x.grad
        x.grad[:] = 100
    z.backward()
    return z


@script
def leaf_is_written_after_its_backward(mx):
    x = leaf(mx)
    seen = []
    with mx.autograd.record():
        for _ in range(2):
            y = x * x
            y.backward()
            seen.append(attempt(mx, lambda: x.__setitem__(slice(None), x - x.grad)))
            seen.append(attempt(mx, lambda: x.__isub__(x.grad)))
    return seen, x, x.grad


@script
def leaf_is_updated_in_pause(mx):
    x = leaf(mx)
    seen = []
    with mx.autograd.record():
        for _ in range(3):
            y = (x * x).sum()
            y.backward()
            with mx.autograd.pause():
                x -= 0.25 * x.grad
            seen.append([y, x.copy()])
    return seen


@script
def results_into_recorded_arrays_outside(mx):
    x = leaf(mx)
    y = recorded(mx, lambda: x * x)
    mx.nd.exp(mx.nd.zeros((2,)), out=y)
    z = recorded(mx, lambda: y + x)
    z.backward()
    return y, z, x.grad


@script
def optimizer_while_recording(mx):
    x = leaf(mx)
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    with mx.autograd.record():
        y = x * x
        y.backward()
        seen = attempt(mx, lambda: update(0, x.grad, x))
    return seen, x
