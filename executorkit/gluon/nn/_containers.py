"""Blocks that run one after another.

>>> import executorkit as mx
>>> from executorkit.gluon import nn
>>> net = nn.HybridSequential()
>>> net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
>>> net.initialize()
>>> net(mx.nd.ones((3, 5))).shape
(3, 2)
>>> net[0]
Dense(5 -> 4, Activation(relu))
"""

import warnings
from typing import Any

from .._block import Block
from .._hybrid_block import HybridBlock


class Sequential(Block):
    """Blocks that run one after another, each on what the one before returned.

    ``len``, an index, a slice (a container of the same name with those blocks) and iteration see
    them.
    """

    _is_container = True

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def add(self, *blocks: Block) -> None:
        """Appends blocks."""
        _add(self, blocks)

    def forward(self, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def __repr__(self) -> str:
        return _tree_text(self)

    def __getitem__(self, key: Any) -> Any:
        return _item(self, key)

    def __len__(self) -> int:
        return len(self._children)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the blocks; UserWarning if a HybridSequential could hold them all."""
        blocks = self._children.values()
        if blocks and all(isinstance(block, HybridBlock) for block in blocks):
            text = (
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. "
                "A HybridSequential runs them as one program."
            )
            warnings.warn(text, UserWarning, stacklevel=2)
        super().hybridize(active, **kwargs)


class HybridSequential(HybridBlock):
    """:class:`HybridBlock` blocks that run one after another, each on what the one before returned.

    ``len``, an index, a slice (a container of the same name with those blocks) and iteration see
    them.
    """

    _is_container = True

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)

    def add(self, *blocks: HybridBlock) -> None:
        """Appends blocks."""
        _add(self, blocks)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def __repr__(self) -> str:
        return _tree_text(self)

    def __getitem__(self, key: Any) -> Any:
        return _item(self, key)

    def __len__(self) -> int:
        return len(self._children)


def _add(container: Any, blocks: Any) -> None:
    for block in blocks:
        container.register_child(block)


def _item(container: Any, key: Any) -> Any:
    """A block, or for a slice a container with the same prefix."""
    blocks = list(container._children.values())[key]
    if not isinstance(blocks, list):
        return blocks
    part = type(container)(prefix=container._prefix)
    with part.name_scope():
        part.add(*blocks)
    return part


def _tree_text(container: Any) -> str:
    lines = [
        "  ({}): {}".format(name, repr(block).replace("\n", "\n  "))
        for name, block in container._children.items()
    ]
    return "{}(\n{}\n)".format(type(container).__name__, "\n".join(lines))
