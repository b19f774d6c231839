"""Files of networks: parameters, checkpoints, structures; written, compared by bytes, and read."""

from __future__ import annotations

import json

import numpy as np

from ._facts import (
    attempt,
    attempts,
    contents,
    digest,
    fill,
    folder,
    graph,
    leaf,
    numbers,
    parameters,
    recorded,
    script,
    warned,
)


def _mlp(mx, units=2, prefix="net_", filled=True, **kwargs):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu", in_units=3), nn.Dense(units, in_units=4))
    net.initialize(**kwargs)
    return fill(net) if filled else net


class _Nets:
    """Network classes of a user."""

    def __init__(self, mx):
        nn = mx.gluon.nn

        class Image(mx.gluon.HybridBlock):
            """Nested blocks, statistics, a parameter of its own, and perhaps a constant."""

            def __init__(self, shifted=False, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.features = nn.HybridSequential(prefix="")
                    with self.features.name_scope():
                        self.features.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Activation("relu"))
                    self.output = nn.Dense(2)
                    self.scale = self.params.get("scale", shape=(2,), init="ones")
                    if shifted:
                        shift = mx.nd.array([0.25, -0.5])
                        self.shift = self.params.get_constant("shift", shift)

            def hybrid_forward(self, F, x, scale, shift=None):
                y = F.broadcast_mul(self.output(self.features(x)), scale)
                return y if shift is None else F.broadcast_add(y, shift)

        class Tied(mx.gluon.HybridBlock):
            """Two layers with one weight."""

            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.first = nn.Dense(3, in_units=3)
                    self.second = nn.Dense(3, in_units=3, params=self.first.params)
                    self.third = nn.Dense(2, in_units=3)

            def hybrid_forward(self, F, x):
                return self.third(self.second(self.first(x)))

        self.Image, self.Tied = Image, Tied


def _image(mx, hybridized=False, **kwargs):
    """An image network with shapes, filled; and its pictures. In symbols' JSON, MXNet counts how
    often a statistic's variable was used by any graph: once if the first call is hybridized."""
    net, pictures = _Nets(mx).Image(**kwargs), mx.nd.array(numbers("pictures", (2, 1, 4, 4)))
    net.initialize()
    if hybridized:
        net.hybridize()
    net(pictures)
    fill({n: p for n, p in net.collect_params().items() if not n.endswith("shift")})
    return net, pictures


def _same(mx, net, other, x):
    return bool((net(x).asnumpy() == other(x).asnumpy()).all())


@script
def parameter_files(mx):
    """Structural names; the files have MXNet's bytes, also when what was read is saved again."""
    net, pictures = _image(mx, shifted=True, prefix="image_")
    with folder() as at:
        first, second, full = (str(at / f"{n}.params") for n in ("first", "second", "full"))
        net.save_parameters(first)
        seen = [contents(mx, first), digest(first)]
        other = _Nets(mx).Image(shifted=True)
        other.load_parameters(first)
        seen += [parameters(other), _same(mx, net, other, pictures)]
        other.save_parameters(second)
        seen += [digest(second)]
        net.collect_params().save(full)
        seen += [contents(mx, full), digest(full)]
        net.collect_params().save(full, strip_prefix="image_")
        seen += [contents(mx, full), digest(full)]
        third, _ = _image(mx, shifted=True, prefix="third_")
        third.collect_params().load(full, mx.cpu(), restore_prefix="third_")
        seen += [_same(mx, net, third, pictures)]
        prefix = attempt(mx, lambda: net.collect_params().save(full, strip_prefix="other_"))
        net.hybridize()
        net(pictures)
        net.save_parameters(second)
        return [*seen, prefix, digest(second)]


@script
def parameter_files_of_sequences(mx):
    """Names of unnamed children are numbers; dtypes and contexts as they are."""
    net = _mlp(mx, prefix=None, ctx=[mx.cpu(0), mx.cpu(1)])
    net[0].cast("float64")
    with folder() as at:
        path = str(at / "net.params")
        net.save_parameters(path)
        seen = [contents(mx, path), digest(path)]
        single = mx.gluon.nn.Dense(2, in_units=3, prefix="d_")
        single.initialize()
        fill(single).save_parameters(path)
        seen += [contents(mx, path), digest(path)]
        empty = mx.gluon.nn.Sequential()
        empty.save_parameters(path)
        seen += [contents(mx, path), digest(path)]
        unready = mx.gluon.nn.Dense(2)
        refused = attempt(mx, lambda: unready.save_parameters(path))
        unready.initialize()
        return [*seen, refused, attempt(mx, lambda: unready.save_parameters(path))]


@script
def files_that_do_not_fit(mx):
    net, x = _mlp(mx), mx.nd.array(numbers("x", (2, 3)))
    with folder() as at:
        path = str(at / "net.params")
        net.save_parameters(path)

        def more(**kwargs):
            other = _mlp(mx, prefix="more_", filled=False)
            other.add(mx.gluon.nn.Dense(2, in_units=2, prefix="more_last_"))
            other.load_parameters(path, **kwargs)
            return other[1].bias.data()

        def fewer(**kwargs):
            other = mx.gluon.nn.HybridSequential()
            other.add(mx.gluon.nn.Dense(4, activation="relu", in_units=3))
            other.load_parameters(path, **kwargs)
            return other[0].bias.data()

        def loads(units=2, dtype="float32", **kwargs):
            other = _mlp(mx, units, prefix=None, filled=False)
            other.cast(dtype)
            other.load_parameters(path, **kwargs)
            return (
                other[1].weight.dtype,
                other[1].bias.data(),
                other(x.astype(other[0].weight.dtype)),
            )

        return attempts(
            mx,
            as_it_is=loads,
            missing=more,
            missing_allowed=lambda: more(allow_missing=True),
            extra=fewer,
            extra_ignored=lambda: fewer(ignore_extra=True),
            both=lambda: fewer(allow_missing=True),
            shape=lambda: loads(3),
            dtype=lambda: loads(dtype="float64"),
            cast=lambda: loads(dtype="float64", cast_dtype=True),
            cast_to_the_file=lambda: loads(dtype="float64", cast_dtype=True, dtype_source="saved"),
            cast_to_what_is_there=lambda: loads(
                dtype="float64", cast_dtype=True, dtype_source="current"
            ),
            unknown_source=lambda: loads(cast_dtype=True, dtype_source="other"),
            source_without_cast=lambda: loads(dtype="float64", dtype_source="saved"),
            no_file=lambda: net.load_parameters(str(at / "none.params")),
            no_folder=lambda: net.save_parameters(str(at / "none" / "net.params")),
        )


@script
def files_before_initialization(mx):
    """Loading gives deferred and uninitialized parameters their shapes and values."""
    nn, pictures = mx.gluon.nn, mx.nd.array(numbers("pictures", (2, 1, 4, 4)))
    net, _ = _image(mx)
    seen = []
    with folder() as at:
        path = str(at / "net.params")
        net.save_parameters(path)
        for ctx in (None, mx.cpu(1)):
            other = _Nets(mx).Image()
            other.load_parameters(path, ctx=ctx)
            there = pictures.as_in_context(ctx or mx.cpu())
            seen += [parameters(other), other(there), other.output.weight.list_ctx()]
        other = _Nets(mx).Image()
        other.initialize()
        seen.append(attempt(mx, lambda: other.load_parameters(path, ctx=mx.cpu(1))))
        other.load_parameters(path)
        seen += [parameters(other), other(pictures)]
        two = _Nets(mx).Image()
        two.load_parameters(path, ctx=[mx.cpu(0), mx.cpu(1)])
        seen.append(two.output.weight.list_ctx())
        seen.append(attempt(mx, lambda: two.load_parameters(path, ctx=mx.cpu(0))))
        seen.append(two(pictures.as_in_context(mx.cpu(1))))
        dense = nn.Dense(5)
        seen.append(attempt(mx, lambda: dense.load_parameters(path, ignore_extra=True)))
    return seen


@script
def full_names_and_old_files(mx):
    """Full names, ``arg:`` and ``aux:``, ``save_params``; files without a dot in any name."""
    net, x = _mlp(mx), mx.nd.array(numbers("x", (2, 3)))
    seen = []
    with folder() as at:
        full, old, exported = str(at / "full"), str(at / "old"), str(at / "exported")
        net.collect_params().save(full)
        seen.append(warned(mx, lambda: net.save_params(old)))
        seen.append([contents(mx, old), digest(old)])
        arrays = {("aux:" if "bias" in n else "arg:") + n: v for n, v in mx.nd.load(full).items()}
        mx.nd.save(exported, arrays)
        seen += [_ways_to_load(mx, path, x) for path in (full, old, exported)]
        seen.append(warned(mx, lambda: _mlp(mx, filled=False).load_params(old, allow_missing=True)))
        structural = str(at / "structural")
        marked = {"arg:0.weight": 0, "arg:0.bias": 1, "aux:1.weight": 2, "arg:1.bias": 3}
        values = list(mx.nd.load(full).values())
        mx.nd.save(structural, {name: values[i] for name, i in marked.items()})
        seen.append(attempt(mx, lambda: _load(mx, structural, x)))
    return seen


def _ways_to_load(mx, path, x):
    return attempts(
        mx,
        load_parameters=lambda: _load(mx, path, x),
        load_params=lambda: _load(mx, path, x, "load_params"),
        dictionary=lambda: _load(mx, path, x, "dictionary"),
        other_prefix=lambda: _load(mx, path, x, prefix="other_"),
    )


def _load(mx, path, x, way="load_parameters", prefix="net_"):
    other = _mlp(mx, prefix=prefix, filled=False)
    if way == "dictionary":
        other.collect_params().load(path)
    else:
        getattr(other, way)(path)
    return other(x)


@script
def dictionaries_that_do_not_fit(mx):
    """``ParameterDict.load`` with missing and extra names."""
    net = _mlp(mx)
    with folder() as at:
        path = str(at / "net.params")
        net[0].collect_params().save(path)
        held, part = net.collect_params(), net[1].collect_params()
        return attempts(
            mx,
            missing=lambda: held.load(path),
            missing_allowed=lambda: held.load(path, allow_missing=True),
            extra=lambda: part.load(path, allow_missing=True),
            extra_ignored=lambda: part.load(path, allow_missing=True, ignore_extra=True),
            prefix=lambda: held.load(path, restore_prefix="x_", allow_missing=True),
            shape=lambda: _mlp(mx, 7).collect_params().load(path, allow_missing=True),
        )


@script
def shared_parameters_in_files(mx):
    """All names of a shared parameter are written, with ``deduplicate`` the last one alone."""
    net, x = _Nets(mx).Tied(prefix="tied_"), mx.nd.array(numbers("x", (2, 3)))
    net.initialize()
    fill(net)
    seen = []
    with folder() as at:
        for deduplicate in (False, True):
            path = str(at / f"{deduplicate}.params")
            net.save_parameters(path, deduplicate=deduplicate)
            other = _Nets(mx).Tied()
            other.load_parameters(path)
            seen += [contents(mx, path), digest(path), _same(mx, net, other, x)]
        net.collect_params().save(path)
        seen += [contents(mx, path)]
    return seen


@script
def exported_networks(mx):
    """A hybridized network as symbol and parameters, for Module and SymbolBlock."""
    plain, pictures = _image(mx)
    seen = []
    with folder() as at:
        path = str(at / "model")
        seen.append(attempt(mx, lambda: plain.export(path)))
        plain.hybridize()
        seen.append(attempt(mx, lambda: plain.export(path)))
        net, _ = _image(mx, hybridized=True, prefix="image_")
        expected = net(pictures)
        seen.append(attempt(mx, lambda: net.export(path, epoch=7)))
        seen.append(sorted(p.name for p in at.iterdir()))
        seen.append([contents(mx, f"{path}-0007.params"), digest(f"{path}-0007.params")])
        text = json.loads((at / "model-symbol.json").read_text())
        seen.append([sorted(text), text["heads"], text["arg_nodes"]])
        symbol, args, auxs = mx.model.load_checkpoint(path, 7)
        seen.append([graph(symbol), list(args), list(auxs), digest(f"{path}-symbol.json")])
        module = mx.mod.Module(symbol, label_names=None)
        module.bind([("data", (2, 1, 4, 4))], for_training=False)
        module.set_params(args, auxs)
        module.forward(mx.io.DataBatch([pictures]), is_train=False)
        seen.append([expected, module.get_outputs()[0]])
        net.export(path, epoch=8, remove_amp_cast=False)
        net.export(path)
        seen.append(sorted(p.name for p in at.iterdir()))
        seen.append(digest(f"{path}-0000.params"))
    return seen


@script
def exported_inputs_and_outputs(mx):
    """Several inputs are data0, data1; unused ones and several outputs."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.dense = mx.gluon.nn.Dense(2, in_units=3)

        def hybrid_forward(self, F, x, pair, z):
            a, b = pair
            return self.dense(x + a), [a * b, x]

    net, x = Net(), mx.nd.array(numbers("x", (2, 3)))
    net.initialize()
    fill(net).hybridize()
    net(x, [x, x], x)
    with folder() as at:
        path = str(at / "model")
        net.export(path)
        symbol, args, auxs = mx.model.load_checkpoint(path, 0)
        seen = [graph(symbol), symbol.list_outputs(), list(args), list(auxs)]
    shifted, pictures = _image(mx, shifted=True, prefix="image_")
    shifted.hybridize()
    shifted(pictures)
    with folder():
        shifted.export("model")
        symbol, args, auxs = mx.model.load_checkpoint("model", 0)
        return [*seen, graph(symbol), args["image_shift"], digest("model-0000.params")]


@script
def imported_networks(mx):
    """``SymbolBlock.imports``: inference, gradients, files, and a hybridized import."""
    net, pictures = _image(mx, prefix="image_")
    net.hybridize()
    expected = net(pictures)
    imports = mx.gluon.SymbolBlock.imports
    seen = [expected]
    with folder() as at:
        path = str(at / "model")
        net.export(path)
        symbol, params = f"{path}-symbol.json", f"{path}-0000.params"
        block = imports(symbol, ["data"], params)
        seen += [block(pictures), block.prefix, block.name, parameters(block), repr(block)]
        seen += [
            list(block._reg_params),
            {n: p.grad_req for n, p in block.collect_params().items()},
        ]
        seen += [{n: str(np.dtype(p.dtype)) for n, p in block.collect_params().items()}]
        again = str(at / "again.params")
        block.save_parameters(again)
        seen += [contents(mx, again), digest(again)]
        block.hybridize()
        seen += [block(pictures)]
        block.export(path, epoch=3)
        seen += [digest(f"{path}-0003.params"), contents(mx, f"{path}-0003.params")]
        block.hybridize(False)
        x = leaf(mx, pictures.asnumpy())
        recorded(mx, block, x).backward()
        trained = [x.grad, block.collect_params()["image_conv0_weight"].grad()]
        block.hybridize()
        recorded(mx, block, x).backward()
        seen += [trained, x.grad, block(pictures)]
        fresh = imports(symbol, "data")
        seen += [attempt(mx, lambda: fresh(pictures)), parameters(fresh)]
        fresh.initialize(mx.init.One())
        seen += [fresh(pictures).shape, parameters(fresh)]
        seen += [attempt(mx, lambda: [fresh.load_parameters(again), fresh(pictures)])]
        fresh.load_parameters(params)
        seen += [fresh(pictures)]
        there = imports(symbol, ["data"], params, ctx=mx.cpu(1))
        seen += [str(there(pictures.as_in_context(mx.cpu(1))).context)]
        seen += [
            attempts(
                mx,
                no_file=lambda: imports(str(at / "none.json"), ["data"]),
                no_parameters=lambda: imports(symbol, ["data"], str(at / "none.params")),
                other_input=lambda: imports(symbol, ["x"], params)(pictures),
                parameter_as_input=lambda: imports(symbol, ["data", "image_scale"], params),
            )
        ]
    return seen


@script
def blocks_of_symbols(mx):
    """SymbolBlock of a user's symbol: features of a network, several outputs, shared parameters."""
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=3, name="fc1")
    active = mx.sym.Activation(hidden, act_type="tanh", name="act")
    output = mx.sym.FullyConnected(active, num_hidden=2, no_bias=True, name="fc2")
    x = mx.nd.array(numbers("x", (2, 4)))
    block = mx.gluon.SymbolBlock(output, data)
    seen = [block.prefix, repr(block), parameters(block)]
    block.initialize()
    block(x)
    seen += [fill(block)(x), parameters(block), list(block._reg_params)]
    internals = output.get_internals()
    features = mx.gluon.SymbolBlock(
        [internals["act_output"], internals["fc2_output"]], data, params=block.collect_params()
    )
    seen += [features(x), parameters(features), repr(features)]
    seen += [block(mx.sym.var("other")).list_arguments(), block(data).name]
    one = mx.gluon.SymbolBlock(mx.sym.Group([hidden, active]), [data], params=block.params)
    seen += [attempt(mx, lambda: one(x))]

    class Head(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="head_")
            with self.name_scope():
                self.body = mx.gluon.SymbolBlock(
                    internals["act_output"], data, params=block.collect_params()
                )
                self.output = mx.gluon.nn.Dense(1, in_units=3)

        def hybrid_forward(self, F, x):
            return self.output(self.body(x))

    head = Head()
    head.output.initialize()
    fill(head.output)
    for _ in range(2):
        recorded(mx, head, x).backward()
        gradients = [p.grad() for n, p in head.collect_params().items() if p.grad_req != "null"]
        seen += [head(x), parameters(head), gradients]
        head.hybridize()
    return [
        *seen,
        attempts(
            mx,
            input_that_is_an_output=lambda: mx.gluon.SymbolBlock(output, output),
            two_inputs_for_one=lambda: block(x, x),
            several_contexts=lambda: block(x.as_in_context(mx.cpu(1))),
            number=lambda: block(3),
        ),
    ]


@script
def structures_of_networks(mx):
    """``Block.save`` and ``load``: parameters beside a file of the structure."""
    seen = []
    for hybridized in (False, True):
        net, pictures = _image(mx, hybridized, prefix="image_")
        expected = net(pictures)
        with folder() as at:
            path = str(at / "model")
            seen.append(attempt(mx, lambda net=net, path=path: net.save(path)))
            seen.append(sorted(p.name for p in at.iterdir()))
            files = [at / name for name in ("model-model.json", "model-model.params")]
            seen.append([f.exists() and digest(f) for f in files])
            other = _Nets(mx).Image()
            seen.append(attempt(mx, lambda other=other, path=path: other.load(path)))
            seen.append(attempt(mx, lambda other=other, x=pictures: other(x)))
            seen.append([expected, getattr(other, "_active", None)])
    return seen


@script
def structures_of_children_with_other_names(mx):
    """Children are found by their order; those of the new block are named otherwise."""
    nn = mx.gluon.nn

    class Chain(mx.gluon.Block):
        def add(self, block):
            self._children[f"{block.name}_{len(self._children)}"] = block

        def forward(self, x):
            for child in self._children.values():
                x = child(x)
            return x

    def chain():
        inner, outer = Chain(), Chain()
        inner.add(nn.Dense(2, in_units=3))
        outer.add(inner)
        outer.add(nn.Dense(2, in_units=2))
        outer.add(nn.BatchNorm(in_channels=2))
        return outer

    net, other, pair = chain(), chain(), chain()
    pair.add(nn.Dense(2, in_units=2))
    net.initialize()
    fill(net)
    net.hybridize()
    x = mx.nd.array(numbers("x", (2, 3)))
    expected = net(x)
    with folder() as at:
        path = str(at / "model")
        net.save(path)
        other.load(path)
        return [expected, other(x), attempt(mx, lambda: pair.load(path))]


@script
def structure_files(mx):
    """What the file says of a network that was called plain, then hybridized."""
    net, pictures = _image(mx, prefix="image_")
    seen = []
    with folder() as at:
        for _ in range(2):
            net.save(str(at / "model"))
            seen.append(_outline(json.loads((at / "model-model.json").read_text())))
            net.hybridize()
            net(pictures)
        return seen


def _outline(value):
    """A structure with long texts shortened; symbols are compared by their graphs elsewhere."""
    if isinstance(value, dict):
        return {k: _outline(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_outline(v) for v in value]
    return value[:40] if isinstance(value, str) else value


@script
def checkpoints_as_networks(mx):
    """A checkpoint of Module becomes a block with a new head."""
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=3, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.relu(hidden, name="act"), num_hidden=2, name="fc2")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    args = {"fc1_weight": (3, 4), "fc1_bias": (3,), "fc2_weight": (2, 3), "fc2_bias": (2,)}
    args = {name: mx.nd.array(numbers(name, shape)) for name, shape in args.items()}
    x = mx.nd.array(numbers("x", (2, 4)))
    with folder() as at:
        path = str(at / "model")
        mx.model.save_checkpoint(path, 2, net, args, {})
        files = f"{path}-symbol.json", f"{path}-0002.params"
        whole = mx.gluon.SymbolBlock.imports(files[0], ["data", "softmax_label"], files[1])
        seen = [whole(x, mx.nd.zeros((2,))), parameters(whole)]
        features = mx.sym.load(files[0]).get_internals()["act_output"]
        body = mx.gluon.SymbolBlock(features, mx.sym.var("data"))
        refused = attempt(mx, lambda: body.load_parameters(files[1]))
        body.collect_params().load(files[1], ignore_extra=True)
        seen += [refused, body(x), list(body.collect_params())]
        body.collect_params().setattr("grad_req", "null")
        seen += [{n: p.grad_req for n, p in body.collect_params().items()}]
        return [*seen, list(body.collect_params(".*weight"))]
