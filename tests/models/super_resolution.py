"""A super-resolution network of sub-pixels (Shi et al. 2016) with residual blocks."""

from __future__ import annotations

from typing import Any


def _conv(mx: Any, x: Any, filters: int, size: int, name: str) -> Any:
    pad = (size // 2, size // 2)
    return mx.sym.Convolution(x, kernel=(size, size), pad=pad, num_filter=filters, name=name)


def super_resolution(mx: Any, filters: int = 64, blocks: int = 4, factor: int = 2) -> Any:
    """Pictures (N, 3, H, W) enlarged ``factor`` times; all but two kernels are 3 x 3."""
    x = mx.sym.Variable("data")
    first = x = mx.sym.Activation(_conv(mx, x, filters, 5, "head"), act_type="relu")
    for block in range(blocks):
        y = mx.sym.Activation(_conv(mx, x, filters, 3, f"block{block}_1"), act_type="relu")
        x = x + _conv(mx, y, filters, 3, f"block{block}_2")
    x = _conv(mx, x + first, 3 * factor**2, 3, "tail")
    return mx.sym.depth_to_space(x, block_size=factor, name="enlarged")
