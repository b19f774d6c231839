"""Batch normalisation: every cell of its truth table, axes, dtypes."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, normal, uniform, values


def _case(
    name: str,
    data: Spec,
    channels: int,
    op: str = "BatchNorm",
    also: tuple[str, ...] = (),
    train: bool = True,
    stats: str | None = None,
    rtol: float | None = None,
    no_grad: str | None = None,
    **attrs: Any,
) -> Case:
    inputs = {
        "data": data,
        "gamma": uniform(channels, low=0.5, high=2.0, dtype=stats),
        "beta": normal(channels, dtype=stats),
        "moving_mean": normal(channels, dtype=stats),
        "moving_var": uniform(channels, low=0.5, high=2.0, dtype=stats),
    }
    grad = ("data", "gamma", "beta")
    return Case(
        name, op, inputs, attrs, grad=grad, no_grad=no_grad, train=train, also=also, rtol=rtol,
        rtol64=1e-7,
        why="MXNet keeps momentum in float32, and sums float16 in float16",
    )  # fmt: skip


IMAGE = normal(3, 4, 3, 5)
ONE_TERM_MORE = "has a term that BatchNorm's gradient after an inference forward lacks"

CASES = [
    *(
        _case(f"{op}_train{train:d}_global{fixed:d}_fix{fix:d}", IMAGE, 4, op, train=bool(train),
              also=("float64",) if op == "BatchNorm" else (), use_global_stats=bool(fixed),
              fix_gamma=bool(fix),
              no_grad=None if op == "BatchNorm" or train or fixed else ONE_TERM_MORE)
        for op in ("BatchNorm", "BatchNorm_v1")
        for train in (0, 1)
        for fixed in (0, 1)
        for fix in (0, 1)
    ),
    _case("BatchNorm_default", IMAGE, 4),
    _case("BatchNorm_matrix", normal(6, 3), 3, fix_gamma=False, eps=2e-5, momentum=0.95),
    _case("BatchNorm_volume", normal(2, 3, 2, 3, 2), 3, fix_gamma=False, cudnn_off=True),
    _case("BatchNorm_axis_last", normal(3, 2, 4), 4, fix_gamma=False, axis=-1),
    _case("BatchNorm_axis_0", normal(4, 2, 3), 4, fix_gamma=False, axis=0),
    _case("BatchNorm_axis_2", normal(2, 3, 4, 2), 4, fix_gamma=False, axis=2),
    _case("BatchNorm_mean_var", IMAGE, 4, fix_gamma=False, output_mean_var=True),
    _case("BatchNorm_mean_var_inference", IMAGE, 4, train=False, output_mean_var=True),
    _case("BatchNorm_large_mean", uniform(4, 2, 3, 3, low=99.0, high=101.0), 2, fix_gamma=False),
    _case("BatchNorm_constant", values([[[[3.0, 3.0]], [[-1.0, -1.0]]]]), 2, fix_gamma=False),
    _case("BatchNorm_half", normal(2, 3, 4, 4, dtype="float16"), 3, stats="float32", rtol=1e-3,
          fix_gamma=False),
    _case("BatchNorm_half_inference", normal(2, 3, 4, 4, dtype="float16"), 3, stats="float32",
          rtol=1e-3, fix_gamma=False, train=False),
    _case("BatchNorm_v1_mean_var", IMAGE, 4, "BatchNorm_v1", fix_gamma=False,
          output_mean_var=True),
    _case("BatchNorm_v1_matrix", normal(6, 3), 3, "BatchNorm_v1", fix_gamma=False),
    _case("_contrib_SyncBatchNorm", IMAGE, 4, "_contrib_SyncBatchNorm", fix_gamma=False,
          output_mean_var=True, key="sync0"),
    _case("_contrib_SyncBatchNorm_fixed", IMAGE, 4, "_contrib_SyncBatchNorm", key="sync1"),
    _case("_contrib_BatchNormWithReLU", IMAGE, 4, "_contrib_BatchNormWithReLU", fix_gamma=False),
    _case("BatchNorm_v1_momentum", normal(4, 3), 3, "BatchNorm_v1", fix_gamma=False, eps=0.1,
          momentum=0.5),
    _case("_contrib_SyncBatchNorm_global", IMAGE, 4, "_contrib_SyncBatchNorm", key="sync2", eps=0.1,
          momentum=0.5, use_global_stats=True, fix_gamma=False),
    _case("_contrib_BatchNormWithReLU_fixed", IMAGE, 4, "_contrib_BatchNormWithReLU", eps=0.1,
          momentum=0.5),
    _case("_contrib_BatchNormWithReLU_global", IMAGE, 4, "_contrib_BatchNormWithReLU",
          fix_gamma=False, use_global_stats=True),
]  # fmt: skip
