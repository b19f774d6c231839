"""The networks of the model zoo: names, shapes, layers and graphs of all, numbers of small ones."""

from __future__ import annotations

import hashlib
import inspect
import json
import math

from ._facts import attempt, fill, folder, graph, numbers, script

#: Those whose graph is compared, one of each kind.
_KINDS = (
    "alexnet", "densenet121", "inceptionv3", "mobilenet0.25", "mobilenetv2_0.25", "resnet18_v1",
    "resnet18_v2", "resnet50_v1", "resnet50_v2", "squeezenet1.0", "vgg11_bn",
)  # fmt: skip
_WIDTHS = ("0.25", "0.5", "0.75", "1.0")
NAMES = (
    "alexnet", "inceptionv3", "squeezenet1.0", "squeezenet1.1",
    *(f"densenet{n}" for n in (121, 161, 169, 201)),
    *(f"{net}{width}" for net in ("mobilenet", "mobilenetv2_") for width in _WIDTHS),
    *(f"resnet{n}_{version}" for n in (18, 34, 50, 101, 152) for version in ("v1", "v2")),
    *(f"vgg{n}{ending}" for n in (11, 13, 16, 19) for ending in ("", "_bn")),
)  # fmt: skip


def _hash(value):
    return hashlib.sha1(json.dumps(value).encode()).hexdigest()[:12]


def _digest(mx, name):
    """Numbers of parameters and of their elements, and hashes of what a network consists of."""
    net = mx.gluon.model_zoo.vision.get_model(name)
    size = 299 if "inception" in name else 224
    symbol = net(mx.sym.Variable("data"))
    arguments, _, states = symbol.infer_shape(data=(1, 3, size, size))
    names = symbol.list_arguments()[1:] + symbol.list_auxiliary_states()
    shapes = dict(zip(names, [list(s) for s in arguments[1:] + states]))  # noqa: B905
    held = net.collect_params()
    counts = [math.prod(shape) for shape in shapes.values()]
    return {
        "prefix": net.prefix,
        "counts": [len(shapes), sum(counts)],
        "text": _hash(repr(net)),
        "structure": _hash(list(net._collect_params_with_prefix())),
        "parameters": _hash([[n, list(p.shape), p.grad_req, str(p.lr_mult), _initializer(p)]
                             for n, p in held.items()]),
        "shapes": _hash([[name, shapes[name]] for name in held.keys()]),  # noqa: SIM118
        "graph": _hash(graph(symbol)) if name in _KINDS else None,
    }  # fmt: skip


def _initializer(parameter):
    rule = parameter.init
    return rule if rule is None or isinstance(rule, str) else rule.dumps()


@script
def networks_of_the_zoo(mx):
    return {name: _digest(mx, name) for name in NAMES}


@script
def small_networks_of_the_zoo(mx):
    """Networks of few channels on small pictures: outputs, hybridized too, and statistics."""
    zoo = mx.gluon.model_zoo.vision
    seen = {}
    for name, make, size in (
        ("BasicBlockV1", lambda: _small(zoo.ResNetV1, zoo.BasicBlockV1), 8),
        ("BottleneckV1", lambda: _small(zoo.ResNetV1, zoo.BottleneckV1), 8),
        ("BasicBlockV2", lambda: _small(zoo.ResNetV2, zoo.BasicBlockV2), 8),
        ("BottleneckV2", lambda: _small(zoo.ResNetV2, zoo.BottleneckV2, thumbnail=False), 20),
        ("DenseNet", lambda: zoo.DenseNet(4, 2, [1, 2], bn_size=2, dropout=0.5, classes=3), 56),
        ("MobileNet", lambda: zoo.get_mobilenet(0.05, classes=3), 32),
        ("LinearBottleneck", lambda: zoo.mobilenet.LinearBottleneck(4, 4, 2, 1), 5),
    ):
        net = make()
        channels = 4 if name == "LinearBottleneck" else 3
        x = mx.nd.array(numbers(name, (2, channels, size, size)))
        net.infer_shape(x)
        net.initialize()
        fill(net)
        outputs = [net(x)]
        net.hybridize()
        with mx.autograd.train_mode():
            outputs.append(net(x) if name != "DenseNet" else None)
        seen[name] = [net.prefix, _hash(list(net.collect_params().keys())), outputs]
    return seen


def _small(network, block, thumbnail=True):
    return network(block, [1, 2], [4, 4, 8], classes=3, thumbnail=thumbnail, prefix="r_")


@script
def blocks_of_the_zoo_by_themselves(mx):
    zoo = mx.gluon.model_zoo.vision
    seen = []
    for block in (
        zoo.BasicBlockV1(4, 2, True, 3), zoo.BottleneckV1(8, 1), zoo.BasicBlockV2(4, 1),
        zoo.BottleneckV2(8, 2, downsample=True, in_channels=3, prefix="b_"),
        zoo.mobilenet.RELU6(), zoo.mobilenet.LinearBottleneck(3, 4, 6, 2),
    ):  # fmt: skip
        members = sorted(n for n in vars(block) if n[0] != "_")
        text = repr(block).replace("\n", "|")
        seen.append([block.prefix, list(block.collect_params().keys()), members, _hash(text)])
    return seen


@script
def names_and_arguments_of_the_zoo(mx):
    zoo, store = mx.gluon.model_zoo.vision, mx.gluon.model_zoo.model_store
    seen = {}
    for name in dir(zoo):
        value = getattr(zoo, name)
        if not getattr(value, "__module__", "").partition(".")[2].startswith("gluon.model_zoo"):
            continue
        made = value.__init__ if inspect.isclass(value) else value
        seen[name] = [value.__name__, value.__module__.rpartition(".")[2], _arguments(made)]
    for module in ("densenet", "inception", "mobilenet", "resnet", "squeezenet", "vgg"):
        seen[module] = inspect.ismodule(getattr(zoo, module))
    for function in (store.get_model_file, store.purge, store.short_hash):
        seen[function.__name__] = _arguments(function)
    hashes = [store.short_hash(name) for name in NAMES]
    return seen, hashes, [zoo.vgg.vgg_spec, zoo.densenet.densenet_spec, zoo.resnet.resnet_spec]


def _arguments(function):
    parameters = inspect.signature(function).parameters.values()
    shown = [[p.name, p.kind.name, "" if p.default is p.empty else p.default] for p in parameters]
    return [[n, k, "root" if n == "root" else str(d)] for n, k, d in shown if n != "self"]


@script
def calls_that_the_zoo_refuses(mx):
    zoo, store = mx.gluon.model_zoo.vision, mx.gluon.model_zoo.model_store
    with folder() as here:
        for name in ("a.params", "b.txt", "c.params.txt"):
            (here / name).touch()
        store.purge(".")
        kept = sorted(p.name for p in here.iterdir())
    try:
        zoo.get_model("resnet")
    except ValueError as error:
        text = str(error)
    name = zoo.get_model("RESNET18_v1", classes=3, prefix="n_").output.weight.name
    calls = {
        "argument": lambda: zoo.resnet18_v1(unknown=1),
        "version": lambda: zoo.get_resnet(3, 18),
        "layers": lambda: zoo.get_resnet(1, 19),
        "vgg": lambda: zoo.get_vgg(12),
        "densenet": lambda: zoo.densenet.get_densenet(12),
        "squeezenet": lambda: zoo.SqueezeNet("2.0"),
        "stages": lambda: zoo.ResNetV1(zoo.BasicBlockV1, [1, 1], [4, 4]),
        "filters": lambda: zoo.VGG([1, 1], [4]),
        "multiplier": lambda: zoo.get_mobilenet(0.3, pretrained=True),
        "purge": lambda: store.purge("nowhere"),
        "hash": lambda: store.short_hash("resnet"),
        "file": lambda: store.get_model_file("resnet"),
    }
    return kept, text, name, [{**attempt(mx, call), "says": ""} for call in calls.values()]
