"""XLA's memory and cost analysis of a compiled function; None where a backend has no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Analysis:
    """Costs of one run of a compiled function.

    memory
        bytes: ``arguments``, ``outputs``, ``temporaries``, ``aliased``, ``code``, and ``peak``
        (arguments + outputs + temporaries - aliased); None if the backend does not say.
    flops, bytes_moved
        floating-point operations, and bytes read and written; None if the backend does not say.
    """

    function: str | None
    memory: dict[str, int] | None
    flops: float | None
    bytes_moved: float | None

    @classmethod
    def unknown(cls) -> Analysis:
        """The analysis of a program that has not been compiled."""
        return cls(None, None, None, None)

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
    """The sum of several analyses; unknown if one of them is, figure by figure."""
    if any(analysis.function is None for analysis in analyses):
        return Analysis.unknown()
    memories = [a.memory for a in analyses if a.memory is not None]
    complete = len(memories) == len(analyses)
    return Analysis(
        function=name,
        memory={k: sum(m[k] for m in memories) for k in memories[0]} if complete else None,
        flops=_total([a.flops for a in analyses]),
        bytes_moved=_total([a.bytes_moved for a in analyses]),
    )


def _total(figures: list[float | None]) -> float | None:
    numbers = [figure for figure in figures if figure is not None]
    return sum(numbers) if len(numbers) == len(figures) else None
