"""``mx.contrib.amp``: mixed precision, layers in float16 or bfloat16 and the rest in float32.

    amp.init("bfloat16")
    amp.init_trainer(trainer)
    with autograd.record():
        loss = loss_function(net(data), label)
        with amp.scale_loss(loss, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(batch_size)

``init`` casts the inputs of listed operators; parameters stay in float32. A step whose gradients
overflow changes nothing, and halves the scale of later losses; the check is a part of the step's
program. ``convert_symbol``, ``convert_model`` and ``convert_hybrid_block`` convert trained networks
for inference.
"""

from . import amp as amp, lists as lists
from ._casting import init as init
from ._conversion import (
    convert_hybrid_block as convert_hybrid_block,
    convert_model as convert_model,
    convert_symbol as convert_symbol,
)
from ._lists import (
    list_conditional_fp32_ops as list_conditional_fp32_ops,
    list_fp32_ops as list_fp32_ops,
    list_loss_output_functions as list_loss_output_functions,
    list_lp16_fp32_ops as list_lp16_fp32_ops,
    list_lp16_ops as list_lp16_ops,
    list_lp16_use_fp32_params as list_lp16_use_fp32_params,
    list_widest_type_cast as list_widest_type_cast,
)
from ._scaling import init_trainer as init_trainer, scale_loss as scale_loss, unscale as unscale
from .loss_scaler import LossScaler as LossScaler
