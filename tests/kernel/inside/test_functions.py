"""Functions, classes, modules, exceptions."""

from __future__ import annotations

import abc
import asyncio
import dataclasses
import enum
import functools
import importlib.util
import math
import types

import pytest

from zidane_lab.kernel.inside.describe import describe, summarize
from zidane_lab.kernel.inside.functions import signature


def plain(a, b=2, /, c=3, *rest, d, e=(1, 2), **more):
    """Add things up.

    At length.
    """


def hinted(path: str, count: int = 1, *, names: list[str] | None = None) -> bool: ...


async def waiting(x): ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (plain, "plain(a, b=2, /, c=3, *rest, d, e=(1, 2), **more)"),
        (hinted, "hinted(path: str, count: int = 1, *, names: list[str] | None = None) -> bool"),
        (waiting, "async waiting(x)"),
        (lambda: 0, "<lambda>()"),
        (lambda *, only: only, "<lambda>(*, only)"),
    ],
)
def test_signatures(function, said):
    assert signature(function) == said
    assert summarize(function) == f"function: {said}"


def test_a_default_that_is_long_is_cut():
    def configured(options={i: i for i in range(1000)}):  # noqa: B006
        return options

    assert len(signature(configured)) < 80


def test_annotations_that_are_objects():
    def typed(a, b): ...

    typed.__annotations__ = {"a": int, "b": object()}
    assert signature(typed) == "typed(a: int, b: <object>)"


def test_a_function_shows_where_it_is_defined_and_its_documentation():
    lines = describe(plain).splitlines()
    assert "test_functions.py, line " in lines[1]
    assert lines[2:] == ["  Add things up.", "  At length."]


def test_a_function_of_a_cell_is_said_to_be_of_a_cell():
    namespace: dict = {}
    exec(compile("\ndef f(): ...", "/tmp/ipykernel_1234/567.py", "exec"), namespace)
    text = describe(namespace["f"])
    assert "defined in a notebook cell, line 2" in text
    assert "1234" not in text


def test_a_wrapped_function_says_so():
    assert "wraps another function" in describe(functools.wraps(plain)(lambda: 0))


def test_methods_built_ins_and_partials():
    assert summarize([].append).startswith("builtin_function_or_method: append(object, /)")
    assert "bound to <tests.Robot>" in summarize(Robot().walk)
    assert summarize(functools.partial(waiting, 1, x=4)) == (
        "functools.partial: of <function: async waiting(x)> with 1 argument and {'x': 4}"
    )
    assert summarize(str.join).startswith("method_descriptor: join")


class Machine(abc.ABC):
    """Anything that runs."""

    @abc.abstractmethod
    def stop(self): ...


class Robot(Machine):
    """A machine with legs.

    Two of them.
    """

    def __init__(self, legs: int = 2):
        self.legs = legs

    def stop(self): ...

    def walk(self, steps): ...

    @classmethod
    def build(cls): ...

    @property
    def speed(self):
        raise AssertionError("evaluated")


def test_a_class_shows_bases_initializer_methods_and_properties():
    text = describe(Robot)
    assert text.splitlines()[0] == "abc.ABCMeta: class Robot(tests.Machine, abc.ABC): A machine with legs."
    assert "initializer: __init__(self, legs: int = 2)" in text
    assert "methods: stop, walk, build" in text
    assert "properties: speed" in text
    assert "  Two of them." in text


def test_an_instance_names_properties_and_evaluates_none():
    text = describe(Robot(3))
    assert "  legs = 3" in text
    assert "properties (not evaluated): speed" in text


def test_an_enumeration_lists_its_members():
    text = describe(enum.Enum("Color", "RED GREEN"))
    assert "  RED = 1\n  GREEN = 2" in text


def test_a_dataclass_lists_its_fields():
    @dataclasses.dataclass
    class Point:
        x: int
        y: float = 0.0

    assert "fields:\n  x: int\n  y: float" in describe(Point)


def test_a_module_shows_version_documentation_and_public_names():
    module = types.ModuleType("widgets", "Make widgets.\n\nMany.")
    module.__version__, module.build, module._secret = "1.2", plain, 1
    assert summarize(module) == "module: widgets, '1.2', Make widgets."
    assert describe(module).splitlines()[-1] == "1 public name: build"
    module.__all__ = ["build", "more"]
    assert describe(module).splitlines()[-1] == "2 public names: build, more"
    assert "module: math" in summarize(math)


def test_a_module_that_loads_itself_when_touched_stays_unloaded(tmp_path):
    (tmp_path / "slow.py").write_text("raise AssertionError('loaded')")
    spec = importlib.util.spec_from_file_location("slow", tmp_path / "slow.py")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "slow" in describe(module)
    assert type(module).__name__ == "_LazyModule"


def test_exceptions_show_message_and_cause():
    error = ValueError("bad", 5)
    error.__cause__ = KeyError("why")
    assert summarize(error) == "ValueError: bad"
    assert describe(error).splitlines()[1] == "cause: KeyError: why"


def test_a_coroutine_is_not_awaited():
    coroutine = waiting(1)
    assert "waiting, not awaited" in describe(coroutine)
    assert asyncio.run(coroutine) is None


def test_every_kind_of_thing_in_the_standard_library_can_be_described():
    import builtins
    import collections
    import decimal
    import threading
    import weakref

    things = [*vars(builtins).values(), *vars(collections).values(), *vars(types).values(), *vars(decimal).values()]
    things += [threading.Lock(), weakref.ref(Robot), open(__file__), super(Robot, Robot()), classmethod(plain)]  # noqa: SIM115
    try:
        for thing in things:
            text = describe(thing)
            assert text
            assert "failed" not in text.splitlines()[1:2]
            assert "not readable" not in text
            assert len(summarize(thing)) <= 120
    finally:
        things[-3].close()
