from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
import threading

import pytest
from pydantic import BaseModel

from zidane_lab.errors import ConfigurationError, ToolInputError
from zidane_lab.tools.base import Tool, ToolContext, ToolOutput
from zidane_lab.tools.decorator import tool
from zidane_lab.turns import ImageBlock, TextBlock


class Answer(BaseModel):
    value: int


def text_of(output: ToolOutput) -> str:
    return "\n".join(part.text for part in output.parts if isinstance(part, TextBlock))


async def run(made: Tool, **arguments) -> str:
    return text_of(await made.run(ToolContext(), arguments))


@pytest.mark.asyncio
async def test_a_bare_decorator_makes_a_tool_named_and_described_by_the_function():
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers.

        Parameters
        ----------
        a, b
            A number.
        """
        return a + b

    assert isinstance(add, Tool)
    assert (add.name, add.description, add.tier, add.concurrency) == ("add", "Add two numbers.", "execute", "exclusive")
    assert add.parameters["properties"]["b"] == {"type": "integer", "default": 1, "description": "A number."}
    assert await run(add, a="2") == "3"
    assert add.spec.name == "add"


@pytest.mark.asyncio
async def test_options_override_name_description_tier_and_concurrency():
    @tool(name="other-name", description="Says hello.", tier="read", concurrency=lambda arguments: "shared")
    async def hello(who: str) -> str:
        """Not this."""
        await asyncio.sleep(0)
        return f"hello {who}"

    assert (hello.name, hello.description, hello.tier) == ("other-name", "Says hello.", "read")
    assert hello.concurrency_of({}) == "shared"
    assert await run(hello, who="{you}!") == "hello {you}!"


@pytest.mark.asyncio
async def test_the_context_is_given_and_not_asked_of_the_model():
    @tool
    def where(context: ToolContext, n: int) -> str:
        return f"{context.cwd}{n}"

    context = ToolContext()
    assert text_of(await where.run(context, {"n": 1})) == f"{context.cwd}1"
    assert "context" not in where.parameters["properties"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("tier", "thread", "inline"),
    [("execute", None, True), ("read", None, False), ("execute", True, False), ("read", False, True)],
)
async def test_a_synchronous_function_runs_where_its_tier_or_the_author_says(tier, thread, inline):
    @tool(tier=tier, thread=thread)
    def which() -> int:
        return threading.get_ident()

    assert (await run(which) == str(threading.get_ident())) is inline


@pytest.mark.asyncio
async def test_arguments_that_do_not_fit_never_reach_the_function():
    called = []

    @tool
    def demo(n: int) -> None:
        called.append(n)

    with pytest.raises(ToolInputError, match=r"`n`: expected an integer, got the text \"ten\""):
        await demo.run(ToolContext(), {"n": "ten"})
    assert called == []


@pytest.mark.asyncio
async def test_what_is_returned_becomes_text_blocks_or_json():
    picture = ImageBlock("image/png", b"x")

    def returning(value):
        return tool(name="t")(lambda: value)

    output = ToolOutput((TextBlock("a"),), is_error=True, metadata={"k": 1})
    assert await returning(output).run(ToolContext(), {}) == output
    assert (await returning(picture).run(ToolContext(), {})).parts == (picture,)
    assert (await returning([TextBlock("a"), picture]).run(ToolContext(), {})).parts == (TextBlock("a"), picture)
    assert await run(returning({"a": [1]})) == '{"a": [1]}'
    assert json.loads(await run(returning(Answer(value=3)))) == {"value": 3}
    assert await run(returning(None)) == "Done."
    assert await run(returning([])) == "[]"


@pytest.mark.asyncio
async def test_a_long_result_is_shortened_and_kept_whole(tmp_path):
    class Store:
        def save_output(self, name, text):
            path = tmp_path / f"{name}.txt"
            path.write_text(text)
            return path

    chatty = tool(name="chatty")(lambda: "x\n" * 100_000)
    output = await chatty.run(ToolContext(outputs=Store()), {})
    assert len(text_of(output)) <= 51_200
    assert output.metadata == {"output_path": str(tmp_path / "chatty.txt")}
    assert (tmp_path / "chatty.txt").read_text() == "x\n" * 100_000


@pytest.mark.asyncio
async def test_an_exception_of_the_function_passes_through():
    @tool
    def fails() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await fails.run(ToolContext(), {})


@pytest.mark.asyncio
async def test_methods_partials_and_callable_objects_can_be_tools():
    class Meter:
        def read(self, n: int) -> int:
            """Read."""
            return n + 1

        async def __call__(self, n: int) -> int:
            return n + 2

    def power(base: int, exponent: int) -> int:
        return base**exponent

    assert await run(tool(Meter().read), n=1) == "2"
    assert await run(tool(name="meter")(Meter()), n=1) == "3"
    assert await run(tool(name="square")(functools.partial(power, exponent=2)), base=3) == "9"


def test_a_function_without_a_docstring_is_described_by_its_signature():
    @tool
    def add(a: int) -> int:
        return a

    assert add.description == "Calls add(a: 'int') -> 'int'."


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b", "a\n", "<lambda>"])
def test_a_name_no_provider_takes_is_refused(name):
    with pytest.raises(ConfigurationError, match="cannot be the name of a tool"):
        tool(name=name)(lambda: 1)


def test_wrong_tiers_generators_and_non_functions_are_refused():
    def numbers():
        yield 1

    with pytest.raises(ConfigurationError, match="no tier"):
        tool(name="t", tier="root")(lambda: 1)
    with pytest.raises(ConfigurationError, match="no concurrency"):
        tool(name="t", concurrency="often")(lambda: 1)
    with pytest.raises(ConfigurationError, match="generator"):
        tool(numbers)
    with pytest.raises(ConfigurationError, match="not a function"):
        tool(3)


def test_importing_the_tools_does_not_import_pydantic():
    code = (
        "import sys, zidane_lab.tools.base, zidane_lab.tools.decorator, zidane_lab.tools.read_file, "
        "zidane_lab.tools.list_files, zidane_lab.tools.glob, zidane_lab.tools.variables;"
        "print(sorted({'pydantic', 'IPython', 'pandas', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
