"""The optimizer's state of a training step in a file, for a run that is resumed.

MXNet's optimizers: the bytes of a module's ``.states`` file. Optax: NumPy's ``.npz``, an array of
bytes for each leaf of the state, and ``header``, a JSON text with the leaves' paths, types and
shapes, the parameters' names, the number of steps and the state of ``mx.random``.
"""

import io
import json
import operator
import os
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import model, random
from .._files import HEAD, recognise, remove_leftovers, write_atomically
from .._support.annotations import Tree
from ..errors import FileFormatError, MXNetError, shorten
from ..ndarray import NDArray
from ..optimizer import Updater, checked_random_state, dump_updater
from ..symbol import Symbol

#: Number of steps of files that do not tell it: enough for all that follow to be compiled.
_MANY_STEPS = 1 << 20


class OptaxState(NamedTuple):
    names: tuple[str, ...]
    state: Tree
    steps: int

    @property
    def leaves(self) -> list[np.ndarray]:
        return jax.tree.leaves(self.state)

    def layout(self) -> dict[str, Any]:
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.state)
        return {
            "names": list(self.names),
            "paths": [jax.tree_util.keystr(path) for path, _ in leaves],
            "types": [x.dtype.name for _, x in leaves],
            "shapes": [list(x.shape) for _, x in leaves],
        }


def _path(prefix: str | os.PathLike[str], epoch: int) -> str:
    return f"{prefix}-{epoch:04d}.step"


def write_step(
    prefix: str | os.PathLike[str],
    epoch: int,
    symbol: Symbol,
    args: Mapping[str, NDArray],
    aux: Mapping[str, NDArray],
    state: Updater | OptaxState,
) -> None:
    model.save_checkpoint(prefix, epoch, symbol, dict(args), dict(aux))
    content = _packed(state) if isinstance(state, OptaxState) else dump_updater(state)
    write_atomically(_path(prefix, epoch), [content])


def read_step(prefix: str | os.PathLike[str], epoch: int) -> tuple[Any, Any, bytes, str]:
    """Reads the files of :meth:`Step.save`; the state of the optimizer as bytes and a path."""
    _, args, aux = model.load_checkpoint(prefix, epoch)
    path = _path(prefix, epoch)
    with open(path, "rb") as file:
        remove_leftovers(path)
        return args, aux, file.read(), path


def unpack_optax_state(
    content: bytes, path: str, present: OptaxState
) -> tuple[list[jax.Array], int, Callable[[], None]]:
    """Returns the leaves of a state, the number of steps, and a function that restores
    ``mx.random``. Raises FileFormatError for a file of other parameters or another optimizer."""
    header, arrays = _unpacked(content, path)
    for what, expected in present.layout().items():
        if header.get(what) != expected:
            raise FileFormatError(
                path,
                f"{what} of the optimizer's state are {shorten(header.get(what))}, "
                f"expected {shorten(expected)}",
                hint="a step with the same parameters and optimizer as the one that was saved",
            )
    leaves = [jnp.asarray(a) for a in arrays]
    return leaves, header["steps"], partial(random.set_state, header["random"])


def _packed(state: OptaxState) -> bytes:
    header = {**state.layout(), "steps": state.steps, "random": random.get_state()}
    leaves = [np.asarray(x) for x in state.leaves]
    arrays: dict[str, Any] = {
        f"state{i}": np.frombuffer(x.tobytes(), np.uint8) for i, x in enumerate(leaves)
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _unpacked(content: bytes, path: str) -> tuple[Mapping[str, Any], list[np.ndarray]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > len(content):
            raise ValueError("its members are compressed")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            arrays = [
                np.frombuffer(file[f"state{i}"].tobytes(), jnp.dtype(kind)).reshape(shape)
                for i, (kind, shape) in enumerate(
                    zip(header["types"], header["shapes"], strict=True)
                )
            ]
            header["steps"] = operator.index(header.get("steps", _MANY_STEPS))
            header["random"] = checked_random_state(header["random"])
    except (
        ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, RecursionError,
        NotImplementedError, SyntaxError, MXNetError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        kind = recognise(content[:HEAD])
        reason = shorten(error) if kind is None else f"it is {kind.name}; {shorten(error)}"
        problem = f"it is not the state of an optax step: {reason}"
        raise FileFormatError(path, problem, hint="a file of Step.save") from None
    return header, arrays
