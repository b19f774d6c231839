"""The body of a loop: its columns as one turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ops._turn import Constants, ScanBody, ScanProduct
from ._graph import GraphStep
from ._reroll import Link, Loop
from ._step import call

#: Products whose gradients by what all turns share are taken over all turns at once.
_TAPPED = frozenset({"FullyConnected", "dot"})


class Body:
    """One turn of a loop: what is carried, what is shown, and the :class:`ScanBody` itself.

    carried
        (what is carried, for how many turns, the values of its reader) of every carry: a list of
        the last so many values, oldest first.
    shown
        (column, place among the results) of what every turn hands out.
    """

    def __init__(self, loop: Loop, links: Sequence[Link], train: bool) -> None:
        self.loop = loop
        self.train = train
        carried = {(x.made, x.back, x.values[: x.back]): None for x in links if x.made and x.back}
        self.carried: list[tuple[Any, int, Any]] = list(carried)
        self.shown = list(loop.shown)
        for c, column in enumerate(loop.columns):
            self.shown += [(c, result) for _, result, _ in column[0].aux_writes]
        self._tapped: dict[int, int] = {}
        products: list[ScanProduct] = []
        for c, (column, row) in enumerate(zip(loop.columns, loop.links, strict=True)):
            if column[0].op.name in _TAPPED and any(link.constant for link in row):
                self._tapped[c] = len(products)
                products.append(self._product(column[0], row))
        non_product_constants = {
            link.values[0]
            for c, row in enumerate(loop.links)
            for link in row
            if link.constant and c not in self._tapped
        }
        #: The weights of fully connected layers that all turns share, by number.
        self.weights = {
            row[1].values[0]
            for column, row in zip(loop.columns, loop.links, strict=True)
            if column[0].op.name == "FullyConnected" and row[1].constant
        }
        self.turn = ScanBody(self._call, products, sorted(non_product_constants))

    def _product(self, step: GraphStep, row: Sequence[Link]) -> ScanProduct:
        """An operator that is applied with what all turns share."""
        shared = {i: link.values[0] for i, link in enumerate(row) if link.constant}

        def apply(constants: Constants, fed: Mapping[int, Any]) -> Any:
            arrays = {
                i: constants[~n].T if ~n in constants else constants[n] for i, n in shared.items()
            }
            arrays.update(fed)
            (result,) = call(step, [arrays[i] for i in range(len(row))], None, self.train)
            return result

        return ScanProduct(apply, tuple(dict.fromkeys(shared.values())))

    def _call(
        self,
        constant: Constants,
        carry: list[list[Any]],
        now: Any,
        perturb: Callable[[int, Any], Any],
    ) -> tuple[list[list[Any]], list[Any]]:
        varying, keys = now
        made: list[tuple[Any, ...]] = []
        before: dict[Any, Any] = {
            carried: values[0] for carried, values in zip(self.carried, carry, strict=True)
        }
        rows = zip(self.loop.columns, self.loop.links, keys, strict=True)
        for number, (column, row, own_key) in enumerate(rows):
            inputs = []
            for link in row:
                if link.back:
                    inputs.append(before[link.made, link.back, link.values[: link.back]])
                elif link.made is not None:
                    c, k = link.made
                    inputs.append(made[c][k])
                elif link.constant:
                    inputs.append(constant[link.values[0]])
                else:
                    inputs.append(varying[link.values])
            if number in self._tapped:
                fed = {i: x for i, x in enumerate(inputs) if not row[i].constant}
                made.append((perturb(self._tapped[number], fed),))
            else:
                made.append(call(column[0], inputs, own_key, self.train))
        after = [
            [*values[1:], made[c][k]]
            for ((c, k), *_), values in zip(self.carried, carry, strict=True)
        ]
        return after, [made[c][k] for c, k in self.shown]
