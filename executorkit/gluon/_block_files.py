"""Files of blocks: parameters by attribute, and whole models with their graphs."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from .._files import open_to_read, write_atomically
from .._support.annotations import Attrs
from ..calls.rollback import complete
from ..errors import ArgumentValueError, FileFormatError, MissingParameterError
from ..ndarray import load as load_arrays, save as save_arrays
from ._parameter_dict import ParameterDict
from ._types import Contexts, FilePath


def save_parameters(block: Any, filename: FilePath, deduplicate: bool) -> None:
    parameters = block._collect_params_with_prefix()
    if deduplicate:
        last = {id(p): name for name, p in parameters.items()}
        parameters = {name: parameters[name] for name in last.values()}
    save_arrays(filename, {name: p._reduce() for name, p in parameters.items()})


def load_parameters(
    block: Any, filename: FilePath, ctx: Contexts, allow_missing: bool, ignore_extra: bool,
    cast_dtype: bool, dtype_source: str,
) -> None:  # fmt: skip
    options = ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
    _load_arrays(block, load_arrays(filename), filename, *options)


def _load_arrays(
    block: Any, arrays: Any, filename: FilePath, ctx: Contexts = None, allow_missing: bool = False,
    ignore_extra: bool = False, cast_dtype: bool = False, dtype_source: str = "current",
) -> None:  # fmt: skip
    parameters = block._collect_params_with_prefix()
    if not arrays and not parameters:
        return
    if not isinstance(arrays, dict):
        problem = "its arrays have no names, expected a file of save_parameters"
        raise FileFormatError(f"load_parameters: {filename}", problem)
    if not any("." in name for name in arrays):  # of save_params, or of collect_params().save
        block.collect_params().load_dict(
            arrays, ctx, allow_missing, ignore_extra, block.prefix, filename=os.fspath(filename),
            cast_dtype=cast_dtype, dtype_source=dtype_source,
        )  # fmt: skip
        return
    if not allow_missing:
        known = {id(parameters[name]) for name in arrays if name in parameters}
        for name, parameter in parameters.items():
            if id(parameter) not in known:
                problem = f"Parameter {name!r} is missing in file {str(filename)!r}"
                because = f"it has {_few(arrays)}"
                hint = "allow_missing=True to ignore missing parameters"
                raise MissingParameterError("load_parameters", problem, because=because, hint=hint)
    extra = [name for name in arrays if name not in parameters]
    if extra and not ignore_extra:
        problem = f"Parameter {extra[0]!r} loaded from file {str(filename)!r} is not in the block"
        because = f"the block has {_few(parameters)}"
        hint = "ignore_extra=True to ignore it"
        raise ArgumentValueError("load_parameters", problem, because=because, hint=hint)
    plans = [
        parameters[name]._load_plan(x, ctx, cast_dtype, dtype_source)
        for name, x in arrays.items()
        if name in parameters
    ]
    complete(lambda: [plan() for plan in plans])


def _few(names: Any) -> str:
    listed = [repr(name) for name in itertools.islice(names, 20)]
    more = len(names) - len(listed)
    return ", ".join(listed) + (f", and {more} others" if more else "")


# -- models --------------------------------------------------------------------------------------


def save_model(block: Any, prefix: str) -> None:
    text = json.dumps(_described(block, itertools.count()))
    block.save_parameters(f"{prefix}-model.params")
    write_atomically(f"{prefix}-model.json", [text.encode()])


def _described(block: Any, numbers: Iterator[int]) -> Attrs:
    key = _key(block, numbers)
    facts = block._facts()
    facts["children"] = {child.name: name for name, child in block._children.items()}
    for child in block._children.values():
        facts.update(_described(child, numbers))
    return {key: facts}


def load_model(block: Any, prefix: str) -> None:
    path = f"{prefix}-model.json"
    with open_to_read(path) as file:
        try:
            facts = json.load(file)
        except ValueError as error:
            problem = "it is not JSON, expected a file of Block.save"
            raise FileFormatError(f"Block.load: {path}", problem, because=str(error)) from None
    parts = list(_matched(block, facts, itertools.count(), path))
    places = {saved: place for _, _, saved, place in parts}
    filename = f"{prefix}-model.params"
    arrays = load_arrays(filename)
    if isinstance(arrays, dict):
        split = [name.rpartition(".") for name in arrays]
        names = [f"{places.get(saved + dot, saved + dot)}{name}" for saved, dot, name in split]
        arrays = dict(zip(names, arrays.values(), strict=True))
    _load_arrays(block, arrays, filename)
    for part, part_facts, _, _ in parts:
        _restore(part, part_facts)


def _matched(
    block: Any, facts: Any, numbers: Iterator[int], path: str, saved: str = "", place: str = ""
) -> Iterator[tuple[Any, dict[str, Any], str, str]]:
    # Blocks with their facts, and the prefixes of their parameters in the file and in the block:
    # children have their order in common, but not their names.
    key = _key(block, numbers)
    if key not in facts:
        problem = f"it has no {key!r}: the block has another structure than the saved one"
        raise MissingParameterError(f"Block.load: {path}", problem)
    own = facts[key]
    yield block, own, saved, place
    names = list(own["children"].values())
    if len(names) != len(block._children):
        names = list(block._children)
    for name, (present, child) in zip(names, block._children.items(), strict=True):
        prefixes = f"{saved}{name}.", f"{place}{present}."
        yield from _matched(child, own, numbers, path, *prefixes)


def _restore(block: Any, facts: Mapping[str, Any]) -> None:
    prefix, name = block.params.prefix, facts["orig_name"]
    parameters = ParameterDict(f"{name}_")
    for old, parameter in list(block.params.items()):
        parameter.name = parameters.prefix + old.removeprefix(prefix)
        parameters.update({parameter.name: parameter})
    block._restore(name, parameters, facts)


def _key(block: Any, numbers: Iterator[int]) -> str:
    return f"{type(block).__name__.lower()}{next(numbers)}"
