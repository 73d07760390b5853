"""The C headers of compiled modules (`.pxd`), which `setup.py` writes before it compiles them.

`types.pxd` has the records of `types.py` and the constants; the header of another module declares the functions
that return one of its scalars or arrays, all of which run without Python's lock. A function that raises, or
calls one that does, is declared so: the others need not be asked whether they did.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, get_args

from shards.kernel import types

# What `types.py` only has a place for.
_LIBRARY: Final = """\
from libc.math cimport INFINITY, log
from libc.string cimport memcpy

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void*) noexcept nogil
    int lowest_bit "__builtin_ctzll"(unsigned long long) noexcept nogil
"""

Function = tuple[str, str]  # its module and its name


def types_header(module: ModuleType = types) -> str:
    """The header of `types.py`: scalars and arrays, constants, records."""
    kinds: dict[object, str] = {}  # what a field is declared as -> its C type
    scalars, constants, records = [], [], []
    for name, value in vars(module).items():
        match get_args(value):
            case (_, str(declared)):
                before, pointer, after = declared.partition("(*")  # to a function, by its name
                scalars.append(f"ctypedef {before}{pointer or ' '}{name}{after}")
                kinds[value] = name
        if isinstance(value, int):
            constants.append(f"    {name} = {value}")
        elif isinstance(value, type) and value.__module__ == module.__name__:
            fields = (f"    {_field(kinds, *item)}" for item in value.__annotations__.items())
            records += [f"cdef struct {name}Fields:", *fields, f"ctypedef {name}Fields* {name}\n"]
            kinds[value] = f"{name}Fields*"
    return "\n".join([_LIBRARY, *scalars, "\ncdef enum:", *constants, "", *records])


def _field(kinds: Mapping[object, str], name: str, kind: Any) -> str:
    """A field of a struct: a value, so many values, or the address of the addresses of records."""
    match get_args(kind):
        case (many, int(size)):
            return f"{kinds[get_args(many)[0]]}[{size}] {name}"
        case (record,) if kind not in kinds:
            return f"{kinds[record]}* {name}"
    return f"{kinds[kind]} {name}"


def function_headers(sources: Mapping[str, str]) -> dict[str, str]:
    """The headers of modules of functions, by the names of the modules."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    raising = _raising_functions(trees)
    headers = {}
    for module, tree in trees.items():
        lines = [
            f"from {node.module} cimport {', '.join(alias.name for alias in node.names)}"
            for node in _imports(tree, trees)
        ]
        for function in _functions(tree):
            result = ast.unparse(function.returns) if function.returns else ""
            if not hasattr(types, result):
                continue  # for Python
            arguments = (f"{ast.unparse(a.annotation or a)} {a.arg}" for a in function.args.args)
            raises = "except? -1" if (module, function.name) in raising else "noexcept"
            lines.append(f"cdef {result} {function.name}({', '.join(arguments)}) {raises} nogil")
        headers[module] = "\n".join([*lines, ""])
    return headers


def _raising_functions(trees: Mapping[str, ast.Module]) -> set[Function]:
    """The functions that raise, or call one that does."""
    calls: dict[Function, set[Function]] = {}
    raising: set[Function] = set()
    for module, tree in trees.items():
        known = {function.name: (module, function.name) for function in _functions(tree)}
        for node in _imports(tree, trees):
            known |= {alias.name: (str(node.module), alias.name) for alias in node.names}
        for function in _functions(tree):
            nodes = list(ast.walk(function))
            called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
            calls[module, function.name] = {known[name] for name in called & known.keys()}
            if any(isinstance(node, ast.Raise) for node in nodes):
                raising.add((module, function.name))
    while more := {name for name in calls.keys() - raising if calls[name] & raising}:
        raising |= more
    return raising


def _imports(tree: ast.Module, modules: Collection[str]) -> Iterator[ast.ImportFrom]:
    """The imports from other compiled modules and from `types.py`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {*modules, types.__name__}:
            yield node


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))
