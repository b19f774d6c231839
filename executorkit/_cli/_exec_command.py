"""``exec``: a script or module that imports mxnet, as it is."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from .._support.mxnet_alias import install_as_mxnet


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "exec",
        help="run a script written for MXNet as it is: import mxnet gives executorkit",
        usage="executorkit exec [-m] train.py [arguments of the script]",
        description="Runs a script, or with -m a module, as python does. import mxnet gives "
        "executorkit, in the script and in the libraries that it imports. In several processes: "
        "executorkit launch -n N executorkit exec train.py.",
    )
    parser.add_argument(
        "-m", action="store_true", dest="is_module", help="train.py is the name of a module"
    )
    parser.add_argument("script", metavar="train.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    install_as_mxnet()
    sys.argv = [options.script, *options.arguments]
    if not sys.flags.safe_path:
        is_module = options.is_module
        sys.path[0] = os.getcwd() if is_module else os.path.dirname(os.path.abspath(options.script))
    if options.is_module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(options.script, run_name="__main__")
    return 0
