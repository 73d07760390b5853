"""All objects that have a name of their own in documents."""

from collections.abc import Iterator
from types import ModuleType
from typing import Annotated, Any, Final, get_args, get_origin

from serve.contract import answers as common
from serve.contract import record_answers, search_answers
from serve.contract.declaration import Component, component_name
from serve.contract.feature import Product
from serve.contract.json_schema import Schema, component_schema
from serve.contract.text import Lang, Text

_MODULES: Final = (common, search_answers, record_answers)


def schemas(lang: Lang, product: Product | None = None) -> dict[str, Schema]:
    """The schemas by name, with texts in `lang`: those of several features, then answers and bodies of the product."""
    operations, answers = (product.operations, product.modules("answers")) if product else ((), ())
    bodies = {name: one.body for one in operations if (name := component_name(one.body))}
    kinds = [
        *(named for module in (*_MODULES, *answers) for named in _declarations(module)),
        *sorted(bodies.items()),
    ]
    return {name: component_schema(kind, lang) for name, kind in kinds}


def _declarations(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module declares: classes, and types that have a name."""
    for value in vars(module).values():
        if (name := component_name(value)) and value.__module__ == module.__name__:
            yield name, value
        elif get_origin(value) is Annotated:
            _, *notes = get_args(value)
            if any(isinstance(one, Text) for one in notes):  # else it is described elsewhere
                yield from ((one.name, value) for one in notes if isinstance(one, Component))
