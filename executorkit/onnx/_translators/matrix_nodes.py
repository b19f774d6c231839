"""Products of matrices."""

from .._node_writer import NodeWriter, Operand, translates


@translates("FullyConnected")
def _fully_connected(w: NodeWriter) -> str:
    data, weight, *bias = w.inputs
    if w["flatten"] or data.rank == 2:
        flat = w.op("Flatten", data, axis=1) if data.rank != 2 else data
        return w.op("Gemm", flat, weight, *bias, transB=1)
    product = w.op("MatMul", data, w.transpose(weight, [1, 0]))
    return w.op("Add", product, bias[0]) if bias else product


@translates("batch_dot", "_linalg_gemm2")
def _batch_dot(w: NodeWriter) -> str:
    result = _product(w)
    if w.operator == "_linalg_gemm2" and w["alpha"] != 1:
        return w.op("Mul", result, w.scalar(w["alpha"]))
    return result


def _product(w: NodeWriter) -> str:
    left, right = w.inputs[:2]
    rank = left.rank
    # Rows may stand on another axis than the last but one.
    rows = w.step.params.get("axis", -2) % rank
    others = [a for a in range(rank - 1) if a != rows]
    plain, swapped = [*others, rows, rank - 1], [*others, rank - 1, rows]
    first = w.transpose(left, swapped if w["transpose_a"] else plain)
    product = w.op("MatMul", first, w.transpose(right, swapped if w["transpose_b"] else plain))
    return w.transpose(product, [plain.index(a) for a in range(rank)])


@translates("_linalg_gemm")
def _gemm(w: NodeWriter) -> str:
    product = w.op("Mul", _product(w), w.scalar(w["alpha"]))
    return w.op("Add", product, w.op("Mul", w.inputs[2], w.scalar(w["beta"])))


@translates("_linalg_syrk")
def _syrk(w: NodeWriter) -> str:
    rank = w.data.rank
    swapped = w.transpose(w.data, [*range(rank - 2), rank - 1, rank - 2])
    pair = (swapped, w.data) if w["transpose"] else (w.data, swapped)
    return w.op("Mul", w.op("MatMul", *pair), w.scalar(w["alpha"]))


@translates("_linalg_det")
def _det(w: NodeWriter) -> list[Operand]:
    determinant = w.op("Det", w.data)
    return [w.unsqueeze(determinant, 0) if w.data.rank == 2 and w.output.rank else determinant]


@translates("dot")
def _dot(w: NodeWriter) -> str:
    left, right = w.inputs
    transposed = w["transpose_a"], w["transpose_b"]
    if left.rank == right.rank == 1:
        return w.unsqueeze(w.op("MatMul", left, right), 0)
    if left.rank == right.rank == 2:
        first = w.transpose(left, [1, 0]) if transposed[0] else left
        return w.op("MatMul", first, w.transpose(right, [1, 0]) if transposed[1] else right)
    # Transposing moves the first axis behind all others, or the last one before them.
    before: list[int] = [*range(1, left.rank), 0] if transposed[0] else [*range(left.rank)]
    after = [right.rank - 1, *range(right.rank - 1)] if transposed[1] else [*range(right.rank)]
    left_lengths = [w.length(left, a) for a in before]
    right_lengths = [w.length(right, a) for a in after]
    rows = w.reshape(w.transpose(left, before), [-1, left_lengths[-1]])
    columns = w.reshape(w.transpose(right, after), [right_lengths[0], -1])
    return w.reshape(w.op("MatMul", rows, columns), [*left_lengths[:-1], *right_lengths[1:]])


@translates("_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_encdec_qk")
def _attention_scores(w: NodeWriter) -> str:
    size = w.data.sizes[2] // w["heads"]
    if w.operator.endswith("selfatt_qk"):
        queries, keys, _ = _interleaved(w, w.data, 3)
        size //= 3
    else:
        (queries,) = _interleaved(w, w.data, 1)
        keys, _ = _interleaved(w, w.inputs[1], 2)
    return w.op("MatMul", w.op("Mul", queries, w.scalar(size**-0.5)), w.transpose(keys, [0, 2, 1]))


@translates(
    "_contrib_interleaved_matmul_selfatt_valatt", "_contrib_interleaved_matmul_encdec_valatt"
)
def _attended_values(w: NodeWriter) -> str:
    heads, parts = w["heads"], 3 if w.operator.endswith("selfatt_valatt") else 2
    *_, values = _interleaved(w, w.data, parts)
    product = w.op("MatMul", w.inputs[1], values)
    # (N * heads, L, size) as (L, N, heads * size)
    rows, size = w.length(w.inputs[1], 1), w.data.sizes[2] // heads // parts
    split = w.reshape(product, [-1, heads, rows, size])
    return w.op("Reshape", w.transpose(split, [2, 0, 1, 3]), w.ints(0, 0, heads * size))


def _interleaved(w: NodeWriter, data: Operand, parts: int) -> list[str]:
    first = w.transpose(w.op("Reshape", data, w.ints(0, 0, w["heads"], parts, -1)), [3, 1, 2, 0, 4])
    cut = w.split(first, [1] * parts, 0) if parts > 1 else [first]
    tail = w.slice(w.op("Shape", first), [0], [3], [5])
    target = w.concat([w.ints(-1), tail], 0)
    return [w.op("Reshape", part, target) for part in cut]
