"""All objects that have a name of their own in documents."""

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Annotated, Any, Final, get_args, get_origin

from serve.contract.objects import bodies, common, record, search
from serve.contract.objects.declaration import Component, component_name
from serve.contract.objects.json_schema import Schema, component_schema
from serve.contract.text import Lang, Text

_MODULES: Final = (common, search, record)


def schemas(lang: Lang, of_features: Iterable[ModuleType] = ()) -> dict[str, Schema]:
    """The schemas by name, module by module, with texts in `lang`.

    Args:
        of_features: the modules `answers` of features.
    """
    return {
        name: component_schema(kind, lang)
        for module in (*_MODULES, *of_features, bodies)
        for name, kind in _declarations(module)
    }


def _declarations(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module declares: classes, and types that have a name."""
    for value in vars(module).values():
        if (name := component_name(value)) and value.__module__ == module.__name__:
            yield name, value
        elif get_origin(value) is Annotated:
            _, *notes = get_args(value)
            if any(isinstance(one, Text) for one in notes):  # else it is described elsewhere
                yield from ((one.name, value) for one in notes if isinstance(one, Component))
