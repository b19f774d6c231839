"""Layers: parameters, texts, graphs, outputs and gradients over their attributes."""

from __future__ import annotations

import inspect
import warnings

import numpy as np

from ._facts import attempt, attempts, fill, graph, numbers, script, warned

#: Shapes of inputs with one, two and three axes beside batch and channels.
_SHAPES = {1: (2, 4, 5), 2: (1, 4, 5, 4), 3: (1, 4, 3, 4, 3)}


def _described(mx, layer, shape, graphs=True):
    """Texts, parameters and graph of a layer, before and after its shapes are known."""
    held = layer.collect_params()
    facts = {
        "prefix": layer.prefix,
        "text": repr(layer),
        "parameters": [[n, p.shape, p.grad_req, _simple(p.init)] for n, p in held.items()],
    }
    if graphs:
        facts["graph"] = [
            [*node, {k: str(v).strip("()[]") for k, v in attributes.items()}]
            for *node, attributes in graph(layer(mx.sym.var("x")))
        ]
        layer.infer_shape(mx.nd.zeros(shape))
        facts["text of shapes"] = repr(layer)
        facts["shapes"] = {n: p.shape for n, p in held.items()}
    return facts


def _seen(mx, make, shape, graphs=True, head=1.0):
    """Texts, parameters, graph, outputs and gradients of a layer, plain and hybridized."""
    layer = make()
    facts = _described(mx, layer, shape, graphs)
    x = mx.nd.array(numbers("x", shape))
    layer.initialize()
    layer(x)
    fill(layer)
    before = layer(x).asnumpy()
    plain = _step(mx, layer, x, head)
    if plain[-1]:
        facts["inference"] = [_short(before), _short(layer(x).asnumpy())]
    names = "output", "gradient", "gradients", "statistics"
    facts.update(
        {name: _short(values) for name, values in zip(names, plain, strict=True) if len(values)}
    )
    fill(layer)
    layer.hybridize()
    hybrid = _step(mx, layer, x, head)
    facts["hybridized agrees"] = all(
        np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(_leaves(plain), _leaves(hybrid), strict=True)
    )
    return facts


def _step(mx, layer, x, head=1.0):
    """Output, gradients and statistics of a recorded call and its backward."""
    x.attach_grad()
    with mx.autograd.record():
        y = layer(x)
    y.backward(mx.nd.array(numbers("head", y.shape) * head, dtype=y.dtype))
    held = layer.collect_params().values()
    mx.nd.waitall()
    return (
        y.asnumpy(),
        x.grad.asnumpy(),
        [p.grad().asnumpy() for p in held if p.grad_req != "null"],
        [p.data().asnumpy() for p in held if "running" in p.name],
    )


def _leaves(step):
    output, gradient, gradients, statistics = step
    return [output, gradient, *gradients, *statistics]


def _short(values):
    """An array, or a list of arrays, as JSON with seven digits, of float64 with ten."""
    if isinstance(values, list):
        return [_short(v) for v in values]
    count = 10 if values.dtype == "float64" else 7
    digits = [float(f"{v:.{count}g}") for v in values.ravel().tolist()]
    return [values.dtype.name, np.array(digits).reshape(values.shape).tolist()]


def _simple(value):
    return value if value is None or isinstance(value, str) else type(value).__name__


def _all_seen(mx, cases):
    return {name: _seen(mx, *case) for name, case in cases.items()}


@script
def signatures_of_layers(mx):
    seen = {}
    modules = mx.gluon.nn, mx.gluon.contrib.nn, mx.gluon.contrib.cnn
    for module in modules:
        for name in sorted(vars(module)):
            layer = getattr(module, name)
            if not isinstance(layer, type) or not issubclass(layer, mx.gluon.Block):
                continue
            seen[name] = [
                [p.name, p.kind.name, None if p.default is p.empty else _text(p.default)]
                for p in inspect.signature(layer).parameters.values()
            ]
    return seen


def _text(default):
    return type(default).__name__ if type(default).__module__ != "builtins" else repr(default)


@script
def convolutions(mx):
    nn, seen = mx.gluon.nn, {}
    for axes, shape in _SHAPES.items():
        layer = getattr(nn, f"Conv{axes}D")
        seen[f"{axes} axes"] = _seen(mx, lambda layer=layer: layer(3, 2), shape)
        seen[f"{axes} axes with options"] = _seen(
            mx,
            lambda layer=layer: layer(
                2, 2, strides=2, padding=1, dilation=2, groups=2, activation="relu",
                use_bias=False, in_channels=4,
            ),
            shape,
        )  # fmt: skip
    seen["lists"] = _seen(
        mx, lambda: nn.Conv2D(2, [2, 1], [2, 1], (1, 0), activation="softsign"), (1, 2, 3, 3)
    )
    seen["prefix"] = _seen(mx, lambda: nn.Conv2D(2, 1, prefix="a_"), (1, 2, 3, 3))
    return seen


@script
def transposed_convolutions(mx):
    nn, seen = mx.gluon.nn, {}
    for axes, shape in {1: (2, 4, 3), 2: (2, 4, 3, 2), 3: (1, 4, 2, 3, 2)}.items():
        layer = getattr(nn, f"Conv{axes}DTranspose")
        seen[f"{axes} axes"] = _seen(mx, lambda layer=layer: layer(3, 2), shape)
        seen[f"{axes} axes with options"] = _seen(
            mx,
            lambda layer=layer: layer(
                2, 3, strides=2, padding=1, output_padding=1, groups=2, activation="tanh",
                use_bias=False, in_channels=4,
            ),
            shape,
        )  # fmt: skip
    seen["dilation"] = _seen(mx, lambda: nn.Conv2DTranspose(2, 2, dilation=2), (1, 2, 3, 3))
    return seen


@script
def channels_last(mx):
    """Shapes and texts; MXNet computes none of them on the CPU."""
    nn, seen = mx.gluon.nn, {}
    for name, layout in {"Conv2D": "NHWC", "Conv3D": "NDHWC"}.items():
        for suffix in ("", "Transpose"):
            for channels in (0, 4):
                layer = getattr(nn, name + suffix)(8, 3, layout=layout, in_channels=channels)
                shapes = [p.shape for p in layer.collect_params().values()]
                seen[f"{name}{suffix} {channels}"] = [repr(layer), shapes]
    return seen


@script
def poolings(mx):
    nn, seen = mx.gluon.nn, {}
    for axes, shape in _SHAPES.items():
        for kind in ("Max", "Avg"):
            layer = getattr(nn, f"{kind}Pool{axes}D")
            shape = (1, 2, *shape[2:])
            seen[f"{kind}{axes}"] = _seen(mx, layer, shape)
            seen[f"{kind}{axes} with options"] = _seen(
                mx, lambda layer=layer: layer(3, 2, 1, ceil_mode=True), shape
            )
            seen[f"Global{kind}{axes}"] = _seen(mx, getattr(nn, f"Global{kind}Pool{axes}D"), shape)
    seen["without padding"] = _seen(
        mx, lambda: nn.AvgPool2D([3, 2], None, (1, 1), count_include_pad=False), (1, 2, 4, 4)
    )
    seen["positions"] = [
        repr(nn.MaxPool2D(2, None, 0, "NCHW", True)), repr(nn.MaxPool3D(2, None, 0, True, "NCDHW")),
        repr(nn.AvgPool1D(2, None, 0, "NCW", True, False)),
        repr(nn.AvgPool2D(2, None, 0, True, "NCHW", False)), repr(nn.GlobalAvgPool2D("NHWC")),
        repr(nn.MaxPool1D(layout="NWC")), repr(nn.MaxPool2D((3, 2), (2,))),
        nn.AvgPool2D(2, None, 0, True, "NCHW", False)._kwargs,
    ]  # fmt: skip
    seen["reflection"] = _seen(mx, lambda: nn.ReflectionPad2D(1), (1, 2, 3, 3))
    seen["reflection of axes"] = _seen(
        mx, lambda: nn.ReflectionPad2D((0, 0, 0, 0, 1, 0, 0, 2)), (1, 2, 3, 3)
    )
    return seen


@script
def dense_layers(mx):
    nn = mx.gluon.nn
    return _all_seen(mx, {
        "plain": (lambda: nn.Dense(3), (2, 4)),
        "flattened": (lambda: nn.Dense(3, "tanh"), (2, 2, 3)),
        "last axis": (
            lambda: nn.Dense(3, "relu", use_bias=False, flatten=False, in_units=3), (2, 2, 3),
        ),
        "initializers": (lambda: nn.Dense(2, None, True, True, "float32", "xavier"), (2, 3)),
        "prefix": (lambda: nn.Dense(2, "sigmoid", prefix="q_"), (2, 3)),
        "no prefix": (lambda: nn.Dense(2, "sigmoid", prefix=""), (2, 3)),
        "flatten": (nn.Flatten, (2, 2, 3)),
        "dropout 0": (lambda: nn.Dropout(0), (2, 3)),
    })  # fmt: skip


@script
def dropouts(mx):
    nn, x, seen = mx.gluon.nn, mx.nd.ones((3, 4)), {}
    for name, layer in {
        "half": nn.Dropout(0.5), "axes": nn.Dropout(0.5, axes=(1,)), "all": nn.Dropout(1.0),
    }.items():  # fmt: skip
        with mx.autograd.record():
            y = layer(x).asnumpy()
        equal_rows = bool((y == y[:, :1]).all())
        seen[name] = [
            repr(layer), set(y.flat) <= {0.0, 2.0}, name != "axes" or equal_rows, layer(x),
            graph(layer(mx.sym.var("x"))),
        ]  # fmt: skip
    return seen


@script
def embeddings(mx):
    nn, x = mx.gluon.nn, mx.nd.array([[1, 4, 1], [0, 7, -3]])
    layer = nn.Embedding(5, 2)
    layer.initialize()
    fill(layer)
    with mx.autograd.record():
        y = layer(x)
    y.backward(mx.nd.array(numbers("head", y.shape)))
    gradient = layer.weight.grad().copy()
    layer.hybridize()
    return [
        repr(layer), layer.prefix, graph(layer(mx.sym.var("x"))), y, gradient, layer(x) - y,
        repr(nn.Embedding(3, 4, "float16", "ones")), nn.Embedding(3, 4, "float16")._kwargs,
    ]  # fmt: skip


@script
def sparse_embeddings(mx):
    """Texts and attributes; gradients are sparse in MXNet alone."""
    layers = (
        mx.gluon.nn.Embedding(5, 2, sparse_grad=True),
        mx.gluon.contrib.nn.SparseEmbedding(5, 2),
    )
    return [[repr(b), b.prefix, b.collect_params().keys(), b._kwargs] for b in layers]


@script
def activation_layers(mx):
    nn, shape = mx.gluon.nn, (2, 3, 2)
    names = ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    return _all_seen(mx, {
        **{name: (lambda name=name: nn.Activation(name), shape) for name in names},
        "leaky": (lambda: nn.LeakyReLU(0.3), shape),
        "prelu": (nn.PReLU, shape),
        "prelu of channels": (lambda: nn.PReLU("zeros", in_channels=3), shape),
        "elu": (nn.ELU, shape),
        "elu alpha": (lambda: nn.ELU(0.3), shape),
        "selu": (nn.SELU, shape),
        "gelu": (nn.GELU, shape),
        "swish": (nn.Swish, shape),
        "swish beta": (lambda: nn.Swish(2.5), shape),
    })  # fmt: skip


@script
def normalizations(mx):
    nn, shape = mx.gluon.nn, (2, 4, 3)
    return _all_seen(mx, {
        "batch": (nn.BatchNorm, shape),
        "batch in_channels": (lambda: nn.BatchNorm(in_channels=4, momentum=0.5), shape),
        "batch unscaled": (lambda: nn.BatchNorm(scale=False, epsilon=1e-3), shape),
        "batch uncentered": (lambda: nn.BatchNorm(center=False), shape),
        "batch axis": (lambda: nn.BatchNorm(axis=2), shape),
        "batch global": (
            lambda: nn.BatchNorm(use_global_stats=True, scale=False, center=False), shape,
        ),
        "instance": (nn.InstanceNorm, shape),
        "instance axis": (lambda: nn.InstanceNorm(2, 1e-3, False, True), shape),
        "layer": (nn.LayerNorm, shape),
        "layer axis": (lambda: nn.LayerNorm(axis=1, center=False, in_channels=4), shape),
        "layer unscaled": (lambda: nn.LayerNorm(scale=False, epsilon=1e-2), shape),
        "group": (nn.GroupNorm, shape),
        "groups": (lambda: nn.GroupNorm(2, scale=False), shape),
        "batch relu": (nn.BatchNormReLU, (2, 4, 3, 3)),
    })  # fmt: skip


@script
def requests_of_normalizations(mx):
    """Statistics have no gradient, whatever is asked for."""
    layer = mx.gluon.nn.BatchNorm(scale=False, in_channels=2)
    layer.collect_params().setattr("grad_req", "write")
    other = mx.gluon.nn.LayerNorm(scale=False, in_channels=2)
    other.collect_params().setattr("grad_req", "add")
    return [[p.grad_req for p in b.collect_params().values()] for b in (layer, other)]


@script
def contrib_layers(mx):
    nn, contrib = mx.gluon.nn, mx.gluon.contrib.nn

    def concurrent(kind, *others):
        net = kind(axis=1)
        with net.name_scope():
            net.add(nn.Dense(2), nn.Activation("relu"), *others)
        return net

    return {
        "hybrid": _seen(
            mx, lambda: concurrent(contrib.HybridConcurrent, contrib.Identity()), (2, 3)
        ),
        "plain": _seen(mx, lambda: concurrent(contrib.Concurrent), (2, 3), graphs=False),
        "identity": [repr(contrib.Identity()), contrib.Identity()(mx.nd.ones((2,)))],
        "sync": _seen(mx, lambda: contrib.SyncBatchNorm(num_devices=1), (2, 3, 2)),
        "sync in_channels": _seen(
            mx, lambda: contrib.SyncBatchNorm(3, 1, 0.5, scale=False, center=False), (2, 3, 2)
        ),
        **{
            str(make()): _seen(mx, make, shape, graphs=False)
            for make, shape in (
                (lambda: contrib.PixelShuffle1D(2), (1, 4, 3)),
                (lambda: contrib.PixelShuffle2D((2, 1)), (1, 4, 2, 3)),
                (lambda: contrib.PixelShuffle2D(2), (1, 4, 2, 3)),
                (lambda: contrib.PixelShuffle3D([2, 1, 3]), (1, 6, 1, 2, 3)),
                (lambda: contrib.PixelShuffle3D(2), (1, 8, 1, 2, 3)),
            )
        },
        "warning": warned(mx, lambda: repr(contrib.SyncBatchNorm())),
        "graph of a shuffle": graph(contrib.PixelShuffle3D((1, 2, 3))(mx.sym.var("x"))),
    }


@script
def deformable_convolutions(mx):
    """MXNet's CPU does not compute the modulated one."""
    cnn, shape = mx.gluon.contrib.cnn, (1, 4, 5, 5)

    def with_options(layer):
        return layer(
            4, (3, 2), strides=(2, 1), num_deformable_group=2, groups=2, use_bias=False,
            offset_use_bias=False, activation="relu", in_channels=4,
            offset_weight_initializer="normal",
        )  # fmt: skip

    plain, modulated = cnn.DeformableConvolution, cnn.ModulatedDeformableConvolution
    return {
        "plain": _seen(mx, lambda: plain(3, (3, 3), padding=1), shape, head=0.02),
        "plain with options": _seen(mx, lambda: with_options(plain), shape, head=0.02),
        "modulated": _described(mx, modulated(3, (3, 3), padding=1), shape),
        "modulated with options": _described(mx, with_options(modulated), shape),
    }


@script
def containers(mx):
    nn, seen = mx.gluon.nn, {}
    x = mx.nd.array(numbers("x", (2, 3)))
    for kind in (nn.Sequential, nn.HybridSequential):
        net = kind()
        seen[f"empty {kind.__name__}"] = [repr(net), len(net), bool(net), net(x), net.prefix]
        net.add(nn.Dense(2, activation="relu"), nn.Dense(3))
        with net.name_scope():
            inner = kind(prefix="inner_")
            with inner.name_scope():
                inner.add(nn.Dense(2), nn.BatchNorm())
            net.add(inner, nn.LeakyReLU(0.1))
        net.initialize()
        net(x)
        fill(net)
        part = net[1:3]
        seen[kind.__name__] = [
            repr(net), len(net), net[0].prefix, net[-1].prefix, net[np.int64(1)].prefix,
            [b.name for b in net], type(part).__name__, part.prefix, repr(part), len(part),
            part(net[0](x)), net(x), net.collect_params().keys(), repr(net[::2]),
            net._children.keys(), nn.Dense(3) in net, net[0] in net,
        ]  # fmt: skip
        seen[f"wrong keys of {kind.__name__}"] = attempts(
            mx, beyond=lambda net=net: net[5], text=lambda net=net: net["a"],
            list=lambda net=net: net[[0, 1]], several=lambda net=net: net(x, x),
        )  # fmt: skip
        net.register_child(nn.Dense(3), "q")
        seen[kind.__name__].append(list(net._children))
    return seen


@script
def hybridizing_containers(mx):
    nn, contrib = mx.gluon.nn, mx.gluon.contrib.nn
    nets = [nn.Sequential(), nn.Sequential(), nn.Sequential(), nn.HybridSequential()]
    nets.append(contrib.Concurrent())
    nets[1].add(nn.Dense(2), nn.Lambda("exp"))
    for net in nets[2:]:
        net.add(nn.Dense(2))
    return [warned(mx, net.hybridize)["warns"] for net in nets]


@script
def functions_as_layers(mx):
    nn = mx.gluon.nn
    x = mx.nd.array(numbers("x", (2, 3)))

    def double(F, value):
        return F.broadcast_add(value, value)

    layers = {
        "name": nn.Lambda("exp"),
        "lambda": nn.Lambda(lambda x: x * 2),
        "hybrid name": nn.HybridLambda("tanh"),
        "hybrid function": nn.HybridLambda(double),
        "hybrid lambda": nn.HybridLambda(lambda F, x: F.relu(x)),
        "prefix": nn.HybridLambda("tanh", prefix="p_"),
    }
    seen = {name: [repr(b), b.prefix, b(x)] for name, b in layers.items()}
    seen["graphs"] = [graph(layers[n](mx.sym.var("x"))) for n in layers if "hybrid" in n]
    seen["two"] = [
        nn.Lambda("concat")(x, x), nn.HybridLambda("concat")(x, x),
        nn.HybridLambda(lambda F, a, b: a - b)(x, x), nn.HybridLambda(lambda F, a: (a, a))(x),
    ]  # fmt: skip
    seen["names"] = attempts(mx, **{
        f"{kind.__name__} {name}": lambda kind=kind, name=name: repr(kind(name))
        for kind in (nn.Lambda, nn.HybridLambda)
        for name in ("unknown", "save", "zeros", "var", "NDArray", "Custom", "flip", 3, None)
    })  # fmt: skip
    return seen


@script
def layers_of_other_dtypes(mx):
    nn, seen = mx.gluon.nn, {}
    shape = (2, 4, 3)
    for name, make in {
        "dense": lambda: nn.Dense(3, "tanh"),
        "convolution": lambda: nn.Conv1D(2, 2),
        "batch": nn.BatchNorm,
        "layer": nn.LayerNorm,
        "prelu": nn.PReLU,
        "pool": nn.MaxPool1D,
    }.items():
        for dtype in ("float16", "float64"):
            if dtype == "float16" and name in ("convolution", "dense", "pool"):
                continue  # MXNet's CPU has none
            layer = make()
            layer.cast(dtype)
            layer.initialize()
            x = mx.nd.array(numbers("x", shape), dtype=dtype)
            layer(x)
            fill(layer)
            kinds = {n: [np.dtype(p.dtype).name, p.data().dtype] for n, p in
                     layer.collect_params().items()}  # fmt: skip
            values = _step(mx, layer, x)[: 1 if dtype == "float16" else None]
            seen[f"{name} {dtype}"] = [kinds, [_short(v) for v in values], repr(layer)]
    dense = nn.Dense(2, dtype="float64")
    dense.initialize()
    seen["dense made so"] = dense(mx.nd.ones((2, 3), dtype="float64")).dtype
    embedding = nn.Embedding(4, 3)
    embedding.initialize()
    embedding.cast("float16")
    seen["embedding"] = [repr(embedding), embedding(mx.nd.array([1, 2])).dtype]
    return seen


@script
def dtypes_of_normalizations(mx):
    """Statistics stay float32 in float16."""
    nn, contrib, seen = mx.gluon.nn, mx.gluon.contrib.nn, {}
    layers = (
        nn.BatchNorm(in_channels=3), nn.BatchNormReLU(in_channels=3), nn.LayerNorm(in_channels=3),
        contrib.SyncBatchNorm(3, 1), nn.InstanceNorm(in_channels=3), nn.GroupNorm(3),
    )  # fmt: skip
    for layer in layers:
        layer.initialize()
        for dtype in ("float16", "float64", np.float16, np.dtype("float16"), "float32"):
            layer.cast(dtype)
            held = layer.collect_params().values()
            seen[f"{layer.name} {dtype}"] = [
                [np.dtype(p.dtype).name, p.data().dtype, p.grad_req] for p in held
            ]
    return seen


@script
def refused_layers(mx):
    nn, contrib, cnn = mx.gluon.nn, mx.gluon.contrib.nn, mx.gluon.contrib.cnn
    x = mx.nd.ones((2, 4, 6, 6))
    layouts = {
        f"{name} layout": lambda name=name: getattr(nn, name)(layout="foo")
        for name in ("MaxPool1D", "MaxPool2D", "MaxPool3D", "AvgPool1D", "AvgPool2D", "AvgPool3D",
                     "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "GlobalAvgPool1D",
                     "GlobalAvgPool2D", "GlobalAvgPool3D")
    }  # fmt: skip
    windows = {
        f"{name} {number} {size}": lambda name=name, size=size: getattr(nn, name)(8, size)
        for name, number in (("Conv1D", 1), ("Conv2D", 2), ("Conv3D", 3), ("Conv2DTranspose", 2))
        for size in ((3, 3, 3, 3), "345", 3.0)
    }
    return attempts(
        mx,
        unknown_activation=lambda: nn.Activation("foo")(x),
        unknown_activation_text=lambda: repr(nn.Dense(3, activation="foo")),
        activation_block=lambda: nn.Dense(3, activation=nn.Activation("relu")),
        activation_block_of_convolution=lambda: nn.Conv2D(3, 3, activation=nn.Activation("relu")),
        leaky=lambda: nn.LeakyReLU(-1),
        leaky_zero=lambda: repr(nn.LeakyReLU(0)),
        convolution_layout=lambda: nn.Conv2D(8, 3, layout="NCW"),
        convolution_1d_last=lambda: nn.Conv1D(8, 3, layout="NWC"),
        transposed_layout=lambda: nn.Conv3DTranspose(8, 3, layout="foo"),
        **layouts,
        **windows,
        strides=lambda: nn.Conv2D(8, (3, 3), strides=(2,)),
        padding=lambda: nn.Conv2D(8, (3, 3), padding=(1,)),
        groups=lambda: nn.Conv2D(8, 3, groups=3),
        groups_of_input=lambda: nn.Conv2D(9, 3, groups=3, in_channels=4),
        keyword=lambda: nn.Conv2D(8, 3, foo=1),
        missing=lambda: nn.Conv2D(8),
        output_padding=lambda: nn.Conv2DTranspose(8, 3, output_padding=(1,)),
        output_padding_of_stride=lambda: nn.Conv2DTranspose(8, 3, output_padding=1),
        pool_size=lambda: nn.MaxPool2D((3,)),
        pool_keyword=lambda: nn.MaxPool2D(foo=1),
        reflection=lambda: nn.ReflectionPad2D((1, 1)),
        reflection_text=lambda: nn.ReflectionPad2D("a"),
        dropout=lambda: nn.Dropout(1.5)(x),
        dropout_text=lambda: repr(nn.Dropout(1.5)),
        batch_norm_dtype=lambda: nn.BatchNorm(dtype="float16"),
        flatten=lambda: nn.Flatten(3),
        selu=lambda: nn.SELU(3),
        no_hybrid_block=lambda: nn.HybridSequential().add(nn.Lambda("exp")),
        no_hybrid_block_concurrent=lambda: contrib.HybridConcurrent().add(nn.Sequential()),
        empty_concurrent=lambda: contrib.Concurrent()(x),
        sync_axis=lambda: contrib.SyncBatchNorm(axis=2, num_devices=1),
        sync_key=lambda: contrib.SyncBatchNorm(key="k", num_devices=1),
        shuffle_text=lambda: contrib.PixelShuffle1D("a"),
        shuffle_number=lambda: repr(contrib.PixelShuffle1D(2.5)),
        shuffle_lengths=lambda: contrib.PixelShuffle2D((1, 2, 3)),
        shuffle_prefix=lambda: contrib.PixelShuffle1D(2, prefix="a"),
        deformable_adj=lambda: cnn.DeformableConvolution(4, adj=(1, 1)),
        deformable_number=lambda: repr(cnn.DeformableConvolution(4, 3)),
        deformable_last=lambda: [
            p.shape for p in cnn.DeformableConvolution(4, (3, 3), layout="NHWC", in_channels=2)
            .collect_params().values()
        ],
        not_initialized=lambda: nn.Dense(3)(x),
    )  # fmt: skip


@script
def shared_layers(mx):
    nn = mx.gluon.nn
    first = nn.Dense(2, in_units=3)
    for params in (first.params, first.collect_params()):
        second = nn.Dense(2, in_units=3, params=params)
        assert second.weight is first.weight
    convolution = nn.Conv2D(2, 1, in_channels=3, activation="relu")
    tied = nn.Conv2D(2, 1, in_channels=3, params=convolution.params)
    return [
        second.prefix, second.params.prefix, tied.weight is convolution.weight,
        tied.collect_params().keys(), convolution.act.prefix,
    ]  # fmt: skip


@script
def names_within_a_network(mx):
    nn, cnn = mx.gluon.nn, mx.gluon.contrib.cnn

    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Conv2D(2, 3, activation="relu")
                self.b = nn.MaxPool2D()
                self.c = nn.Activation("relu")
                self.d = nn.LeakyReLU(0.1)
                self.e = nn.Flatten()
                self.f = nn.Dense(3, activation="tanh")
                self.g = nn.Dropout(0.2)
                self.h = nn.BatchNorm()
                self.i = nn.PReLU()
                self.j = cnn.DeformableConvolution(2, (3, 3))
                self.k = nn.GlobalAvgPool2D()
                self.l = nn.Conv2DTranspose(2, 3)

        def hybrid_forward(self, F, x):
            return self.f(self.i(self.h(self.b(self.c(self.a(x))))))

    net = Net()
    return [
        repr(net), net.collect_params().keys(), [c.prefix for c in net._children.values()],
        graph(net(mx.sym.var("data"))),
    ]  # fmt: skip


@script
def modules_of_layers(mx):
    """Import paths, and bases that networks subclass or ask for."""
    nn = mx.gluon.nn
    seen = {
        f"{module.__name__.partition('.')[2]}.{name}": hasattr(module, name)
        for module, names in (
            (nn.basic_layers, ("Dense", "BatchNorm", "Sequential", "Lambda", "_BatchNorm")),
            (nn.conv_layers, ("Conv2D", "MaxPool2D", "ReflectionPad2D", "_Conv", "_Pooling")),
            (nn.activations, ("Activation", "Swish")),
            (nn, ("Block", "HybridBlock", "SymbolBlock")),
            (mx.gluon.contrib.nn.basic_layers, ("Concurrent", "Identity")),
            (mx.gluon.contrib.cnn.conv_layers, ("DeformableConvolution",)),
        )
        for name in names
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = [nn.Conv2D(2, 3), nn.Conv1D(2, 3), nn.MaxPool2D(), nn.BatchNorm(), nn.Dense(3)]
        layers += [nn.BatchNormReLU(), mx.gluon.contrib.nn.SyncBatchNorm()]
    kinds = nn.conv_layers._Conv, nn.conv_layers._Pooling, nn.BatchNorm, nn.Conv1D, nn.HybridBlock
    seen["kinds"] = [[isinstance(layer, kind) for kind in kinds] for layer in layers]
    return seen


@script
def subclasses_of_layers(mx):
    nn = mx.gluon.nn

    class Wide(nn.Conv2D):
        def __init__(self, channels, **kwargs):
            super().__init__(channels, kernel_size=3, padding=1, **kwargs)

    class Scaled(nn.Dense):
        def hybrid_forward(self, F, x, weight, bias=None):
            return super().hybrid_forward(F, x, weight * 2, bias)

    class Named(nn.Activation):
        def _alias(self):
            return "mine"

    return {
        "wide": _seen(mx, lambda: Wide(2, activation="relu"), (1, 2, 3, 3)),
        "scaled": _seen(mx, lambda: Scaled(2), (2, 3)),
        "named": [Named("relu").prefix, repr(Named("relu"))],
        "wrong": attempt(mx, lambda: Wide(2, kernel_size=3)),
    }
