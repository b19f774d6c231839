"""Blocks that run one after another."""

import warnings
from typing import Any

from .._block import Block
from .._hybrid_block import HybridBlock
from .._types import Ops, Tensor


class _BlockList(Block):
    _is_container = True

    def add(self, *blocks: Any) -> None:
        """Appends blocks."""
        for block in blocks:
            self.register_child(block)

    def __repr__(self) -> str:
        return self._text(self._children.items())

    def __getitem__(self, key: Any) -> Any:
        blocks = list(self._children.values())[key]
        if not isinstance(blocks, list):
            return blocks
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*blocks)
        return part

    def __len__(self) -> int:
        return len(self._children)


class Sequential(_BlockList):
    """Blocks that run one after another, each on the output of the block before."""

    def forward(self, x: Tensor) -> Tensor:
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the blocks. Warns if a HybridSequential could hold them all."""
        blocks = self._children.values()
        if blocks and all(isinstance(block, HybridBlock) for block in blocks):
            text = (
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. "
                "A HybridSequential runs them as one program."
            )
            warnings.warn(text, UserWarning, stacklevel=2)
        super().hybridize(active, **kwargs)


class HybridSequential(_BlockList, HybridBlock):
    """HybridBlocks that run one after another, each on the output of the block before."""

    def hybrid_forward(self, F: Ops, x: Tensor) -> Tensor:
        for block in self._children.values():
            x = block(x)
        return x
