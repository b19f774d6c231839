"""A step's optimizer state in a file: what a resumed run needs beside the parameters.

MXNet's optimizers: the bytes of a module's ``.states`` file. Optax: NumPy's ``.npz``, an array of
bytes for each leaf of the state, and ``header``, a JSON text with the leaves' paths, types and
shapes, the parameters' names and the state of ``mx.random``.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import model, random
from .._files import write_atomically
from ..errors import FileFormatError, explain
from ..ndarray import NDArray
from ..optimizer._state_file import dump_updater, restore_updater

if TYPE_CHECKING:
    from ._step import Step


def _path(prefix: Any, epoch: int) -> str:
    return f"{prefix}-{epoch:04d}.step"


def write_state(step: Step, prefix: Any, epoch: int) -> None:
    """See :meth:`Step.save`."""
    graph, target = step._fed.graph, step._target
    args = {n: target.first(i) for n, i in zip(step.names, step._wanted, strict=True)}
    aux = [a if isinstance(a, NDArray) else a[0] for a in target.aux_arrays]
    aux_params = dict(zip(graph.aux_names, aux, strict=True))
    model.save_checkpoint(prefix, epoch, step._fed.symbol, args, aux_params)
    content = dump_updater(step._updater) if step._updater else _packed(step)
    write_atomically(_path(prefix, epoch), [content])


def read_state(step: Step, prefix: Any, epoch: int) -> None:
    """See :meth:`Step.restore`."""
    _, args, aux = model.load_checkpoint(prefix, epoch)
    path = _path(prefix, epoch)
    with open(path, "rb") as file:
        content = file.read()
    if step._updater:
        step._fed.set_params(args, aux)
        first = step._target.first(step._wanted[0]).context.device_id
        restore_updater(step._updater, content, {n: i for i, n in enumerate(step.names)}, [first])
        return
    header, arrays = _unpacked(content, path)
    expected = _layout(step)
    for what, ours in expected.items():
        if header.get(what) != ours:
            raise FileFormatError(
                explain(
                    path,
                    f"{what} of the optimizer's state are {_short(header.get(what))}, "
                    f"expected {_short(ours)}",
                    hint="a step with the same parameters and optimizer as the one that was saved",
                )
            )
    step._fed.set_params(args, aux)
    step._set_state([jnp.asarray(a) for a in arrays])
    start, places = header["random"]
    random.set_state((start, tuple(tuple(p) for p in places)))


def _layout(step: Step) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(step.opt_state)
    return {
        "names": list(step.names),
        "paths": [jax.tree_util.keystr(path) for path, _ in leaves],
        "types": [x.dtype.name for _, x in leaves],
        "shapes": [list(x.shape) for _, x in leaves],
    }


def _packed(step: Step) -> bytes:
    header = {**_layout(step), "random": random.get_state()}
    leaves = [np.asarray(x) for x in jax.tree.leaves(step.opt_state)]
    arrays: dict[str, Any] = {
        f"state{i}": np.frombuffer(x.tobytes(), np.uint8) for i, x in enumerate(leaves)
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _unpacked(content: bytes, path: str) -> tuple[Mapping[str, Any], list[np.ndarray]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            arrays = [
                np.frombuffer(file[f"state{i}"].tobytes(), jnp.dtype(kind)).reshape(shape)
                for i, (kind, shape) in enumerate(
                    zip(header["types"], header["shapes"], strict=True)
                )
            ]
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        problem = f"it is no state of an optax step: {error}"
        raise FileFormatError(explain(path, problem, hint="a file of Step.save")) from None
    return header, arrays


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
