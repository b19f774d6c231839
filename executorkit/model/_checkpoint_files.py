"""Checkpoints: a symbol in JSON beside its parameters in a ``.params`` file."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Mapping

from .. import ndarray as nd, processes, symbol as sym
from ..context import cpu
from ..errors import FileAccessError, FileFormatError, InputTypeError, explain
from ..ndarray import NDArray
from ..symbol import Symbol

Params = dict[str, NDArray]
FilePath = str | os.PathLike[str]


def save_checkpoint(
    prefix: FilePath,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Writes ``<prefix>-symbol.json`` and ``<prefix>-<epoch, four digits>.params``.

    symbol
        the network; None writes the parameters alone.
    arg_params, aux_params
        parameters and auxiliary states by name; stored as ``arg:<name>`` and ``aux:<name>``.
    remove_amp_cast
        removes the casts of automatic mixed precision from the written symbol.

    Each file appears complete or not at all; a process that is killed meanwhile leaves at most a
    file ending in ``.tmp``, which the next call with this prefix and epoch deletes. Raises
    TypeError if a value is not an NDArray (nothing is written then), FileAccessError if a file
    cannot be written (it stays as it was).
    """
    entries = parameter_entries("save_checkpoint", arg_params, aux_params)
    path = params_path(prefix, epoch)
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    nd.save(path, entries)
    processes.note_checkpoint(path)
    logging.info('Saved checkpoint to "%s"', path)


def parameter_entries(
    where: str, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
) -> Params:
    """Returns the entries of a ``.params`` file, on the CPU. TypeError for other values."""
    entries: Params = {}
    for kind, params in (("arg", arg_params), ("aux", aux_params)):
        if not isinstance(params, Mapping):
            problem = f"a {type(params).__name__}, expected a dict of NDArray"
            raise InputTypeError(f"{where}: {kind}_params", problem)
        for name, value in params.items():
            if not isinstance(value, NDArray):
                problem = f"a {type(value).__name__}, expected an NDArray"
                hint = "mx.nd.array(value)"
                raise InputTypeError(f"{where}: {kind}_params[{name!r}]", problem, hint=hint)
            entries[f"{kind}:{name}"] = value.as_in_context(cpu())
    return entries


def load_params(prefix: FilePath, epoch: int) -> tuple[Params, Params]:
    """Returns parameters and auxiliary states in ``<prefix>-<epoch, four digits>.params`` by name.

    Entries of a kind other than ``arg:`` and ``aux:`` are ignored, as in MXNet; a file without
    entries gives two empty dicts and a warning in the log. Raises MXNetError, which lists existing
    epochs, if the file is missing, if it is damaged, and if its entries have no kind (a file of
    ``Block.save_parameters``).
    """
    path = params_path(prefix, epoch)
    if not os.path.exists(path):
        raise FileAccessError(_explain_missing(path, prefix, _epochs_hint(prefix)))
    entries = nd.load(path)
    if not entries:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    if not isinstance(entries, dict):
        problem = f"{len(entries)} arrays without names, expected names such as 'arg:fc1_weight'"
        hint = "mx.nd.load(file), which gives the list"
        raise FileFormatError(f"load_params: {path}", problem, hint=hint)
    params: dict[str, Params] = {"arg": {}, "aux": {}}
    for key, value in entries.items():
        kind, colon, name = key.partition(":")
        if not colon:
            problem = f"the entry {key!r} has no kind, expected 'arg:{key}' or 'aux:{key}'"
            because = "it is not a checkpoint; files that Gluon's save_parameters wrote are not"
            hint = "mx.nd.load(file), which gives a dict of all entries"
            raise FileFormatError(f"load_params: {path}", problem, because=because, hint=hint)
        if kind in params:
            params[kind][name] = value
    return params["arg"], params["aux"]


def load_checkpoint(prefix: FilePath, epoch: int) -> tuple[Symbol, Params, Params]:
    """Returns the symbol in ``<prefix>-symbol.json`` and the parameters and auxiliary states of an
    epoch (:func:`load_params`) on the CPU, whatever version of MXNet has written the files. Raises
    MXNetError if a file is missing or damaged.

        symbol, arg_params, aux_params = mx.model.load_checkpoint("resnet-50", 0)
        executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 224, 224))
        executor.copy_params_from(arg_params, aux_params)
    """
    path = f"{prefix}-symbol.json"
    if not os.path.exists(path):
        raise FileAccessError(_explain_missing(path, prefix, _prefixes_hint(prefix)))
    symbol = sym.load(path)
    arg_params, aux_params = load_params(prefix, epoch)
    return symbol, arg_params, aux_params


def _explain_missing(path: str, prefix: FilePath, hint: str | None) -> str:
    end = re.search(r"-(symbol(\.json)?|-?\d{3,}(\.(params|states|step))?)$|\.params$", str(prefix))
    return explain(
        path,
        f"cannot be read: {os.strerror(errno.ENOENT)}",
        because=f"the prefix {str(prefix)!r} is the name of a file" if end else None,
        hint=f"the prefix {str(prefix)[: end.start()]!r}" if end else hint,
    )


def checkpoint_epochs(prefix: FilePath) -> list[int]:
    """Returns the epochs of existing files ``<prefix>-<epoch>.params``, in order."""
    pattern = re.compile(re.escape(os.path.basename(str(prefix))) + r"-(-?\d{3,})\.params")
    matches = map(pattern.fullmatch, _entries_beside(prefix))
    return sorted(int(match[1]) for match in matches if match)


def _entries_beside(prefix: FilePath) -> list[str]:
    try:
        return os.listdir(os.path.dirname(str(prefix)) or ".")
    except OSError:
        return []


def _prefixes_hint(prefix: FilePath) -> str | None:
    folder = os.path.dirname(str(prefix))
    ending = "-symbol.json"
    names = [e.removesuffix(ending) for e in _entries_beside(prefix) if e.endswith(ending)]
    prefixes = sorted(os.path.join(folder, name) for name in names)
    return f"one of the prefixes there: {', '.join(prefixes)}" if 0 < len(prefixes) < 10 else None


def _epochs_hint(prefix: FilePath) -> str | None:
    epochs = checkpoint_epochs(prefix)
    if not epochs:
        return None
    listed = ", ".join(map(str, epochs[-10:]))
    return f"one of the epochs there: {'..., ' if len(epochs) > 10 else ''}{listed}"


def params_path(prefix: FilePath, epoch: int) -> str:
    """Returns the path of a checkpoint's parameters."""
    return f"{prefix}-{int(epoch):04d}.params"
