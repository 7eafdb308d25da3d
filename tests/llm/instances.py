"""Replies that a JSON schema allows, made from the schema alone: any, and the longest."""

from typing import Any

from hypothesis import strategies as st


def longest(schema: dict[str, Any], character: str) -> Any:
    """A reply with every list full, every string at its bound and the longest of each choice."""
    if "enum" in schema:
        return max(schema["enum"], key=len)
    match schema["type"]:
        case "object":
            return {name: longest(form, character) for name, form in schema["properties"].items()}
        case "array":
            return [longest(schema["items"], character)] * schema["maxItems"]
        case "string":
            return character * schema["maxLength"]
        case "integer":
            return schema["maximum"]
    return False


def instances(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Any reply."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            forms = schema["properties"].items()
            return st.fixed_dictionaries({name: instances(form) for name, form in forms})
        case "array":
            least, most = schema["minItems"], schema["maxItems"]
            return st.lists(instances(schema["items"]), min_size=least, max_size=most)
        case "string":
            characters = st.characters(exclude_categories=["Cs"])
            return st.text(characters, max_size=schema["maxLength"])
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
    return st.booleans()
