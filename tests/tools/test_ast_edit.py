from __future__ import annotations

import ast
import asyncio
import json
import sysconfig
from pathlib import Path

import pytest

from tests.tools.edits.support import KINDS, Bench
from tests.tools.test_elsewhere import Far
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.errors import ToolError
from zidane_lab.session.session import Session
from zidane_lab.tools import ast_edit as module
from zidane_lab.tools.ast_edit import ast_edit, ast_edit_tool, plan_ast_edit
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.generated import generated_by
from zidane_lab.tools.edits.pending import pending_of
from zidane_lab.tools.resolve import resolve_tool
from zidane_lab.tools.structure import engine
from zidane_lab.tools.undo_edit import undo_edit_tool

RENAME = ("f($$$ARGS)", "g.h($$$ARGS)")


@pytest.fixture(params=KINDS)
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


@pytest.fixture
def near(tmp_path):
    return Bench("none", tmp_path)


def tool():
    return ast_edit_tool(private=looks_secret)


def preview(bench, *ops, paths=(".",), **more):
    rules = [{"pattern": pattern, "rewrite": rewrite} for pattern, rewrite in ops or (RENAME,)]
    return bench.run(tool, ops=rules, paths=list(paths), **more)


def rewrite(bench, *ops, **more):
    output = preview(bench, *ops, **more)
    if "pending" in output.metadata:
        return bench.run(resolve_tool, action="apply", reason="").parts[0].text
    return output.parts[0].text


def test_a_preview_writes_nothing_and_shows_first_lines(bench):
    bench.put("a.py", "x = '😀'; f(1)\nf(\n    2,\n)\n")
    bench.put("b.py", "f()\n")
    output = preview(bench)
    assert output.parts[0].text == (
        "Preview: 3 replacements in 2 files. Nothing has been written; call resolve to apply or discard it.\n"
        "\na.py (2)\n-1:10 f(1)\n+1:10 g.h(1)\n-2:1 f( [+2 lines]\n+2:1 g.h( [+2 lines]\n"
        "\nb.py (1)\n-1:1 f()\n+1:1 g.h()"
    )
    assert "written" not in output.metadata
    assert output.metadata["edit"]["diff"].count("@@") == 4
    assert (output.metadata["edit"]["added"], output.metadata["edit"]["removed"]) == (3, 3)
    assert bench.get("b.py") == b"f()\n"
    assert "ast_edit of a.py, b.py" in pending_of(bench.context).reminder


def test_applying_writes_all_files_and_returns_new_tags(bench):
    bench.put("a.py", "if 1:\n    f(1)\n")
    bench.put("b.py", "f()\n")
    preview(bench)
    output = bench.run(resolve_tool, action="apply", reason="wanted")
    assert bench.get("a.py") == b"if 1:\n    g.h(1)\n"
    assert bench.get("b.py") == b"g.h()\n"
    assert output.metadata["written"] == [bench.path("a.py"), bench.path("b.py")]
    text = output.parts[0].text
    assert text.startswith("Applied 2 replacements in 2 files.\na.py\n")
    line = next(line for line in text.split("\n") if line.endswith("|g.h()"))
    bench.run(edit_lines_tool, path="b.py", edits=[{"op": "replace", "anchor": line, "text": "done()"}])
    assert bench.get("b.py") == b"done()\n"


def test_it_can_be_discarded_and_taken_back(bench):
    bench.put("a.py", "f(1)\n")
    bench.put("b.py", "f(2)\n")
    preview(bench)
    assert bench.say(resolve_tool, action="discard", reason="no").startswith("Discarded: ast_edit of a.py, b.py.")
    assert bench.get("a.py") == b"f(1)\n"
    rewrite(bench)
    assert bench.get("a.py") == b"g.h(1)\n"
    bench.run(undo_edit_tool)
    assert (bench.get("a.py"), bench.get("b.py")) == (b"f(1)\n", b"f(2)\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda bench: bench.put("a.py", "f(1)\nf(2)\n"),  # one more match
        lambda bench: bench.put("a.py", "f(1)\n\n"),  # as many, but another text
        lambda bench: bench.put("a.py", "def (:\n"),
        lambda bench: bench.put("c.py", "f(3)\n"),  # one more file
        lambda bench: bench.put("a.py", "nothing\n"),
    ],
)
def test_a_preview_that_no_longer_fits_is_not_applied(bench, change):
    bench.put("a.py", "f(1)\n")
    bench.put("b.py", "f(2)\n")
    preview(bench)
    change(bench)
    with pytest.raises(ToolError, match="Nothing was written"):
        bench.run(resolve_tool, action="apply", reason="")
    assert bench.get("b.py") == b"f(2)\n"
    assert pending_of(bench.context).waiting == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbff(1)\r\nif 1:\r\n\tf(\r\n\t\t2)\r\n", b"\xef\xbb\xbfg.h(1)\r\nif 1:\r\n\tg.h(\r\n\t\t2)\r\n"),
        ("x = '😀é'; f()\n".encode("utf-16"), "x = '😀é'; g.h()\n".encode("utf-16")),
        (b"# caf\xe9\nf()", b"# caf\xe9\ng.h()"),
        (b"a\r\nf(\n1)\r\nf()\n", b"a\r\ng.h(\n1)\r\ng.h()\n"),
        (b"x = 1\rf()\r", b"x = 1\rg.h()\r"),
        ("s = '中' # 😀\n\tf()\n".replace("\t", "").encode(), "s = '中' # 😀\ng.h()\n".encode()),
    ],
)
def test_encodings_and_line_ends_stay(bench, data, expected):
    bench.put("a.py", data)
    assert rewrite(bench).startswith("Applied")
    assert bench.get("a.py") == expected


def test_modes_stay(near):
    near.put("a.py", "#!/usr/bin/env python\nf()\n", mode=0o755)
    rewrite(near)
    assert near.mode("a.py") == 0o755


def test_a_match_within_a_capture_is_rewritten_with_it(bench):
    bench.put("a.py", "f(f(1), [f(2)])\n")
    assert rewrite(bench).startswith("Applied 3 replacements in 1 file.")
    assert bench.get("a.py") == b"g.h(g.h(1), [g.h(2)])\n"


def test_overlapping_matches_are_refused_whole(bench):
    bench.put("a.py", "x\nf(a.b)\n")
    bench.put("b.py", "f(1)\n")
    with pytest.raises(ToolError, match=r"a\.py: Overlapping replacements in line 2 .*'f\(\$A\)' and 'f' both fit"):
        preview(bench, ("f", "g"), ("f($A)", "h($A)"))
    assert pending_of(bench.context).waiting == ()


def test_an_empty_rewrite_deletes(bench):
    bench.put("a.py", "import f\nf()\nx = 1\nif x:\n    f()\n    y()\n")
    assert "-2:1 f()\n-5:1     f()" in preview(bench, ("f()", "")).parts[0].text
    bench.run(resolve_tool, action="apply", reason="")
    assert bench.get("a.py") == b"import f\nx = 1\nif x:\n    y()\n"


def test_several_rules_in_one_call(bench):
    bench.put("a.py", "a(1)\nb(2)\n")
    rewrite(bench, ("b($X)", "B($X)"), ("a($X)", "A($X)"))
    assert bench.get("a.py") == b"A(1)\nB(2)\n"


def test_files_with_syntax_errors_are_left_alone_and_listed(bench):
    bench.put("a.py", "f(1)\n")
    bench.put("bad.py", "f(1)\ndef (:\n")
    output = preview(bench)
    assert "[1 parse problem:]\n- bad.py: syntax error in line 2; left alone" in output.parts[0].text
    bench.run(resolve_tool, action="apply", reason="")
    assert bench.get("bad.py") == b"f(1)\ndef (:\n"


@pytest.mark.parametrize(
    ("text", "ops", "reason"),
    [
        ("if x:\n    f()\n", ("f()", ""), "would be no syntax"),
        ("x = f()\n", ("f()", "return 1"), "line 1 would be no syntax"),
        ("f(1)\n", ("f($A)", "g(a=1, $A)"), "would be no valid Python"),
        ("f(1)\n", ("f($A)", "g($A"), "would be no"),
    ],
)
def test_what_would_be_no_code_any_more_is_left_alone(bench, text, ops, reason):
    bench.put("a.py", text)
    bench.put("b.py", "y = 1\n")
    output = preview(bench, ops)
    assert "No replacements made: what fits is in files that are left alone." in output.parts[0].text
    assert reason in output.parts[0].text
    assert "pending" not in output.metadata


def test_old_python_is_rewritten_though_this_python_does_not_compile_it(bench):
    bench.put("a.py", "print 'x'\nf(1)\n")
    rewrite(bench)
    assert bench.get("a.py") == b"print 'x'\ng.h(1)\n"


def test_what_is_there_already_is_told(bench):
    bench.put("a.py", "f(1)\n")
    assert "what stands there already" in preview(bench, ("f($A)", "f($A)")).parts[0].text


def test_no_match_is_no_error(bench):
    bench.put("a.py", "x\n")
    output = preview(bench)
    assert output.parts[0].text == "No replacements made: nothing fits in 1 python file."
    assert output.metadata == {"useless": True}


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([], "There are no ops"),
        ([("", "x")], "The pattern is empty"),
        ([("f", "x"), ("f", "y")], "comes twice"),
        ([("f($A)", "$B")], r"\$B, which the pattern does not capture"),
        ([("$A $B", "x"), ("f", "y")], "cannot be used"),
        ([("$$$A", "x")], "cannot be used"),
    ],
)
def test_rules_that_cannot_be_used_fail_up_front(near, ops, message):
    near.put("a.py", "f(1)\n")
    rules = [{"pattern": pattern, "rewrite": new} for pattern, new in ops]
    with pytest.raises(ToolError, match=message):
        near.run(tool, ops=rules, paths=["."])


def test_one_language_a_call(near):
    near.put("a.py", "f(1)\n")
    near.put("b.js", "f(1);\n")
    with pytest.raises(ToolError, match=r"several languages: python \(1 file\), javascript \(1 file\)"):
        preview(near)
    rewrite(near, language="javascript")
    assert (near.get("a.py"), near.get("b.js")) == (b"f(1)\n", b"g.h(1);\n")


def test_notebooks_are_never_written(near):
    book = json.dumps({"cells": [{"cell_type": "code", "id": "a", "source": "f(1)"}], "metadata": {}}).encode()
    near.put("a.ipynb", book)
    with pytest.raises(ToolError, match="is a notebook; notebook files are never written"):
        preview(near)
    near.put("a.py", "f(1)\n")
    assert "[1 notebook left alone" in preview(near).parts[0].text
    near.run(resolve_tool, action="apply", reason="")
    assert near.get("a.ipynb") == book
    with pytest.raises(ToolError, match="no code here"):
        preview(near, paths=["*.rs"])


def test_a_link_to_a_notebook_is_not_written(near, tmp_path):
    near.put("a.ipynb", "f(1)\n")
    (tmp_path / "a.py").symlink_to(tmp_path / "a.ipynb")
    assert "is a notebook" in preview(near, paths=["a.py"]).parts[0].text


def test_generated_and_secret_files_are_left_alone(near):
    near.put("a.py", "f(1)\n")
    near.put("b.py", "# Code generated by x. DO NOT EDIT.\nf(1)\n")
    near.put("secrets.js", "f(1)\n")
    text = preview(near).parts[0].text
    assert "- b.py: left alone; was made by a program" in text
    assert "commonly holds secrets" in text
    near.run(resolve_tool, action="apply", reason="")
    assert near.get("b.py").endswith(b"\nf(1)\n")


def test_the_number_of_files_is_bounded(near, monkeypatch):
    monkeypatch.setenv("ZIDANE_MAX_AST_FILES", "2")
    for name in "abc":
        near.put(f"{name}.py", "f(1)\n")
    assert "[limit reached: only the first 2 files would be changed" in preview(near).parts[0].text
    near.run(resolve_tool, action="apply", reason="")
    assert [near.get(f"{name}.py") for name in "abc"] == [b"g.h(1)\n", b"g.h(1)\n", b"f(1)\n"]


@pytest.mark.parametrize("said", ["", "0", "-3", "many", "²", "9" * 5_000])
def test_a_number_of_files_that_is_none_is_passed_over(monkeypatch, said):
    monkeypatch.setenv("ZIDANE_MAX_AST_FILES", said)
    assert module._most_files() == 1_000


def test_the_number_of_places_is_bounded(near, monkeypatch):
    monkeypatch.setattr(module, "MOST_MATCHES", 10)
    near.put("a.py", "f(1)\n" * 11)
    with pytest.raises(ToolError, match="There are 11 matches, more than 10"):
        preview(near)


def test_many_changes_are_counted_and_some_shown(near):
    near.put("a.py", "f(1)\n" * 90)
    near.put("b.py", "f(1)\n" * 90)
    near.put("c.py", "f(1)\n" * 90)
    text = preview(near).parts[0].text
    assert text.count("\n-") == 100
    assert text.endswith("[170 more changes are not shown here]")
    applied = near.run(resolve_tool, action="apply", reason="").parts[0].text
    assert applied.startswith("Applied 270 replacements in 3 files.")
    assert applied.endswith("[170 more changes are not shown]")
    assert near.get("c.py") == b"g.h(1)\n" * 90


def test_half_a_search_changes_nothing(near, monkeypatch):
    near.put("a.py", "f(1)\n")
    monkeypatch.setattr(module, "TIME_LIMIT", 0.5)
    monkeypatch.setattr(engine, "_START", "import time;time.sleep(60)")
    with pytest.raises(ToolError, match="Not everything was searched: stopped after"):
        preview(near)


def test_nobody_could_answer_without_a_conversation(tmp_path):
    (tmp_path / "a.py").write_text("f(1)\n")
    context = ToolContext(cwd=tmp_path)
    ops = [{"pattern": "f($A)", "rewrite": "g($A)"}]
    with pytest.raises(ToolError, match="no conversation"):
        asyncio.run(ast_edit(context, ops, ["."]))
    assert asyncio.run(plan_ast_edit(context, ops, ["."])).diff().endswith("-f(1)\n+g(1)\n")


def test_without_the_library_the_hint_says_how_to_get_it(near, monkeypatch):
    monkeypatch.setattr(engine, "is_available", lambda: False)
    with pytest.raises(ToolError, match="not installed"):
        preview(near)


def test_folders_elsewhere_are_rewritten(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("f(1)\n")
    context = ToolContext(place=Far(tmp_path), outputs=Session.memory())
    arguments = {"ops": [{"pattern": "f($A)", "rewrite": "g($A)"}], "paths": ["src"]}
    assert "src/a.py (1)" in asyncio.run(ast_edit_tool().run(context, arguments)).parts[0].text
    asyncio.run(resolve_tool().run(context, {"action": "apply", "reason": ""}))
    assert (tmp_path / "src/a.py").read_text() == "g(1)\n"


def test_javascript_and_others(near):
    near.put("a.ts", "export const a = (x: string) => {\n  console.log(x, `${x}`);\n};\n")
    rewrite(near, ("console.log($$$A)", "logger.info($$$A)"))
    assert b"  logger.info(x, `${x}`);" in near.get("a.ts")
    near.put("b.sh", 'rm "$HOME/x"\nrm $TMP\n')
    rewrite(near, ("rm $F", "rm -f -- $F $EXTRA"), paths=["b.sh"])
    assert near.get("b.sh") == b'rm -f -- "$HOME/x" $EXTRA\nrm -f -- $TMP $EXTRA\n'


# --- against a reference made with the standard library -------------------------------------------------------


def library():
    """Real Python files, of all kinds."""
    folder = Path(sysconfig.get_path("stdlib"))
    own = sorted(folder.glob("*.py"))[:50]
    return [
        *own,
        *(each for part in ("asyncio", "json", "unittest") for each in sorted((folder / part).glob("*.py"))),
    ]


def offset(lines, line, column):
    """The place in a text of one in its tree, which counts bytes of UTF-8."""
    before = sum(len(each) for each in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode())


def renamed(text):
    """The text with calls of `isinstance` renamed, by the places in its tree."""
    lines = (
        text.splitlines(keepends=True) if "\x0c" not in text else text.replace("\x0c", " ").splitlines(keepends=True)
    )
    spans = [
        (
            offset(lines, node.func.lineno, node.func.col_offset),
            offset(lines, node.func.end_lineno, node.func.end_col_offset),
        )
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    ]
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}check.kind{text[end:]}"
    return text


class Extended(ast.NodeTransformer):
    """`a.append(x)` is `a.extend([x])`."""

    def visit_Call(self, node):
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(attr="append"), [one], []):
                node.func.attr = "extend"
                node.args = [ast.List([one], ast.Load())]
        return node


@pytest.fixture
def copied(near, tmp_path):
    texts = {}
    for index, path in enumerate(library()):
        try:
            text = path.read_bytes().decode()
            ast.parse(text)
        except (UnicodeDecodeError, SyntaxError):
            continue
        if generated_by(text.encode(), path):
            continue
        name = f"{index:03}_{path.name}"
        (tmp_path / name).write_bytes(text.encode())
        texts[name] = text
    assert len(texts) > 80
    return near, tmp_path, texts


def test_a_renamed_call_is_what_the_syntax_tree_says(copied):
    bench, folder, texts = copied
    told = rewrite(bench, ("isinstance($$$ARGS)", "check.kind($$$ARGS)"))
    expected = {name: renamed(text) for name, text in texts.items()}
    changed = {name for name, text in texts.items() if expected[name] != text}
    assert len(changed) > 20
    assert f"in {len(changed)} files" in told.split("\n")[0]
    for name in texts:
        assert (folder / name).read_bytes().decode() == expected[name], name


def test_a_wrapped_argument_is_what_the_syntax_tree_says(copied):
    bench, folder, texts = copied
    rewrite(bench, ("$LIST.append($ITEM)", "$LIST.extend([$ITEM])"))
    changed = 0
    for name, text in texts.items():
        now = (folder / name).read_bytes().decode()
        if ".append(" not in text:
            assert now == text
            continue
        before, expected = ast.dump(ast.parse(text)), ast.dump(Extended().visit(ast.parse(text)))
        changed += before != expected
        assert ast.dump(ast.parse(now)) == expected, name
    assert changed > 20
