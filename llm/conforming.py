"""Whether a JSON value is what a JSON schema asks for, in the keywords that constrain a decoder.

type (one or several), enum, anyOf, properties, required, additionalProperties, items, minItems,
maxItems, minLength, maxLength, minimum, maximum; title, description, default and examples say
nothing. There is no `$ref`: schemas are written out.
"""

from collections.abc import Iterable
from typing import Any

_KEYWORDS = set(
    "type enum anyOf properties required additionalProperties items minItems maxItems minLength "
    "maxLength minimum maximum title description default examples".split()
)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "null": type(None),
}
_SHOWN_CHARS = 60


def misfit(value: Any, schema: dict[str, Any], path: str = "$") -> str | None:
    """Why `value`, as json.loads gives it, is not what `schema` asks for; None where it is.

    A keyword that is not known makes every value a misfit, since it cannot be checked.
    """
    if unknown := schema.keys() - _KEYWORDS:
        return f"{path}: expected a schema without {', '.join(sorted(unknown))}"
    return (
        _no_choice(value, schema, path)
        or _outside(value, schema, path)
        or _misfit_inside(value, schema, path)
    )


def _no_choice(value: Any, schema: dict[str, Any], path: str) -> str | None:
    if "type" in schema and not _is_of(value, schema["type"]):
        return f"{path}: expected {schema['type']}, got {_shown(value)}"
    if "enum" in schema and not any(_same(value, known) for known in schema["enum"]):
        return f"{path}: expected one of {len(schema['enum'])} values, got {_shown(value)}"
    if "anyOf" in schema and all(misfit(value, form, path) for form in schema["anyOf"]):
        return f"{path}: expected one of {len(schema['anyOf'])} forms, got {_shown(value)}"
    return None


def _outside(value: Any, schema: dict[str, Any], path: str) -> str | None:
    size: float
    match value:
        case str():
            size, what = len(value), "Length"
        case list():
            size, what = len(value), "Items"
        case int() | float() if not isinstance(value, bool):
            size, what = value, "imum"
        case _:
            return None
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if least is not None and size < least:
        return f"{path}: expected at least {least} (min{what}), got {_shown(size)}"
    if most is not None and size > most:
        return f"{path}: expected at most {most} (max{what}), got {_shown(size)}"
    return None


def _misfit_inside(value: Any, schema: dict[str, Any], path: str) -> str | None:
    if isinstance(value, list):
        items = schema.get("items", {})
        return _first(misfit(item, items, f"{path}[{i}]") for i, item in enumerate(value))
    return _object_misfit(value, schema, path) if isinstance(value, dict) else None


def _object_misfit(value: dict[str, Any], schema: dict[str, Any], path: str) -> str | None:
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{path}: expected {', '.join(missing)}, got {_shown(list(value))}"
    forms, other = schema.get("properties", {}), schema.get("additionalProperties", True)
    extra = [name for name in value if name not in forms]
    if extra and other is False:
        return f"{path}: expected no more than {', '.join(forms)}, got {_shown(extra)}"
    rest = other if isinstance(other, dict) else {}
    return _first(
        misfit(one, forms.get(name, rest), f"{path}.{name}") for name, one in value.items()
    )


def _is_of(value: Any, types: str | list[str]) -> bool:
    return any(_is_one(value, name) for name in ([types] if isinstance(types, str) else types))


def _is_one(value: Any, name: str) -> bool:
    if isinstance(value, bool) or name == "boolean":  # Python takes a bool for an int
        return isinstance(value, bool) and name == "boolean"
    is_fraction = isinstance(value, float) and not value.is_integer()
    return isinstance(value, _TYPES[name]) and not (name == "integer" and is_fraction)


def _same(value: Any, known: Any) -> bool:
    return bool(value == known) and isinstance(value, bool) == isinstance(known, bool)


def _first(problems: Iterable[str | None]) -> str | None:
    return next((problem for problem in problems if problem), None)


def _shown(value: Any) -> str:
    return repr(value)[:_SHOWN_CHARS]
