"""Questions to ``mx.nd``, on both sides: statements, then an expression after the last ``;``.

Every question starts with fresh arrays x (2, 3), y (2, 3, 4), w (4,) in float32, i (3,) in int32,
and z of shape (), in a namespace with mx, nd and np.
"""

from __future__ import annotations

from typing import Any

CREATION = """
nd.array([1, 2])
nd.array(3)
nd.array(np.float64(3))
nd.array(np.arange(3))
nd.array(np.arange(3.0))
nd.array(np.array([True]))
nd.array([True])
nd.array(i)
nd.array(i, dtype="int8")
nd.array([])
nd.array([[], []])
nd.array("a")
nd.array(None)
nd.array([[1], [1, 2]])
nd.array((1, 2), dtype="int64")
nd.array([1], dtype=bool)
nd.array([1.7], dtype=int)
nd.array([1.5], dtype=float)
nd.array(range(3))
nd.array(np.zeros((2, 0)))
nd.array(1 + 2j)
nd.array([44], dtype="uint8")
nd.array([1, 2], ctx=mx.cpu(1))
nd.zeros(3)
nd.zeros((2,), dtype="int32")
nd.zeros([2, 3])
nd.zeros((-1, 2))
nd.zeros((2, 2), stype="default")
nd.zeros((2,), "cpu")
nd.zeros((2,), dtype="foo")
nd.zeros((2,), foo=3)
nd.zeros("a")
nd.zeros(2.5)
nd.zeros(np.int64(3))
nd.zeros((2,), out=nd.ones((2,)))
nd.zeros((2, 2), mx.cpu(1), "int32")
nd.ones(3)
nd.ones((2,), dtype=np.int8)
nd.full((2,), 3)
nd.full((2,), 3, dtype="int32")
nd.full((2,), np.array([1, 2]))
nd.full((2,), 3.7, dtype=int)
nd.full((2, 3), x)
nd.full((2,), 3, out=nd.zeros((2,)))
nd.empty((2, 3), dtype="int64").shape
nd.arange(3)
nd.arange(1, 3)
nd.arange(0, 6, step=2, repeat=2)
nd.arange(3, dtype="int32")
nd.arange(5, 1, -2)
nd.arange(0, 1, 0.3)
nd.arange(0)
nd.arange(3, 1)
nd.arange(3, ctx=mx.cpu(1))
nd.eye(3)
nd.eye(2, 3, 1)
nd.eye(N=2, M=0, k=0, dtype="int32")
nd.eye((2, 3))
nd.linspace(0, 1, 5)
nd.linspace(0, 1, 5, endpoint=False)
nd.linspace(0, 1, 1)
nd.linspace(0, 10, 3, dtype="int32")
nd.linspace(2, 3, num=3, dtype="float64")
nd.linspace(2, 3, -1)
nd.moveaxis(y, 0, -1)
nd.moveaxis(y, [0, 1], [-1, -2])
nd.moveaxis(y, (2, 0), (0, 1))
nd.moveaxis(y, 5, -1)
nd.moveaxis(y, 0, 5)
nd.moveaxis(y, (0, 0), (0, 1))
nd.moveaxis(y, (0, 1), (0,))
nd.concatenate([nd.ones((1, 2)), nd.zeros((2, 2))])
nd.concatenate([x], always_copy=False) is x
nd.concatenate([nd.ones((2, 1)), nd.zeros((2, 2))], axis=1)
nd.concatenate([])
nd.concatenate(x)
nd.onehot_encode(nd.array([0, 2]), nd.zeros((2, 3)))
nd.onehot_encode(3, x)
nd.zeros_like(i)
nd.ones_like(i)
nd.from_numpy(np.zeros((2,)))
nd.from_dlpack(x.to_dlpack_for_read())
nd.split_v2(w, 2)
nd.split_v2(w, (1, 3))
nd.split_v2(w, 1)
nd.split_v2(x, 2, axis=1)
nd.split_v2(x, "a")
nd.histogram(w, 3)
nd.histogram(w, nd.array([0, 2, 5]))
nd.histogram(w, 3, (0, 3))
"""

ARITHMETIC = """
x + 1
x + i
i + 1.5
i * 2.5
1 - i
i / 2
2 / i
i % 2
7 % i
i ** 2
2 ** i
-i
abs(-x)
x == x
x == 1
x != None
x == "a"
x + "a"
x + None
"a" + x
x < 2
2 > x
x <= nd.array([0, 1, 5])
x >= i
x + np.float32(1)
np.float32(2) * x
np.float64(2) * x
np.int32(2) - x
np.ones(3) + x
x + np.ones(3)
x + True
x @ x
x // 2
divmod(x, 2)
x & 1
~x
x + nd.ones((3,))
x + nd.ones((1, 3))
x + nd.ones((2,))
x + nd.ones((1,))
i / nd.array([2, 2, 2], dtype="int32")
sum([x, x])
max(nd.array([2]), nd.array([1]))
nd.ones((1, 2), ctx=mx.cpu(0)) + nd.ones((1, 2), ctx=mx.cpu(1))
k = x; x += 1; (x is k, x)
k = x; x += nd.ones((1, 3)); (x is k, x)
x += nd.ones((3, 3))
x -= x; x
x *= 2; x
x /= 2; x
x %= 2; x
k = x; x **= 2; (x is k, k, x)
x += i
v = x[0]; v += 1; x
v = x[0]; v += nd.ones((2, 3))
x += np.ones(3)
i += 1.5; i
nd.maximum(3, 4)
nd.maximum(x, 1)
nd.maximum(1, x)
nd.minimum(x, nd.array([1, 1, 1]))
nd.add(1, 2)
nd.add(x, "a")
nd.add("a", "b")
nd.power(2, x)
nd.power(2, 3)
nd.true_divide(x, 2)
nd.divide(2, i)
nd.modulo(7, x)
nd.equal(1, 1)
nd.equal(x, 1)
nd.not_equal(x, x)
nd.greater(3, x)
nd.greater_equal(3, x)
nd.lesser(3, x)
nd.lesser_equal(3, x)
nd.subtract(3, x)
nd.multiply(x, x)
nd.logical_and(x, 1)
nd.logical_and(1, 0)
nd.logical_or(x, 0)
nd.logical_xor(x, 1)
nd.add(nd.ones((2, 1)), nd.ones((1, 2)))
nd.subtract(i, x)
"""

METHODS = """
bool(x)
bool(nd.array([0]))
bool(nd.array(0))
len(x)
len(z)
list(x)
list(z)
x.asscalar()
nd.array([3]).asscalar()
i[1].asscalar()
hash(x) == hash(x)
x.T
y.T.shape
x.writable
x.stype
x.tostype("default")
x.copy()
x.as_in_context(mx.cpu(1))
x.as_in_context(mx.cpu(0)) is x
x.copyto(mx.cpu(1))
x.copyto(nd.zeros((2, 3), dtype="int32"))
x.copyto(nd.zeros((3, 2)))
x.copyto(3)
k = nd.zeros((2, 3)); x.copyto(k) is k
x.astype("float32") is x
x.astype("float32", copy=False) is x
x.astype(np.int32)
x.astype("foo")
x.astype(int).dtype
x.astype(float).dtype
x.astype(np.dtype("float16")).dtype
nd.array([300]).astype("uint8")
nd.array([-1.5]).astype("uint8")
nd.array([0, 2]).astype("bool")
x.detach() is x
v = x.detach(); v[0] = 9; x
x.wait_to_read()
x.asnumpy().flags.writeable
x.reshape(3, 2)
x.reshape((-1,))
x.reshape(6)
x.reshape((0, -1))
x.reshape((-2, 1))
x.reshape((-3,))
x.reshape((-4, 1, 2, 0))
x.reshape((4, 2))
x.reshape((2, 2))
x.reshape((0, 0), reverse=True)
x.reshape((-1, 0), reverse=True)
x.reshape(shape=(3, 2))
x.reshape((3, 2), foo=1)
x.reshape(())
nd.array([1]).reshape(())
x.reshape((-1, -1))
x.reshape([3, 2])
x.reshape("a")
x.reshape((2.0, 3))
x.reshape((0, 0, 0))
y.reshape((-3, 0)).shape
y.reshape((0, -3)).shape
y.reshape((0, -4, 3, -1, 0)).shape
y.reshape((-1, 0), reverse=True).shape
y.reshape((-5,))
y.reshape((-4, 2, 2, 0))
y.reshape((-3, -3))
v = x.reshape((3, 2)); v[1] = 9; x
v = x[1].reshape((3, 1)); v[:] = 9; x
x.size
x.ndim
x.shape
x.dtype
x.context
repr(z)
repr(nd.array([]))
str(x)
repr(nd.array([1, 2], dtype="int64", ctx=mx.cpu(2)))
repr(nd.arange(2000))
repr(nd.array([1e-10, 1]))
repr(nd.array([True], dtype=bool))
repr(y)
x.sum()
x.sum(axis=0)
x.sum(0)
x.max()
x.mean(axis=1, keepdims=True)
x.norm()
x.argmax(axis=1)
x.slice_axis(axis=0, begin=0, end=1)
x.clip(1, 2)
x.flatten()
x.expand_dims(0)
x.swapaxes(0, 1)
x.transpose()
x.transpose((1, 0))
x.take(nd.array([0]))
x.one_hot(3)
x.tile((2,))
x.repeat(2)
x.split(3, axis=1)
x.split(num_outputs=3, axis=1, squeeze_axis=True)
x.split_v2(3, 1)
nd.ones((1, 3)).broadcast_to((2, 3))
nd.ones((1, 3)).broadcast_to((2, 2))
nd.ones((3,)).broadcast_to((2, 3))
nd.ones((1, 3)).broadcast_like(x)
x.reshape_like(nd.zeros((3, 2)))
k = x.slice_assign(nd.zeros((1, 3)), (0, 0), (1, 3), ()); (k is x, x)
k = x.slice_assign_scalar(5, (0, 0), (1, 2), ()); (k is x, x)
x.topk()
x.argsort()
x.diag()
x.flip(axis=1)
x.slice((0, 0), (1, 2))
x.zeros_like()
x.round()
x.as_nd_ndarray() is x
x.sum(out=nd.zeros((1,)))
x.nope
nd.NDArray(3)
"""

INDEXING = """
y[0]
y[-1]
y[5]
y[-3]
y[0, 1]
y[0, 1, 2]
y[0, 1, 2, 3]
y[0:1]
y[1:]
y[:]
y[...]
y[()]
y[0, 1:3]
y[0, 1:2, 0:2]
y[:, 0]
y[:, 0:1]
y[:, :, 0]
y[:, :, 1:3]
y[::2]
y[::-1]
y[1, ::-1]
y[:, 2:0:-1, ::3]
y[1:1]
y[5:7]
y[None]
y[None, 0]
y[0, None]
y[0, 0, 0, None]
y[..., 0]
y[..., None]
y[0, ...]
y[0, ..., 1]
y[None, ..., None]
y[..., ...]
y[[0, 1]]
y[[1, 0]]
y[[[0, 1], [1, 0]]]
y[np.array([0, 1])]
y[nd.array([0, 1])]
y[nd.array([0, 1], dtype="int32")]
y[[0, 1], [1, 2]]
y[:, [0, 2]]
y[[0, 1], :, [1, 2]]
y[0, :, [1, 2]]
y[0, [1, 2]]
y[:, 1, [1, 2]]
y[1:, [0, 1], 1:3]
y[:, None, [0, 1]]
y[[0, 1], ...]
y[..., [0, 2]]
y[[1, 0], ..., [0, 2]]
y[None, [1, 0], ...]
y[None, [0, 1], None, [1, 2], None]
y[[1, 0], None]
y[[1, 0], ..., None]
y[(1, 0), ...]
y[..., (0, 2)]
y[(1, 0), (2, 0)]
y[nd.arange(2), nd.arange(2)]
y[nd.array([0, 1]) > 0]
y[np.array([True, False])]
y[[True, False]]
y[True]
y["a"]
y[1.5]
y[np.int64(1)]
y[nd.array([1])]
y[0, 5]
y[:, 5]
y[[5]]
y[[-1]]
y[range(2)]
z[()]
z[:]
z[0]
w[0]
w[1:2]
w[w > 0]
v = y[0]; v[:] = -7; y
v = y[0, 1:3]; v[:] = -7; y
v = y[0, 1, 2]; v[:] = -7; y
v = y[0, 2, 1:3]; v[:] = -7; y
v = y[0:1, 0:2]; v[:] = -7; y
v = y[1, 0:3, 0:3]; v[:] = -7; y
v = y[:, 0]; v[:] = -7; y
v = y[[0]]; v[:] = -7; y
v = y[None]; v[:] = -7; y
v = y[..., None]; v[:] = -7; y
v = y[::2]; v[:] = -7; y
v = y[::-1]; v[:] = -7; y
v = y[...]; v[:] = -7; y
v = y[1][0:2][1]; v[:] = -7; y
v = y[1]; y[:] = 3; v
v = y[1]; y[1, 0] = 3; v
"""

ASSIGNMENT = """
y[0] = 1; y
y[0] = nd.ones((3, 4)); y
y[0] = np.ones((3, 4)); y
y[0] = [1, 2, 3, 4]; y
y[:] = nd.ones((4,)); y
y[:] = nd.ones((2, 3, 4), dtype="int32"); y
y[:] = 1.5; y
i[:] = 1.5; i
i[0] = -1.5; i
y[0] = nd.ones((2, 3))
y[0] = np.ones((2, 3))
y[...] = 1; y
y[[1], ...] = -1; y
y[..., (0, 2)] = -1; y
y[None, [1], None, [0]] = -1; y
y[()] = 1; y
y[None] = 1; y
y[0, 1] = 5; y
y[0, 1, 2] = 5; y
y[:, 0] = 5; y
y[:, 0] = nd.array([1, 2, 3, 4]); y
y[:, :, ::2] = 7; y
y[:, ::-2, 1:3] = nd.arange(8).reshape((2, 2, 2)); y
y[::-1] = nd.arange(24).reshape((2, 3, 4)); y
y[1, ::-1] = nd.arange(12).reshape((3, 4)); y
y[[0, 1]] = 3; y
y[[0, 1], [1, 2]] = 3; y
y[[0, 1], [1, 2]] = nd.ones((2, 4)); y
y[[0, 1], [1, 2]] = nd.ones((4,)); y
y[:, [0, 2]] = nd.zeros((2, 2, 4)); y
y[0, [1, 2]] = nd.zeros((2, 4)); y
y[nd.array([0, 1]) > 0] = 0; y
y[[True, False]] = 0; y
y[nd.array([1])] = 2; y
y[5] = 1
y[0, 5] = 1
y["a"] = 1
y[0] = "a"
y[0] = None; y
y[0] = nd.array([3]); y
y[0] = nd.array(3); y
y[1:1] = 3; y
y[0] = np.float64(2); y
y[0] = True; y
y[0] = nd.ones((1, 1, 3, 4)); y
y[0] = np.ones((1, 1, 3, 4)); y
y[..., None] = 2; y
y[0, None] = 2; y
y[0] = y[1]; y
y[:] = y[0]; y
y[0:1] = nd.ones((1, 3, 4), ctx=mx.cpu(1)); y
z[0] = 5
y[0] = [[1, 2, 3, 4]] * 3; y
y[0] = (1, 2, 3, 4); y
y[0] = [[1, 2], [3]]
k = nd.ones((2, 3)); x[:] = k; k[:] = 5; x
"""

CALLS = """
nd.broadcast_add(x, x, out=nd.zeros((2, 3), dtype="int32"))
nd.sum(x, out=nd.zeros((1,)))
nd.sum(x, out=nd.zeros((2,)))
nd.sum(x, out=3)
nd.sum(3)
nd.sum(np.ones(3))
nd.sum(x, foo=3)
nd.sum(x, axis="a")
nd.sum(data=x, axis=0)
nd.sum(x, name="q")
nd.sum(x, 0, True)
nd.sum(x, axis=np.int64(0))
nd.concat(x, x, dim=0)
nd.concat([x, x], dim=0)
nd.concat()
nd.Convolution(x)
nd.FullyConnected(x, x, num_hidden=2, no_bias=True)
nd.FullyConnected(x, x, num_hidden=2)
nd.FullyConnected(data=x, weight=x, num_hidden=2, no_bias=True)
nd.split(x, num_outputs=3)
nd.SliceChannel(x, num_outputs=1)
nd.add_n(x, x, x)
nd.elemwise_add(x, 1)
nd.elemwise_add(x, nd.ones((3,)))
nd.broadcast_add(x, nd.ones((3, 1)))
nd.dot(x, x)
nd.zeros_like(x, out=x); x
nd.Activation(x, act_type="foo")
nd.Activation(x, "relu")
nd.topk(x, ret_typ="both")
nd.reshape(x, (3, 2))
nd.where(x > 1, x, x * 0)
nd.clip(x, 1, 2)
nd.one_hot(i, 4, dtype=np.int32)
nd.cast(x, "int32")
nd.nope
nd.linalg.gemm2(x, x, transpose_b=True)
nd.contrib.isnan(x)
nd.contrib.isinf(nd.array([1, np.inf, np.nan]))
nd.contrib.isinf(i)
nd.contrib.isfinite(nd.array([1, np.inf, np.nan]))
nd.contrib.boolean_mask(w, w > 1)
g = nd.ones(3) * 2; m = nd.zeros(3); o = nd.BatchNorm(x, g, nd.zeros(3), m, nd.ones(3)); (o, g, m)
k = nd.ones(3); m = nd.zeros(3); o = nd.sgd_mom_update(k, k, m, lr=0.1, momentum=0.9); (k, m, o)
k = nd.ones(3); o = nd.sgd_update(k, nd.ones(3), lr=0.1, out=k); (o is k, k)
nd._internal._plus_scalar(x, scalar=2)
nd.contrib.foreach(lambda d, s: (d + s, d + s), x, nd.zeros(3))
nd.contrib.foreach(lambda d, s: ([d, d * 2], s), x, [nd.ones(1)])
nd.contrib.foreach(lambda d, s: (d[0] + d[1], s), [x, x], [nd.ones(1)])
nd.contrib.foreach(lambda d, s: ([], s), x, [nd.ones(1)])
nd.contrib.foreach(lambda d, s: (d, s), 3, [nd.ones(1)])
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), nd.ones(1), max_iterations=2)
nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i + 1), [nd.ones(1)], max_iterations=2)
nd.contrib.while_loop(lambda i: i < 3, lambda i: ([], i + 1), nd.ones(1), max_iterations=3)
nd.contrib.while_loop(lambda i: i < 3, lambda i: (None, i + 1), nd.ones(1), max_iterations=3)
nd.contrib.while_loop(lambda i: i < 0, lambda i: (None, i + 1), nd.ones(1), max_iterations=3)
nd.contrib.while_loop(lambda i: i < 0, lambda i: (i, i + 1), (nd.ones(1),), max_iterations=2)
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), (nd.ones(1),), max_iterations=0)
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), nd.ones(1))
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, [i, i]), [nd.ones(1)], max_iterations=3)
nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), [], max_iterations=3)
nd.contrib.cond(x.sum() > 0, lambda: x, lambda: x * 2)
nd.contrib.cond(nd.ones(2), lambda: x, lambda: x)
"""

DIFFERENT = """
nd.zeros(())
nd.zeros((0, 2))
nd.array([]) + 1
nd.array([]).copy()
nd.random.uniform(0, 1, shape=(0,))
z + 1
z[...]
z[None]
z[:] = 5; z
y[[]]
y[nd.array(1)]
nd.array([1], dtype=np.uint16)
nd.array([1], dtype="bfloat16")
x.attach_grad()
float(nd.array([2.5]))
[1, 2][nd.array([1], dtype="int32")]
nd.array([3]).item()
np.asarray(x).dtype
x.as_in_ctx(mx.cpu(0)) is x
x.slice_assign_scalar(5, (0, 0), (1, 2))
nd.contrib.foreach(lambda d, s: (d, s), [x, nd.ones((3, 1))], [nd.ones(1)])
nd.concatenate([nd.ones((1, 2)), nd.zeros((2, 2), dtype="int32")])
"""

RANDOM = """
nd.random_uniform(shape=3).shape
nd.random_uniform(shape=(2,), ctx="cpu(1)").context
nd.random_uniform(shape=(2,), ctx=mx.cpu(1)).context
nd.random_uniform(shape=(2,), dtype="float64").dtype
nd.uniform(0, 1, (2,)).shape
nd.normal(0, 1, (2,)).shape
nd.random.uniform(0, 1, (2,)).shape
nd.random.uniform(nd.array([0, 1]), nd.array([1, 2])).shape
nd.random.uniform(nd.array([0, 1]), nd.array([1, 2]), shape=3).shape
nd.random.uniform(0, nd.array([1.0]))
nd.random.uniform(0, 1).shape
k = nd.zeros((2,)); nd.random.uniform(shape=(2,), out=k) is k
nd.random.uniform("a")
nd.random.uniform(0, 1, foo=3)
nd.random.uniform(0, 1, dtype="int32")
nd.random.uniform(0, 1, (2,), "float64", mx.cpu(1)).context
nd.random.uniform(nd.array([0, 1]), nd.array([2, 3]), dtype="float64").dtype
nd.random.uniform_like(x).shape
nd.random.randint(0, 5, shape=(3,)).dtype
nd.random.randint(0, 5).shape
nd.random.randint(0, 5, shape=(3,), dtype="int64").dtype
nd.random.randint(0.5, 5)
nd.random.randint(nd.array([0]), 5)
nd.random.randn(2, 3).shape
nd.random.randn(2, 3, loc=5, scale=0.1, dtype="float64").dtype
nd.random.normal(shape=(2,), dtype="float16").dtype
nd.random.normal(nd.array([0.0]), nd.array([1.0])).shape
nd.random.exponential(2, shape=(2,)).shape
nd.random.exponential(nd.array([1.0, 2.0])).shape
nd.random.gamma(2, 3, shape=(2,)).shape
nd.random.gamma(nd.array([1.0]), nd.array([1.0])).shape
nd.random.poisson(3, shape=2).dtype
nd.random.negative_binomial(3, 0.5, shape=(2,)).dtype
nd.random.generalized_negative_binomial(3, 0.5, shape=(2,)).shape
nd.random.multinomial(nd.array([0.1, 0.9])).dtype
nd.random.multinomial(nd.array([0.1, 0.9]), shape=4).shape
nd.random.multinomial(nd.array([[0.1, 0.9], [0.5, 0.5]]), shape=(2, 3)).shape
nd.random.multinomial(nd.array([0.0, 1.0]), get_prob=True)
nd.random.shuffle(x).shape
mx.random.seed(3)
mx.random.seed("a")
mx.random.seed(1.5)
mx.random.seed(-1)
mx.random.seed(2 ** 40)
mx.random.seed(1, ctx=mx.cpu(0))
mx.random.seed(1, ctx="foo")
mx.random.uniform(0, 1, (2,)).shape
"""

THEMES = {
    "creation": CREATION,
    "arithmetic": ARITHMETIC,
    "methods": METHODS,
    "indexing": INDEXING,
    "assignment": ASSIGNMENT,
    "calls": CALLS,
    "random": RANDOM,
    "different": DIFFERENT,
}


def questions(theme: str) -> list[str]:
    return THEMES[theme].strip().splitlines()


def describe(result: object, nd: Any, np: Any) -> list[Any]:
    """A result in JSON: arrays with everything about them, other things by their printed form."""
    if isinstance(result, nd.NDArray):
        host = result.asnumpy()
        name = np.dtype(result.dtype).name
        values = [repr(v) for v in host.reshape(-1).tolist()]
        return ["array", list(result.shape), name, str(result.context), values]
    if isinstance(result, list | tuple):
        return [type(result).__name__, [describe(r, nd, np) for r in result]]
    if isinstance(result, np.generic):
        return ["scalar", result.dtype.name, repr(result.item())]
    if isinstance(result, type):
        return ["value", result.__name__]
    return ["value", repr(result)]


def ask(question: str, mx: Any, np: Any) -> list[Any]:
    """The answer to a question; for an error, the names of its class and those above it."""
    nd = mx.nd
    names = {
        "mx": mx,
        "nd": nd,
        "np": np,
        "x": nd.arange(6).reshape((2, 3)),
        "y": nd.arange(24).reshape((2, 3, 4)),
        "w": nd.arange(4),
        "i": nd.array([1, 2, 3], dtype="int32"),
        "z": nd.array(3),
    }
    statements, _, last = question.rpartition("; ")
    try:
        exec(statements, names)
        try:
            code = compile(last, question, "eval")
        except SyntaxError:
            exec(last, names)
            return ["value", "None"]
        return describe(eval(code, names), nd, np)
    except Exception as error:
        return ["error", [c.__name__ for c in type(error).__mro__ if c not in (Exception, object)]]
