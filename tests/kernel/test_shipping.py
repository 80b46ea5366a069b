"""Shipping modules as text: their order, their names, and that nothing is left behind."""

from __future__ import annotations

import sys
from importlib.resources import files

import pytest

from zidane_lab.errors import ConfigurationError
from zidane_lab.kernel.shipping import bundle, make_bundle

LOADER = files("zidane_lab.kernel.inside").joinpath("loader.py").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _no_leftovers():
    before = set(sys.modules)
    yield
    for name in [name for name in sys.modules if name.startswith("_zidane_inside_") and name not in before]:
        del sys.modules[name]


def made(**sources):
    return make_bundle({"__init__": "", "loader": LOADER, **sources})


def test_modules_are_installed_after_what_they_import_and_touch_no_namespace():
    shipped = made(
        a="from zidane_lab.kernel.inside.b import X\nY = X + 1",
        b="from __future__ import annotations\nfrom zidane_lab.kernel.inside import c\nX = c.X",
        c="X = 41",
    )
    namespace = {}
    eval(shipped.install, namespace)
    assert sys.modules[f"{shipped.package}.a"].Y == 42
    assert set(namespace) == {"__builtins__"}


def test_calls_reach_the_function_with_literal_arguments():
    shipped = made(a="def give(*values):\n    return values")
    eval(shipped.install)
    assert eval(shipped.call("a.give", "it's \"\n\\", None, 3)) == ("it's \"\n\\", None, 3)


def test_a_call_before_installing_says_so_by_a_key_error():
    with pytest.raises(KeyError):
        eval(made(a="").call("a.give"))


def test_installing_twice_keeps_the_state_of_the_first():
    shipped = made(a="seen = []")
    eval(shipped.install)
    sys.modules[f"{shipped.package}.a"].seen.append(1)
    eval(shipped.install)
    assert sys.modules[f"{shipped.package}.a"].seen == [1]


def test_versions_live_side_by_side():
    one, two = made(a="X = 1"), made(a="X = 2")
    eval(one.install)
    eval(two.install)
    assert [sys.modules[f"{each.package}.a"].X for each in (one, two)] == [1, 2]


def test_a_module_that_fails_leaves_nothing_behind():
    shipped = made(a="X = 1", b="from zidane_lab.kernel.inside.a import X\n1 / 0")
    with pytest.raises(ZeroDivisionError):
        eval(shipped.install)
    assert not [name for name in sys.modules if name.startswith(shipped.package)]


def test_circles_and_foreign_imports_are_refused():
    with pytest.raises(ConfigurationError, match="circle"):
        made(a="from zidane_lab.kernel.inside.b import X", b="import zidane_lab.kernel.inside.a")
    with pytest.raises(ConfigurationError, match="not shipped"):
        made(a="from zidane_lab.kernel.inside.missing import X")


def test_the_whole_folder_can_be_shipped_and_answers():
    shipped = bundle()
    eval(shipped.install)
    answer = eval(shipped.call("service.variables", None, 5))
    (value,) = answer._repr_mimebundle_().values()
    assert {"variables", "total"} <= set(value)
