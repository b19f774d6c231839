"""The stubs of ``mx.sym`` and ``mx.nd`` are current and complete."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

from executorkit.errors import MXNetError
from executorkit.ops.schema.calls import MODULES, namespace_entries
from tests import make_stubs, typed_calls
from tests.ops.make_readme import served

STUBS = make_stubs.stubs()
_PRIVATE = ("__all__", "__getattr__", "_Shape", "_OptShape", "_Floats", "_DType", "_NodeAttributes")


def _declared(text: str) -> set[str]:
    names = set()
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef):
            names.add(statement.name)
        elif isinstance(statement, ast.ImportFrom):
            names |= {alias.name for alias in statement.names if alias.asname == alias.name}
        elif isinstance(statement, ast.Assign):
            names |= {ast.unparse(target) for target in statement.targets}
    return names


@pytest.mark.parametrize("path", STUBS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_stubs_are_current(path):
    assert path.read_text() == STUBS[path], "python -m tests.make_stubs"


@pytest.mark.parametrize("face", make_stubs.FACES)
@pytest.mark.parametrize("module", MODULES)
def test_all_that_is_shown_is_declared(face, module):
    namespace = importlib.import_module(f"executorkit.{face}.{module}")
    names = {name for op in served() for name in op.names}
    shown = {public for place, public, _ in namespace_entries(names) if place == module}
    by_hand = {name for name, value in vars(namespace).items() if inspect.isfunction(value)}
    by_hand = {
        n for n in by_hand if n[0] != "_" and vars(namespace)[n].__module__ == namespace.__name__
    }
    declared = _declared(STUBS[make_stubs.PACKAGE / face / f"{module}.pyi"])
    assert shown | by_hand | set(getattr(namespace, "__all__", ())) <= declared
    assert declared <= {*dir(namespace), *_PRIVATE}


def test_types_are_announced():
    assert (make_stubs.PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("face", make_stubs.FACES)
@pytest.mark.parametrize("module", MODULES)
def test_every_attribute_is_a_typed_parameter(face, module):
    text = STUBS[make_stubs.PACKAGE / face / f"{module}.pyi"]
    functions = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    names = [name for op in served() for name in op.names]
    by_hand = importlib.import_module(f"executorkit.{face}.{module}").__dict__
    for place, name, op in namespace_entries(names):
        if place != module or name not in functions or name in by_hand.get("__all__", ()):
            continue
        arguments = functions[name].args
        parameters = [*arguments.args, *arguments.kwonlyargs]
        hints = {a.arg: ast.unparse(a.annotation) for a in parameters if a.annotation}
        assert hints.keys() >= op.attrs.keys(), name
        if arguments.kwarg and arguments.kwarg.annotation:
            hint = ast.unparse(arguments.kwarg.annotation)
            assert hint in ("Symbol", "NDArray", "_Unpack[_NodeAttributes]") or op.open_attrs, name


def test_calls_that_the_stubs_accept_run():
    assert len(typed_calls.accepted()) == 5
    assert len(typed_calls.differentiated()) == 3
    assert len(typed_calls.layers()) == 5


@pytest.mark.parametrize("call", typed_calls.REFUSED, ids=lambda call: call.__name__)
def test_calls_that_the_stubs_refuse_fail(call):
    with pytest.raises((MXNetError, TypeError)):  # TypeError: Python's, for a function's argument
        call()
