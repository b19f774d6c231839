"""Writes the ``.pyi`` stubs of ``mx.sym``, ``mx.nd`` and of layers, for editors and type checkers.

    python -m tests.make_stubs

Operators are functions that are made when they are looked up, which no editor sees. A stub declares
them from the registry, and copies the names that are written by hand in its module. Another one
declares ``Symbol`` with the methods that packages above attach to it. Layers over one, two and
three axes share the function that makes them; stubs declare it for each with its own defaults.
``test_stubs.py`` holds the files to it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import keyword
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import executorkit
from executorkit import Symbol
from executorkit.ops import OpDef, Params
from executorkit.ops.schema.calls import (
    MODULES,
    REQUIRED,
    Frontend,
    call_signature,
    namespace_entries,
)
from tests.ops.make_readme import served

PACKAGE = Path(executorkit.__file__).parent
ARRAY: dict[Frontend, str] = {"symbol": "Symbol", "ndarray": "NDArray"}
FACES: tuple[Frontend, ...] = ("symbol", "ndarray")

_HEAD = """\
# Written by `python -m tests.make_stubs`.
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal{typing}
import numpy as _np
from executorkit.{face}._{face} import {array}
"""
_TYPES = """\

_Shape = int | _Sequence[int]
_OptShape = int | None | _Sequence[int | None]
_Floats = float | _Sequence[float]
_DType = str | type[_Any] | _np.dtype[_Any] | None
"""
#: The attributes of nodes that MXNet takes among an operator's own; others go into ``attr``.
_NODE_ATTRIBUTES = {
    "lr_mult": "float | str", "wd_mult": "float | str", "ctx_group": "str",
    "mirror_stage": "str | int", "force_mirroring": "str | bool",
}  # fmt: skip
_SIMPLE = {int: "int", float: "float", bool: "bool", str: "str"}
_BY_NAME = {"dtype": "_DType", "ctx": "_Any"}
_TUPLES = {int: "_Shape", float: "_Floats"}


def _hint(annotation: Any) -> str:
    """An attribute's annotation as a user may pass it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if origin is typing.Annotated:
        return "_DType" if "dtype" in arguments[1:] else _hint(arguments[0])
    if origin is typing.Literal:
        return f"_Literal[{', '.join(map(repr, arguments))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join("None" if a is type(None) else _hint(a) for a in arguments)
    if origin is tuple:
        return _TUPLES.get(arguments[0], "_OptShape")
    return "_Any"


def _default(value: Any) -> str:
    if value is REQUIRED or value in (float("inf"), float("-inf")):
        return "..."
    return repr(value)


def _parameters(op: OpDef, face: Frontend) -> Iterator[str]:
    array = ARRAY[face]
    options = {
        "name": "str | None",
        "attr": "dict[str, str] | None",
        "out": f"{array} | list[{array}] | None",
    }
    for name, parameter in call_signature(op, face).parameters.items():
        if keyword.iskeyword(name):
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            yield f"*{name}: {array}"
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            yield from _keywords(op, face)
        elif name in op.attrs:
            hint = _BY_NAME.get(name) or _hint(parameter.annotation)
            yield f"{name}: {hint} = {_default(parameter.default)}"
        else:
            yield f"{name}: {options.get(name, f'{array} | None')} = None"


def _keywords(op: OpDef, face: Frontend) -> Iterator[str]:
    """Any further keywords: texts for a user's operator, inputs where there is any number of them,
    and attributes of the node."""
    if op.open_attrs:
        yield "**kwargs: _Any"
    elif op.variadic is not None:
        yield f"**kwargs: {ARRAY[face]}"
    elif face == "symbol":
        yield "**kwargs: _Unpack[_NodeAttributes]"


def _node_attributes() -> str:
    """The declaration of the attributes that every node takes."""
    entries = [
        f"{name!r}: {hint}"
        for key, hint in _NODE_ATTRIBUTES.items()
        for name in (key, f"__{key}__")
    ]
    return f"_NodeAttributes = _TypedDict('_NodeAttributes', {{{', '.join(entries)}}}, total=False)"


def _result(op: OpDef, face: Frontend) -> str:
    """An NDArray, a list of them, or anything where attributes decide between the two."""
    if face == "symbol":
        return "Symbol"
    try:
        shown = op.visible(Params())
    except (AttributeError, KeyError):
        return "_Any"
    return "NDArray" if shown == 1 else "list[NDArray]"


def _functions(face: Frontend, module: str, declared: set[str]) -> Iterator[str]:
    first: dict[OpDef, str] = {}
    names = [name for op in served() for name in op.names]
    for place, name, op in namespace_entries(names):
        if place != module or name in declared:
            continue
        if op in first:
            yield f"{name} = {first[op]}"
            continue
        first[op] = name
        summary = " ".join(op.doc.partition("\n\n")[0].split())
        signature = ", ".join(_parameters(op, face))
        yield f'def {name}({signature}) -> {_result(op, face)}:\n    r"""{summary}"""'


def _by_hand(path: Path, face: Frontend) -> tuple[list[str], set[str]]:
    """The declarations of a module's own names, and these names."""
    statements = ast.parse(path.read_text()).body
    module = importlib.import_module(f"executorkit.{face}.{path.stem}".removesuffix(".__init__"))
    public = set(getattr(module, "__all__", ()))
    imported = [a for s in statements if isinstance(s, ast.ImportFrom) for a in s.names]
    if path.stem == "__init__":  # what another package adds is not declared here
        public &= {a.asname or a.name for a in imported}
    lines, names = [f"__all__ = {sorted(public)}"] if public else [], set()
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module not in (
            "__future__",
            "errors",
        ):
            renamed = [a for a in statement.names if a.asname in public and a.asname != a.name]
            for alias in statement.names:
                if alias.name in public:
                    names.add(alias.name)
                    alias.asname = alias.name
            # An import by another name exports nothing from a stub.
            assignments = [f"{alias.asname} = {alias.name}" for alias in renamed]
            for alias in renamed:
                names.add(alias.asname)
                alias.asname = None
            lines += [ast.unparse(statement), *assignments]
        elif isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            names.add(statement.name)
            statement.body = [ast.Expr(ast.Constant(...))]
            lines.append(ast.unparse(statement))
        elif isinstance(statement, ast.Assign) and "_sampler(" in ast.unparse(statement.value):
            name = ast.unparse(statement.targets[0])
            names.add(name)
            lines.append(f"def {name}{inspect.signature(getattr(module, name))}: ...")
    return lines, names


def _absolute_imports(tree: ast.Module, package: str) -> Iterator[ast.stmt]:
    """The import statements of a module in a package, with absolute names."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            base = package.split(".")[: len(package.split(".")) - statement.level + 1]
            statement.module = ".".join([*base, *filter(None, [statement.module])])
            statement.level = 0
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement


def _declaration(function: ast.FunctionDef, *, documented: bool = False) -> ast.FunctionDef:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(...))]
    if documented:
        body.insert(0, function.body[0])
        function.args.args = [*function.args.posonlyargs, *function.args.args]
        function.args.args[0] = ast.arg("self")
        function.args.posonlyargs = []
    function.body = body
    return function


def symbol_stub() -> str:
    """The declaration of ``Symbol``: its own methods, and those that packages above attach."""
    path = PACKAGE / "symbol/_symbol.py"
    tree = ast.parse(path.read_text())
    imports = [*_absolute_imports(tree, "executorkit.symbol")]
    declarations: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            methods = [s for s in statement.body if isinstance(s, ast.FunctionDef)]
            statement.body = [_declaration(method) for method in methods]
            for module in ("lowering._symbol_methods", "executor._bind"):
                source = ast.parse(Path(PACKAGE, *module.split(".")).with_suffix(".py").read_text())
                imports += _absolute_imports(source, f"executorkit.{module}".rpartition(".")[0])
                functions = (s for s in source.body if isinstance(s, ast.FunctionDef))
                statement.body += [
                    _declaration(f, documented=True)
                    for f in functions
                    if getattr(Symbol, f.name, None) is getattr(_module(module), f.name)
                ]
            declarations.append(statement)
        elif isinstance(statement, ast.FunctionDef):
            declarations.append(_declaration(statement))
    used = {n.id for d in declarations for n in ast.walk(d) if isinstance(n, ast.Name)} - {"Symbol"}
    lines = []
    for statement in imports:
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        statement.names = [a for a in statement.names if (a.asname or a.name) in used]
        if statement.names:
            lines.append(ast.unparse(statement))
    head = _HEAD.partition("\n")[0]
    return "\n".join([head, *dict.fromkeys(lines), *map(ast.unparse, declarations)]) + "\n"


def _module(name: str) -> types.ModuleType:
    return importlib.import_module(f"executorkit.{name}")


def stubs() -> dict[Path, str]:
    """The text of every stub, by its path."""
    texts = {PACKAGE / "symbol/_symbol.pyi": symbol_stub()}
    for face in FACES:
        for module in ("__init__", *MODULES):
            path = PACKAGE / face / f"{module}.py"
            declarations, names = _by_hand(path, face)
            is_symbol = face == "symbol" and module != "__init__"
            typed = ", TypedDict as _TypedDict, Unpack as _Unpack" if is_symbol else ""
            head = _HEAD.format(face=face, array=ARRAY[face], typing=typed)
            if module == "__init__":
                body = ["from .op import *", *declarations]
            else:
                types = f"{_TYPES}{_node_attributes()}\n" if is_symbol else _TYPES
                body = [*declarations, types, *_functions(face, module, names)]
            result = "Symbol" if face == "symbol" else "_Any"
            body.append(f"def __getattr__(name: str) -> _Callable[..., {result}]: ...")
            texts[path.with_suffix(".pyi")] = head + "\n".join(body) + "\n"
    return texts


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
        print(path, len(text))
