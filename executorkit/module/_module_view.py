"""Notebook views of modules."""

from functools import singledispatch
from typing import Any

from ..display import Fold, Line, Part, Table, View, view_of
from ..parallel import group_parts
from ._delegation import state_phrases
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .sequential_module import SequentialModule


@view_of.register
def _view_of_module(module: BaseModule) -> View:
    return View(type(module).__name__, module_parts(module))


def module_parts(module: Any) -> list[Part]:
    return [Line(", ".join(state_phrases(module))), *_array_parts(module)]


@singledispatch
def _array_parts(module: Any) -> list[Part]:
    return []


@_array_parts.register
def _parts_of_module(module: Module) -> list[Part]:
    if module.binded:
        return group_parts(module.core)
    return [Fold("symbol", view_of(module.symbol).parts, open=True)]


@_array_parts.register
def _parts_of_buckets(module: BucketingModule) -> list[Part]:
    if not module.binded:
        return []
    current = module.current_module
    rows = [
        [
            str(key) + (" (current)" if bucket is current else ""),
            ", ".join(f"{d.name} {tuple(d.shape)}" for d in bucket.data_shapes),
            str(bucket.core.traces),
        ]
        for key, bucket in module.buckets.items()
        if bucket.binded
    ]
    table = Table(["bucket", "inputs", "compilations"], rows, {2})
    return [table, Fold(f"bucket {module.current_key}", module_parts(current), True)]


@_array_parts.register
def _parts_of_chain(module: SequentialModule) -> list[Part]:
    return [
        Fold(f"module {i}: {type(member).__name__}", module_parts(member))
        for i, member in enumerate(module.modules)
    ]
