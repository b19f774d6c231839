"""``mx.log``: loggers with MXNet's short, coloured lines.

logger = mx.log.get_logger("training", level=mx.log.INFO)
logger.info("epoch %d", 3)  # I0131 12:00:00 4711 /home/me/train.py:main:7] epoch 3
"""

import logging
import sys
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

#: First letters of lines by level.
_LETTERS = {DEBUG: "D", INFO: "I", WARNING: "W", ERROR: "E", CRITICAL: "C"}
_RED, _GREEN, _BLUE, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[34m", "\x1b[0m"


class _LineFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        level = record.levelno
        colour = _RED if level >= WARNING else _GREEN if level >= INFO else _BLUE
        place = f"{record.pathname}:{record.funcName}:{record.lineno}]"
        head = f"{_LETTERS.get(level, 'U')}{record.asctime} {record.process} {place}"
        return f"{colour}{head}{_PLAIN} {record.message}"

    def usesTime(self) -> bool:  # noqa: N802 - logging's name
        return True


#: Names of the loggers that have their handler.
_prepared: set[str] = set()


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """Returns a logger that writes to standard error, or plain messages to the file ``filename``,
    opened with ``filemode`` ('a' by default).

    ``name=None`` is the root logger, which is left as it is. ``level`` is the least level that is
    written; only the first call for a name sets it.
    """
    logger = logging.getLogger(name)
    if name is None or name in _prepared:
        return logger
    _prepared.add(name)
    handler: logging.Handler
    if filename:
        handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_LineFormatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(  # noqa: N802 - MXNet's name
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """Returns :func:`get_logger` of the same arguments."""
    warnings.warn("getLogger is the former name of get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
