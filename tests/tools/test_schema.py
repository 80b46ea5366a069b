from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from pydantic import BaseModel, Field

from zidane_lab.errors import ConfigurationError, ToolInputError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.schema import arguments_of, tidy_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    """A place."""

    x: float
    title: str = "here"


class Line(BaseModel):
    points: list[Point]
    end: Point = Field(description="Where it ends")


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


@dataclass
class Pair:
    left: int
    right: int = 2


class Frame:
    """A type without a JSON form."""


def read(function, **descriptions):
    return arguments_of(function, tool="demo", descriptions=descriptions)


def test_a_signature_becomes_a_plain_schema():
    def demo(
        text: str,
        limit: Annotated[int, Field(description="Most rows", ge=1)] = 10,
        mode: Literal["a", "b"] = "a",
        colour: Colour = Colour.RED,
        maybe: Optional[float] = None,  # noqa: UP045
        tags: list[str] = [],  # noqa: B006
        extra: dict[str, int] | None = None,
    ): ...

    schema = read(demo, text="What to say", limit="not this").schema
    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string", "description": "What to say"},
            "limit": {"type": "integer", "minimum": 1, "default": 10, "description": "Most rows"},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "extra": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["text"],
    }


def test_nested_models_are_put_in_place_and_properties_called_title_survive():
    def demo(line: Line, pair: Pair): ...

    schema = read(demo).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "$defs" not in schema
    assert "$ref" not in str(schema)
    end = schema["properties"]["line"]["properties"]["end"]
    assert end["description"] == "Where it ends"
    assert end["properties"]["title"] == {"type": "string", "default": "here"}


def test_a_type_that_contains_itself_keeps_its_definition():
    def demo(tree: Node, place: Point): ...

    schema = read(demo).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["$defs"]) == ["Node"]
    validator = jsonschema.Draft202012Validator(schema)
    good = {"tree": {"name": "a", "children": [{"name": "b"}]}, "place": {"x": 1}}
    assert validator.is_valid(good)
    assert not validator.is_valid({"tree": {"name": "a", "children": [{"nom": "b"}]}, "place": {"x": 1}})


def test_values_are_not_taken_for_schemas():
    schema = {"properties": {"a": {"default": {"title": "kept", "$ref": "#/$defs/x"}, "title": "dropped"}}}
    assert tidy_schema(schema)["properties"] == {"a": {"default": {"title": "kept", "$ref": "#/$defs/x"}}}


def test_arguments_arrive_as_the_functions_own_types_with_defaults_filled_in():
    def demo(colour: Colour, where: Path, pair: Pair, line: Line | None = None, model_config: int = 1): ...

    got = read(demo).validate({"colour": "blue", "where": "a/b", "pair": {"left": 1}})
    assert got == {
        "colour": Colour.BLUE,
        "where": Path("a/b"),
        "pair": Pair(1, 2),
        "line": None,
        "model_config": 1,
    }


def test_parameter_names_never_clash_with_the_models_own():
    def demo(schema: str, json: int, copy: bool, _private: str, model_fields: str = "x", p0: int = 0): ...

    arguments = read(demo)
    raw = {"schema": "s", "json": 1, "copy": True, "_private": "p", "model_fields": "m", "p0": 4}
    assert set(arguments.schema["properties"]) == set(raw)
    assert arguments.validate(raw) == raw


def test_a_mutable_default_is_not_shared_between_calls():
    def demo(tags: list[str] = []): ...  # noqa: B006

    arguments = read(demo)
    arguments.validate({})["tags"].append("x")
    assert arguments.validate({})["tags"] == []


def test_a_default_that_is_not_json_applies_but_is_not_shown():
    def demo(where: Path = Path("x"), what: Any = Frame): ...

    arguments = read(demo)
    assert "default" not in arguments.schema["properties"]["what"]
    assert arguments.validate({})["what"] is Frame


def test_a_string_annotation_note_describes_the_parameter():
    def demo(n: Annotated[int, "How many"]): ...

    assert read(demo).schema["properties"]["n"] == {"type": "integer", "description": "How many"}


def test_a_context_first_is_not_in_the_schema():
    def demo(context: ToolContext, n: int): ...

    arguments = read(demo)
    assert arguments.wants_context
    assert list(arguments.schema["properties"]) == ["n"]
    assert arguments.validate({"n": 1}) == {"n": 1}


def test_a_function_without_parameters_still_has_an_object_schema():
    assert read(lambda: 1).schema == {"type": "object", "properties": {}, "additionalProperties": False}


def positional(a: int, /): ...
def variadic(*rows: int): ...
def keywords(**options: int): ...
def untyped(a): ...
def unknown(a: Missing): ...  # noqa: F821
def live(frame: Frame): ...
def late(n: int, context: ToolContext): ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (positional, "positional-only"),
        (variadic, "variadic positional"),
        (keywords, "variadic keyword"),
        (untyped, "`a` of tool demo has no type"),
        (unknown, "Missing"),
        (live, "without a JSON form"),
        (late, "Make it the first parameter"),
    ],
)
def test_a_signature_that_cannot_be_a_tools_is_refused_in_words(function, words):
    with pytest.raises(ConfigurationError, match=words):
        read(function)


def complaint(function, arguments) -> list[str]:
    with pytest.raises(ToolInputError) as caught:
        read(function).validate(arguments)
    assert caught.value.message.startswith("Invalid arguments for demo:\n")
    return [line.removeprefix("- ") for line in caught.value.message.splitlines()[1:] if line]


def picky(
    limit: int,
    names: list[str] | None = None,
    mode: Literal["fast", "slow"] = "fast",
    colour: Colour = Colour.RED,
    line: Line | None = None,
    share: Annotated[float, Field(gt=0)] = 1.0,
    key: int | Point = 0,
    on: bool = True,
): ...


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({}, ["`limit`: required, but missing"]),
        ({"limit": "ten"}, ['`limit`: expected an integer, got the text "ten"']),
        ({"limit": 1.5}, ["`limit`: expected an integer, got the number 1.5"]),
        ({"limit": None}, ["`limit`: expected an integer, got null"]),
        ({"limit": 1, "on": "perhaps"}, ['`on`: expected true or false, got the text "perhaps"']),
        ({"limit": 1, "names": "a"}, ['`names`: expected a list, got the text "a"']),
        ({"limit": 1, "names": ["a", 2]}, ["`names[1]`: expected text, got the number 2"]),
        ({"limit": 1, "mode": "quick"}, ["`mode`: expected 'fast' or 'slow', got the text \"quick\""]),
        ({"limit": 1, "colour": "green"}, ["`colour`: expected 'red' or 'blue', got the text \"green\""]),
        ({"limit": 1, "share": -1}, ["`share`: expected a number greater than 0, got the number -1"]),
        ({"limit": 1, "key": "a"}, ['`key`: expected an integer or an object, got the text "a"']),
        (
            {"limit": 1, "line": {"points": [{"x": "far"}]}},
            ["`line.end`: required, but missing", '`line.points[0].x`: expected a number, got the text "far"'],
        ),
        ({"limit": 1, "lmit": 2}, ["`lmit`: unknown argument; did you mean `limit`?"]),
        ({"limit": 1, "Mode": "fast"}, ["`Mode`: unknown argument; did you mean `mode`?"]),
    ],
)
def test_what_does_not_fit_is_told_in_one_readable_line_each(arguments, lines):
    assert complaint(picky, arguments) == lines


def test_an_argument_near_none_lists_them_all():
    def demo(a: int = 1, b: int = 2): ...

    assert complaint(demo, {"zzzz": 1}) == ["`zzzz`: unknown argument; the arguments are `a`, `b`"]
    assert complaint(lambda: 1, {"zzzz": 1}) == ["`zzzz`: unknown argument; there are none"]


def test_long_values_are_shown_briefly():
    (line,) = complaint(picky, {"limit": "x" * 10_000})
    assert len(line) < 150


@pytest.mark.parametrize(
    ("raw", "name", "value"),
    [
        ({"limit": "3"}, "limit", 3),
        ({"limit": 3.0}, "limit", 3),
        ({"limit": 1, "names": '["a", "b"]'}, "names", ["a", "b"]),
        ({"limit": 1, "names": "null"}, "names", None),
        ({"limit": 1, "key": '{"x": 2}'}, "key", Point(x=2)),
        ({"limit": 1, "on": "false"}, "on", False),
        (
            {"limit": 1, "line": '{"points": "[{\\"x\\": 1}]", "end": {"x": 2}}'},
            "line",
            Line(points=[Point(x=1)], end=Point(x=2)),
        ),
    ],
)
def test_an_unambiguous_slip_is_mended(raw, name, value):
    assert read(picky).validate(raw)[name] == value


def test_text_where_text_is_allowed_is_never_decoded():
    def demo(a: str, b: str | list[str], c: Any): ...

    raw = {"a": "[1]", "b": '["x"]', "c": '{"k": 1}'}
    assert read(demo).validate(raw) == raw


def test_mending_leaves_the_callers_arguments_alone():
    raw = {"limit": 1, "line": {"points": '[{"x": 1}]', "end": {"x": 2}}}
    read(picky).validate(raw)
    assert raw["line"]["points"] == '[{"x": 1}]'


def test_after_a_decoded_slip_the_complaint_is_about_its_content():
    assert complaint(picky, {"limit": 1, "names": "[1]"}) == ["`names[0]`: expected text, got the number 1"]


def test_a_tagged_union_tells_the_field_not_the_tag():
    def demo(pet: Annotated[Cat | Dog, Field(discriminator="kind")]): ...

    jsonschema.Draft202012Validator.check_schema(read(demo).schema)
    assert complaint(demo, {"pet": {"kind": "cat", "lives": "many"}}) == [
        '`pet.lives`: expected an integer, got the text "many"'
    ]
    assert complaint(demo, {"pet": {"kind": "cat"}}) == ["`pet.lives`: required, but missing"]
