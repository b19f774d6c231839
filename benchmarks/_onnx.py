"""A network's inference in ONNX Runtime: a worker of ``_workers``.

python -m benchmarks._onnx FILE NETWORK BATCH SIZE
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from ._exported import Call, Exported
from ._networks import network
from ._workers import serve

Names = list[str]
Nodes = Callable[[Call, Names, Names], Iterator[Any]]


def _pads(c: Call) -> list[int]:
    return [*c.get("pad", (0, 0))] * 2


def _convolution(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    yield helper.make_node(
        "Conv", inputs, outputs, kernel_shape=c["kernel"], strides=c.get("stride", (1, 1)),
        pads=_pads(c), dilations=c.get("dilate", (1, 1)), group=c.get("num_group", 1),
    )  # fmt: skip


def _batch_norm(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    yield helper.make_node("BatchNormalization", inputs, outputs[:1], epsilon=c.get("eps", 1e-3))


def _activation(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    yield helper.make_node(c["act_type"].capitalize(), inputs, outputs)


def _pooling(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    average = c["pool_type"] == "avg"
    if c.get("global_pool"):
        yield helper.make_node(
            "Global" + ("AveragePool" if average else "MaxPool"), inputs, outputs
        )
        return
    yield helper.make_node(
        "AveragePool" if average else "MaxPool", inputs, outputs, kernel_shape=c["kernel"],
        pads=_pads(c), strides=c.get("stride", (1, 1)),
        ceil_mode=int(c.get("pooling_convention") == "full"),
        **({"count_include_pad": 1} if average else {}),
    )  # fmt: skip


def _dense(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    flat = f"{outputs[0]}_inner"
    yield helper.make_node("Flatten", inputs[:1], [flat])
    yield helper.make_node("Gemm", [flat, *inputs[1:]], outputs, transB=1)


def _concat(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    yield helper.make_node("Concat", inputs, outputs, axis=c.get("dim", 1))


def _embedding(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    indices = f"{outputs[0]}_inner"
    yield helper.make_node("Cast", inputs[:1], [indices], to=TensorProto.INT64)
    yield helper.make_node("Gather", [inputs[1], indices], outputs)


def _slice_channel(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    squeeze, axis = c.get("squeeze_axis"), c.get("axis", 1)
    parts = [f"{o}_wide" for o in outputs] if squeeze else outputs
    yield helper.make_node("Split", inputs, parts, axis=axis, num_outputs=len(outputs))
    for part, output in zip(parts, outputs, strict=True) if squeeze else ():
        yield helper.make_node("Squeeze", [part, "axis1"], [output])


def _softmax(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    yield helper.make_node("Softmax", inputs[:1], outputs, axis=1)


def _scale(c: Call, inputs: Names, outputs: Names) -> Iterator[Any]:
    scalar = f"{outputs[0]}_inner"
    value = numpy_helper.from_array(np.float32(c["scalar"]))
    yield helper.make_node("Constant", [], [scalar], value=value)
    yield helper.make_node("Mul", [inputs[0], scalar], outputs)


def _one_node(op: str) -> Nodes:
    return lambda c, inputs, outputs: iter([helper.make_node(op, inputs, outputs)])


#: The ONNX nodes of an operator; operators that are not in the table multiply.
NODES: dict[str, Nodes] = {
    "Activation": _activation, "BatchNorm": _batch_norm, "Concat": _concat,
    "Convolution": _convolution, "Embedding": _embedding, "Flatten": _one_node("Flatten"),
    "FullyConnected": _dense, "Pooling": _pooling, "SliceChannel": _slice_channel,
    "SoftmaxOutput": _softmax, "_Plus": _one_node("Add"), "_mul_scalar": _scale,
    "_plus": _one_node("Add"), "elemwise_add": _one_node("Add"),
}  # fmt: skip


def model(exported: Exported) -> bytes:
    """The network as an ONNX model, without the nodes that only labels need."""
    values, fixed, names, nodes = exported.values, {}, {}, []
    for i, name in exported.variables.items():
        names[i, 0] = name
    for c in exported.calls():
        if any(e not in names for e in c.inputs[:1]) or "label" in names.get(c.inputs[0], ""):
            continue  # only labels need it
        count = c.get("num_outputs", 1) if c.op == "SliceChannel" else 1
        outputs = [f"v{c.number}_{k}" for k in range(count)]
        names.update(((c.number, k), o) for k, o in enumerate(outputs))
        inputs = [names.get(e, "") for e in c.inputs]
        if c.op == "BatchNorm" and c.get("fix_gamma", True):
            fixed[inputs[1]] = np.ones_like(values[inputs[1]])
        nodes += NODES.get(c.op, _one_node("Mul"))(c, inputs, outputs)
        if c.op in ("transpose", "Reshape"):
            del nodes[-1], names[c.number, 0]
    used = {n for node in nodes for n in node.input}
    inputs = [n for n in exported.inputs if n in used]
    constants = {n: fixed.get(n, v) for n, v in values.items() if n in used and n not in inputs}
    constants["axis1"] = np.array([1])
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, values[n].shape) for n in inputs],
        [helper.make_tensor_value_info(names[exported.head], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    model_proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )
    return model_proto.SerializeToString()


def main(path: str, name: str, batch: str, size: str) -> None:
    start = time.perf_counter()
    exported = Exported(path, network(name, int(batch), int(size)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model(exported), options, providers=["CPUExecutionProvider"]
    )
    inputs = {i.name: exported.values[i.name] for i in session.get_inputs()}

    def forward() -> Any:
        return session.run(None, inputs)[0]

    serve({"forward": forward, "read": forward}, time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
