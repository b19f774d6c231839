"""Functions mapped over devices: ``jax.pmap``.

``pmap`` is ``jit(shard_map)`` since JAX 0.8, and costs the same (measured on 8 CPU devices with 160
arrays: 1.17 and 1.11 ms a call). This is the only module that knows which of them runs. Training
steps donate their parameters and are ``jit(shard_map)``: ``pmap`` calls its program from Python,
where an interrupt could lose the results (see ``program/_donation.py``). So are all functions of
replicas of several devices, among which XLA divides the computation.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Mesh, PartitionSpec

from .._support.annotations import Function, Operands, Raw, Tree
from ..arrays.random_state import wrap_key
from ..jax_internals import in_x64
from ..ops.nn.moments import DEVICE_AXIS
from ..program import CodeCache, CompiledFunction, Donated
from ._replicas import MODEL_AXIS, own_entries


class PmapFunction(CompiledFunction):
    """A function mapped over the leading axis of its arguments, one entry per device, without
    options of the compiler, which are for one device with all cores. ``finish(mesh, args, results,
    operands)`` returns the results of a program whose mapped function returns ``(results, parts),
    whole``; ``operands`` are ``(parts, *whole)``. XLA partitions it over the mesh."""

    __slots__ = ("devices", "finish", "mesh", "replicated")

    def __init__(
        self,
        function: Function,
        name: str,
        mesh: Mesh,
        donates: bool = False,
        replicated: tuple[int, ...] = (),
        finish: Function | None = None,
    ) -> None:
        self.finish = finish
        self.mesh = mesh
        self.devices = tuple(mesh.devices.flat)
        self.replicated = replicated
        super().__init__(function, name, donates)

    def _call(self, args: Operands, *others: Any, **options: Any) -> Tree:
        return super()._call(self.placed(args), *others, **options)

    def placed(self, args: Operands) -> Operands:
        """Returns the arguments, of arrays of a whole job this process's entries."""
        if jax.process_count() == 1:
            return args
        first, *others = args
        if isinstance(first, Donated):  # its caller asks it for what was saved
            first.tree = jax.tree.map(own_entries, first.tree)
            return (first, *jax.tree.map(own_entries, others))
        return jax.tree.map(own_entries, args)

    def transform(self, traced: Function) -> Any:
        if not self.donates and self.mesh.axis_names == (DEVICE_AXIS,):
            return jax.pmap(traced, axis_name=DEVICE_AXIS, devices=self.devices)
        return self.over_mesh(traced, self.mesh)

    def over_mesh(self, traced: Function, mesh: jax.sharding.Mesh) -> Any:
        mapped = _over_mesh(traced, mesh, self.replicated, self.name, self.finish)
        donated = 0 if self.donates else ()
        return jax.jit(mapped, donate_argnums=donated)

    @in_x64
    def jaxpr(self, *args: Tree) -> Any:
        parts = [
            x if i in self.replicated else jax.tree.map(shard_aval, x) for i, x in enumerate(args)
        ]
        env = [(name, self.mesh.shape[name]) for name in _mapped_axes(self.mesh)]
        return jax.make_jaxpr(self.function, axis_env=env)(*parts).jaxpr


#: Functions of groups that belong to no program.
group_functions: CodeCache[PmapFunction] = CodeCache("group updates", 64, 0.02)


def _over_mesh(
    traced: Function,
    mesh: jax.sharding.Mesh,
    replicated: tuple[int, ...],
    name: str,
    finish: Function | None,
) -> Function:
    axes = _mapped_axes(mesh)
    whole, split = PartitionSpec(), PartitionSpec(axes)

    def stacked(tree: Tree) -> Tree:
        return jax.tree.map(lambda x: jax.lax.expand_dims(x, (0,)), tree)

    def shard(*args: Tree) -> Tree:
        parts = [
            x if i in replicated else jax.tree.map(lambda s: jax.lax.squeeze(s, (0,)), x)
            for i, x in enumerate(args)
        ]
        results = traced(*parts)
        return stacked(results) if finish is None else (stacked(results[0]), results[1])

    def mapped(*args: Tree) -> Tree:
        specs = tuple(whole if i in replicated else split for i in range(len(args)))
        outputs = split if finish is None else (split, whole)
        results = jax.shard_map(
            shard, mesh=mesh, in_specs=specs, out_specs=outputs, axis_names=set(axes),
            check_vma=False,
        )(*args)  # fmt: skip
        if finish is None:
            return results
        (stacks, parts), alike = results
        return finish(mesh, args, stacks, (parts, *alike))

    mapped.__name__ = mapped.__qualname__ = name
    return mapped


def _mapped_axes(mesh: jax.sharding.Mesh) -> tuple[str, ...]:
    return tuple([name for name in mesh.axis_names if name != MODEL_AXIS])


def shard_aval(stack: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stack.shape[1:], stack.dtype)


def device_key(key_data: Raw) -> Tree:
    return wrap_key(key_data) if key_data is not None and key_data.ndim == 1 else key_data
