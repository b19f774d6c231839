"""A network's inference in ONNX Runtime: a worker of ``_workers``.

python -m benchmarks._onnx FILE NETWORK BATCH SIZE
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from ._exported import Call, Exported
from ._networks import network
from ._workers import serve

Names = list[str]


def _nodes(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    """The ONNX nodes of an operator."""

    def node(op: str, inputs: Names = inputs, outputs: Names = outputs, **attrs: Any) -> Any:
        return helper.make_node(op, inputs, outputs, **attrs)

    def pads() -> list[int]:
        return [*c.get("pad", (0, 0))] * 2

    inner = f"{outputs[0]}_inner"
    if c.op == "Convolution":
        yield node(
            "Conv", kernel_shape=c["kernel"], strides=c.get("stride", (1, 1)), pads=pads(),
            dilations=c.get("dilate", (1, 1)), group=c.get("num_group", 1),
        )  # fmt: skip
    elif c.op == "BatchNorm":
        yield node("BatchNormalization", outputs=outputs[:1], epsilon=c.get("eps", 1e-3))
    elif c.op == "Activation":
        yield node(c["act_type"].capitalize())
    elif c.op == "Pooling" and c.get("global_pool"):
        yield node("GlobalAveragePool" if c["pool_type"] == "avg" else "GlobalMaxPool")
    elif c.op == "Pooling":
        average = c["pool_type"] == "avg"
        yield node(
            "AveragePool" if average else "MaxPool", kernel_shape=c["kernel"], pads=pads(),
            strides=c.get("stride", (1, 1)),
            ceil_mode=int(c.get("pooling_convention") == "full"),
            **({"count_include_pad": 1} if average else {}),
        )  # fmt: skip
    elif c.op == "FullyConnected":
        yield node("Flatten", inputs[:1], [inner])
        yield node("Gemm", [inner, *inputs[1:]], transB=1)
    elif c.op == "Flatten":
        yield node("Flatten")
    elif c.op == "Concat":
        yield node("Concat", axis=c.get("dim", 1))
    elif c.op == "Embedding":
        yield node("Cast", inputs[:1], [inner], to=TensorProto.INT64)
        yield node("Gather", [inputs[1], inner])
    elif c.op == "SliceChannel":
        squeeze, axis = c.get("squeeze_axis"), c.get("axis", 1)
        parts = [f"{o}_wide" for o in outputs] if squeeze else outputs
        yield node("Split", outputs=parts, axis=axis, num_outputs=len(outputs))
        for part, output in zip(parts, outputs, strict=True) if squeeze else ():
            yield node("Squeeze", [part, "axis1"], [output])
    elif c.op == "SoftmaxOutput":
        yield node("Softmax", inputs[:1], axis=1)
    elif c.op == "_mul_scalar":
        value = numpy_helper.from_array(np.float32(c["scalar"]))
        yield node("Constant", [], [inner], value=value)
        yield node("Mul", [inputs[0], inner])
    else:
        yield node({"elemwise_add": "Add", "_Plus": "Add", "_plus": "Add"}.get(c.op, "Mul"))


def model(exported: Exported) -> bytes:
    """The network as an ONNX model; what only labels need is left out."""
    values, fixed, made, nodes = exported.values, {}, {}, []
    for i, name in exported.variables.items():
        made[i, 0] = name
    for c in exported.calls():
        if any(e not in made for e in c.inputs[:1]) or "label" in made.get(c.inputs[0], ""):
            continue  # a label's own path
        count = c.get("num_outputs", 1) if c.op == "SliceChannel" else 1
        outputs = [f"v{c.number}_{k}" for k in range(count)]
        made.update(((c.number, k), o) for k, o in enumerate(outputs))
        inputs = [made.get(e, "") for e in c.inputs]
        if c.op == "BatchNorm" and c.get("fix_gamma", True):
            fixed[inputs[1]] = np.ones_like(values[inputs[1]])
        nodes += _nodes(c, inputs, outputs)
        if c.op in ("transpose", "Reshape"):
            del nodes[-1], made[c.number, 0]
    used = {n for node in nodes for n in node.input}
    fed = [n for n in exported.inputs if n in used]
    constants = {n: fixed.get(n, v) for n, v in values.items() if n in used and n not in fed}
    constants["axis1"] = np.array([1])
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, values[n].shape) for n in fed],
        [helper.make_tensor_value_info(made[exported.head], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    made_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return made_model.SerializeToString()


def main(path: str, name: str, batch: str, size: str) -> None:
    start = time.perf_counter()
    exported = Exported(path, network(name, int(batch), int(size)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model(exported), options, providers=["CPUExecutionProvider"]
    )
    fed = {i.name: exported.values[i.name] for i in session.get_inputs()}

    def forward() -> Any:
        return session.run(None, fed)[0]

    serve({"forward": forward, "read": forward}, time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
