"""Networks of GluonCV's zoo with parameters that follow from a seed, for MXNet and for executorkit.

Imports NumPy and, where a network is built, ``mxnet`` and ``gluoncv``: MXNet's Python reads it too.
"""

import zlib

import numpy as np

#: Arguments of networks by the end of their names.
_CLASSES = ["a", "b", "c"]
#: Shapes of inputs by a part of the network's name, the first that fits; small ones come first.
_SHAPES = (
    (("slowfast_16x8",), [(1, 3, 80, 64, 64)]),
    (("slowfast_8x8",), [(1, 3, 40, 64, 64)]),
    (("slowfast",), [(1, 3, 36, 64, 64)]),
    (("c3d", "p3d", "r2plus1d", "i3d"), [(1, 3, 16, 64, 64), (1, 3, 16, 112, 112)]),
    (("ssd_300",), [(1, 3, 300, 300)]),
    (("ssd_512",), [(1, 3, 256, 256), (1, 3, 512, 512)]),
    (("rcnn",), [(1, 3, 128, 160), (1, 3, 384, 512)]),
    (("icnet", "fastscnn", "citys", "psp", "deeplab", "danet", "fcn"), [(1, 3, 480, 480)]),
    (("hrnet_w18_small_v1_s", "hrnet_w18_small_v2_s", "hrnet_w48_s"), [(1, 3, 480, 480)]),
    (("pose",), [(1, 3, 256, 192), (1, 3, 256, 256)]),
    (("monodepth2",), [(1, 3, 192, 640), (1, 6, 192, 640)]),
    (("yolo3", "center_net"), [(1, 3, 128, 128)]),
    (("cifar",), [(1, 3, 32, 32)]),
    (("inceptionv3", "xception", "nasnet"), [(1, 3, 299, 299), (1, 3, 331, 331)]),
    (("residualattentionnet", "vgg", "alexnet"), [(1, 3, 224, 224)]),
)  # fmt: skip
_USUAL = [(1, 3, 64, 64), (1, 3, 224, 224)]


def shapes_of(name):
    """Returns shapes that a network may take, the smallest first."""
    return next((s for parts, s in _SHAPES if any(p in name for p in parts)), _USUAL)


def build(name):
    """Makes a network, without parameters from the net."""
    from gluoncv.model_zoo import get_model  # pyright: ignore[reportMissingImports]

    arguments: dict = {"classes": _CLASSES} if "custom" in name else {}
    if any(part in name for part in ("fcn_", "psp_", "deeplab", "danet", "icnet", "fastscnn")):
        arguments["crop_size"] = 480
    try:
        return get_model(name, pretrained=False, pretrained_base=False, **arguments)
    except (TypeError, Warning):
        return get_model(name, pretrained=False, **arguments)


def normal(name, shape):
    return np.random.RandomState(zlib.crc32(name.encode())).standard_normal(shape).astype("float32")


def value_of(index, name, shape):
    """The value of a parameter: its kind's scale, noise from its place among the parameters."""
    noise = normal(f"{index} {shape}", shape)
    if name.endswith(("running_var", "gamma")):
        return 1 + 0.1 * np.abs(noise)
    if name.endswith(("running_mean", "beta", "bias")) or len(shape) < 2:
        return 0.05 * noise
    return noise * np.float32(np.sqrt(2 / np.prod(shape[1:])))


def flat(outputs):
    """The arrays of nested outputs, in order."""
    if isinstance(outputs, (list, tuple)):
        return [x for part in outputs for x in flat(part)]
    if isinstance(outputs, dict):
        return [x for key in sorted(outputs, key=str) for x in flat(outputs[key])]
    return [] if outputs is None else [outputs]


def infer(mx, net, shape):
    """Fills a network that has run once, and returns its outputs as NumPy arrays."""
    data = mx.nd.array(normal("data", shape))
    net(data)
    for index, parameter in enumerate(net.collect_params().values()):
        if parameter.shape is not None and parameter._data is not None:
            new = value_of(index, parameter.name, tuple(parameter.shape))
            parameter.set_data(mx.nd.array(new).astype(parameter.dtype))
    return [x.asnumpy() for x in flat(net(data))]


def digest(name, x):
    """Facts about an array: shape, dtype, mean, mean magnitude, and a few of its numbers."""
    wide = x.astype("float64").ravel()
    places = np.random.RandomState(zlib.crc32(name.encode())).randint(0, max(wide.size, 1), 12)
    means = [float(wide.mean()), float(np.abs(wide).mean())] if wide.size else [0.0, 0.0]
    return [list(x.shape), str(x.dtype), *means, [float(v) for v in wide[places[: wide.size]]]]


def is_close(ours, theirs, tolerance=1e-4):
    """True for digests of arrays that agree within ``tolerance`` of the larger of magnitudes."""
    (shape, dtype, mean, size, some), (their_shape, their_dtype, *numbers) = ours, theirs
    their_mean, their_size, their_some = numbers
    bound = tolerance * max(their_size, 1e-6)
    gaps = [abs(mean - their_mean), abs(size - their_size)]
    near = np.allclose(some, their_some, tolerance, bound, equal_nan=True)
    return [shape, dtype] == [their_shape, their_dtype] and max(gaps) <= bound and near
