"""``python -m executorkit``: demo, inspect, coverage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ._cli import _coverage_command as _coverage
from ._cli import _demo_command as _demo
from ._cli import _inspect_command as _inspect
from .errors import MXNetError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit status. Wrong input is 2, with the reason on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m executorkit", description="MXNet 1.x symbols and checkpoints on JAX."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (_demo, _inspect, _coverage):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output (head, a pager) has seen enough; nothing is left to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MXNetError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
