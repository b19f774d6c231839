"""Results of inference in a directory: a later process need not trace operators for shapes."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from ..errors import NotFingerprintableError
from ..lowering import Graph
from ..lowering._infer import InferenceResult
from ._canonical import structure_fingerprint
from ._kept_files import DiskCache, digest
from ._signature import signature_of
from ._surroundings import jax_settings, process_fingerprint


class InferenceDiskCache:
    """What has been inferred of graphs, in files.

    Graphs with operators of users, and those with loops and branches, whose bodies have variables
    of their own, are inferred each time.
    """

    def __init__(self, place: DiskCache) -> None:
        self._place = place

    def find(self, graph: Graph, given: Any) -> InferenceResult | None:
        """What an earlier process has inferred from this, or None."""
        name = self._name(graph, given)
        found = None if name is None else self._place.read(name)
        if found is None:
            return None
        lists: list[list[Any]] = json.loads(found[1])
        groups: list[Any] = [tuple(tuple(x) if type(x) is list else x for x in xs) for xs in lists]
        return InferenceResult(*groups)

    def keep(self, graph: Graph, given: Any, found: InferenceResult) -> None:
        """Writes what has been inferred."""
        name = self._name(graph, given)
        if name is not None:
            lists = [getattr(found, field.name) for field in fields(found)]
            self._place.write(name, {}, json.dumps(lists).encode())

    def _name(self, graph: Graph, given: Any) -> str | None:
        if graph.has_effects or any(node.subgraphs for node in graph.nodes):
            return None
        declared = [
            (node.name, node.attrs.get("__shape__"), node.attrs.get("__dtype__"))
            for node, _ in graph.variables
        ]
        try:
            structure = structure_fingerprint(signature_of(graph).content)
        except NotFingerprintableError:
            return None
        return (
            digest(repr((given, declared, process_fingerprint(), jax_settings())) + structure)
            + ".shapes"
        )
