"""From a function's signature to the JSON Schema of its arguments, and to their validation.

The signature is read once: annotations (``Annotated[..., Field(description=…)]``, ``Literal``, enumerations,
optional and nested types), defaults, and the docstring's words on each parameter. The schema is plain: no
titles, no ``$schema``, and ``$defs`` only where a type contains itself.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from zidane_lab.errors import ConfigurationError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.validation import check

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Arguments", "arguments_of", "tidy_schema"]

_REF: Final = "#/$defs/"
_NAMED: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
"""Keywords whose values map names (not keywords) to schemas."""
_SCHEMAS: Final = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_DROPPED: Final = frozenset({"title", "$schema", "discriminator"})


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a function takes.

    Parameters
    ----------
    schema
        JSON Schema of type object, for the model.
    validate
        Turns raw arguments into the function's own (every parameter is there, defaults included), or raises
        :class:`~zidane_lab.errors.ToolInputError`.
    wants_context
        Whether the first parameter is a :class:`~zidane_lab.tools.base.ToolContext`.
    """

    schema: Mapping[str, Any]
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    wants_context: bool


def arguments_of(function: Callable[..., Any], *, tool: str, descriptions: Mapping[str, str]) -> Arguments:
    """Read the signature of ``function``.

    Parameters
    ----------
    function
        The function behind the tool.
    tool
        The tool's name, for messages.
    descriptions
        What each parameter means, where the annotation does not say it.

    Raises
    ------
    ConfigurationError
        A parameter cannot be sent by name as JSON: it is positional-only, variadic, without a type, or of a
        type that has no JSON form.
    """
    parameters, wants_context = _parameters(function, tool)
    model = _model(parameters, tool, descriptions)
    names = [parameter.name for parameter in parameters]

    def validate(raw: Mapping[str, Any]) -> Mapping[str, Any]:
        checked = check(model, raw, tool=tool)
        return {name: getattr(checked, _field(index)) for index, name in enumerate(names)}

    return Arguments(_schema(model, tool), validate, wants_context)


def _field(index: int) -> str:
    """Name a model's field; the parameter's own name is its alias, so that no name clashes with pydantic's."""
    return f"p{index}"


def _parameters(function: Callable[..., Any], tool: str) -> tuple[list[inspect.Parameter], bool]:
    """Return the parameters with their types resolved, without the context."""
    try:
        target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        hints = typing.get_type_hints(target, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"The signature of tool {tool} cannot be read: {error}.",
            hint="Define the types it names before the function, where the function's module sees them.",
        ) from error
    found: list[inspect.Parameter] = []
    wants_context = False
    for position, parameter in enumerate(signature.parameters.values()):
        where = f"Parameter `{parameter.name}` of tool {tool}"
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ConfigurationError(
                f"{where} is {parameter.kind.description}; a model gives arguments by name.",
                hint="Use ordinary named parameters; take a list or a dict where the number varies.",
            )
        hint = hints.get(parameter.name, parameter.annotation)
        if hint is ToolContext:
            if position or parameter.kind is parameter.KEYWORD_ONLY:
                raise ConfigurationError(f"{where} is a ToolContext.", hint="Make it the first parameter.")
            wants_context = True
            continue
        if hint is parameter.empty:
            raise ConfigurationError(f"{where} has no type.", hint=f"Write it, as in `{parameter.name}: str`.")
        found.append(parameter.replace(annotation=hint))
    return found, wants_context


def _model(parameters: list[inspect.Parameter], tool: str, descriptions: Mapping[str, str]) -> type[BaseModel]:
    """Build the model that validates the arguments."""
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError
    from pydantic.fields import FieldInfo

    fields: dict[str, Any] = {}
    for index, parameter in enumerate(parameters):
        options: dict[str, Any] = {"alias": parameter.name}
        if parameter.default is not parameter.empty:
            options["default"] = parameter.default
        notes = getattr(parameter.annotation, "__metadata__", ())
        if not any(isinstance(note, FieldInfo) and note.description for note in notes):
            words = [note for note in notes if isinstance(note, str)] or [descriptions.get(parameter.name, "")]
            if words[0]:
                options["description"] = words[0]
        fields[_field(index)] = (parameter.annotation, Field(**options))
    try:
        model: type[BaseModel] = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except PydanticUserError as error:
        raise _no_json_form(tool, error) from error
    return model


def _schema(model: type[BaseModel], tool: str) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

    class Quiet(GenerateJsonSchema):
        # A default that is not JSON simply has no place in the schema; it still applies.
        ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it

    try:
        return tidy_schema(model.model_json_schema(schema_generator=Quiet))
    except PydanticUserError as error:
        raise _no_json_form(tool, error) from error


def _no_json_form(tool: str, error: Exception) -> ConfigurationError:
    first = str(error).split("\n", 1)[0].rstrip(".")
    return ConfigurationError(
        f"A parameter of tool {tool} has a type without a JSON form: {first}.",
        hint="Take something a model can write: text, numbers, lists, objects; a variable by its name.",
    )


def tidy_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without titles and ``$schema``, its references put in place where they end.

    Definitions that contain themselves stay in ``$defs``. Names of properties are never touched, nor are
    values (defaults, examples, enumerations).
    """
    definitions = {name: body for name, body in schema.get("$defs", {}).items() if isinstance(body, Mapping)}
    recursive = {name for name in definitions if name in _reachable(name, definitions)}

    def tidy(node: Any) -> Any:
        if not isinstance(node, Mapping):
            return node
        name = _target(node)
        if name in definitions and name not in recursive:
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            return tidy({**definitions[name], **siblings})
        out: dict[str, Any] = {}
        for key, value in node.items():
            if key in _DROPPED:
                continue
            if key in _NAMED and isinstance(value, Mapping):
                out[key] = {each: tidy(body) for each, body in value.items()}
            elif key in _SCHEMAS:
                out[key] = tidy(value)
            elif key in _LISTS and isinstance(value, list):
                out[key] = [tidy(body) for body in value]
            else:
                out[key] = value
        return out

    tidied: dict[str, Any] = tidy({key: value for key, value in schema.items() if key != "$defs"})
    tidied.setdefault("type", "object")
    tidied.setdefault("properties", {})
    if kept := {name: tidy(definitions[name]) for name in definitions if name in recursive}:
        tidied["$defs"] = kept
    return tidied


def _target(node: Mapping[str, Any]) -> str:
    reference = node.get("$ref")
    return reference.removeprefix(_REF) if isinstance(reference, str) and reference.startswith(_REF) else ""


def _reachable(start: str, definitions: Mapping[str, Any]) -> set[str]:
    """Names of the definitions that ``start`` refers to, directly or not."""
    seen: set[str] = set()
    queue: list[Any] = [definitions[start]]
    while queue:
        node = queue.pop()
        if isinstance(node, Mapping):
            name = _target(node)
            if name in definitions and name not in seen:
                seen.add(name)
                queue.append(definitions[name])
            queue.extend(node.values())
        elif isinstance(node, list):
            queue.extend(node)
    return seen
