"""Executables and inferred shapes on disk, found by what they are computed from.

Disabled until :func:`enable_disk_cache`. The rest of the package sees this interface alone: a
jitted function is wrapped in a :class:`CachedJit`, whose fingerprint is a text that is equal in all
processes, and yes-or-no facts of the installation go through :func:`cached_answer`.
"""

from .cached_jit import CachedJit as CachedJit
from .fingerprint import (
    fingerprint as fingerprint,
    structure_fingerprint as structure_fingerprint,
    trace_context as trace_context,
)
from .store import (
    cached_answer as cached_answer,
    disk_cache_enabled as disk_cache_enabled,
    enable_disk_cache as enable_disk_cache,
    enable_from_environment as enable_from_environment,
)
