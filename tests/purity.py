"""What the pure part must not do, read off its syntax trees: each check yields `line: what`.

`core/` and `formats/` see no clock, randomness, environment or I/O, change no global, use no floats
where a decision is made, and never let the order of a set into output. Names of what they may
import are listed, so that a new one is a decision.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

Problem = tuple[int, str]

MAY_IMPORT = frozenset(
    (
        *("__future__", "binascii", "bisect", "collections", "copy", "dataclasses", "datetime"),
        *("array", "decimal"),
        *("difflib", "enum", "hashlib", "itertools", "json", "msgspec", "operator", "re", "string"),
        *("types", "typing"),
    )
)
"""difflib is for hints in errors alone: its output may change between versions of Python."""
_IMPURE = frozenset(("open", "print", "input", "eval", "exec", "globals", "vars", "breakpoint"))
_CLOCKS = frozenset(("now", "today", "utcnow"))
_CHANGING = frozenset(
    (
        "append",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "clear",
        "update",
        "setdefault",
        "add",
    )
)
_ORDERED = frozenset(("list", "tuple", "iter", "enumerate", "zip", "map", "filter", "reversed"))
_WITHOUT_ORDER = frozenset(("sorted", "any", "all", "sum", "min", "max", "set", "frozenset"))
_BY_UNICODE_TABLE = frozenset(
    (
        *("isalpha", "isalnum", "isdigit", "isdecimal", "isnumeric", "isidentifier", "isprintable"),
        *("lower", "upper", "casefold", "title", "capitalize", "swapcase"),
    )
)


def imports(tree: ast.AST) -> Iterator[Problem]:
    """Modules that are neither listed nor ours."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name.split(".")[0] not in MAY_IMPORT | {"compactor"}:
                yield node.lineno, f"imports {name}"


def effects(tree: ast.AST) -> Iterator[Problem]:
    """Calls that reach outside, `global`, and `hash`, which differs from process to process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno, "global"
        if isinstance(node, ast.Attribute) and node.attr in _CLOCKS:
            yield node.lineno, f"reads a clock: {node.attr}"
    for scope, name, line in _calls(tree, ""):
        if name in _IMPURE or (name == "hash" and scope != "__hash__"):
            yield line, f"calls {name}"


def _calls(node: ast.AST, scope: str) -> Iterator[tuple[str, str, int]]:
    """Calls of plain names: the innermost function around them, the name, the line."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else scope
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
            yield inner, child.func.id, child.lineno
        yield from _calls(child, inner)


def changed_globals(tree: ast.AST) -> Iterator[Problem]:
    """Module-level lists, dicts and sets that anything changes."""
    assert isinstance(tree, ast.Module)
    names = {name for node in tree.body for name in _assigned(node)}
    for node in ast.walk(tree):
        changed: ast.expr | None = None
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in _CHANGING else None
        if isinstance(changed, ast.Name) and changed.id in names:
            yield changed.lineno, f"changes {changed.id}"


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def set_order(tree: ast.AST) -> Iterator[Problem]:
    """Loops over sets, and lists made of them. `sorted`, `in`, `len`, `any` are fine."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    whole = frozenset(name for name in _set_names(tree) if "." in name)
    outer = frozenset(_set_names(ast.Module(_statements(tree), [])))
    for scope in (tree, *functions):
        names = whole | outer | (frozenset() if scope is tree else frozenset(_set_names(scope)))
        settled = {id(loop) for node in ast.walk(scope) for loop in _settled(node)}
        for node in ast.walk(scope):
            looped = None if id(node) in settled else _looped(node)
            if looped is not None and _is_set(looped, names):
                yield looped.lineno, f"the order of {ast.unparse(looped)}"


def _settled(node: ast.AST) -> list[ast.comprehension]:
    """Loops whose order does not matter: inside `sorted(…)`, `sum(…)` and the like, or a set."""
    if isinstance(node, ast.SetComp):
        return node.generators
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return []
    inner = node.args[0]
    if node.func.id in _WITHOUT_ORDER and isinstance(inner, ast.GeneratorExp):
        return inner.generators
    return []


def _statements(tree: ast.AST) -> list[ast.stmt]:
    """What a module does outside functions and classes."""
    assert isinstance(tree, ast.Module)
    return [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _looped(node: ast.AST) -> ast.expr | None:
    """What a node takes the items of, in order."""
    if isinstance(node, ast.For | ast.comprehension):
        return node.iter
    if isinstance(node, ast.Starred):
        return node.value
    if isinstance(node, ast.Call) and node.args and _makes_order(node.func):
        return node.args[-1]
    return None


def _makes_order(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _ORDERED
    return isinstance(function, ast.Attribute) and function.attr in ("join", "fromkeys", "extend")


def _set_names(tree: ast.AST) -> Iterator[str]:
    """Names and attributes that are bound to a set somewhere in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_set(node.value, frozenset()):
            yield from (ast.unparse(target) for target in node.targets)
        if isinstance(node, ast.AnnAssign) and _is_set_type(node.annotation):
            yield ast.unparse(node.target)
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield from [node.arg] if _is_set_type(node.annotation) else []


def _is_set_type(annotation: ast.expr) -> bool:
    return ast.unparse(annotation).split("[")[0] in ("set", "frozenset", "Set", "AbstractSet")


def _is_set(node: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub):
        return _is_set(node.left, names) or _is_set(node.right, names)
    if isinstance(node, ast.Call):
        function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        return isinstance(function, ast.Name) and function.id in ("set", "frozenset")
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names


def floats(tree: ast.AST) -> Iterator[Problem]:
    """True division, float constants, `float` and `round`."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Div):
            yield line, "true division"
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield line, f"the constant {node.value}"
        if isinstance(node, ast.Name) and node.id in ("float", "round"):
            yield line, f"uses {node.id}"


def unicode_tables(tree: ast.AST) -> Iterator[Problem]:
    """Methods whose answers change with the Unicode version of Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _BY_UNICODE_TABLE:
            yield node.lineno, f"uses {node.attr}"


CHECKS: Mapping[str, Callable[[ast.AST], Iterator[Problem]]] = MappingProxyType(
    {
        "imports": imports,
        "effects": effects,
        "changed globals": changed_globals,
        "set order": set_order,
        "unicode tables": unicode_tables,
    }
)
"""What holds in `core/` and `formats/`; `floats` holds in `core/` alone (formats read numbers)."""
