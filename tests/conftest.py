"""What every test runs under: eight CPU devices, quick compilation, a shared compilation cache.

XLA reads its flags when JAX starts, so they are set here, before any test imports it.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Unoptimised machine code: compilation takes two thirds of the time (measured on convolution
# networks and on single operators), and results stay within the tests' tolerances.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

import jax
import numpy as np
import pytest

jax.config.update("jax_num_cpu_devices", 8)
# Programs compiled by one worker, or in an earlier run, are read by the others.
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@pytest.fixture(autouse=True)
def _seeded_numpy() -> None:
    """Each test draws the same NumPy numbers, alone or in company."""
    np.random.seed(20)
