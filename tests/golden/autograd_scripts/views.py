"""Slices, views and indices of recorded arrays."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, attempts, leaf, recorded, script

_TABLE = np.arange(12, dtype="float32").reshape(3, 4) / 4


def _weighted(mx, part):
    """A number that depends on each element of a part in its own way."""
    weights = mx.nd.array(np.arange(1, part.size + 1).reshape(part.shape))
    return (part * part * weights).sum()


def _gradient(mx, function, values=_TABLE):
    x = leaf(mx, values)

    def run():
        with mx.autograd.record():
            part = function(x)
            y = _weighted(mx, part)
        y.backward()
        return part, x.grad

    return attempt(mx, run)


@script
def indices(mx):
    nd = mx.nd
    keys = {
        "number": 1, "negative": -1, "slice": slice(0, 2), "step": slice(None, None, 2),
        "backwards": slice(None, None, -1), "from the end": slice(-2, None), "all": slice(None),
        "dots": Ellipsis, "two": (1, 2), "row part": (1, slice(1, 3)),
        "columns": (slice(None), slice(1, 3)), "column": (slice(None), 1), "last": (Ellipsis, -1),
        "new axis": None, "new axis inside": (slice(None), None, 1),
        "steps": (slice(None, None, 2), slice(None, None, 3)), "list": [0, 2],
        "repeated": [1, 1, 0],
        "two lists": ([0, 2], [1, 3]), "list and slice": ([0, 2], slice(1, 3)),
        "slice and list": (slice(0, 2), [1, 1]), "numpy": np.array([2, 0]),
        "array": nd.array([2, 0]), "array of integers": nd.array([2, 0], dtype="int32"),
        "two arrays": (nd.array([0, 1]), nd.array([3, 3])), "empty tuple": (),
    }  # fmt: skip
    return {name: _gradient(mx, lambda x, key=key: x[key]) for name, key in keys.items()}


@script
def reshaping(mx):
    nd = mx.nd
    pads = (0, 0, 0, 0, 1, 1, 0, 2)
    functions = {
        "reshape": lambda x: x.reshape((4, 3)),
        "reshape -1": lambda x: x.reshape((-1,)),
        "reshape numbers": lambda x: x.reshape(2, 6),
        "reshape 0": lambda x: x.reshape((0, -1)),
        "operator": lambda x: nd.reshape(x, shape=(6, 2)),
        "flatten": lambda x: x.flatten(),
        "expand_dims": lambda x: x.expand_dims(1),
        "squeeze": lambda x: x.expand_dims(1).squeeze(1),
        "T": lambda x: x.T,
        "row of T": lambda x: x.T[1],
        "transpose": lambda x: x.transpose((1, 0)),
        "swapaxes": lambda x: x.swapaxes(0, 1),
        "broadcast_to": lambda x: x[0:1].broadcast_to((3, 4)),
        "broadcast_like": lambda x: x[0:1].broadcast_like(x),
        "reshape_like": lambda x: x.reshape_like(nd.ones((4, 3))),
        "copy": lambda x: x.copy(),
        "astype": lambda x: x.astype("float64").astype("float32"),
        "astype same": lambda x: x.astype("float32", copy=False),
        "tile": lambda x: x.tile((2, 1)),
        "flip": lambda x: x.flip(axis=1),
        "moveaxis": lambda x: nd.moveaxis(x, 0, 1),
        "concatenate": lambda x: nd.concatenate([x, x * 2], axis=1),
        "split_v2": lambda x: nd.split_v2(x, (1,), axis=1)[1],
        "slice_axis": lambda x: x.slice_axis(1, 1, 3),
        "slice": lambda x: x.slice(begin=(0, 1), end=(2, 4)),
        "slice_like": lambda x: x.slice_like(nd.ones((2, 2))),
        "take": lambda x: x.take(nd.array([1, 1, 2])),
        "pick": lambda x: x.pick(nd.array([0, 1, 2])),
        "one slice of another": lambda x: x[0:2][1][2:4],
        "reshape of slice": lambda x: x[1:3].reshape((4, 2))[1],
        "stack": lambda x: nd.stack(x, x * x),
        "diag": lambda x: x.diag(),
        "pad": lambda x: x.reshape((1, 1, 3, 4)).pad(mode="constant", pad_width=pads),
        "iteration": lambda x: sum(row * i for i, row in enumerate(x)),
    }
    return {name: _gradient(mx, function) for name, function in functions.items()}


@script
def view_taken_before_recording(mx):
    x = leaf(mx, _TABLE)
    v = x[0]
    with mx.autograd.record():
        y = v * v
        z = y + x[1]
    return attempt(mx, y.backward), attempt(mx, lambda: [z.backward(), x.grad])


@script
def recorded_parts_are_memory(mx):
    x = leaf(mx, _TABLE)
    with mx.autograd.record():
        v = x[0]
        w = x.reshape((4, 3))
        u = x[0:2]
        c = x[:, 1]
        s = x[::2]
    v[:] = 9
    seen = [x.copy(), w.copy(), u.copy(), c.copy(), s.copy()]
    x[1] = -1
    return [*seen, v, w, u, c, s]


@script
def views_of_recorded_values_outside(mx):
    x = leaf(mx, _TABLE)
    y = recorded(mx, lambda: x * x)
    v, r = y[0], y.reshape((-1,))
    return attempts(mx, slice=v.backward, reshape=r.backward), v


@script
def one_view_twice(mx):
    x = leaf(mx, _TABLE)
    with mx.autograd.record():
        y = x[0] * x[0] + x[1] * x[0]
    y.backward()
    return x.grad


@script
def all_rows(mx):
    x = leaf(mx, _TABLE)
    with mx.autograd.record():
        total = 0
        for i in range(3):
            for j in range(2):
                total = total + x[i, j] * x[i][j + 1] * (i + 1)
    total.backward()
    return total, x.grad


@script
def views_of_marked_views(mx):
    """A view that is marked itself."""
    x = mx.nd.array(_TABLE)
    v = x[1]
    v.attach_grad()
    with mx.autograd.record():
        y = v * v
        z = v[1:3] * 2
    mx.autograd.backward([y, z])
    first = v.grad.copy()
    x[:] = 1
    recorded(mx, lambda: v * v).backward()
    return first, v.grad, x.grad


@script
def setting_parts_under_record(mx):
    x = leaf(mx, [1.0, 2.0])

    def tried(write):
        z = mx.nd.zeros((2, 2))
        with mx.autograd.record():
            seen = attempt(mx, lambda: (write(z), None)[1])
            y = z * 2
        return seen, z, attempt(mx, y.backward)

    return {
        "row of numbers": tried(lambda z: z.__setitem__(0, 3)),
        "row of array": tried(lambda z: z.__setitem__(0, mx.nd.ones((2,)))),
        "row of leaf": tried(lambda z: z.__setitem__(0, x)),
        "row of value": tried(lambda z: z.__setitem__(0, x * 2)),
        "rows of value": tried(lambda z: z.__setitem__(slice(0, 2), x * 2)),
        "all": tried(lambda z: z.__setitem__(slice(None), x * 2)),
    }


@script
def boolean_mask(mx):
    x = leaf(mx, _TABLE)
    with mx.autograd.record():
        y = mx.nd.contrib.boolean_mask(x, mx.nd.array([1, 0, 1]))
        z = y * y
    z.backward()
    first = [z, x.grad.copy()]
    with mx.autograd.record():
        z = mx.nd.contrib.boolean_mask(x * 2, mx.nd.array([0, 1, 0])).sum() + x.sum()
    z.backward()
    return first, x.grad


@script
def gather_and_scatter(mx):
    nd = mx.nd
    where = nd.array([[0, 2, 0], [1, 3, 1]])
    return {
        "gather_nd": _gradient(mx, lambda x: nd.gather_nd(x, where)),
        "scatter_nd": _gradient(
            mx, lambda x: nd.scatter_nd(x, nd.array([[0, 2]]), shape=(3,)), [1, 2]
        ),
        "where": _gradient(mx, lambda x: nd.where(x > 1, x * 2, x * 3)),
        "one_hot": _gradient(mx, lambda x: nd.one_hot(nd.array([0, 2, 1]), 4) * x),
        "topk": _gradient(mx, lambda x: nd.topk(x * x, k=2, ret_typ="value")),
        "sort": _gradient(mx, lambda x: nd.sort(x * -1)),
        "max": _gradient(mx, lambda x: x.max(axis=1)),
        "norm": _gradient(mx, lambda x: x.norm() + 0),
        "maximum": _gradient(mx, lambda x: nd.maximum(x, 1)),
        "clip": _gradient(mx, lambda x: x.clip(0.5, 2)),
        "sequence_mask": _gradient(
            mx, lambda x: nd.SequenceMask(x, nd.array([1, 2, 3, 0]), use_sequence_length=True)
        ),
    }
