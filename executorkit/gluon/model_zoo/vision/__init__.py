"""``mx.gluon.model_zoo.vision``: AlexNet, DenseNet, Inception, MobileNet, ResNet, SqueezeNet, VGG.

>>> import executorkit as mx
>>> net = mx.gluon.model_zoo.vision.get_model("squeezenet1.1", classes=10)
>>> net.features[0]
Conv2D(None -> 64, kernel_size=(3, 3), stride=(2, 2))
>>> len(net.collect_params().keys())
52
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...._support.annotations import Function
from ...._support.unserved import attribute_getter as _attribute_getter
from ....errors import ArgumentValueError
from .alexnet import AlexNet as AlexNet, alexnet as alexnet
from .densenet import (
    DenseNet as DenseNet,
    densenet121 as densenet121,
    densenet161 as densenet161,
    densenet169 as densenet169,
    densenet201 as densenet201,
)
from .inception import Inception3 as Inception3, inception_v3 as inception_v3
from .mobilenet import (
    MobileNet as MobileNet,
    MobileNetV2 as MobileNetV2,
    get_mobilenet as get_mobilenet,
    get_mobilenet_v2 as get_mobilenet_v2,
    mobilenet0_5 as mobilenet0_5,
    mobilenet0_25 as mobilenet0_25,
    mobilenet0_75 as mobilenet0_75,
    mobilenet1_0 as mobilenet1_0,
    mobilenet_v2_0_5 as mobilenet_v2_0_5,
    mobilenet_v2_0_25 as mobilenet_v2_0_25,
    mobilenet_v2_0_75 as mobilenet_v2_0_75,
    mobilenet_v2_1_0 as mobilenet_v2_1_0,
)
from .resnet import (
    BasicBlockV1 as BasicBlockV1,
    BasicBlockV2 as BasicBlockV2,
    BottleneckV1 as BottleneckV1,
    BottleneckV2 as BottleneckV2,
    ResNetV1 as ResNetV1,
    ResNetV2 as ResNetV2,
    get_resnet as get_resnet,
    resnet18_v1 as resnet18_v1,
    resnet18_v2 as resnet18_v2,
    resnet34_v1 as resnet34_v1,
    resnet34_v2 as resnet34_v2,
    resnet50_v1 as resnet50_v1,
    resnet50_v2 as resnet50_v2,
    resnet101_v1 as resnet101_v1,
    resnet101_v2 as resnet101_v2,
    resnet152_v1 as resnet152_v1,
    resnet152_v2 as resnet152_v2,
)
from .squeezenet import (
    SqueezeNet as SqueezeNet,
    squeezenet1_0 as squeezenet1_0,
    squeezenet1_1 as squeezenet1_1,
)
from .vgg import (
    VGG as VGG,
    get_vgg as get_vgg,
    vgg11 as vgg11,
    vgg11_bn as vgg11_bn,
    vgg13 as vgg13,
    vgg13_bn as vgg13_bn,
    vgg16 as vgg16,
    vgg16_bn as vgg16_bn,
    vgg19 as vgg19,
    vgg19_bn as vgg19_bn,
)

#: Functions whose network has another name than they have.
_NAMES = {
    "inceptionv3": inception_v3,
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "mobilenet1.0": mobilenet1_0,
    "mobilenet0.75": mobilenet0_75,
    "mobilenet0.5": mobilenet0_5,
    "mobilenet0.25": mobilenet0_25,
    "mobilenetv2_1.0": mobilenet_v2_1_0,
    "mobilenetv2_0.75": mobilenet_v2_0_75,
    "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.25": mobilenet_v2_0_25,
}
_SAME = (
    alexnet, densenet121, densenet161, densenet169, densenet201, resnet18_v1, resnet34_v1,
    resnet50_v1, resnet101_v1, resnet152_v1, resnet18_v2, resnet34_v2, resnet50_v2, resnet101_v2,
    resnet152_v2, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn,
)  # fmt: skip
_MODELS: dict[str, Function] = {**{f.__name__: f for f in _SAME}, **_NAMES}


def get_model(name: str, **kwargs: Any) -> Any:
    """Returns a new network by its name, in upper or lower case. ``kwargs`` are arguments of its
    function: ``classes``, ``pretrained``, ``ctx``, ``root``, ``prefix``, ... Raises ValueError
    (ArgumentValueError), with a list of all names, for an unknown name."""
    if name.lower() not in _MODELS:
        problem = f"Model {name} is not supported. Available options are"
        raise ArgumentValueError("\n\t".join([problem, *sorted(_MODELS)]))
    return _MODELS[name.lower()](**kwargs)


if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
