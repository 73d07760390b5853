"""Compiles the search engine, whose C headers it writes, and some plain Python; all else is in pyproject.toml."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).parent))  # an isolated build leaves it out
from shards.kernel import headers

# By their names within `shards`.
MODULES = (
    "kernel.find", "kernel.row_sets", "kernel.codes", "kernel.rows", "kernel.generate", "kernel.heads",
    "kernel.conditions", "kernel.merge", "kernel.search", "kernel.records", "kernel.scope", "kernel.names",
    "matching.candidates", "suggest.completion", "suggest.near_words",
)  # fmt: skip
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,  # a local variable has the C type of what it is assigned
    "boundscheck": False,  # the modules compare every index that a file holds themselves
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
# It runs as it is, too: compiled it is plain Python without its interpreter, and a list is matched in 8 % less time.
PLAIN = ("shards.matching.name_comparison",)
AS_PYTHON = {"language_level": 3, "annotation_typing": False, "autotestdict": False}

if not Path(sysconfig.get_path("include"), "Python.h").exists():
    sys.exit(
        f"Python.h is not in {sysconfig.get_path('include')}: install the headers of this Python "
        "(Debian: python3-dev), or a wheel that `.ci/wheels` built"
    )
# The machine's own compiler, or the one that is installed with the build requirements.
NEEDED = []
if "CC" not in os.environ and not shutil.which("cc"):
    NEEDED = ["ziglang>=0.15"]
    os.environ["CC"] = f"{sys.executable} -m ziglang cc"
    os.environ["LDSHARED"] = f"{os.environ['CC']} -shared"

SOURCES = {f"shards.{name}": Path("shards", f"{name.replace('.', '/')}.py") for name in MODULES}
HEADERS = headers.function_headers({name: path.read_text() for name, path in SOURCES.items()})
for name, text in {"shards.kernel.types": headers.types_header(), **HEADERS}.items():
    header = Path(f"{name.replace('.', '/')}.pxd")
    # What includes a header is compiled anew where it is younger.
    if not header.exists() or header.read_text() != text:
        header.write_text(text)

# Python imports a compiled module in place of its source, even one of a module that is not compiled any more.
for compiled in Path("shards").rglob("*.so"):
    if ".".join([*compiled.parts[:-1], compiled.name.partition(".")[0]]) not in {*SOURCES, *PLAIN}:
        compiled.unlink()

FLAGS = ["-O3", "-g0"]
KERNEL = [
    Extension(
        name,
        [str(path)],
        depends=[f"shards/kernel/{name}.py" for name in ("types", "headers")],
        extra_compile_args=FLAGS,
    )
    for name, path in SOURCES.items()
]
OTHERS = [
    Extension(name, [f"{name.replace('.', '/')}.py"], extra_compile_args=FLAGS) for name in PLAIN
]

setup(
    setup_requires=NEEDED,
    ext_modules=[
        *cythonize(KERNEL, compiler_directives=DIRECTIVES, build_dir="build/cython"),
        *cythonize(OTHERS, compiler_directives=AS_PYTHON, build_dir="build/cython"),
    ],
)
