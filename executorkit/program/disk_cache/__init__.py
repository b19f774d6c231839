"""Executables on disk, found by what they are computed from.

The rest of the package sees this interface alone: a jitted function is wrapped in a
:class:`CachedJit`, whose fingerprint is a text that is equal in all processes, and what else is
known of programs and of the installation goes through :func:`cached_answer`. Nothing is looked up
before the first program that can be stored.
"""

from .cached_jit import CachedJit as CachedJit
from .fingerprint import (
    cached_answer as cached_answer,
    fingerprint as fingerprint,
    jax_settings as jax_settings,
    read_process_facts as read_process_facts,
    structure_fingerprint as structure_fingerprint,
    trace_context as trace_context,
)
from .switch import (
    DiskCacheInfo as DiskCacheInfo,
    clear_disk_cache as clear_disk_cache,
    disable_disk_cache as disable_disk_cache,
    disk_cache_enabled as disk_cache_enabled,
    disk_cache_info as disk_cache_info,
    enable_disk_cache as enable_disk_cache,
)
