"""The command line, ``executorkit`` or ``python -m executorkit``."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from ._cli import (
    _cache_command,
    _coverage_command,
    _demo_command,
    _exec_command,
    _export_command,
    _im2rec_command,
    _inspect_command,
    _launch_command,
    _run_command,
)
from .errors import MXNetError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status: 2, with the reason on stderr, for wrong input."""
    parser = argparse.ArgumentParser(
        prog="executorkit", description="MXNet 1.x symbols and checkpoints on JAX."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('executorkit')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (
        _exec_command,
        _inspect_command,
        _run_command,
        _export_command,
        _coverage_command,
        _im2rec_command,
        _cache_command,
        _launch_command,
        _demo_command,
    ):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    if options.run is _exec_command.run:
        return options.run(options)  # errors are the script's
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output (head, a pager) has stopped; nothing is left to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MXNetError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
