"""The folder's modules run in any Python kernel: standard library only, syntax of Python 3.9."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import zidane_lab.kernel.inside as home
from zidane_lab.kernel.shipping import bundle

MODULES = sorted(Path(home.__file__).parent.glob("*.py"))
HOME = "zidane_lab.kernel.inside"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_is_python_3_9_with_late_annotations(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    futures = [
        name.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for name in node.names
    ]
    assert futures == ["annotations"] or path.stem == "__init__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_the_standard_library_and_its_neighbours(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for name in names:
            assert name.partition(".")[0] in sys.stdlib_module_names or name == HOME or name.startswith(f"{HOME}.")


def test_the_shipped_text_works_where_nothing_is_installed():
    code = f"""
{bundle().install}
import sys
assert not any(name.partition(".")[0] in {{"zidane_lab", "numpy", "pandas"}} for name in sys.modules)
package = {bundle().package!r}
describe = sys.modules[package + ".describe"].describe
listing = sys.modules[package + ".listing"]
namespace = sys.modules[package + ".namespace"]
print(describe([1, "a"]))
print(listing.list_variables({{"x": 1, "y": [2]}})["shown"])
names = {{"x": 1}}
before = namespace.snapshot(names)
names["x"] = 2
print(namespace.compare(before, names).changed)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=code, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["list: 2 items", "types: 1 int, 1 str", "  [0] 1", "  [1] 'a'", "2", "('x',)"]
