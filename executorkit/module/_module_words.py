"""The state of a module in words, for its repr and its view."""

from __future__ import annotations

from typing import Any

from ..display import brief, brief_arrays


def state_phrases(module: Any) -> list[str]:
    """Phrases on what has been done with a module: bound, its parameters, an optimizer."""
    purpose = "training" if module.for_training else "inference"
    return [
        f"bound for {purpose}" if module.binded else "not bound",
        "parameters are there" if module.params_initialized else "no parameters yet",
        "with an optimizer" if module.optimizer_initialized else "no optimizer",
    ]


def module_repr(module: Any) -> str:
    """The state of a module, and the inputs that it is bound to."""
    phrases = state_phrases(module)
    if module.binded:
        described = (*module.data_shapes, *(module.label_shapes or ()))
        phrases += brief_arrays([(d[0], d[1]) for d in described])
    return brief(module, None, phrases)
