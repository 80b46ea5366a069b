"""Tasks that a project defines for itself: found without running anything, chosen by name, run as commands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.contexts.process import LocalProcess
from zidane_lab.errors import ToolError, ToolNotAllowedError
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.recipe import recipe_tool
from zidane_lab.tools.recipes import Recipe, Runner, choose, command_of, find_runners, listing
from zidane_lab.tools.shell import ShellOptions

MAKEFILE = """\
CC := gcc
FLAGS = -O2 $(shell touch ran)
.PHONY: test lint \\
        build

# Run all tests
test: build
\techo testing $(ARGS)

lint: ## Check the style
\techo lint

build:
\techo built
# --- a ruler ------
out.o: out.c
\tgcc -c out.c
%.o: %.c
\tgcc -c $<
# Fetch the data
data.csv:
\tcurl x
$(VENV)/x: y
url = http://a:b
"""

JUSTFILE = """\
set shell := ["bash", "-c"]
alias b := build
version := "1"

# Build it
build target="all":
    echo {{target}}

_hidden:
    echo no

[private]
secret:
    echo no

test-all +args: build
    echo test
@quiet:
    echo x
"""


async def found(folder):
    return {runner.id: runner for runner in await find_runners(LocalProcess(folder))}


@pytest.mark.asyncio
async def test_make(tmp_path):
    (tmp_path / "Makefile").write_text(MAKEFILE)
    runner = (await found(tmp_path))["make"]
    assert {recipe.name: recipe.doc for recipe in runner.recipes} == {
        "test": "Run all tests",
        "lint": "Check the style",
        "build": "",
        "data.csv": "Fetch the data (file target)",
    }
    assert not (tmp_path / "ran").exists()


@pytest.mark.asyncio
async def test_make_without_phony_targets(tmp_path):
    (tmp_path / "makefile").write_text("all: a b\n\techo\na:\n\techo\nb c: a\n\techo\n")
    assert [recipe.name for recipe in (await found(tmp_path))["make"].recipes] == ["all", "a", "b", "c"]


@pytest.mark.asyncio
async def test_just(tmp_path):
    (tmp_path / "justfile").write_text(JUSTFILE)
    recipes = {recipe.name: recipe for recipe in (await found(tmp_path))["just"].recipes}
    assert list(recipes) == ["build", "test-all", "quiet"]
    assert recipes["build"].doc == 'Build it (takes target="all")'


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("lock", "manager"), [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("x", "npm")]
)
async def test_package_scripts(tmp_path, lock, manager):
    (tmp_path / lock).touch()
    (tmp_path / "package.json").write_text(
        json.dumps({"scripts": {"test": "jest", "a b": "x", "odd": 3}, "workspaces": ["packages/*", "../evil", "/etc"]})
    )
    (tmp_path / "packages" / "one").mkdir(parents=True)
    (tmp_path / "packages" / "one" / "package.json").write_text(
        json.dumps({"name": "@me/one", "scripts": {"build": "tsc"}})
    )
    (tmp_path / "packages" / "broken").mkdir()
    (tmp_path / "packages" / "broken" / "package.json").write_text("{")
    assert (await found(tmp_path))["pkg"].recipes == (
        Recipe("test", f"{manager} run test", "jest"),
        Recipe("a b", f"{manager} run 'a b'", "x"),
        Recipe("@me/one/build", f"{manager} run build", "tsc", "packages/one"),
    )


@pytest.mark.asyncio
async def test_python_scripts(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project.scripts]\nmine = "a:b"\n[tool.poe.tasks]\ntest = "pytest"\nlint = {cmd = "ruff", help = "Check"}\n'
    )
    assert (await found(tmp_path))["py"].recipes == (
        Recipe("mine", "mine", "a:b"), Recipe("test", "poe test", "pytest"), Recipe("lint", "poe lint", "Check"),
    )  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "name", ["Makefile", "justfile", "package.json", "pyproject.toml", "Cargo.toml", "Taskfile.yml"]
)
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\0", b"[" * 100_000, b"[]", b"3", b'{"scripts": 3}', b"scripts = 3"]
)
async def test_files_that_make_no_sense(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert await found(tmp_path) == {}


TASKFILE = """\
version: '3'
vars:
  test: no task
tasks:
  # the default one
  default: go build
  test:
    desc: "Run the tests"
    cmds:
      - cmd: echo {{.X}}
  docker:build:
    deps: [test]
    desc: Build it
  "quoted":
    cmds: []
  hidden:
    internal: true
includes:
  other: ./other
"""


@pytest.mark.asyncio
async def test_taskfile(tmp_path):
    (tmp_path / "Taskfile.yml").write_text(TASKFILE)
    assert (await found(tmp_path))["task"].recipes == (
        Recipe("default", "task default"), Recipe("test", "task test", "Run the tests"),
        Recipe("docker:build", "task docker:build", "Build it"), Recipe("quoted", "task quoted"),
    )  # fmt: skip


@pytest.mark.asyncio
async def test_cargo(tmp_path):
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "x"\n')
    names = [recipe.name for recipe in (await found(tmp_path))["cargo"].recipes]
    assert names == ["build", "check", "test", "bench", "doc"]
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").touch()
    assert "run" in [recipe.name for recipe in (await found(tmp_path))["cargo"].recipes]


RUNNERS = (
    Runner("make", (Recipe("test", "make test"), Recipe("a:b", "make a:b"))),
    Runner("pkg", (Recipe("test", "npm run test"), Recipe("build", "npm run build"))),
)


@pytest.mark.parametrize(
    ("op", "command", "arguments"),
    [
        ("build", "npm run build", ""),
        ("  build --release  -x ", "npm run build", "--release  -x"),
        ("make:test", "make test", ""),
        ("pkg:test -- --watch", "npm run test", "-- --watch"),
        ("a:b", "make a:b", ""),
        ("make:a:b x", "make a:b", "x"),
    ],
)
def test_choosing(op, command, arguments):
    recipe, tail = choose(op, RUNNERS)
    assert (recipe.command, tail) == (command, arguments)


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ("", "No task"),
        ("test", "make:test or pkg:test"),
        ("nope", "no task 'nope'"),
        ("make:build", "no task"),
        ("make:", "no task"),
    ],
)
def test_choosing_in_vain_lists_what_there_is(op, says):
    with pytest.raises(ToolError, match=says) as caught:
        choose(op, RUNNERS)
    assert "test" in str(caught.value)


@given(st.text(max_size=30))
def test_any_op_is_answered(op):
    try:
        recipe, _ = choose(op, RUNNERS)
    except ToolError:
        return
    assert recipe in RUNNERS[0].recipes + RUNNERS[1].recipes


@pytest.mark.asyncio
@pytest.mark.parametrize("op", ["test A=1", "make:test  # x", "test ; echo more", "test 'a b' && echo $HOME", "test"])
async def test_what_runs_is_the_text_that_can_be_judged_before(tmp_path, op):
    (tmp_path / "Makefile").write_text("test:\n\t@true\n")
    found, arguments = choose(op, await find_runners(LocalProcess(tmp_path)))
    result = await recipe_tool().run(ToolContext(cwd=tmp_path), {"op": op})
    assert result.metadata["shell"]["command"] == command_of(found, arguments) == f"make test {arguments}".rstrip()


def test_the_list_is_bounded():
    text = listing([Runner("make", tuple(Recipe(f"t{number}", "x") for number in range(25)))])
    assert "  … and 5 more" in text
    assert "t20" not in text


@pytest.mark.asyncio
async def test_running_one(tmp_path, monkeypatch):
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # of a make that runs the tests
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "Makefile").write_text("test:\n\t@echo args=$(ARGS) in $$(basename $$PWD)\n\t@exit 0\n")
    context = ToolContext(cwd=tmp_path)
    result = await recipe_tool().run(context, {"op": "test ARGS=1"})
    assert result.parts[0].text.startswith(f"args=1 in {tmp_path.name}\n[done")
    assert (await recipe_tool().run(context, {})).parts[0].text == "make:\n  test"
    with pytest.raises(ToolNotAllowedError):
        await recipe_tool(ShellOptions(prefixes=("ls",))).run(context, {"op": "test"})


@pytest.mark.asyncio
async def test_a_project_without_tasks(tmp_path):
    result = await recipe_tool().run(ToolContext(cwd=tmp_path), {"op": "test"})
    assert result.parts[0].text == "The project defines no tasks here."
