"""``cache``: the contents of the disk cache of compiled programs."""

from __future__ import annotations

import argparse
from datetime import datetime

from ..display import many, scaled
from ..program import clear_disk_cache, disk_cache_info


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "cache",
        help="shows the disk cache of compiled programs",
        description="Tells where compiled programs are kept between processes, how many there are, "
        "and whether the cache is on, and why. EXECUTORKIT_CACHE_DIR names another directory, or "
        "switches it off where it is empty.",
    )
    parser.add_argument("--clear", action="store_true", help="delete them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.clear:
        print(f"{many(clear_disk_cache(), 'program')} deleted")
    info = disk_cache_info()
    print(f"directory: {info.directory or 'none'}")
    print(f"{'on' if info.enabled else 'off'}: {info.reason}")
    if info.enabled:
        size, limit = scaled(info.bytes, "B", 1024), scaled(info.max_bytes, "B", 1024)
        print(f"{many(info.programs, 'program')}, {size} of at most {limit}")
    if info.oldest is not None and info.newest is not None:
        print(f"last used: the oldest {_time(info.oldest)}, the newest {_time(info.newest)}")
    return 0


def _time(time: datetime) -> str:
    return time.isoformat(" ", "seconds")
