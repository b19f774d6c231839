"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from .errors import FileAccessError, explain


def write_atomically(path: str, parts: Iterable[bytes]) -> None:
    """Writes ``parts`` to a temporary file beside ``path``, which is then renamed.

    A reader, and whoever looks after a crash, finds the old contents or the new ones. All that a
    process that is killed leaves behind is ``<path>.<process>.<thread>.tmp``, which nothing reads:
    it may be deleted. A link is followed; what is no ordinary file (``/dev/stdout``) is written
    directly. Raises :class:`FileAccessError` if that cannot be done; the old file stays as it was.
    """
    target = os.path.realpath(path)
    ordinary = not os.path.exists(target) or os.path.isfile(target)
    temporary = f"{target}.{os.getpid()}.{threading.get_ident()}.tmp" if ordinary else target
    try:
        with open(temporary, "wb") as file:
            file.writelines(parts)
        if ordinary:
            os.replace(temporary, target)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise FileAccessError(explain(path, problem)) from None
    finally:
        if ordinary and os.path.exists(temporary):
            os.remove(temporary)
