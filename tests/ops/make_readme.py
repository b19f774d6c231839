"""Writes the table of all operators, ``executorkit/ops/README.md``.

    python -m tests.ops.make_readme

Everything in it but ``BESIDE_MXNET`` and ``GRADIENTS`` comes from the registry, the golden answers
and the list of the names that MXNet registers; ``test_readme.py`` holds the file to it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import jax
import numpy as np

from executorkit import ops
from executorkit.ops import OpDef
from executorkit.ops.schema.operator_modules import unsupported_reason
from executorkit.ops.schema.operator_registry import numpy_ops
from tests._tools import golden as _golden
from tests._tools.answers import stored_answers
from tests.golden.cases._case import Case
from tests.ops.test_golden import NO_GOLDEN_CASE

PATH = Path(ops.__file__).with_name("README.md")
MXNET: dict[str, list[str]] = stored_answers("registry")

#: Served, but not in MXNet's own builds.
PLUGINS = ("WarpCTC",)

#: Differences from MXNet, in a few words; docstrings say it in full.
BESIDE_MXNET = {
    "BatchNorm_v1": "gradient after an inference forward lacks one small term",
    "Cast": "no gradient through integers",
    "Convolution": "channels-last layouts on CPUs too",
    "Convolution_v1": "channels-last layouts on CPUs too",
    "Custom": "the next `forward` stores what `backward` did to auxiliary states",
    "Embedding": "zero gradient of data, not an error",
    "InstanceNorm": "any floating dtype",
    "Pad": "any number of axes, any of them padded",
    "Pooling": "NaN is always the maximum",
    "RNN": "sequence lengths and clipping have effect on CPUs too; float64 gradients are the "
    "derivative from three layers on",
    "Reshape": "an error where the number of elements differs",
    "SoftmaxActivation": "gradient of `instance` is the forward's for any number of axes",
    "WarpCTC": "a plugin in MXNet",
    "_arange": "`infer_range` is an error; float16 keeps a fractional step",
    "_contrib_ModulatedDeformableConvolution": "gradient on CPUs too",
    "_contrib_MultiBoxTarget": "too few negatives are no error",
    "_contrib_ROIAlign": "zeros for a negative index",
    "_contrib_RROIAlign": "has a gradient",
    "_contrib_SparseEmbedding": "zero gradient of data, not an error; that of weight is dense",
    "_contrib_SyncBatchNorm": "own slice alone where slices run as separate programs",
    "_contrib_boolean_mask": "on arrays only: a graph needs static shapes",
    "_contrib_getnnz": "an error: arrays are dense",
    "_image_normalize": "one number for all channels works",
    "_image_resize": "has a gradient",
    "_scatter_set_nd": "needs no `out`",
    "_sg_mkldnn_selfatt_qk": "the range of int32 scores, where MXNet gives 0",
    "_shuffle": "has a gradient",
    "_slice_assign": "has a gradient",
    "_slice_assign_scalar": "has a gradient",
    "_square_sum": "for dense arrays",
    "_unravel_index": "any number of axes",
    "_while_loop": "zeros in rows of iterations not run",
    "all_finite": "`init_output=False` is an error",
    "multi_all_finite": "`init_output=False` is an error",
    "argmax_channel": "zero gradient, not an error",
    "batch_take": "has a gradient",
    "cast_storage": "`default` only: arrays are dense",
    "khatri_rao": "has a gradient",
    "multi_sum_sq": "zero gradient, not an error",
    "norm": "integers are computed in float32",
    "relu": "0 at NaN",
    "softmax_cross_entropy": "zero gradient of label, not an error",
    "sort": "has a gradient without `axis` too",
    "take": "`mode=\"raise\"` clips",
} | dict.fromkeys(
    ("_contrib_fft", "_contrib_ifft", "_contrib_count_sketch", "_contrib_group_adagrad_update"),
    "on CPUs too",
)  # fmt: skip

#: Gradients that MXNet gives no answer to compare with.
GRADIENTS = {
    "Custom": "own rule",
    "WarpCTC": "own rule",
    "_foreach": "yes",
    "_while_loop": "own rule",
    "_cond": "yes",
    "_contrib_fft": "yes",
    "_contrib_ifft": "yes",
    "_contrib_count_sketch": "yes",
    "_copyto": "yes",
    "_image_random_color_jitter": "yes",
    "_sample_multinomial": "own rule",
    "_shuffle": "yes",
    "_square_sum": "yes",
    "argmax_channel": "zero",
    "multi_sum_sq": "zero",
} | dict.fromkeys(
    (
        "batch_take", "khatri_rao", "_slice_assign", "_slice_assign_scalar", "_grad_add",
        "_contrib_ModulatedDeformableConvolution", "_contrib_RROIAlign", "_contrib_SparseEmbedding",
        "_image_adjust_lighting", "_image_flip_left_right", "_image_flip_top_bottom",
        "_image_random_brightness", "_image_random_contrast", "_image_random_flip_left_right",
        "_image_random_flip_top_bottom", "_image_random_hue", "_image_random_lighting",
        "_image_random_saturation", "_image_resize", "_image_to_tensor",
    ),
    "yes",
)  # fmt: skip

#: A rule in a traced program that is not one of JAX's own functions'.
OWN_RULE = re.compile(r"custom_vjp_call|custom_jvp_call\[\s*name=(?!_det|_slogdet|logaddexp)")

_HEAD = """\
# Operators

Written by `python -m tests.ops.make_readme` from the registry, the golden answers and the names
that MXNet 1.9.1 registers; a test keeps it current.

{served} of MXNet's {total} operators are served, under {names} names, and {extra} of its plugins;
{answers:,} answers of MXNet stand behind them. {absent} are left out, see below. {numpy} operators
of `mx.np` and `mx.npx` are served and not in the table; `tests/numpy` compares the functions.

## Folders

| folder | contents |
| --- | --- |
| `schema` | definition and registry of operators, attributes, inference, traits, layouts, calls |
| `tensor` | element-wise, broadcasting, reductions, shapes, indexing, matrices, constants |
| `nn` | layers and losses of neural networks; `nn/conv_kernels`: algorithms of convolutions |
| `recurrence` | `lax.scan` with a short backward pass |
| `vision` | images, regions of interest, detection, sampling |
| `quantized` | int8 operators and calibration |
| `random` | samplers and densities |
| `optimizer_updates` | update rules as operators on arrays |
| `numpy` | the operators of `mx.np` and `mx.npx`, loaded when one is looked up |
| `control_flow.py`, `custom.py` | loops and branches; operators written in Python by users |

An operator is one function with `@register(...)` above it, in the file of its family: its
signature is the schema, its docstring the help text. It needs a golden case in
`tests/golden/cases/`. Passes and compilers know operators by their *traits*
(`schema/traits.py`), never by name.

## Table

- **names**: the one that stands in files, then its aliases.
- **gradient**: *yes*: the derivative; *own rule*: written beside the operator, because MXNet has
  another one (at ties, at 0, for losses) or for speed; *zero*: for every input; *-*: none.
- **answers**: of MXNet, one per case and dtype, that outputs, gradients, states, shapes and types
  are compared with; where there are none, the reason.
- **beside MXNet**: what is not the same, or cannot be seen there; docstrings (`help(mx.sym.relu)`)
  say more.
"""

_ABSENT = """
## Left out

{count} of MXNet's {total} operators:

| reason | how many | such as |
| --- | --- | --- |
"""


def served() -> list[OpDef]:
    """The operators by name, without those that users (and examples in docstrings) register."""
    listed = [op for op in ops.all_ops() if op.name in MXNET or op.name in PLUGINS]
    return sorted(listed, key=lambda op: op.name.lower().lstrip("_"))


def absent() -> dict[str, list[str]]:
    """Canonical names of MXNet's operators that are not served, by reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, aliases in MXNET.items():
        if not any(map(ops.lookup, (name, *aliases))):
            by_reason[unsupported_reason(name) or "no reason"].append(name)
    return dict(sorted(by_reason.items(), key=lambda item: -len(item[1])))


def gradient(op: OpDef, cases: Iterable[tuple[str, Case]]) -> str:
    """The word in the table: what the golden answers say, and how it is computed here."""
    asked = [(family, case) for family, case in cases if case.compared(case.dtype)]
    if not any(_not_zero(family, case) for family, case in asked):
        return "zero" if asked else GRADIENTS.get(op.name, "-")
    return "own rule" if any(_has_own_rule(op, case) for _, case in asked) else "yes"


def _not_zero(family: str, case: Case) -> bool:
    answers, key = _golden.answers(family), case.key(case.dtype)
    names = [n for n in answers.facts[key].get("arrays", ()) if n.startswith("grad:")]
    return any(np.any(answers[f"{key}|{name}"]) for name in names)


def _has_own_rule(op: OpDef, case: Case) -> bool:
    attrs = dict(case.attrs)
    if op.variadic is not None and op.count is not None:
        attrs.setdefault(op.count, len(case.inputs))
    p, key = op.parse(attrs), jax.random.key(0)
    with jax.enable_x64(True):
        arrays = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in case.arrays(case.dtype).values()]
        run = jax.make_jaxpr(lambda *operands: op.apply(p, operands, key=key, train=case.train))
        return OWN_RULE.search(str(run(*arrays))) is not None


def text() -> str:
    """The whole file."""
    cases: dict[OpDef | None, list[tuple[str, Case]]] = defaultdict(list)
    answers: Counter[OpDef | None] = Counter()
    for family, case, dtype in _golden.questions():
        op = ops.lookup(case.op)
        answers[op] += "error" not in _golden.answers(family).facts[case.key(dtype)]
        if dtype == case.dtype:
            cases[op].append((family, case))
    rows, every = [], served()
    for op in every:
        names = ", ".join(f"`{name}`" for name in op.names)
        count = str(answers[op] or NO_GOLDEN_CASE.get(op.name, 0))
        rows.append(
            f"| {names} | {gradient(op, cases[op])} | {count} | {BESIDE_MXNET.get(op.name, '')} |"
        )
    listed = [op for op in every if op.name in MXNET]
    numpy = {op.name for op in numpy_ops().values()} & MXNET.keys() - {op.name for op in every}
    left = absent()
    head = _HEAD.format(
        served=len(listed) + len(numpy), total=len(MXNET),
        names=sum(len(op.names) for op in every),
        extra=len(every) - len(listed), answers=answers.total(), numpy=len(numpy),
        absent=len(MXNET) - len(listed) - len(numpy),
    )  # fmt: skip
    table = "| names | gradient | answers | beside MXNet |\n| --- | --- | --- | --- |\n"
    groups = (f"| {reason} | {len(names)} | {_some(names)} |\n" for reason, names in left.items())
    tail = _ABSENT.format(count=sum(map(len, left.values())), total=len(MXNET))
    return f"{head}\n{table}" + "\n".join(rows) + f"\n{tail}" + "".join(groups)


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:12])
    return shown + (", ..." if len(names) > 12 else "")


if __name__ == "__main__":
    PATH.write_text(text())
    print(PATH)
