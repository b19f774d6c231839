"""One iteration of a re-rolled loop, as the body of a scan."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._support.annotations import Operands, Raw
from ...ops.recurrence.scan_body import Constants, ScanBody, ScanProduct
from ...ops.schema.traits import SHARED_PRODUCT, TRANSPOSED_WEIGHT
from .._graph import GraphStep
from .._interpreter import apply_step
from .ir import PackedOperand, RerolledLoop


class LoopBodyTracer:
    """Traces one iteration of a loop, ``scan_body``. ``carries`` are (producer, distance, numbers
    of the initial values): lists of the values of the last ``distance`` iterations, oldest first.
    ``outputs`` are the (pack, index among the results) returned by every iteration (``ys``).
    ``weights`` number the shared weights of dense layers."""

    def __init__(self, loop: RerolledLoop, train: bool) -> None:
        self.loop = loop
        self.train = train
        operands = [operand for row in loop.operands for operand in row]
        carries = {
            (x.producer, x.distance, x.values[: x.distance]): None
            for x in operands
            if x.producer and x.distance
        }
        self.carries: list[tuple[Any, int, Any]] = list(carries)
        self.outputs = list(loop.outputs)
        for p, pack in enumerate(loop.packs):
            self.outputs += [(p, write.result) for write in pack[0].aux_writes]
        self._product_of_pack: dict[int, int] = {}
        products: list[ScanProduct] = []
        for p, (pack, row) in enumerate(zip(loop.packs, loop.operands, strict=True)):
            if SHARED_PRODUCT in pack[0].op.traits and any(x.is_invariant for x in row):
                self._product_of_pack[p] = len(products)
                products.append(self._product(pack[0], row))
        non_product_constants = {
            operand.values[0]
            for p, row in enumerate(loop.operands)
            for operand in row
            if operand.is_invariant and p not in self._product_of_pack
        }
        self.weights = {
            row[1].values[0]
            for pack, row in zip(loop.packs, loop.operands, strict=True)
            if TRANSPOSED_WEIGHT in pack[0].op.traits and row[1].is_invariant
        }
        self.scan_body = ScanBody(self._iterate, products, sorted(non_product_constants))

    def _product(self, step: GraphStep, row: Sequence[PackedOperand]) -> ScanProduct:
        shared = {i: operand.values[0] for i, operand in enumerate(row) if operand.is_invariant}

        def apply(constants: Constants, varying: Mapping[int, object]) -> Raw:
            arrays = {
                i: constants[~n].T if ~n in constants else constants[n] for i, n in shared.items()
            }
            arrays.update(varying)
            (result,) = apply_step(step, [arrays[i] for i in range(len(row))], None, self.train)
            return result

        return ScanProduct(apply, tuple(dict.fromkeys(shared.values())))

    def _iterate(
        self,
        constants: Constants,
        carry: list[list[Raw]],
        xs: Any,
        perturb: Callable[[int, Raw], Raw],
    ) -> tuple[list[list[Raw]], list[Raw]]:
        varying, keys = xs
        results: list[Operands] = []
        carried = {key: values[0] for key, values in zip(self.carries, carry, strict=True)}
        rows = zip(self.loop.packs, self.loop.operands, keys, strict=True)
        for p, (pack, row, key) in enumerate(rows):
            inputs = []
            for x in row:
                if x.distance:
                    inputs.append(carried[x.producer, x.distance, x.values[: x.distance]])
                elif x.producer is not None:
                    producer, k = x.producer
                    inputs.append(results[producer][k])
                else:
                    inputs.append(constants[x.values[0]] if x.is_invariant else varying[x.values])
            if p in self._product_of_pack:
                varying_inputs = {i: x for i, x in enumerate(inputs) if not row[i].is_invariant}
                results.append((perturb(self._product_of_pack[p], varying_inputs),))
            else:
                results.append(apply_step(pack[0], inputs, key, self.train))
        next_carry = [
            [*values[1:], results[p][k]]
            for ((p, k), *_), values in zip(self.carries, carry, strict=True)
        ]
        return next_carry, [results[p][k] for p, k in self.outputs]
