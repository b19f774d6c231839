"""Primitives made of others: written out, sums would take longer to trace than the network."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
from jax.interpreters import ad, batching, mlir

from ...._support.annotations import Arrays, Function, Tree
from ....jax_internals import Primitive


def composite_primitive(
    name: str, written_out: Function, avals: Function, several: bool = False
) -> Any:
    """Returns a primitive that is compiled, differentiated and mapped as ``written_out``. ``avals``
    maps avals of arrays and parameters to the result's, or a list for ``several``."""
    primitive = Primitive(name)
    primitive.multiple_results = several

    def differentiated(primals: Sequence[jax.Array], tangents: Arrays, **params: object) -> Tree:
        arrays = [ad.instantiate_zeros(t) for t in tangents]
        return jax.jvp(partial(written_out, **params), [*primals], arrays)

    def mapped(arrays: Sequence[jax.Array], axes: Sequence[int | None], **params: object) -> Tree:
        results = jax.vmap(partial(written_out, **params), tuple(axes))(*arrays)
        return results, [0] * len(results) if several else 0

    primitive.def_impl(written_out)
    primitive.def_abstract_eval(avals)
    ad.primitive_jvps[primitive] = differentiated
    batching.primitive_batchers[primitive] = mapped
    mlir.register_lowering(primitive, mlir.lower_fun(written_out, multiple_results=several))
    return primitive
