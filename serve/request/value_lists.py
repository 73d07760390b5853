"""Parameters with several values: one text with a separator, or the parameter repeated (B5)."""

from serve.contract import errors
from serve.contract.parameters import Parameter
from serve.request.scalars import Values


def items(values: Values, parameter: Parameter) -> list[str]:
    """The items of a list parameter, which may be repeated (B5), without blanks or duplicates (B1).

    Raises:
        ApiError: 400 `parametre_invalide`: there are more than the parameter allows.
    """
    given = values.get(parameter.name)
    if given is None:
        return []
    parts = (part.strip() for value in given for part in value.split(parameter.separator))
    found = list(dict.fromkeys(part for part in parts if part))
    if parameter.most is not None and len(found) > parameter.most:
        why = (
            f"{len(found)} valeurs, au plus {parameter.most} ; répartissez-les sur plusieurs requêtes",
            f"{len(found)} values, {parameter.most} at most; spread them over several requests",
        )
        raise errors.parametre_invalide(parameter.name, why)
    return found


def some_of(values: Values, parameter: Parameter) -> tuple[str, ...]:
    """The given values of the parameter's enum, in its order; none if it is absent.

    Raises:
        ApiError: 400 `parametre_invalide`: one of them is unknown.
    """
    found, allowed = items(values, parameter), parameter.enum
    if unknown := [value for value in found if value not in allowed]:
        shown, known = repr(unknown[0][:100]), ", ".join(allowed)
        why = (f"{shown} est inconnu. Valeurs : {known}", f"{shown} is unknown. Values: {known}")
        raise errors.parametre_invalide(parameter.name, why, valeurs=allowed)
    return tuple(value for value in allowed if value in found)
