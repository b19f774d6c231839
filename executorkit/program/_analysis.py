"""XLA's memory and cost analysis of a compiled function; None where a backend has no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._support.annotations import Raw


@dataclass(frozen=True, slots=True)
class Analysis:
    """Costs of one run of a compiled function.

    memory
        bytes: ``arguments``, ``outputs``, ``temporaries``, ``aliased``, ``code``, and ``peak``
        (arguments + outputs + temporaries - aliased); None if the backend does not say.
    function
        its name; None if nothing has been compiled.
    flops, bytes_moved
        floating-point operations, and bytes read and written; None if the backend does not say.
    """

    function: str | None = None
    memory: dict[str, int] | None = None
    flops: float | None = None
    bytes_moved: float | None = None

    @classmethod
    def of(cls, function: str, compiled: Any) -> Analysis:
        """Reads the analyses of a ``jax.stages.Compiled``."""
        cost = compiled.cost_analysis() or {}
        sizes = compiled.memory_analysis()
        memory = None
        if sizes is not None:
            memory = {
                "arguments": sizes.argument_size_in_bytes,
                "outputs": sizes.output_size_in_bytes,
                "temporaries": sizes.temp_size_in_bytes,
                "aliased": sizes.alias_size_in_bytes,
                "code": sizes.generated_code_size_in_bytes,
            }
            memory["peak"] = (
                memory["arguments"] + memory["outputs"] + memory["temporaries"] - memory["aliased"]
            )
        return cls(function, memory, cost.get("flops"), cost.get("bytes accessed"))


def summed(name: str, analyses: list[Analysis]) -> Analysis:
    """Adds analyses, figure by figure; a figure is None if one analysis lacks it."""
    if any(analysis.function is None for analysis in analyses):
        return Analysis()
    memories: list[Raw] = [analysis.memory for analysis in analyses]
    flops: list[Raw] = [analysis.flops for analysis in analyses]
    moved: list[Raw] = [analysis.bytes_moved for analysis in analyses]
    return Analysis(
        name,
        None if None in memories else {k: sum(m[k] for m in memories) for k in memories[0]},
        None if None in flops else sum(flops),
        None if None in moved else sum(moved),
    )
