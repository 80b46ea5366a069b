"""Describers other people provide."""

from __future__ import annotations

import sys
import textwrap

import pytest

from zidane_lab.kernel.inside.describe import describe
from zidane_lab.kernel.inside.external import forget_entry_points


class Described:
    def __init__(self, words="a gadget of mine"):
        self.words = words

    def __zidane_describe__(self, budget):
        return f"{self.words}, budget {budget}"


class Derived(Described):
    pass


class Table(dict):
    def __zidane_describe__(self, budget):
        return "a table"


def test_the_method_describes_objects_of_its_class_and_of_subclasses():
    assert describe(Described(), 500) == "a gadget of mine, budget 500"
    assert describe(Derived(), 500) == "a gadget of mine, budget 500"
    assert describe(Table(a=1)) == "a table"


def test_the_method_is_looked_up_on_the_type_not_on_the_instance():
    class Plain:
        pass

    obj = Plain()
    obj.__zidane_describe__ = lambda budget: "from the instance"
    assert "from the instance" not in describe(obj)
    assert "from the instance" not in describe(Plain)


def test_class_and_static_methods_work_as_for_python_itself():
    class Grouped:
        @classmethod
        def __zidane_describe__(cls, budget):
            return cls.__name__

    assert describe(Grouped()) == "Grouped"


def test_its_text_is_cut_to_the_budget_and_cleaned():
    long = describe(Described("x" * 10_000), 200)
    assert len(long) == 200
    assert long.endswith("… cut at 200 of 10,012 characters")
    assert describe(Described("\x1b[31mred")) == "\\x1b[31mred, budget 4000"
    for budget in range(60):
        assert len(describe(Described("x" * 100), budget)) <= budget


@pytest.mark.parametrize("answer", [None, 5, ["text"]])
def test_an_answer_that_is_no_text_falls_back_and_says_so(answer):
    class Odd:
        def __init__(self):
            self.kept = 1

        def __zidane_describe__(self, budget):
            return answer

    text = describe(Odd())
    assert f"returned {type(answer).__name__} instead of text" in text
    assert "kept = 1" in text


def test_a_method_that_raises_falls_back_and_says_so():
    class Failing(dict):
        def __zidane_describe__(self, budget):
            raise KeyError("gone")

    text = describe(Failing(a=1))
    assert "its own describer failed: KeyError: gone; the plain description follows" in text
    assert "  'a': 1" in text


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a fake package whose entry points describe one of its types, and one type of nobody's."""
    (tmp_path / "gadgets.py").write_text(
        "class Gadget:\n    pass\n\nclass Better(Gadget):\n    pass\n\nclass Other:\n    pass\n"
    )
    (tmp_path / "gadgets_describer.py").write_text(
        "def describe(obj, budget):\n    return f'{type(obj).__name__} by entry point, {budget}'\n"
        "def fail(obj, budget):\n    raise ValueError('no')\n"
    )
    info = tmp_path / "gadgets-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gadgets\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        textwrap.dedent("""\
        [zidane_lab.describers]
        gadgets.Gadget = gadgets_describer:describe
        gadgets.Other = gadgets_describer:fail
        nobody.Thing = gadgets_missing:describe
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    forget_entry_points()
    yield
    forget_entry_points()
    for name in ("gadgets", "gadgets_describer"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("distribution")
def test_an_entry_point_describes_the_type_it_names_and_is_loaded_only_then():
    import gadgets

    describe([1, 2, 3])
    describe(gadgets)
    describe(object())
    assert "gadgets_describer" not in sys.modules
    assert describe(gadgets.Gadget(), 300) == "Gadget by entry point, 300"
    assert describe(gadgets.Better(), 300) == "Better by entry point, 300"


@pytest.mark.usefixtures("distribution")
def test_an_entry_point_that_fails_falls_back_and_says_so():
    import gadgets

    assert "its own describer failed: ValueError: no" in describe(gadgets.Other())


@pytest.mark.usefixtures("distribution")
def test_an_entry_point_that_cannot_be_loaded_falls_back_and_says_so():
    module = type(sys)("nobody")
    thing = type("Thing", (), {"__module__": "nobody"})
    module.Thing = thing
    text = describe(thing())
    assert "its own describer failed: ModuleNotFoundError: No module named 'gadgets_missing'" in text


@pytest.mark.usefixtures("distribution")
def test_the_closest_class_decides():
    import gadgets

    class Own(gadgets.Gadget):
        def __zidane_describe__(self, budget):
            return "by its own method"

    assert describe(Own()) == "by its own method"
