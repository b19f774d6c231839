"""Head gradients, as users hand them to ``backward``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..errors import MXNetError, UnknownNameError, explain
from ..ndarray import NDArray
from ._arguments import convert_for, count_phrase, is_assignable, type_phrase


def head_gradients(
    out_grads: Any, outputs: Sequence[NDArray], names: Sequence[str]
) -> tuple[jax.Array | None, ...]:
    """Head gradients in the order of the outputs; None for an output that is given none.

    In a dict that names every output, other names are ignored, as in MXNet.
    """
    if out_grads is None:
        given: list[Any] = [None] * len(outputs)
    elif isinstance(out_grads, NDArray):
        given = [out_grads]
    elif isinstance(out_grads, Mapping):
        unknown = [n for n in out_grads if n not in names]
        if unknown and not all(n in out_grads for n in names):
            raise UnknownNameError(
                explain(
                    "backward: out_grads",
                    f"{', '.join(map(repr, unknown))} is not an output",
                    hint="one of: " + ", ".join(names),
                )
            )
        given = [out_grads.get(n) for n in names]
    elif isinstance(out_grads, Sequence) and not isinstance(out_grads, str):
        given = list(out_grads)
    else:
        raise TypeError(
            explain(
                "backward: out_grads",
                f"{type_phrase(out_grads)}, expected an NDArray, or a list or dict of them",
                hint="mx.nd.array(value)",
            )
        )
    if len(given) > len(outputs):
        raise MXNetError(
            explain(
                "backward: out_grads",
                f"{len(given)} for {count_phrase(outputs, 'output')}: {', '.join(names)}",
            )
        )
    given += [None] * (len(outputs) - len(given))
    heads: list[jax.Array | None] = []
    for head, output, name in zip(given, outputs, names, strict=True):
        if head is None:
            heads.append(None)
            continue
        if head.__class__ is NDArray and is_assignable(head, output):
            heads.append(head.jax)
            continue
        where = f"backward: head gradient of {name!r}"
        if not isinstance(head, NDArray):
            raise TypeError(
                explain(
                    where, f"{type_phrase(head)}, expected an NDArray", hint="mx.nd.array(value)"
                )
            )
        heads.append(convert_for(head, output, where).value)
    return tuple(heads)


def check_head_gradients(
    heads: Sequence[Any], names: Sequence[str], needed: Sequence[bool]
) -> None:
    """Refuses to go back from an output whose head gradient is needed and missing."""
    for head, name, need in zip(heads, names, needed, strict=True):
        if head is None and need:
            raise UnknownNameError(
                explain(
                    f"backward: output {name!r}",
                    "it needs a head gradient, and none is given",
                    because="it is not the output of a loss operator",
                    hint="backward(out_grads=...), or wrap the output in mx.sym.MakeLoss",
                )
            )
