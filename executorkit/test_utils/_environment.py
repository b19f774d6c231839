"""Settings of a test: default context and dtype, environment variables, repetition."""

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import context
from ..context import Context, current_context
from ..errors import FileAccessError


def default_context() -> Context:
    """Returns the context in which the checks run by default."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes ``ctx`` the default context of this thread (inside a ``with`` block: until it ends)."""
    context.replace_current_context(ctx)


def default_dtype() -> type[np.float32]:
    """Returns the default element type of arrays."""
    return np.float32


def list_gpus() -> range:
    """Returns numbers of the GPUs that this process sees."""
    return range(context.num_gpus())


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Sets environment variables for a block: ``(name, value)`` or a dict; None unsets. Settings
    that a library read when it was imported do not change."""
    if len(args) == 1 and isinstance(args[0], Mapping):
        variables = dict(args[0])
    elif len(args) == 2:
        variables = {args[0]: args[1]}
    else:
        raise TypeError("environment takes one dict, or a name and a value")
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set_variables(variables)
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that repeats a random test up to ``n`` times, until it passes."""
    if n <= 0:
        raise ValueError(f"n is {n}, expected at least 1")

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: object, **kwargs: object) -> Any:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    pass
            return test(*args, **kwargs)

        return run

    return decorate


@contextmanager
def discard_stderr() -> Iterator[None]:
    """Silences what the process, native code included, writes to standard error in a block."""
    sys.stderr.flush()
    original = os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(original, 2)
        os.close(sink)
        os.close(original)


def is_cd_run() -> bool:
    """Returns False: MXNet's own continuous delivery does not run this package."""
    return False


def is_aarch64_run() -> bool:
    """Returns True on 64-bit ARM processors."""
    return platform.machine() in ("aarch64", "arm64")


def has_tvm_ops() -> bool:
    """Returns False: operators of TVM are not served."""
    return False


def is_op_runnable() -> bool:
    """Returns True: no operator is missing for a GPU only."""
    return True


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Returns the path of ``im2rec.py`` below the folder that the environment variable ``home_env``
    names; FileAccessError (an OSError) if it is not there."""
    path = os.path.join(os.environ.get(home_env, ""), "tools", "im2rec.py")
    if not os.path.isfile(path):
        problem = f"no file {path}"
        raise FileAccessError("get_im2rec_path", problem, hint="python -m executorkit im2rec")
    return path
