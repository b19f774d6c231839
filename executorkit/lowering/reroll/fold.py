"""Folding: the repetitions of a graph become one.

Every pack (one operator in all repetitions) becomes one vertex of the graph. Packs on a cycle are a
recurrence, a :class:`~.ir.RerolledLoop`. Each other pack is a :class:`~.ir.VectorizedOp`, such as
the product of all inputs of a recurrent layer with its weight.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from .._graph import Graph, GraphStep
from .graph_algorithms import ranked_topological_order, strongly_connected_components
from .ir import PackedOperand, RerolledLoop, RerollPlan, ValueIds, VectorizedOp
from .search import Pack, UseDef, grow_packs, multiplies_matrices

#: The pack and the repetition of every step that is part of a pack.
PackIndex = Mapping[int, tuple[int, int]]


class GraphFolding:
    """A graph with its accepted packs as single vertices: ``pack_index`` has the pack and
    repetition of every packed step, ``loops`` each loop with its packs."""

    def __init__(self, graph: Graph) -> None:
        self.use_def = UseDef(graph)
        self.packs: list[Pack] = []
        self.pack_index: dict[int, tuple[int, int]] = {}
        self.loops: list[tuple[list[int], RerolledLoop]] = []
        self._write_orders = _write_orders(graph)

    def is_packed(self, step: int) -> bool:
        return step in self.pack_index

    def fold(self, seed: Pack) -> bool:
        """Accepts the packs grown out of a chain if they hold a recurrence through the chain."""
        producer = self.use_def.producer
        for values in zip(*(self.use_def.steps[s].inputs for s in seed), strict=True):
            if len({*values}) > 1 and all(producer[v] is None for v in values):
                return False  # weights of their own, which do not pay
        start = len(self.packs)
        packs = grow_packs(self.use_def, seed, self.is_packed)
        while True:
            self._add(packs)
            successors = self.successors()
            cycles = [
                component
                for component in strongly_connected_components(successors)
                if len(component) > 1 or component[0] in successors[component[0]]
            ]
            loops = [(cycle, self.loop(cycle)) for cycle in cycles]
            on_cycles = {v for cycle in cycles for v in cycle}
            rejected = {v for cycle, loop in loops if loop is None for v in cycle}
            rejected.update(
                p
                for p in range(start, len(self.packs))
                if p not in on_cycles and not is_vectorizable(self.use_def, self.packs[p])
            )
            if start in on_cycles and not any(start <= v < len(self.packs) for v in rejected):
                self.loops = [(cycle, loop) for cycle, loop in loops if loop is not None]
                return True
            self._remove(start)
            if start in rejected or start not in on_cycles:
                return False
            packs = [pack for p, pack in enumerate(packs, start) if p not in rejected]

    def _add(self, packs: Iterable[Pack]) -> None:
        for pack in packs:
            self.pack_index.update((s, (len(self.packs), k)) for k, s in enumerate(pack))
            self.packs.append(pack)

    def _remove(self, start: int) -> None:
        for pack in self.packs[start:]:
            for s in pack:
                del self.pack_index[s]
        del self.packs[start:]

    def _vertex(self, step: int) -> int:
        return self.pack_index[step][0] if step in self.pack_index else len(self.packs) + step

    def successors(self) -> dict[int, set[int]]:
        vertices = [self._vertex(s) for s in range(len(self.use_def.steps))]
        successors: dict[int, set[int]] = {v: set() for v in vertices}
        for reader, step in zip(vertices, self.use_def.steps, strict=True):
            for value in step.inputs:
                producer = self.use_def.producer[value]
                if producer is not None:
                    successors[vertices[producer]].add(reader)
        for earlier, later in self._write_orders:
            successors[vertices[earlier]].add(vertices[later])
        return successors

    def loop(self, cycle: list[int]) -> RerolledLoop | None:
        if max(cycle) >= len(self.packs):
            return None
        return _loop_of(self.use_def, {p: self.packs[p] for p in cycle}, self.pack_index)

    def plan(self) -> RerollPlan:
        leader = {p: cycle[0] for cycle, _ in self.loops for p in cycle}
        items: dict[int, GraphStep | VectorizedOp | RerolledLoop] = {
            cycle[0]: loop for cycle, loop in self.loops
        }
        rank: dict[int, int] = {}
        for s, step in enumerate(self.use_def.steps):
            vertex = self._vertex(s)
            vertex = leader.get(vertex, vertex)
            rank.setdefault(vertex, s)
            if vertex not in items:
                items[vertex] = self._vectorized(self.packs[vertex]) if self.is_packed(s) else step
        successors: dict[int, set[int]] = defaultdict(set)
        for vertex, readers in self.successors().items():
            source = leader.get(vertex, vertex)
            successors[source].update({leader.get(r, r) for r in readers} - {source})
        ordered = tuple(items[v] for v in ranked_topological_order(successors, rank))
        operands = (
            operand
            for item in ordered
            if not isinstance(item, GraphStep)
            for row in (item.operands if isinstance(item, RerolledLoop) else (item.operands,))
            for operand in row
        )
        stacked = frozenset(v for operand in operands if operand.is_stacked for v in operand.values)
        return RerollPlan(ordered, stacked)

    def _vectorized(self, pack: Pack) -> VectorizedOp:
        steps = tuple(self.use_def.steps[s] for s in pack)
        values = zip(*(step.inputs for step in steps), strict=True)
        return VectorizedOp(steps, tuple(map(PackedOperand, values)))


def _write_orders(graph: Graph) -> list[tuple[int, int]]:
    last_writer: dict[int, int] = {}
    pairs = []
    for s, step in enumerate(graph.steps):
        for write in step.aux_writes:
            if write.state in last_writer:
                pairs.append((last_writer[write.state], s))
            last_writer[write.state] = s
    return pairs


def is_vectorizable(use_def: UseDef, pack: Pack) -> bool:
    """Returns whether an operator may be applied to all repetitions at once. Batched products of
    small matrices are slow, batched convolutions slower."""
    steps = [use_def.steps[s] for s in pack]
    rows = zip(*(step.inputs for step in steps), strict=True)
    varying = [values for values in rows if len(set(values)) > 1]
    if not varying:
        return steps[0].op.key_name is not None
    if not multiplies_matrices(steps[0]) or len(varying) == 1:
        return True
    return not any(_reads_variables(use_def, values) for values in varying)


def _reads_variables(use_def: UseDef, values: ValueIds) -> bool:
    # Or values computed from such variables alone: weights into which a normalisation was folded.
    return any(use_def.producer[v] is None for v in values) or use_def.own_variables(values)


def _loop_of(
    use_def: UseDef, cycle: Mapping[int, Pack], pack_index: PackIndex
) -> RerolledLoop | None:
    members = sorted(cycle, key=lambda p: cycle[p][0])
    index_in_loop = {p: i for i, p in enumerate(members)}
    packs = [[use_def.steps[s] for s in cycle[p]] for p in members]
    operands = []
    for pack in packs:
        inputs = zip(*(step.inputs for step in pack), strict=True)
        row = [_operand(use_def, values, index_in_loop, pack_index) for values in inputs]
        if None in row:
            return None
        operands.append([operand for operand in row if operand is not None])
    distances = {operand.distance for row in operands for operand in row}
    if min(distances) < 0 < max(distances):
        return None
    if min(distances) < 0:
        packs = [pack[::-1] for pack in packs]
        for row in operands:
            row[:] = [PackedOperand(x.values[::-1], x.producer, -x.distance) for x in row]
    return _with_outputs(use_def, packs, operands) if _pays(use_def, packs, operands) else None


def _operand(
    use_def: UseDef, values: ValueIds, index_in_loop: Mapping[int, int], pack_index: PackIndex
) -> PackedOperand | None:
    # None if the loop computes the input, but not by one pack at one distance.
    producers: set[tuple[int, int]] = set()
    distances: set[int] = set()
    internal_reads = []
    for k, value in enumerate(values):
        step = use_def.producer[value]
        if step is None or step not in pack_index or pack_index[step][0] not in index_in_loop:
            continue
        pack, repetition = pack_index[step]
        producers.add((index_in_loop[pack], value - use_def.steps[step].first_output))
        distances.add(k - repetition)
        internal_reads.append(k)
    if not internal_reads:
        return PackedOperand(values)
    if len(producers) > 1 or len(distances) > 1:
        return None
    (distance,), (producer,) = distances, producers
    expected = list(range(max(distance, 0), len(values) + min(distance, 0)))
    return PackedOperand(values, producer, distance) if internal_reads == expected else None


def _with_outputs(
    use_def: UseDef, packs: list[list[GraphStep]], operands: list[list[PackedOperand]]
) -> RerolledLoop:
    members = {step.index for pack in packs for step in pack}
    carried = {operand.producer for row in operands for operand in row if operand.distance == 1}
    outputs, final_only = [], []
    for p, pack in enumerate(packs):
        for k in range(pack[0].n_outputs):
            values = [step.first_output + k for step in pack]
            read_outside = [
                value in use_def.heads
                or any(use_def.steps[s].index not in members for s, _ in use_def.consumers[value])
                for value in values
            ]
            if (p, k) in carried and not any(read_outside[:-1]):
                final_only += [(p, k)] * read_outside[-1]
            elif any(read_outside):
                outputs.append((p, k))
    rows = tuple(map(tuple, packs)), tuple(map(tuple, operands))
    return RerolledLoop(*rows, tuple(outputs), tuple(final_only))


def _pays(uses: UseDef, packs: list[list[GraphStep]], operands: list[list[PackedOperand]]) -> bool:
    # A loop pays if it multiplies matrices by weights that all iterations share. Blocks with
    # weights of their own, stacked for the loop, run slower than one by one, and compile no faster
    # (measured on two x86-64 cores, training and inference, rolled / unrolled: 50 dense layers of
    # 256, 1.4 and 1.2; 12 transformer layers of 256, 1.2 and 1.3; the five equal blocks of a stage
    # of ResNet-50, 3.2 and 3.6 for the whole network).
    products = [i for i, pack in enumerate(packs) if multiplies_matrices(pack[0])]
    reads_stacked_variables = any(
        operand.is_stacked and _reads_variables(uses, operand.values)
        for i in products
        for operand in operands[i]
    )
    return bool(products) and not reads_stacked_variables
