"""What every test runs under: several CPU devices, quick compilation, a shared compilation cache.

JAX reads these settings when it starts, so they are set here, before any test imports it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

#: As many devices as the tests of several devices need; each is a thread of this process.
DEVICES = 8

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), f"--xla_force_host_platform_device_count={DEVICES}"]
).strip()

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

_CACHE = os.environ.get("EXECUTORKIT_TEST_CACHE")
if _CACHE != "0":
    folder = Path(_CACHE or tempfile.gettempdir()) / f"executorkit-test-cache-{os.getuid()}"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@pytest.fixture(autouse=True)
def _seeded():
    """Each test draws the same NumPy numbers, alone or in company."""
    np.random.seed(20)
