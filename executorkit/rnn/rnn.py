"""``mx.rnn.rnn``: checkpoints of networks with cells, with weights and biases split by gate."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..model import load_checkpoint, save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol
from ._base_cell import Arrays, BaseRNNCell, States
from ._unrolling import Sequential

Cells: TypeAlias = BaseRNNCell | Sequence[BaseRNNCell]


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Sequential,
    begin_state: States | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, States]:
    """Calls ``cell.unroll`` with ``length``, ``inputs``, ``begin_state`` and ``layout``; deprecated
    (in MXNet an error). ``input_prefix`` has no effect."""
    warnings.warn("rnn_unroll is deprecated: call cell.unroll", DeprecationWarning, stacklevel=2)
    return cell.unroll(length, inputs, begin_state=begin_state, layout=layout)


def save_rnn_checkpoint(
    cells: Cells,
    prefix: Any,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """Calls ``mx.model.save_checkpoint`` with these arguments, the parameters of ``cells``
    unpacked. Fused cells and the cells of ``unfuse()`` can load the file. Raises KeyError, and
    writes nothing, if a cell's parameter is missing."""
    unpacked: Mapping[str, NDArray] = arg_params
    for cell in _listed(cells):
        unpacked = cell.unpack_weights(unpacked)
    save_checkpoint(prefix, epoch, symbol, unpacked, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: Any, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """Returns symbol, parameters and auxiliary states of ``mx.model.load_checkpoint``, with the
    parameters of ``cells`` packed."""
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Cells, prefix: Any, period: int = 1) -> Callable[..., None]:
    """Returns an ``epoch_end_callback`` for ``fit`` that calls :func:`save_rnn_checkpoint` every
    ``period`` epochs; the first epoch's file is number 1."""
    every = int(max(1, period))

    def callback(iter_no: int, sym: Symbol | None = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback


def _listed(cells: Cells) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells
