"""Arrays made of attributes or of another array's shape, and random numbers."""

import numpy as np

from .._library import TYPE_NUMBERS
from .._node_writer import NodeWriter, Operand, translates

translates("_zeros")(lambda w: w.filled(w.output_lengths(), 0.0, w.output.dtype))
translates("_ones")(lambda w: w.filled(w.output_lengths(), 1.0, w.output.dtype))
translates("_full")(lambda w: w.filled(w.output_lengths(), w["value"], w.output.dtype))
translates("zeros_like")(lambda w: w.filled(w.lengths(w.data), 0.0, w.output.dtype))
translates("ones_like")(lambda w: w.filled(w.lengths(w.data), 1.0, w.output.dtype))
translates("shape_array")(lambda w: w.op("Shape", w.data))
translates("size_array")(lambda w: w.unsqueeze(w.op("Size", w.data), 0))


@translates("_arange", "_eye", "_linspace")
def _constant(w: NodeWriter) -> str:
    if not w.output.is_static:
        w.refuse("its length varies")
    (array,) = w.evaluate()
    return w.array(array.astype(w.output.dtype), w.name)


@translates("_contrib_arange_like")
def _arange_like(w: NodeWriter) -> str:
    axis, repeat, dtype = w["axis"], w["repeat"], w.output.dtype
    lengths = w.lengths(w.data) if axis is None else [w.length(w.data, axis)]
    count = w.arange(w.product(lengths))
    if repeat != 1:
        count = w.op("Div", count, w.array(np.int64(repeat)))
    values = w.op("Mul", w.cast(count, dtype), w.scalar(w["step"], dtype))
    values = w.op("Add", values, w.scalar(w["start"], dtype))
    return w.reshape(values, lengths) if axis is None else values


@translates("_random_uniform", "_random_normal", "_random_uniform_like", "_random_normal_like")
def _random(w: NodeWriter) -> str:
    if w.operator.startswith("_random_uniform"):
        op_type, attrs = "RandomUniform", {"low": w["low"], "high": w["high"]}
    else:
        op_type, attrs = "RandomNormal", {"mean": w["loc"], "scale": w["scale"]}
    if w.operator.endswith("_like"):
        return w.op(f"{op_type}Like", w.data, **attrs)
    if not w.output.is_static:
        w.refuse("its shape varies")
    return w.op(op_type, shape=list(w.output.sizes), dtype=TYPE_NUMBERS[w.output.dtype], **attrs)


@translates("_sample_multinomial")
def _multinomial(w: NodeWriter) -> Operand:
    if w["get_prob"] or w.data.rank != 2 or len(w["shape"] or ()) > 1:
        w.refuse("only draws of (N,) or (N, n) numbers without their probabilities")
    count = (w["shape"] or (1,))[0]
    drawn = w.op("Multinomial", w.op("Log", w.data), sample_size=count, dtype=TYPE_NUMBERS["int32"])
    drawn = drawn if w.output.rank == 2 else w.squeeze(drawn, 1)
    return w.cast_from(drawn, "int32", w.output.dtype)
