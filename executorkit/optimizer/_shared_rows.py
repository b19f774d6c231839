"""Equal hyperparameters of several parameters, which a program takes once."""

from collections.abc import Sequence
from typing import Any

from ._rule import Hyperparams


class Sharing:
    """The parameters of a training that have had equal hyperparameters in all steps so far.

    XLA compiles a kernel for each place of the vector that numbers are taken from (measured: 160
    equal updates take 3 s with a place for each parameter, 0.3 s with one for all), so equal
    hyperparameters are given once. Parameters that have differed stay apart, so that few programs
    are made.

    places
        for each parameter the number of its row.
    """

    __slots__ = ("_firsts", "places")

    def __init__(self) -> None:
        self.places: tuple[int, ...] = ()
        self._firsts: tuple[int, ...] = ()

    def distinct(self, rows: Sequence[Hyperparams]) -> list[Hyperparams]:
        """The rows that the parameters share, as :attr:`places` says from now on."""
        if len(self.places) != len(rows):
            self.places, self._firsts = (0,) * len(rows), (0,)
        distinct = [rows[i] for i in self._firsts]
        if [distinct[k] for k in self.places] == rows:
            return distinct
        numbers: dict[Any, int] = {}
        pairs = zip(self.places, [tuple(map(float, row)) for row in rows], strict=True)
        self.places = tuple([numbers.setdefault(pair, len(numbers)) for pair in pairs])
        self._firsts = tuple(map(self.places.index, range(len(numbers))))
        return [rows[i] for i in self._firsts]
