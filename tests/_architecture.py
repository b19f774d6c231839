"""Measures of the package's structure that no linter takes, read from its syntax trees.

``python -m tests._architecture [FOLDER ...]`` prints every place that breaks a rule, for the files
below the given folders; ``tests/test_architecture.py`` asserts that there is none.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "executorkit"

#: First words with which a docstring opens as a clause instead of saying what the thing is.
CLAUSES = ("What", "Which", "Whether", "Where", "How", "Who", "Whose", "When", "So")
#: How the names of clocks in ``time`` begin.
CLOCKS = ("perf_counter", "monotonic", "process_time", "thread_time")
#: Local names that do not tell what they hold.
VAGUE_LOCALS = frozenset({"found", "given", "made", "met", "there", "wanted"})
#: Files of the tests that are run by themselves.
SCRIPTS = frozenset({"notebooks.py"})
VAGUE_PHRASES = re.compile(
    r"\bso many\b|\bof which it is the like\b|\bwhoever\b|\blest\b", re.IGNORECASE
)


class Finding(NamedTuple):
    """A place that breaks a rule."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class Module:
    """One file of the package with its syntax tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = str(path.relative_to(ROOT))
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.source = path.read_text()
        self.tree = ast.parse(self.source)

    @property
    def package(self) -> str:
        """The top-level package or module below ``executorkit`` that the file belongs to."""
        return [*self.name.split("."), "__init__"][1]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    def finding(self, node: ast.AST, text: str) -> Finding:
        """A finding at a node."""
        return Finding(self.file, getattr(node, "lineno", 1), text)

    def imported(self) -> Iterator[tuple[ast.AST, str, str | None]]:
        """(node, module, name) of every import of the package's own, absolute."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.split(".")[0] == PACKAGE:
                        yield node, alias.name, None
            elif isinstance(node, ast.ImportFrom):
                base = self.name.split(".")
                if node.level:
                    base = base[: len(base) - node.level + (1 if self.is_package else 0)]
                    base += [node.module] if node.module else []
                else:
                    base = [node.module or ""]
                module = ".".join(base)
                if module.split(".")[0] == PACKAGE:
                    for alias in node.names:
                        yield node, module, alias.name


@lru_cache(maxsize=1)
def modules() -> dict[str, Module]:
    """Every hand-written file of the package by its module name."""
    found_files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {m.name: m for m in map(Module, found_files)}


@lru_cache(maxsize=1)
def stubs() -> list[Module]:
    """Every stub of the package."""
    return [Module(path) for path in sorted((ROOT / PACKAGE).rglob("*.pyi"))]


def _is_private(module: str) -> bool:
    return any(p.startswith("_") and not p.startswith("__") for p in module.split("."))


def _owner(module: str) -> str:
    """The package whose private a module is: everything before the first private part."""
    parts = module.split(".")
    first = next(i for i, p in enumerate(parts) if p.startswith("_"))
    return ".".join(parts[:first])


def private_imports_of_tests(allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """Imports of private modules by tests of another package."""
    findings = []
    known = modules()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        test = Module(path)
        place = test.name.removeprefix("tests.").removeprefix("test_")
        for node, module, name in test.imported():
            target = f"{module}.{name}" if f"{module}.{name}" in known else module
            if not _is_private(target):
                continue
            package = target.split(".")[1].strip("_")
            if place.split(".")[0].strip("_") not in {package, "main"} | allowed:
                findings.append(test.finding(node, f"imports {target}, which it does not mirror"))
    return findings


def clocks_of_tests() -> list[Finding]:
    """Reads of a clock by tests and what they import, which pass on a machine of any speed;
    ``tests/soak`` runs for a time that it is given, and a script may say how long it took."""
    return [
        test.finding(node, "reads a clock; tests._tools.work.count_calls counts what is done")
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if not {"soak", "golden"} & {*path.parts} and path.name not in SCRIPTS
        for test in (Module(path),)
        for node in test.nodes
        if (isinstance(node, ast.Attribute) and node.attr.startswith(CLOCKS))
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]


def names_of_test_files() -> list[Finding]:
    """Names of test files in a ``conftest.py``: a file says itself how it is marked."""
    return [
        conftest.finding(node, f"names {node.value}")
        for path in sorted((ROOT / "tests").rglob("conftest.py"))
        for conftest in (Module(path),)
        for node in conftest.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"(test_|processes)\w*\.py$", node.value)
    ]


def private_imports() -> list[Finding]:
    """Imports of another package's private module."""
    known = modules()
    findings = []
    for m in known.values():
        for node, module, name in m.imported():
            target = f"{module}.{name}" if f"{module}.{name}" in known else module
            if not _is_private(target):
                continue
            owner = _owner(target)
            inside = m.name == owner or m.name.startswith(owner + ".")
            if not inside:
                findings.append(m.finding(node, f"imports {target}, a private of {owner}"))
    return findings


def _is_single_underscored(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _defined_names(node: ast.AST) -> list[str]:
    """Names of functions, classes, attributes and fields that a node defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr] if _is_own(node) else []
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return []


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def optax_imports() -> list[Finding]:
    """Imports of optax outside ``optimizer`` and ``training``."""
    return [
        m.finding(node, "imports optax")
        for m in modules().values()
        for node in m.nodes
        if m.package not in {"optimizer", "training"}
        and isinstance(node, ast.Import | ast.ImportFrom)
        and ast.unparse(node).split()[1].split(".")[0] == "optax"
    ]


def private_reads() -> list[Finding]:
    """Reads of private attributes that only another package defines."""
    defined: dict[str, set[str]] = defaultdict(set)
    for m in modules().values():
        for node in m.nodes:
            for name in filter(_is_single_underscored, _defined_names(node)):
                defined[name].add(m.package)
    findings = []
    for m in modules().values():
        for node in m.nodes:
            if not isinstance(node, ast.Attribute) or _is_own(node):
                continue
            owners = defined.get(node.attr)
            if owners and m.package not in owners:
                findings.append(m.finding(node, f"reads .{node.attr} of {sorted(owners)}"))
    return findings


def outside_assignments() -> list[Finding]:
    """Assignments to a private attribute of another object."""
    findings = []
    for m in modules().values():
        for node in m.nodes:
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store | ast.Del):
                continue
            if not node.attr.startswith("_") or node.attr.startswith("__"):
                continue
            if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", "new"}:
                continue
            findings.append(m.finding(node, f"assigns {ast.unparse(node)} from outside"))
    return findings


def recognised_by_attribute() -> list[Finding]:
    """``hasattr(x, "_name")``: a protocol that is not written down."""
    return [
        m.finding(node, f"{ast.unparse(node)}: recognised by a private name")
        for m in modules().values()
        for node in m.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"hasattr", "getattr"}
        and len(node.args) >= 2
        and isinstance(node.args[1], ast.Constant)
        and _is_single_underscored(str(node.args[1].value))
    ]


def private_jax() -> list[Finding]:
    """Private names of JAX outside of ``jax_internals``."""
    findings = []
    for m in modules().values():
        if m.name == f"{PACKAGE}.jax_internals":
            continue
        for node in m.nodes:
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                names = [f"jax.{node.attr}"] if isinstance(node, ast.Attribute) else []
            findings += [
                m.finding(node, f"reads {name}, a private of JAX")
                for name in names
                if name.startswith("jax") and {"_src", "_clear_cache"} & set(name.split("."))
            ]
    return findings


#: Files that compile by ``jax.jit`` itself, and why.
COMPILES = {
    "program._compiled_function": "it is what all others call",
    "program._compiler_options": "asks once whether XLA knows an option",
    "parallel._pmap_function": "maps a compiled function over devices",
    "export._stablehlo": "jax.export takes a jitted function; a loaded one is its caller's",
    "onnx._comparison": "compares a model once, under the caller's setting of 64-bit types",
    "lowering._prepared_function": "a function for users of JAX, below programs",
}


def bare_jits() -> list[Finding]:
    """Uses of ``jax.jit`` outside of compiled functions: what is compiled there is not counted, and
    not bounded. Operators may give their parts a trace of their own (``inline=True``)."""
    findings = []
    for m in modules().values():
        if m.name.removeprefix(f"{PACKAGE}.") in COMPILES:
            continue
        inlined = {
            id(part)
            for node in m.nodes
            if isinstance(node, ast.Call) and any(k.arg == "inline" for k in node.keywords)
            for part in ast.walk(node)
        }
        findings += [
            m.finding(node, "compiles by jax.jit itself")
            for node in m.nodes
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "jax.jit"
            if id(node) not in inlined
        ]
    return findings


def equations_of_jaxprs() -> list[Finding]:
    """Reads of a jaxpr's equations outside of ``jaxprs``."""
    return [
        m.finding(node, "reads the equations of a jaxpr")
        for m in modules().values()
        if m.package != "jaxprs"
        for node in m.nodes
        if (isinstance(node, ast.Attribute) and node.attr == "eqns")
        or (isinstance(node, ast.Constant) and node.value == "eqns")
    ]


def _docstrings(m: Module) -> Iterator[tuple[ast.AST, str]]:
    for node in m.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node, text


def clause_openings() -> list[Finding]:
    """Docstrings that open with a clause (What, Which, Whether, Where, How, ...)."""
    findings = []
    for m in modules().values():
        for node, text in _docstrings(m):
            first = text.split(None, 1)[0].strip("`'\",.:;")
            if first in CLAUSES:
                findings.append(m.finding(node, f"docstring opens with {text.splitlines()[0]!r}"))
    return findings


def vague_phrases() -> list[Finding]:
    """Phrases in docstrings and comments that hide a quantity or a subject."""
    findings = []
    for m in modules().values():
        for number, line in enumerate(m.source.splitlines(), 1):
            if VAGUE_PHRASES.search(line):
                findings.append(Finding(m.file, number, f"says {line.strip()!r}"))
            if re.match(r"\s*#:? (So many|What |Which |Whether |Where |How )", line):
                findings.append(Finding(m.file, number, f"comment opens with {line.strip()!r}"))
    return sorted(set(findings))


def vague_locals() -> list[Finding]:
    """Local variables and parameters whose name does not tell what they hold."""
    findings = []
    for m in modules().values():
        fields = {
            id(node.target)
            for owner in m.nodes
            if isinstance(owner, ast.ClassDef)
            for node in owner.body
            if isinstance(node, ast.AnnAssign)
        }
        for node in m.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = "" if id(node) in fields else node.id
            else:
                name = node.arg if isinstance(node, ast.arg) else ""
            if name in VAGUE_LOCALS:
                findings.append(m.finding(node, f"a local is called {name!r}"))
    return findings


def _classes() -> list[tuple[Module, ast.ClassDef]]:
    return [(m, n) for m in modules().values() for n in m.nodes if isinstance(n, ast.ClassDef)]


def attributes_of_classes() -> dict[str, set[str]]:
    """The instance attributes that each class assigns or lists as slots, by its full name."""
    attributes = {}
    for m, owner in _classes():
        names = {
            node.attr
            for node in ast.walk(owner)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node)
        }
        for node in owner.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
                names |= {e.value for e in ast.walk(node.value) if isinstance(e, ast.Constant)}
        attributes[f"{m.name}.{owner.name}"] = names
    return attributes


def positional_calls(limit: int = 6) -> list[Finding]:
    """Calls of the package's own functions and classes with many positional arguments."""
    takes: Counter[str] = Counter()
    for m in modules().values():
        for node in m.nodes:
            for name, count in _positional_parameters(node):
                takes[name] = max(takes[name], count)
    return [
        m.finding(node, f"{name} gets {len(node.args)} positional arguments")
        for m in modules().values()
        for node in m.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
        for name in [node.func.id if isinstance(node.func, ast.Name) else node.func.attr]
        if limit < len(node.args) <= takes[name]
    ]


def _positional_parameters(node: ast.AST) -> list[tuple[str, int]]:
    """The name of a function or class with fields, and the number of its positional parameters."""
    if isinstance(node, ast.FunctionDef):
        return [(node.name, len(node.args.args))]
    if not isinstance(node, ast.ClassDef):
        return []
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
    made_by = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    return [(node.name, max(len(fields), *(len(n.args.args) - 1 for n in made_by), 0))]


def _base_names(node: ast.ClassDef) -> list[str]:
    names = []
    for base in node.bases:
        target = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(target, ast.Name):
            names.append(target.id)
        elif isinstance(target, ast.Attribute):
            names.append(target.attr)
    return names


def exceptions_outside_errors() -> list[Finding]:
    """Exception classes that are not in ``errors.py``."""
    roots = {"Exception", "BaseException", "ValueError", "TypeError", "RuntimeError", "KeyError",
             "NotImplementedError", "AssertionError", "AttributeError", "ImportError", "OSError",
             "IndexError", "LookupError", "ArithmeticError", "FloatingPointError", "Warning",
             "UserWarning", "StopIteration"}  # fmt: skip
    family = set(roots)
    classes = _classes()
    for _ in range(6):
        family |= {n.name for _, n in classes if set(_base_names(n)) & family}
    return [
        m.finding(n, f"exception {n.name} is not in errors.py")
        for m, n in classes
        if n.name in family and m.name != f"{PACKAGE}.errors"
    ]


def repeated_class_names(allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """Classes of one name in several files."""
    places: dict[str, list[tuple[Module, ast.ClassDef]]] = defaultdict(list)
    for m, n in _classes():
        places[n.name].append((m, n))
    return [
        m.finding(n, f"class {name} stands in {len(where)} files")
        for name, where in sorted(places.items())
        if len({w.file for w, _ in where}) > 1 and name not in allowed
        for m, n in where
    ]


def repeated_file_names(allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """Files of one name in several folders."""
    names = Counter(m.path.name for m in modules().values())
    return [
        Finding(m.file, 1, f"the name {m.path.name} occurs {names[m.path.name]} times")
        for m in modules().values()
        if names[m.path.name] > 1 and m.path.name not in allowed | {"__init__.py"}
    ]


def lonely_bases(allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """Base classes with one subclass that are never used by themselves: a class cut over files."""
    classes = _classes()
    children: Counter[str] = Counter(b for _, n in classes for b in set(_base_names(n)))
    used: Counter[str] = Counter()
    for m in modules().values():
        for node in m.nodes:
            if isinstance(node, ast.Call):
                for part in ast.walk(node):
                    if isinstance(part, ast.Name):
                        used[part.id] += 1
    return [
        m.finding(n, f"class {n.name} has one subclass and no other use")
        for m, n in classes
        if children[n.name] == 1
        and not used[n.name]
        and n.name not in allowed
        and not {"Protocol", "ABC"} & set(_base_names(n))
        and m.name != f"{PACKAGE}.errors"
    ]


def file_sizes(limit: int = 750) -> list[Finding]:
    """Files that are longer than one concept should need."""
    findings = []
    for m in modules().values():
        length = m.source.count("\n")
        if length > limit:
            findings.append(Finding(m.file, length, f"{length} lines"))
    return findings


def package_lines() -> dict[str, int]:
    """The number of lines of each package; modules of the root are one package, ``executorkit``."""
    lines: Counter[str] = Counter()
    for m in modules().values():
        in_root = m.path.parent == ROOT / PACKAGE
        lines[PACKAGE if in_root else m.package] += m.source.count("\n")
    return dict(lines)


def beyond_budgets(budgets: Mapping[str, int], slack: int = 25) -> list[str]:
    """Packages with more lines than their budget, with far fewer, or without a budget."""
    counts = package_lines()
    findings = [
        f"{name}: {n} lines and no budget" for name, n in counts.items() if name not in budgets
    ]
    for name, budget in budgets.items():
        n = counts.get(name)
        if n is None:
            findings.append(f"{name}: it is gone, its budget should go")
        elif n > budget:
            findings.append(f"{name}: {n} lines, the budget is {budget}: make it smaller elsewhere")
        elif n < budget - slack:
            findings.append(f"{name}: {n} lines, the budget of {budget} should fall to that")
    return findings


#: Imports of stubs for methods that packages above attach to a class.
ATTACHED = {
    (f"{PACKAGE}.symbol._symbol", f"{PACKAGE}.{target}")
    for target in ("executor._executor", "lowering._jax_function", "lowering.summary", "ndarray")
}


def import_circles() -> list[Finding]:
    """Groups of files that import each other, imports inside functions, for types and in stubs
    included."""
    known = modules()
    edges: dict[str, set[str]] = {name: set() for name in known}
    for m in (*known.values(), *stubs()):
        for _, module, name in m.imported():
            target = f"{module}.{name}" if name and f"{module}.{name}" in known else module
            is_attached = m.path.suffix == ".pyi" and (m.name, target) in ATTACHED
            if target in known and target != m.name and not is_attached:
                edges.setdefault(m.name, set()).add(target)
    return [
        Finding(known[group[0]].file, 1, f"circle of {len(group)}: {', '.join(group)}")
        for group in _components(edges)
        if len(group) > 1
    ]


def _components(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components, by Tarjan's algorithm without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    components = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(sorted(edges[successor]))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == node:
                            break
                    components.append(sorted(group))
    return components


RULES: dict[str, Callable[[], list[Finding]]] = {
    rule.__name__: rule
    for rule in (
        private_imports, private_imports_of_tests, clocks_of_tests, names_of_test_files,
        private_reads, outside_assignments,
        recognised_by_attribute, private_jax, bare_jits, equations_of_jaxprs, optax_imports,
        clause_openings, vague_phrases, vague_locals, exceptions_outside_errors,
        positional_calls, repeated_class_names, repeated_file_names, lonely_bases, file_sizes,
        import_circles,
    )
}  # fmt: skip


def main(folders: list[str]) -> None:
    """Prints the findings below the folders (all, if none is named), by rule."""
    for name, rule in RULES.items():
        findings = [f for f in rule() if not folders or f.file.startswith(tuple(folders))]
        print(f"{name}: {len(findings)}")
        if folders:
            for finding in findings:
                print("   ", finding)


if __name__ == "__main__":
    main(sys.argv[1:])
