# ruff: noqa: E501 - a question is a line
"""Questions about small names that scripts use, on both sides: statements, then an expression.

Every question starts in a namespace with mx, nd, np, ``text`` (``contrib.text``), ``vocab`` (a
vocabulary of the counter ``C``), ``path(text)`` and ``custom(text)`` (a new file, and its
embedding), ``Double`` and ``Pair`` (operators in Python), and ``called(optimizer's class)``.
"""

from __future__ import annotations

import collections
import importlib
import tempfile
import warnings
from pathlib import Path
from typing import Any

ARRAYS = """
nd.empty(np.array([2, 3])).shape
nd.full(np.array([2, 3]), 1)
x = nd.arange(6).reshape((1, 2, 3)); a = x.flatten(inplace=True); x[:] = 7; a
x = nd.arange(6).reshape((1, 2, 3)); a = x.squeeze(inplace=True); x[:] = 7; a
x = nd.arange(6).reshape((1, 2, 3)); a = x.expand_dims(-1, inplace=True); x[:] = 7; a
nd.ones((1, 2, 1)).squeeze(0, inplace=True).shape
nd.ones((1, 2, 1)).squeeze((0, -1), inplace=True).shape
nd.ones((1, 2, 1)).squeeze(1, inplace=True)
nd.ones((1, 2, 1)).squeeze(5, inplace=True)
nd.ones((1, 2, 1)).squeeze((0, 0), inplace=True)
nd.ones((1, 1)).squeeze(inplace=True).shape
nd.ones((2,)).expand_dims(1, inplace=True).shape
nd.ones((2,)).expand_dims(3, inplace=True)
nd.ones((3,)).flatten(inplace=True).shape
nd.from_numpy(np.ones((2, 3), order="F"))
nd.from_numpy(np.ones((4, 3))[::2])
nd.from_numpy(np.ones((2, 3)).T, zero_copy=False)
nd.from_numpy(np.ones((2, 3))).dtype
nd.from_dlpack(nd.to_dlpack_for_read(nd.array([[1, 2]])))
c = nd.to_dlpack_for_read(nd.ones((1,))); nd.from_dlpack(c); nd.from_dlpack(c)
nd.from_dlpack(3)
nd.power(base=2, exp=nd.array([1, 2]))
nd.power(nd.array([1, 2]), exp=2)
x = nd.NDArray(None); x.__setstate__({"handle": bytearray(b"\\xc9\\xfa\\x93\\xf9\\0\\0\\0\\0\\1\\0\\0\\0\\2\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\x80?\\0\\0\\0@")}); x
nd.sparse.dot(nd.ones((2, 2)), nd.ones((2, 2)))
nd.sparse.zeros("default", (2,))
nd.sparse.add(nd.ones((2,)), 1)
nd.sparse.array(nd.ones((2,)))
isinstance(nd.ones((2,)), nd.sparse.CSRNDArray)
mx.sym.sparse.dot(mx.sym.var("a"), mx.sym.var("b"), name="d").list_arguments()
nd.ndarray.NDArray is nd.NDArray
mx.optimizer.optimizer.SGD is mx.optimizer.SGD
mx.io.io.DataBatch is mx.io.DataBatch
"""

UTILITIES = """
mx.util.set_np_shape(True), mx.util.set_np_shape(False), mx.is_np_shape()
mx.util.set_np_shape("a")
mx.use_np_shape(mx.is_np_shape)()
mx.use_np_shape(3)
mx.util.is_np_array()
mx.util.set_np(False, True)
mx.util.getenv("NO_SUCH_VARIABLE")
mx.util.get_gpu_count()
mx.util.get_cuda_compute_capability(mx.cpu())
mx.util.np_ufunc_legal_option("casting", "no"), mx.util.np_ufunc_legal_option("zz", 1)
mx.runtime.Features().is_enabled("cuda")
mx.runtime.Features().is_enabled("zz")
list(mx.runtime.Features())
mx.engine.set_bulk_size(7); mx.engine.set_bulk_size(9)
mx.log.get_logger() is mx.log.getLogger()
mx.library.load("nope.so")
mx.base._as_list((1, 2)), mx.base._as_list(3), mx.base._as_list("ab"), mx.base._Null
mx.base.build_param_doc(["a", "b", "a"], ["int", "float", "int"], ["A", "", "C"])
mx.base.register_error("Own", ValueError)
misc = importlib.import_module(mx.__name__ + ".misc"); [misc.FactorScheduler(10, 0.5)(i) for i in (0, 9, 10, 20)]
misc = importlib.import_module(mx.__name__ + ".misc"); misc.FactorScheduler(0)
misc = importlib.import_module(mx.__name__ + ".misc"); misc.FactorScheduler(1, 1)
misc = importlib.import_module(mx.__name__ + ".misc"); misc.LearningRateScheduler()(1)
mx.Context.default_ctx = mx.cpu(3); c = mx.current_context(); mx.Context.default_ctx = mx.cpu(0); (c, mx.current_context())
mx.AttrScope.current = mx.AttrScope(x="1"); a = mx.sym.var("q").list_attr(); mx.AttrScope.current = mx.AttrScope(); a
mx.name.NameManager.current = mx.name.Prefix("p_"); n = mx.sym.relu(mx.sym.var("a")).name; mx.name.NameManager.current = mx.name.NameManager(); n
mx.kvstore.base.TestStore.is_capable("optimizer")
mx.kvstore.base.TestStore.is_capable("zz")
a = [nd.array([3.0, 4.0]), nd.array([[12.0]])]; n = mx.gluon.utils.clip_global_norm(a, 1.0); (n, a)
a = [nd.array([3.0, 4.0])]; n = mx.gluon.utils.clip_global_norm(a, 10.0, check_isfinite=False); (n, a)
mx.gluon.utils.clip_global_norm([], 1.0)
mx.gluon.utils.clip_global_norm([nd.array([1], dtype="int32")], 1.0)
mx.gluon.utils.split_data(nd.arange(7), 3, even_split=False)
mx.gluon.utils.split_data(nd.arange(7), 3)
mx.gluon.utils.split_data(np.ones((2, 4)), 2, batch_axis=1)[1].shape
[x.shape for x in mx.gluon.utils.split_data(nd.ones((2, 2)), 4, even_split=False)]
mx.gluon.utils.split_and_load([[1, 2], [3, 4]], [mx.cpu(0), mx.cpu(1)])
f = path("hi"); mx.gluon.utils.check_sha1(f, "c22b5f9178342609428d6f51b2c5af4c0bde6a42")
f = path("hi"); mx.gluon.utils.download("http://localhost:1/x", path=f) == f
mx.gluon.utils.download("http://localhost:1/x", path="no_such_file", retries=0)
mx.gluon.utils.download("http://localhost:1/")
mx.gluon.utils.download("http://localhost:1/x", retries=-1)
mx.gluon.utils.shape_is_known((1, 0)), mx.gluon.utils.shape_is_known(None), mx.gluon.utils.shape_is_known(())
mx.gluon.utils.shape_is_known((-1,))
it = mx.io.NDArrayIter(np.arange(8).reshape(4, 2), np.arange(4), 2); it.data = [("q", nd.ones((4, 3)))]; it.label = []; ([d.name for d in it.provide_data], it.next().data, it.next().label)
"""

OPERATORS = """
s = Double()(mx.sym.var("x"), name="n"); (s.list_arguments(), s.list_outputs(), s.infer_shape(x=(2, 3)))
Double()(mx.sym.var("x")).name[:7], Pair()(mx.sym.var("x")).name[:8]
Double()(name="w").list_arguments()
Double()(zz=mx.sym.var("x"))
Double()(mx.sym.var("x"), mx.sym.var("y"))
Double()(mx.sym.var("x"), name="n").infer_type(x="float64")
ex = Double()(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.array([1, 2])}, {"x": nd.zeros(2)}); y = ex.forward(is_train=True)[0].copy(); ex.backward(nd.array([3, 4])); (y, ex.grad_dict["x"])
ex = Double(False)(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.array([1, 2])}, {"x": nd.zeros(2)}); ex.forward(is_train=True); ex.backward(); ex.grad_dict["x"]
ex = Pair()(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.array([1, 2])}, {"x": nd.zeros(2)}); y = [o.copy() for o in ex.forward(is_train=True)]; ex.backward([nd.ones(2), nd.ones(2) * 5]); (y, ex.grad_dict["x"])
mx.operator.NDArrayOp().declare_backward_dependency([0, 1], [2], [3, 4])
mx.operator.NDArrayOp(False).declare_backward_dependency([0, 1], [2], [3, 4])
mx.operator.PythonOp().get_symbol()
n = mx.operator.NumpyOp(); (n.infer_shape([(2, 3)]), n.list_arguments(), n.list_outputs(), n.need_top_grad())
n = mx.operator.NumpyOp(); z = [np.zeros(2)]; n.backward([], [], [], z); z[0].tolist()
mx.operator.get_operator_arguments("Activation").names
mx.operator.get_operator_arguments("nope")
[called(mx.optimizer.Adam), called(mx.optimizer.SGD), called(mx.optimizer.NAG), called(mx.optimizer.LARS), called(mx.optimizer.LAMB)]
[called(mx.optimizer.Signum), called(mx.optimizer.LBSGD), called(mx.optimizer.ccSGD), called(mx.optimizer.DCASGD), called(mx.optimizer.Test)]
mx.optimizer.SGD().set_lr_scale({})
together(mx.optimizer.SGD), together(mx.optimizer.NAG), together(mx.optimizer.Adam)
"""

WORDS = """
sorted(text.utils.count_tokens_from_str(" Life is great ! \\n life is good . \\n", to_lower=True).items())
c = collections.Counter(a=1); text.utils.count_tokens_from_str("a b", counter_to_update=c); sorted(c.items())
sorted(text.utils.count_tokens_from_str("a;b|c", ";", "c").items())
sorted(text.utils.count_tokens_from_str("aBXb", "X", to_lower=True).items())
vocab.idx_to_token, vocab.token_to_idx, vocab.unknown_token, vocab.reserved_tokens, len(vocab)
V(C, most_freq_count=2).idx_to_token
V(C, most_freq_count=0).idx_to_token
V(C, most_freq_count=-1).idx_to_token
V(C, min_freq=2).idx_to_token
V(C, unknown_token="b").idx_to_token
V(C, unknown_token="<u>", reserved_tokens=["<pad>", "b"]).idx_to_token
V(C, min_freq=0)
V(C, reserved_tokens=["a", "a"])
V(C, reserved_tokens=["<unk>"])
V({"a": 1})
V().idx_to_token
vocab.to_indices("c"), vocab.to_indices(["c", "zz"]), vocab.to_indices([])
vocab.to_tokens(1), vocab.to_tokens([0, 1])
vocab.to_tokens(100)
vocab.to_tokens([1.0])
e = custom("a 0.1 0.2\\nb 1 2\\nb 5 6\\n"); (e.idx_to_token, e.vec_len, e.idx_to_vec, e.unknown_token, e.reserved_tokens)
e = custom("a 1 2\\nb 3 4\\n"); (e.get_vecs_by_tokens("a"), e.get_vecs_by_tokens(["A", "b"]), e.get_vecs_by_tokens(["A", "b"], lower_case_backup=True))
e = custom("a 1 2\\nb 3 4\\n"); e.update_token_vectors(["a", "b"], nd.ones((2, 2))); e.idx_to_vec
e = custom("a 1 2\\n"); e.update_token_vectors("zz", nd.ones((2,)))
e = custom("a 1 2\\n"); e.update_token_vectors("a", nd.ones((3,)))
custom("2 2\\na 1 2\\n").idx_to_token
custom("a 1 2\\nb 1\\nc 1 2 3\\n")
custom("a 1 2\\n\\nb 1 2\\n")
custom("<unk> 1 2\\na 3 4\\n").idx_to_vec
custom("a 3 x\\n")
custom("a|3|4\\n", elem_delim="|", init_unknown_vec=nd.ones).idx_to_vec
text.embedding.CustomEmbedding("/no/such/file")
e = custom("a 1 2\\nb 3 4\\n", vocabulary=V(collections.Counter("bq"), reserved_tokens=["a"])); (e.idx_to_token, e.idx_to_vec, e.reserved_tokens)
text.embedding.CompositeEmbedding(V(collections.Counter("ab")), [custom("a 1 2\\n"), custom("b 3 4\\n")]).idx_to_vec
text.embedding.CompositeEmbedding(3, custom("a 1 2\\n"))
text.embedding.get_pretrained_file_names("glove")
text.embedding.get_pretrained_file_names("nope")
text.embedding.create("nope")
text.embedding.create("glove", pretrained_file_name="nope")
"""

GRADIENTS = """
svrg("sgd", 5)
svrg("adam", 6)
svrg("sgd", 5, update_freq=0)
svrg("sgd", 5, update_freq=None)
"""

SHAPES = """
merged("1"), merged("0")
numpy_shapes("infer_shape", fc, d=(2, 4))
numpy_shapes("infer_shape", fc, d=(-1, 4))
numpy_shapes("infer_shape_partial", fc, d=(-1, 4))
numpy_shapes("infer_shape_partial", mx.sym.var("x", shape=(-1, 2)))
numpy_shapes("infer_shape_partial", mx.sym.var("x"))
numpy_shapes("infer_shape", mx.sym.var("x") + mx.sym.var("y"), x=(), y=())
numpy_shapes("infer_shape_partial", mx.sym.var("x") + mx.sym.var("y"), x=(-1, 3), y=(2, -1))
numpy_shapes("infer_shape", mx.sym.sum(mx.sym.var("x")), x=(2, 3))
fc.infer_shape_partial(d=(0, 4))
"""

THEMES = {
    "shapes": SHAPES,
    "arrays": ARRAYS,
    "utilities": UTILITIES,
    "operators": OPERATORS,
    "words": WORDS,
    "gradients": GRADIENTS,
}


def questions(theme: str) -> list[str]:
    """The questions of a theme."""
    return THEMES[theme].strip().splitlines()


def _operators(mx: Any) -> tuple[type, type]:
    class Double(mx.operator.NumpyOp):
        def forward(self, in_data: Any, out_data: Any) -> None:
            out_data[0][:] = in_data[0] * 2

        def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
            in_grad[0][:] = out_grad[0] * 2 if out_grad else 7

    class Pair(mx.operator.NDArrayOp):
        def list_outputs(self) -> list[str]:
            return ["a", "b"]

        def infer_shape(self, in_shape: Any) -> Any:
            return in_shape, [in_shape[0], in_shape[0]]

        def forward(self, in_data: Any, out_data: Any) -> None:
            out_data[0][:] = in_data[0] * 2
            out_data[1][:] = in_data[0] + 1

        def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
            in_grad[0][:] = out_grad[0] * 2 + out_grad[1]

    return Double, Pair


def _called(mx: Any, cls: type) -> bool:
    """True if an updater calls the ``update`` of a subclass."""
    calls = []

    class Own(cls):  # type: ignore[misc,valid-type]
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            calls.append(index)

    Own.__name__ = f"Own{cls.__name__}"
    mx.optimizer.get_updater(Own())(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
    return bool(calls)


def _together(mx: Any, cls: type) -> Any:
    """The indices with which an updater calls a subclass's ``update_multi_precision``."""
    calls = []

    class Own(cls):  # type: ignore[misc,valid-type]
        def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            calls.append([index, isinstance(weight, list), isinstance(state, list)])
            super().update_multi_precision(index, weight, grad, state)

    Own.__name__ = f"Together{cls.__name__}"
    update = mx.optimizer.get_updater(Own(learning_rate=0.5))
    weights = [mx.nd.ones((2,)) for _ in range(6)]
    grads = [mx.nd.ones((2,)) for _ in range(6)]
    update(0, grads[0], weights[0])
    # MXNet's updater takes lists from optimizers that update several together.
    if update.aggregate_updates:
        update(list(range(6)), grads, weights)
    return [calls, weights]


def _merged(mx: Any, setting: str) -> list[str]:
    """Outputs of the optimized graph of two equal calls, under a setting of the environment."""
    x = mx.sym.var("x")
    both = mx.sym.elemwise_add(mx.sym.sin(x, name="a"), mx.sym.sin(x, name="b"), name="s")
    with mx.test_utils.environment("MXNET_ELIMINATE_COMMON_EXPR", setting):
        executor = both.simple_bind(mx.cpu(), x=(2,), grad_req="null")
        return executor.get_optimized_symbol().get_internals().list_outputs()


def _numpy_shapes(mx: Any, method: str, symbol: Any, shapes: Any) -> Any:
    """What an inference of shapes answers under NumPy's meaning of shapes."""
    with mx.np_shape():
        return getattr(symbol, method)(**shapes)


def _svrg(mx: Any, np: Any, optimizer: str, batch_size: int, update_freq: Any = 2) -> Any:
    """Full gradients and parameters of SVRG, in a loop and by ``fit``."""
    module_path = f"{mx.__name__}.contrib.svrg_optimization.svrg_module"
    module_class = importlib.import_module(module_path).SVRGModule
    rng = np.random.RandomState(0)
    data = rng.rand(18, 3).astype("float32")
    label = (data @ np.array([1.0, 2.0, 3.0])).astype("float32")
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(dense, mx.sym.var("lin_label"), name="lin")
    facts = []
    for loop in (True, False):
        batches = mx.io.NDArrayIter(data, label, batch_size, label_name="lin_label")
        module = module_class(net, label_names=["lin_label"], update_freq=update_freq)
        params = {"learning_rate": 0.05}
        if loop:
            module.bind(batches.provide_data, batches.provide_label)
            module.init_params(mx.init.One())
            module.init_optimizer("local", optimizer, params)
            for epoch in range(3):
                if epoch % update_freq == 0:
                    module.update_full_grads(batches)
                    facts.append([module._param_dict[0][n] for n in ("fc_weight", "fc_bias")])
                batches.reset()
                for batch in batches:
                    module.forward(batch, is_train=True)
                    module.backward()
                    module.update()
        else:
            module.fit(
                batches, eval_metric="mse", optimizer=optimizer, optimizer_params=params,
                initializer=mx.init.One(), num_epoch=3,
            )  # fmt: skip
        facts.append([module.get_params()[0][n] for n in ("fc_weight", "fc_bias")])
    return facts


def describe(result: Any, mx: Any, np: Any) -> Any:
    """A result in JSON: arrays with dtype, context and values, other things as they are printed."""
    if isinstance(result, mx.nd.NDArray):
        values = result.asnumpy().astype("float64")
        dtype = np.dtype(result.dtype).name
        return ["array", dtype, list(values.shape), values.ravel().tolist(), str(result.context)]
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, (list, tuple)):
        return [describe(r, mx, np) for r in result]
    if isinstance(result, (bool, int, float, str)) or result is None:
        return result
    return getattr(result, "__name__", str(result))


def ask(question: str, mx: Any, np: Any) -> Any:
    """The answer to a question; for an error, the names of its class and those above it."""
    text = importlib.import_module(f"{mx.__name__}.contrib.text")
    double, pair = _operators(mx)
    counter = collections.Counter(["b", "b", "a", "c", "c", "c", "word$", "d"])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def path(content: str) -> str:
            file = Path(folder) / f"{len(list(Path(folder).iterdir()))}.txt"
            file.write_text(content)
            return str(file)

        names = {
            "mx": mx, "nd": mx.nd, "np": np, "importlib": importlib, "collections": collections,
            "text": text, "V": text.vocab.Vocabulary, "C": counter, "path": path,
            "vocab": text.vocab.Vocabulary(counter), "Double": double, "Pair": pair,
            "custom": lambda t, **k: text.embedding.CustomEmbedding(path(t), **k),
            "called": lambda cls: _called(mx, cls),
            "together": lambda cls: _together(mx, cls),
            "fc": mx.sym.FullyConnected(mx.sym.var("d"), num_hidden=3, name="fc"),
            "merged": lambda setting: _merged(mx, setting),
            "numpy_shapes": lambda method, symbol, **shapes: _numpy_shapes(
                mx, method, symbol, shapes
            ),
            "svrg": lambda *args, **k: _svrg(mx, np, *args, **k),
        }  # fmt: skip
        *statements, last = question.split("; ")
        try:
            with mx.name.NameManager():
                exec("\n".join(statements), names)
                return describe(eval(last, names), mx, np)
        except Exception as error:
            above = [c.__name__ for c in type(error).__mro__ if c not in (Exception, object)]
            return {"error": above}
