"""The C headers of compiled modules (`.pxd`), which `setup.py` writes before it compiles them.

`types.pxd` has the records and constants of `types.py`. The header of another module declares the functions that return
a scalar or an array of `types.py`; all of them run without Python's lock. A function that raises, or calls a function
that raises, is declared with an error value; for the other functions no caller checks for an error.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, get_args

from shards.kernel import types

# C declarations for which `types.py` has only placeholders.
_LIBRARY: Final = """\
from libc.math cimport INFINITY, log
from libc.string cimport memcpy

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void*) noexcept nogil
    int lowest_bit "__builtin_ctzll"(unsigned long long) noexcept nogil
"""

Function = tuple[str, str]  # the module and the name of a function


def types_header(module: ModuleType = types) -> str:
    """The header of `types.py`: scalars and arrays, constants, records."""
    c_types: dict[object, str] = {}  # the declared type of a field -> the C type of the field
    scalars, constants, records = [], [], []
    for name, value in vars(module).items():
        match get_args(value):
            case (_, str(declared)):
                # The name of a function pointer comes after the asterisk of its type.
                return_type, pointer, parameters = declared.partition("(*")
                scalars.append(f"ctypedef {return_type}{pointer or ' '}{name}{parameters}")
                c_types[value] = name
        if isinstance(value, int):
            constants.append(f"    {name} = {value}")
        elif isinstance(value, type) and value.__module__ == module.__name__:
            fields = (f"    {_field(c_types, *item)}" for item in value.__annotations__.items())
            records += [f"cdef struct {name}Fields:", *fields, f"ctypedef {name}Fields* {name}\n"]
            c_types[value] = f"{name}Fields*"
    return "\n".join([_LIBRARY, *scalars, "\ncdef enum:", *constants, "", *records])


def _field(c_types: Mapping[object, str], name: str, kind: Any) -> str:
    """The C declaration of a field: a value, an array of values, or the address of an array of record addresses."""
    match get_args(kind):
        case (array_type, int(size)):
            return f"{c_types[get_args(array_type)[0]]}[{size}] {name}"
        case (record,) if kind not in c_types:
            return f"{c_types[record]}* {name}"
    return f"{c_types[kind]} {name}"


def function_headers(sources: Mapping[str, str]) -> dict[str, str]:
    """The headers (`.pxd`) of modules with functions, by module name; `sources` has the text of each module.

    A header has the imports from the other modules, and the declaration of each function that returns a type of
    `types.py`.
    """
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
                continue  # a function that only Python calls
            arguments = (f"{ast.unparse(a.annotation or a)} {a.arg}" for a in function.args.args)
            raises = "except? -1" if (module, function.name) in raising else "noexcept"
            lines.append(f"cdef {result} {function.name}({', '.join(arguments)}) {raises} nogil")
        headers[module] = "\n".join([*lines, ""])
    return headers


def _raising_functions(trees: Mapping[str, ast.Module]) -> set[Function]:
    """The functions that raise, or call a function that raises."""
    calls: dict[Function, set[Function]] = {}
    raising: set[Function] = set()
    for module, tree in trees.items():
        functions = {function.name: (module, function.name) for function in _functions(tree)}
        for node in _imports(tree, trees):
            functions |= {alias.name: (str(node.module), alias.name) for alias in node.names}
        for function in _functions(tree):
            nodes = list(ast.walk(function))
            called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
            calls[module, function.name] = {functions[name] for name in called & functions.keys()}
            if any(isinstance(node, ast.Raise) for node in nodes):
                raising.add((module, function.name))
    while newly_raising := {name for name in calls.keys() - raising if calls[name] & raising}:
        raising |= newly_raising
    return raising


def _imports(tree: ast.Module, modules: Collection[str]) -> Iterator[ast.ImportFrom]:
    """The imports from other compiled modules and from `types.py`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {*modules, types.__name__}:
            yield node


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a module, without methods and inner functions."""
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))
