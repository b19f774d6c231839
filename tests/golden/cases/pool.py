"""Pooling: every type, convention and edge."""

from __future__ import annotations

from typing import Any

from ._case import Case, Spec, distinct, normal, uniform, values


def _pool(name: str, data: Spec, also: tuple[str, ...] = (), **attrs: Any) -> Case:
    return Case(name, name.split("__")[0], {"data": data}, attrs, also=also)


def _each_type(suffix: str, data: Spec, op: str = "Pooling", **attrs: Any) -> list[Case]:
    return [
        _pool(f"{op}__{suffix}_{kind}", data, pool_type=kind, **attrs)
        for kind in ("max", "avg", "sum")
    ]


TWO: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2)}
ALSO = ("float16", "float64")
IMAGE = normal(2, 3, 7, 8)

CASES = [
    _pool("Pooling__max", IMAGE, ALSO, **TWO),
    _pool("Pooling__avg", IMAGE, ALSO, pool_type="avg", **TWO),
    *_each_type("overlapping", IMAGE, kernel=(3, 3), stride=(2, 2), pad=(1, 1)),
    *_each_type("stride_1", normal(1, 2, 5, 4), kernel=(3, 2), pad=(1, 0)),
    *_each_type("full", IMAGE, kernel=(3, 3), stride=(2, 2), pooling_convention="full"),
    *_each_type("full_pad", normal(1, 2, 6, 7), kernel=(3, 3), stride=(2, 2), pad=(1, 1),
                pooling_convention="full"),
    *_each_type("full_beyond", normal(1, 1, 6, 6), kernel=(2, 2), stride=(3, 3),
                pooling_convention="full"),
    *(
        _pool(f"Pooling__full_over_edge_{name}", normal(*shape), ("float64",), pool_type="avg",
              kernel=kernel, stride=(2,) * len(kernel), pooling_convention="full", **attrs)
        for name, shape, kernel, attrs in (
            ("2d", (2, 2, 6, 7), (3, 3), {}),
            ("both_axes", (1, 2, 6, 6), (3, 3), {"count_include_pad": True}),
            ("excluded", (1, 2, 6, 7), (3, 3), {"count_include_pad": False}),
            ("padded", (1, 2, 6, 7), (2, 2), {"pad": (1, 0)}),
            ("even_kernel", (1, 2, 6, 7), (2, 2), {}),
            ("1d", (1, 2, 6), (3,), {}),
            ("3d", (1, 1, 6, 6, 7), (3, 3, 3), {}),
        )
    ),
    _pool("Pooling__full_over_edge_nhwc", normal(1, 6, 7, 2), pool_type="avg", kernel=(3, 3),
          stride=(2, 2), pooling_convention="full", layout="NHWC"),
    *_each_type("surplus", normal(1, 2, 6, 7), kernel=(2, 2), stride=(1, 2, 3), pad=(1, 0, 5)),
    *_each_type("global", normal(2, 3, 5, 4), global_pool=True),
    *_each_type("global_kernel", normal(1, 2, 4, 4), kernel=(2, 2), stride=(2, 2), pad=(1, 1),
                global_pool=True),
    *_each_type("1d", normal(2, 3, 9), kernel=(3,), stride=(2,), pad=(1,)),
    *_each_type("3d", normal(1, 2, 4, 5, 4), kernel=(2, 3, 2), stride=(2, 1, 2), pad=(0, 1, 1)),
    *_each_type("nhwc", normal(2, 6, 5, 3), layout="NHWC", **TWO),
    _pool("Pooling__nwc", normal(2, 6, 3), layout="NWC", kernel=(2,)),
    _pool("Pooling__ndhwc", normal(1, 4, 4, 4, 2), layout="NDHWC", kernel=(2, 2, 2)),
    _pool("Pooling__global_nhwc", normal(2, 4, 5, 3), layout="NHWC", global_pool=True),
    _pool("Pooling__global_1d", normal(2, 3, 5), pool_type="avg", global_pool=True, layout="NCW"),
    _pool("Pooling__global_3d", distinct(1, 2, 3, 4, 2), global_pool=True, layout="NCDHW"),
    _pool("Pooling__exclude_pad", IMAGE, pool_type="avg", kernel=(3, 3), stride=(2, 2), pad=(1, 1),
          count_include_pad=False),
    _pool("Pooling__include_pad", IMAGE, pool_type="avg", kernel=(3, 3), stride=(2, 2), pad=(1, 1),
          count_include_pad=True, cudnn_off=True),
    _pool("Pooling__exclude_pad_full", normal(1, 2, 6, 6), pool_type="avg", kernel=(3, 3),
          stride=(2, 2), pad=(1, 1), count_include_pad=False, pooling_convention="full"),
    _pool("Pooling__large_window", normal(1, 2, 9, 8), kernel=(7, 6), stride=(2, 2), pad=(1, 2)),
    _pool("Pooling__large_window_full", normal(1, 1, 13, 8), kernel=(6, 6), stride=(7, 6),
          pooling_convention="full"),
    _pool("Pooling__ties", values([[[[1.0] * 4] * 4]]), kernel=(2, 2)),
    _pool("Pooling__ties_stride", values([[[[0.0, 1, 1, 0]] * 4]]), **TWO),
    _pool("Pooling__ties_global", values([[[[0.0, 2, 2, 0]] * 3]]), global_pool=True),
    _pool("Pooling__one_element", normal(1, 1, 1, 1), kernel=(1, 1)),
    *(
        _pool(f"Pooling__lp{p}", uniform(1, 2, 6, 6, low=0.1), ALSO, pool_type="lp", p_value=p,
              kernel=(3, 3), stride=(2, 2))
        for p in (1, 2, 3)
    ),
    _pool("Pooling__lp_negative", values([[[0.0, 0, 1, 2, -3, 4]]]), pool_type="lp", p_value=2,
          kernel=(2,), stride=(2,)),
    _pool("Pooling__lp_signed", values([[[0.0, 0, 1, 2, -3, 4]]]), pool_type="lp", p_value=3,
          kernel=(2,), stride=(2,)),
    _pool("Pooling__lp_below_zero", values([[[-3.0, 1, 2, -2, 1, -4]]]), ALSO, pool_type="lp",
          p_value=3, kernel=(2,), stride=(2,)),
    _pool("Pooling__lp_global", normal(1, 2, 3, 4), pool_type="lp", p_value=2, global_pool=True),
    *_each_type("pad", normal(1, 2, 5, 6), op="Pooling_v1", kernel=(3, 3), stride=(2, 2),
                pad=(1, 1)),
    *_each_type("full", normal(1, 2, 6, 6), op="Pooling_v1", kernel=(3, 3), stride=(2, 2),
                pooling_convention="full"),
    *_each_type("full_beyond", normal(1, 1, 6, 6), op="Pooling_v1", kernel=(2, 2), stride=(3, 3),
                pad=(1, 1), pooling_convention="full"),
    *_each_type("global", normal(1, 2, 4, 3), op="Pooling_v1", global_pool=True),
    _pool("Pooling_v1__ties", values([[[[1.0] * 3] * 3]]), kernel=(2, 2), pad=(1, 1)),
]  # fmt: skip
