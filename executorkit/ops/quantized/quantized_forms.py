"""The 8-bit operators that stand for floating ones in a quantised network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _if_attr(name: str, *values: object) -> Callable[[Any], bool]:
    return lambda node: node.params is not None and node.params[name] in values


@dataclass(frozen=True, slots=True)
class QuantizedForm:
    """The 8-bit operator that stands for a floating one."""

    name: str
    #: True if networks are quantised for this operator; "smart" keeps others floating unless they
    #: stand between such.
    essential: bool = False
    #: Positions of the inputs that stay floating.
    floating_inputs: tuple[int, ...] = ()
    #: True if the result is int32 and is brought to 8 bits by a further node.
    requantized: bool = False
    #: False for a node of this operator that has no 8-bit form.
    applies: Callable[[Any], bool] = lambda node: True


FORMS = {
    "Convolution": QuantizedForm("_contrib_quantized_conv", essential=True, requantized=True),
    "FullyConnected": QuantizedForm(
        "_contrib_quantized_fully_connected", essential=True, requantized=True
    ),
    "Pooling": QuantizedForm(
        "_contrib_quantized_pooling", applies=_if_attr("pool_type", "avg", "max")
    ),
    "Flatten": QuantizedForm("_contrib_quantized_flatten"),
    "Activation": QuantizedForm("_contrib_quantized_act", applies=_if_attr("act_type", "relu")),
    "Concat": QuantizedForm("_contrib_quantized_concat", applies=_if_attr("dim", 1)),
    "elemwise_add": QuantizedForm("_contrib_quantized_elemwise_add", requantized=True),
    "elemwise_mul": QuantizedForm("_contrib_quantized_elemwise_mul", requantized=True),
    "BatchNorm": QuantizedForm("_contrib_quantized_batch_norm", floating_inputs=(1, 2, 3, 4)),
    "Embedding": QuantizedForm("_contrib_quantized_embedding", floating_inputs=(0,)),
}

#: Operators whose outputs MXNet names; the outputs of others have numbers in names of new nodes.
NAMED_OUTPUTS = {
    "Activation", "BatchNorm", "BilinearSampler", "Concat", "Convolution", "Correlation", "Crop",
    "Deconvolution", "Dropout", "FullyConnected", "GridGenerator", "GroupNorm", "InstanceNorm",
    "L2Normalization", "LRN", "LayerNorm", "LeakyReLU", "MakeLoss", "Pad", "Pooling", "RNN",
    "ROIPooling", "SVMOutput", "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel",
    "SoftmaxActivation", "SoftmaxOutput", "SpatialTransformer", "SwapAxis", "UpSampling",
    "_contrib_DeformableConvolution", "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget", "_contrib_PSROIPooling", "_contrib_Proposal",
    "_contrib_SyncBatchNorm",
    "elemwise_add", "elemwise_mul", "softmax",
}  # fmt: skip

#: Operators that take a calibrated range, and the entry of which it is the range: an input, or
#: None for the first output.
CALIBRATED_ENTRY = {
    "_contrib_quantize_v2": 0,
    "_contrib_requantize": 0,
    "_contrib_quantized_batch_norm": None,
}
