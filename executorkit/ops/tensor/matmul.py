"""Matrix products, batched products and Khatri-Rao products."""

from typing import Literal

import jax.numpy as jnp
from jax import Array, lax

from ...errors import ShapeError
from ..schema.attrs import Count, Tuning
from ..schema.calls import same_signature
from ..schema.inference import Params, ShapeFacts, merge_shapes, normal_axis
from ..schema.operator_registry import register
from ..schema.traits import MATMUL, SHARED_PRODUCT
from ..tracing import is_known, traced_for_cpus

#: Element types in which sums of products are as accurate as a product.
_ACCURATE = (jnp.float32, jnp.float64)
#: Number of operations from which XLA runs a program in another thread on CPUs. To wake it takes 1
#: to 20 us, where the program itself takes less than 1.
_OPERATIONS_OF_A_THREAD = 1000

StorageType = Tuning[Literal["csr", "default", "row_sparse"] | None]


def _infer_dot_shape(s: ShapeFacts, p: Params) -> None:
    lhs, rhs = s["lhs"], s["rhs"]
    if lhs and rhs:
        i = 0 if p.transpose_a else len(lhs) - 1
        j = len(rhs) - 1 if p.transpose_b else 0
        because = f"axis {i} of lhs {lhs} and axis {j} of rhs are summed over"
        s.set("rhs", (*rhs[:j], lhs[i], *rhs[j + 1 :]), because=because)
        s.set("lhs", (*lhs[:i], rhs[j], *lhs[i + 1 :]), because=because)


@register("dot", infer_shape=_infer_dot_shape, traits={MATMUL, SHARED_PRODUCT}, kind="dense")
def dot(
    lhs: Array,
    rhs: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: StorageType = None,
):
    """Sums products over the last axis of lhs and the first axis of rhs.

    lhs (a0, ..., K) and rhs (K, b1, ...) give (a0, ..., b1, ...); two vectors (K,) give (1,).
    With ``transpose_a`` the first axis of lhs is summed over, with ``transpose_b`` the last one of
    rhs; the order of the other axes stays.
    """
    if lhs.ndim == rhs.ndim == 1 and (transpose_a or transpose_b):
        raise ShapeError("vectors cannot be transposed", because="both inputs have one axis")
    i = 0 if transpose_a else lhs.ndim - 1
    j = rhs.ndim - 1 if transpose_b else 0
    if lhs.shape[i] != rhs.shape[j]:
        axes = f"axis {i} of lhs {lhs.shape} and axis {j} of rhs {rhs.shape}"
        raise ShapeError(f"{axes} are summed over, expected one size")
    if lhs.ndim == rhs.ndim == 2 and _runs_at_once(lhs, rhs, lhs.shape[i]):
        return _sum_of_products(lhs.T if transpose_a else lhs, rhs.T if transpose_b else rhs)
    out = lax.dot_general(lhs, rhs, (((i,), (j,)), ((), ())))
    return out if out.ndim else out.reshape(1)


def _runs_at_once(lhs: Array, rhs: Array, length: int) -> bool:
    # XLA runs it in the calling thread as sums of products, but not as a product, for which it
    # counts one operation more per number.
    if not traced_for_cpus() or lhs.dtype != rhs.dtype or lhs.dtype not in _ACCURATE:
        return False
    if not is_known(*lhs.shape, *rhs.shape) or not length:
        return False
    return lhs.size // length * (rhs.size // length) * (2 * length - 1) < _OPERATIONS_OF_A_THREAD


def _sum_of_products(a: Array, b: Array) -> Array:
    shape = (*a.shape, b.shape[1])
    terms = lax.mul(lax.broadcast_in_dim(a, shape, (0, 1)), lax.broadcast_in_dim(b, shape, (1, 2)))
    return lax.reduce_sum(terms, (1,))


def _infer_matmul_shape(s: ShapeFacts, transpose: tuple[bool, bool], row: int = -2) -> None:
    # States that out0 is the product of the first two inputs, stacks of matrices whose rows are
    # axis ``row`` and whose columns are the last axis.
    a, b, *_ = s
    boxes = [s[n] for n in (a, b, "out0") if s[n] is not None]
    if not boxes or len({len(box) for box in boxes}) > 1:
        return
    ndim = len(boxes[0])
    if ndim < 2 or not -ndim <= row < ndim or row % ndim == ndim - 1:
        return
    rows, columns = row % ndim, ndim - 1
    flip = {a: transpose[0], b: transpose[1], "out0": False}

    def sides(name: str) -> tuple[int, int]:
        box = s[name]
        if box is None:
            return 0, 0
        pair = box[rows], box[columns]
        return pair[::-1] if flip[name] else pair

    batch = None
    for box in boxes:
        common = tuple(0 if i in (rows, columns) else d for i, d in enumerate(box))
        try:
            batch = merge_shapes(batch, common)
        except ValueError:
            shapes = ", ".join(f"{n} {s[n]}" for n in (a, b))
            raise ShapeError(f"all axes but {rows} and {columns} must agree: {shapes}") from None
    (m, k), (k2, n), (m2, n2) = sides(a), sides(b), sides("out0")
    for name, pair in ((a, (m or m2, k or k2)), (b, (k or k2, n or n2))):
        left, right = pair[::-1] if flip[name] else pair
        shape = list(batch or ())
        shape[rows], shape[columns] = left, right
        s.set(name, shape, because=f"{a} is {s[a]} and {b} {s[b]}, transposed: {transpose}")


def _matmul(a: Array, b: Array, transpose_a: bool, transpose_b: bool, row: int = -2) -> Array:
    # Products of stacks of matrices; their rows are axis ``row``, their columns the last axis.
    if a.ndim != b.ndim or a.ndim < 2:
        raise ShapeError(f"inputs are {a.shape} and {b.shape}, expected stacks of matrices alike")
    rows, columns = normal_axis(row, a.ndim), a.ndim - 1
    if rows == columns:
        raise ShapeError(f"axis={row} holds the columns, expected the axis of the rows")
    batch = tuple(i for i in range(a.ndim) if i not in (rows, columns))
    i = rows if transpose_a else columns
    j = columns if transpose_b else rows
    if any(a.shape[x] != b.shape[x] for x in batch) or a.shape[i] != b.shape[j]:
        because = f"transpose_a={transpose_a}, transpose_b={transpose_b}, rows along axis {rows}"
        raise ShapeError(f"stacks of matrices {a.shape} and {b.shape} do not fit", because=because)
    out = lax.dot_general(a, b, (((i,), (j,)), (batch, batch)))
    order = list(range(len(batch)))
    order.insert(rows, len(batch))
    return lax.transpose(out, (*order, len(batch) + 1))


def _infer_batch_dot_shape(s: ShapeFacts, p: Params) -> None:
    _infer_matmul_shape(s, (p.transpose_a, p.transpose_b))


@register("batch_dot", infer_shape=_infer_batch_dot_shape, traits={MATMUL}, kind="dense")
@same_signature(dot)
def batch_dot(lhs, rhs, *, transpose_a, transpose_b, forward_stype):
    """Multiplies the matrices at each position of the leading axes.

    lhs (N, ..., I, K) and rhs (N, ..., K, J) give (N, ..., I, J), with three axes or more and no
    broadcasting. ``transpose_a``: lhs is (N, ..., K, I); ``transpose_b``: rhs is (N, ..., J, K).
    """
    if lhs.ndim < 3:
        raise ShapeError(f"'lhs' is {lhs.shape}, expected three axes or more")
    return _matmul(lhs, rhs, transpose_a, transpose_b)


def _infer_gemm_shape(s: ShapeFacts, p: Params) -> None:
    s.same(*(n for n in s if n in ("C", "out0")))
    _infer_matmul_shape(s, (p.transpose_a, p.transpose_b), p.axis)
    a, b = s["A"], s["B"]
    if "C" in s and a and b and len(a) == len(b) and -len(a) <= p.axis < len(a) - 1:
        rows, shape = p.axis % len(a), list(a)
        shape[rows] = a[-1] if p.transpose_a else a[rows]
        shape[-1] = b[rows] if p.transpose_b else b[-1]
        s.set("C", shape, because=f"A is {a} and B is {b}")


@register("_linalg_gemm2", "linalg_gemm2", infer_shape=_infer_gemm_shape, traits={MATMUL})
def linalg_gemm2(
    A: Array,  # noqa: N803 - the names are MXNet's
    B: Array,  # noqa: N803
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
):
    """Computes alpha op(A) op(B), for the matrices at each position of the other axes.

    A (..., I, K) and B (..., K, J) give (..., I, J), without broadcasting; ``transpose_a`` and
    ``transpose_b``: op is the transpose. Rows are axis ``axis``, columns the last one.
    """
    return alpha * _matmul(A, B, transpose_a, transpose_b, axis)


@register("_linalg_gemm", "linalg_gemm", infer_shape=_infer_gemm_shape, traits={MATMUL})
def linalg_gemm(
    A: Array,  # noqa: N803 - the names are MXNet's
    B: Array,  # noqa: N803
    C: Array,  # noqa: N803
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
):
    """Computes alpha op(A) op(B) + beta C, for the matrices at each position of the other axes.

    A (..., I, K), B (..., K, J) and C (..., I, J), without broadcasting; ``transpose_a`` and
    ``transpose_b``: op is the transpose. Rows are axis ``axis``, columns the last one.
    """
    product = _matmul(A, B, transpose_a, transpose_b, axis)
    if C.shape != product.shape:
        raise ShapeError(f"'C' is {C.shape}, expected {product.shape}")
    return alpha * product + beta * C


def _infer_khatri_rao_shape(s: ShapeFacts, p: Params) -> None:
    for name in s:
        for other in s:
            if s[other] is not None and len(s[other]) == 2:
                s.set(name, (0, s[other][1]), because=f"{other} is {s[other]}")


@register("khatri_rao", infer_shape=_infer_khatri_rao_shape, traits={MATMUL})
def khatri_rao(*args: Array, num_args: Count):
    """Computes the Kronecker product of each column: kron(args[0][:, k], args[1][:, k], ...).

    Inputs (I0, K), (I1, K), ... give (I0 * I1 * ..., K). MXNet has no gradient for it.
    """
    if any(x.ndim != 2 or x.shape[1] != args[0].shape[1] for x in args):
        raise ShapeError(f"inputs are {[x.shape for x in args]}, expected matrices (I, K), one K")
    out = args[0]
    for x in args[1:]:
        out = (out[:, None, :] * x[None, :, :]).reshape(-1, x.shape[1])
    return out
