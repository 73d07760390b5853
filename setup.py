"""Write the C headers of the search engine, and compile it and one module of plain Python.

All other settings of the package are in pyproject.toml.
"""

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
    "infer_types": True,  # a local variable gets the C type of the value that is assigned to it
    "boundscheck": False,  # the modules themselves check each index that they read from a file
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
# A module without C types, which also runs uncompiled. Compiled, it matches a list in 8 % less time.
PLAIN = ("shards.matching.name_comparison",)
AS_PYTHON = {"language_level": 3, "annotation_typing": False, "autotestdict": False}

if not Path(sysconfig.get_path("include"), "Python.h").exists():
    sys.exit(
        f"Python.h is not in {sysconfig.get_path('include')}: install the headers of this Python "
        "(Debian: python3-dev), or a wheel that `.ci/wheels` built"
    )
# The compiler of the machine, or else the one of the package `ziglang`, which is then a build requirement.
NEEDED = []
if "CC" not in os.environ and not shutil.which("cc"):
    NEEDED = ["ziglang>=0.15"]
    os.environ["CC"] = f"{sys.executable} -m ziglang cc"
    os.environ["LDSHARED"] = f"{os.environ['CC']} -shared"

SOURCES = {f"shards.{name}": Path("shards", f"{name.replace('.', '/')}.py") for name in MODULES}
HEADERS = headers.function_headers({name: path.read_text() for name, path in SOURCES.items()})
for name, text in {"shards.kernel.types": headers.types_header(), **HEADERS}.items():
    header = Path(f"{name.replace('.', '/')}.pxd")
    # Modules that include a header are compiled again if it is newer, so an equal header stays as it is.
    if not header.exists() or header.read_text() != text:
        header.write_text(text)

# Python prefers a compiled module to its source, so one whose source is no longer compiled must go.
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
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=[
        *cythonize(KERNEL, compiler_directives=DIRECTIVES, build_dir="build/cython"),
        *cythonize(OTHERS, compiler_directives=AS_PYTHON, build_dir="build/cython"),
    ],
)
