"""The programs of this process by signature: bounded, counted, clearable."""

from ..errors import ArgumentValueError
from ._code_cache import CacheInfo, CodeCache, cache_infos, set_code_limit
from ._compilation_log import counters
from ._prepared_inference import prepared_arrays
from .base_program import BaseProgram

programs_by_signature: CodeCache[BaseProgram] = CodeCache("programs", 256, 0.5)


def cache_info() -> CacheInfo:
    """Returns the use of the caches of compiled code so far in this process.

    The numbers count the programs of executors; ``kinds`` has numbers for every cache by name:
    ``programs``; ``eager``, operators called on arrays, for each operator and attributes;
    ``updates`` of optimizers; ``group updates``, also sums, of several devices; ``metrics``;
    ``arrays``, slices, reshapes, conversions; ``prepared``, made from parameters (their bytes).

    >>> import executorkit as mx
    >>> info = mx.program.cache_info()
    >>> info.bytes <= info.limit_bytes
    True
    >>> {"arrays", "eager", "metrics", "programs", "updates"} <= info.kinds.keys()
    True
    """
    counts = counters.traces, counters.seconds, counters.loads
    info = programs_by_signature.info(*counts)
    return programs_by_signature.info(*counts, {**cache_infos(), programs_by_signature.kind: info})


def clear_cache() -> None:
    """Forgets all programs. Executors keep theirs; new ones compile again."""
    programs_by_signature.clear()


def set_cache_limit(
    programs: int | None = None, *, bytes: int | None = None, prepared_bytes: int | None = None
) -> None:
    """Bounds the compiled code in memory; the least recently used code goes first.

    programs
        maximum number of cached programs (256 by default). Programs that an executor still uses
        stay findable beyond it.
    bytes
        maximum memory of all compiled code in bytes, as estimated from its instructions. By default
        2 GiB, or the value of the environment variable ``EXECUTORKIT_CACHE_BYTES``. Programs may
        have 50 % of it, operators called on arrays 18 %, functions of arrays 12 %, updates 10 %,
        metrics 8 %, and updates of several devices in ``training.Step`` 2 %.
    prepared_bytes
        maximum memory of the arrays that inference has prepared, in bytes; 0 prepares none. By
        default 1 GiB, or the value of the environment variable ``EXECUTORKIT_PREPARED_BYTES``.

    Dropped code is freed at once, and compiled again where it is needed again. Programs in use are
    not dropped: their memory is bounded by the number of live executors, and by 128 shapes and a
    quarter of all bytes for each of their functions.

    Raises ValueError for a number below 1, or below 0 for ``prepared_bytes``.
    """
    limits = (("prepared_bytes", prepared_bytes, 0), ("programs", programs, 1), ("bytes", bytes, 1))
    for name, limit, least in limits:
        if limit is not None and limit < least:
            problem = f"{limit}, expected at least {least}"
            if name == "programs":
                problem = f"the program cache needs room for at least one program, not {limit}"
            raise ArgumentValueError(f"set_cache_limit: {name}", problem)
    if programs is not None:
        programs_by_signature.limit = programs
    if bytes is not None:
        set_code_limit(bytes)
    if prepared_bytes is not None:
        prepared_arrays.set_limit_bytes(prepared_bytes)
    programs_by_signature.trim()
