from __future__ import annotations

import asyncio
import json
import os

import pytest

from tests.tools.test_elsewhere import Far
from zidane_lab.approvals.secrets import looks_secret
from zidane_lab.errors import ToolError
from zidane_lab.session.session import Session
from zidane_lab.tools import ast_grep as module
from zidane_lab.tools.ast_grep import MAX_LIMIT, ast_grep, ast_grep_tool
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.structure import engine, sources


def run(context, pattern, **options):
    return asyncio.run(ast_grep_tool(private=looks_secret).run(context, {"pattern": pattern, **options}))


def search(folder, pattern, **options) -> str:
    return run(ToolContext(cwd=folder), pattern, **options).parts[0].text


def put(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def notebook(*cells):
    return json.dumps(
        {"cells": [{"cell_type": "code", "id": name, "source": source} for name, source in cells], "metadata": {}}
    )


@pytest.fixture
def tree(tmp_path):
    put(
        tmp_path,
        {
            "a.py": "s = '😀 f(0)'; f(1, [2])  # f(3)\n\n\ndef g():\n    return f(\n        f(4),\n    )\n",
            "src/b.py": "f()\n",
            "src/c.js": "f(1);\n",
            "data.json": '{"f": [1]}\n',
            "book.ipynb": notebook(("one", "%matplotlib inline\nx = f(5)\n"), ("two", "%%bash\nf 6\n")),
            "notes.txt": "f(7)\n",
            "node_modules/d.js": "f(8)\n",
        },
    )
    return tmp_path


def tag(number, line):
    return f"{anchor(line, number)}|{line}"


def test_matches_are_shown_by_file_with_tags_and_captures(tree):
    assert search(tree, "f($$$ARGS)").split("\n") == [
        "a.py",
        tag(1, "s = '😀 f(0)'; f(1, [2])  # f(3)"),
        "    $$$ARGS = 1, [2]",
        tag(5, "    return f("),
        tag(6, "        f(4),"),
        tag(7, "    )"),
        "    $$$ARGS = f(4),",
        tag(6, "        f(4),"),
        "    $$$ARGS = 4",
        "",
        "book.ipynb [code] id=one",
        "2: x = f(5)",
        "    $$$ARGS = 5",
        "",
        "src/b.py",
        tag(1, "f()"),
        "    $$$ARGS = (nothing)",
        "",
        "src/c.js",
        tag(1, "f(1);"),
        "    $$$ARGS = 1",
        "[6 matches in 4 files]",
    ]


def test_the_tags_serve_an_edit(tree):
    context = ToolContext(cwd=tree, outputs=Session.memory())
    text = run(context, "f()", paths=["src/b.py"]).parts[0].text
    (line,) = [line for line in text.split("\n") if line.endswith("|f()")]
    asyncio.run(
        edit_lines_tool().run(
            context, {"path": "src/b.py", "edits": [{"op": "replace", "anchor": line, "text": "g()"}]}
        )
    )
    assert (tree / "src/b.py").read_text() == "g()\n"


def test_pages_cover_everything_once(tree):
    put(tree, {f"many/{number}.py": "".join(f"hit({number}, {line})\n" for line in range(30)) for number in range(7)})
    seen, skip = [], 0
    while True:
        text = search(tree, "hit($A, $B)", skip=skip)
        shown = [line.partition("|")[2] for line in text.split("\n") if "|hit(" in line]
        seen += shown
        assert len(shown) <= 50
        if "this is the end" in text:
            break
        skip = int(text.partition("go on with skip=")[2].partition("]")[0])
    assert seen == [f"hit({number}, {line})" for number in range(7) for line in range(30)]
    assert "[there are 210 matches in 7 files; none behind the first 999]" in search(tree, "hit($A, $B)", skip=999)
    assert search(tree, "hit($A, $B)", limit=1).endswith("[1–1 of 210 matches in 7 files; go on with skip=1]")
    assert search(tree, "hit($A, $B)", limit=9_999).count("|hit(") == 210 <= MAX_LIMIT


def test_a_page_has_a_size(tree):
    put(tree, {"wide.py": "".join(f"wide({'x' * 2_000}, {number})\n" for number in range(400))})
    text = search(tree, "wide($A, $B)", limit=400)
    assert len(text.encode()) < 51_200
    assert "go on with skip=" in text
    assert "characters]" in text


def test_long_matches_are_shortened(tree):
    put(tree, {"long.py": "long(\n" + "    1,\n" * 40 + ")\n"})
    text = search(tree, "long($$$A)")
    assert "… 30 more lines" in text
    assert "$$$A = 1, [+39 lines]" in text.replace("    1,", "1,")


def test_no_match_is_no_error(tree):
    output = run(ToolContext(cwd=tree), "nothing($A)", paths=["src"])
    assert output.parts[0].text == (
        "[no match for 'nothing($A)' in 2 files; ignored files were not searched, `ignored` true does]"
    )
    assert output.metadata == {"useless": True}
    assert not output.is_error


def test_no_match_where_not_all_was_parsed_is_no_proof(tree):
    put(tree, {"bad.py": "def (:\n    nothing\n"})
    output = run(ToolContext(cwd=tree), "nothing($A)")
    assert "does not prove absence" in output.parts[0].text
    assert "[1 parse problem:]\n- bad.py: syntax error in line 1; searched all the same" in output.parts[0].text
    assert output.metadata == {}


def test_files_with_syntax_errors_are_searched_and_twenty_are_listed(tree):
    put(tree, {f"bad/{number:02}.py": "needle(1)\ndef (:\n" for number in range(25)})
    text = search(tree, "needle($A)")
    assert "[25 matches in 25 files]\n[25 parse problems, the first 20:]" in text
    assert text.count("searched all the same") == 20


def test_an_incomplete_pattern_is_hinted_at(tree):
    assert "no whole code in python, so it may fit nothing" in search(tree, "f(1, ", paths=["a.py"])


def test_a_pattern_no_language_can_use_is_an_error(tree):
    with pytest.raises(ToolError, match=r"cannot be used in python: Multiple AST nodes.*\$A \$B"):
        search(tree, "$A $B", language="python")
    with pytest.raises(ToolError, match="Standalone multi meta variable"):
        search(tree, "$$$A", paths=["a.py"])
    with pytest.raises(ToolError, match="The pattern is empty"):
        search(tree, " ")


def test_a_pattern_some_languages_cannot_use_is_told(tree):
    text = search(tree, "f $A")
    assert text.startswith("book.ipynb [code] id=two\n2: f 6\n    $A = 6\n[1 match in 1 file]")
    assert "[the pattern cannot be used in: javascript, python]" in text


def test_a_name_that_comes_twice_is_the_same_code(tree):
    put(tree, {"same.py": "same(a, a)\nsame(a, b)\nsame(x.y, x . y)\n"})
    assert "[2 matches in 1 file]" in search(tree, "same($A, $A)")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"paths": ["src"]}, ["src/b.py", "src/c.js"]),
        ({"paths": "src", "globs": "*.js"}, ["src/c.js"]),
        ({"paths": '["src", "a.py"]', "globs": '["b.py"]'}, ["a.py", "src/b.py"]),
        ({"paths": ["src", "src/c.js", "."], "language": "js"}, ["src/c.js"]),
        ({"paths": ["src/b.py"], "language": "js"}, ["src/b.py"]),
        ({"globs": ["*.js"]}, ["src/c.js"]),
        ({"globs": ["./src/*.{py,js}"]}, ["src/b.py", "src/c.js"]),
        ({"paths": ["src/*.py"]}, ["src/b.py"]),
        ({"paths": ["*.py"]}, ["a.py"]),
        ({"paths": ["**/*.js"]}, ["src/c.js"]),
        ({"paths": ["**/*.js"], "ignored": True}, ["node_modules/d.js", "src/c.js"]),
        ({"paths": ["notes.txt"], "language": "python"}, ["notes.txt"]),
        ({"paths": ["src/b.py", "gone.py"]}, ["src/b.py"]),
    ],
)
def test_where_is_searched(tree, options, names):
    text = search(tree, "f($$$)", **options)
    assert [line for line in text.split("\n") if line.endswith((".py", ".js", ".txt"))] == names


def test_absolute_paths_are_named_as_they_can_be_given_again(tree, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    put(other, {"x.py": "f()\n"})
    assert search(tree, "f()", paths=[str(other)]).startswith(f"{other}/x.py\n")
    assert search(tree, "f()", paths=[str(tree / "src")]).startswith("src/b.py\n")


def test_missing_paths_are_told_if_another_is_there(tree):
    assert "[gone.py is left out: " in search(tree, "f()", paths=["gone.py", "src"])
    with pytest.raises(ToolError, match="does not exist"):
        search(tree, "f()", paths=["gone.py", "gone"])
    with pytest.raises(ToolError, match="There is no path, or an empty one"):
        search(tree, "f()", paths=["a.py", " "])
    with pytest.raises(ToolError, match=r"The language of notes\.txt is not known"):
        search(tree, "f()", paths=["notes.txt"])
    with pytest.raises(ToolError, match="Code in 'sql' cannot be parsed"):
        search(tree, "f()", language="sql")


def test_data_is_parsed_where_it_is_asked_for(tree):
    assert "data.json" not in search(tree, "$A", limit=500)
    for options in (
        {"language": "json"},
        {"globs": ["*.{json,yaml}"]},
        {"paths": ["data.json"]},
        {"paths": ["*.json"]},
    ):
        assert search(tree, "[1]", **options).startswith("data.json\n"), options


def test_a_folder_without_code(tmp_path):
    assert "no code here that can be parsed" in search(tmp_path, "f()")
    assert "no rust code here" in search(tmp_path, "f()", language="rust")


def test_files_that_hold_secrets_are_left_out_and_counted(tree):
    put(tree, {"secrets.js": "f(9)\n"})
    text = search(tree, "f($A)")
    assert "secrets.js" not in text
    assert "[1 file left out by name, as one that commonly holds secrets" in text
    assert "secrets.js\n" in search(tree, "f($A)", paths=["secrets.js"])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xef\xbb\xbff()\n", 1),
        ("x = 'é'; f()\n".encode("utf-16"), 1),
        (b"# caf\xe9\r\nf()\r\n", 2),
        (b"x = 1\rf()\r", 2),
        (b"\x0c\n\tx = 1\n" * 0 + b"if 1:\r\n\tf()\r\n", 2),
    ],
)
def test_encodings_and_line_ends(tmp_path, data, line):
    put(tmp_path, {"a.py": data})
    text = search(tmp_path, "f()")
    assert "[1 match in 1 file]" in text
    assert text.split("\n")[1].startswith(f"{line}")


@pytest.mark.parametrize("data", [b"f()\n\0\0\0", b"\xff\xfe\xff", b"\x7fELF\0\0f()", os.urandom(512) + b"\0"])
def test_what_is_no_text_is_told(tmp_path, data):
    put(tmp_path, {"a.py": data, "b.py": "f()\n"})
    text = search(tmp_path, "f()")
    assert text.startswith("b.py\n")
    assert "- a.py: " in text


def test_large_files_are_told(tree, monkeypatch):
    monkeypatch.setattr(sources, "MOST_BYTES", 10)
    text = search(tree, "f()")
    assert "- a.py: larger than 10 B, not parsed" in text
    assert "src/b.py\n" in text


def test_special_files_are_told(tree):
    os.mkfifo(tree / "pipe.py")
    assert "- pipe.py: cannot be read" in search(tree, "f()")
    (tree / "pipe.py").unlink()
    (tree / "loop.py").symlink_to(tree / "loop.py")
    assert "[1 match" in search(tree, "f()")


def test_the_time_is_bounded(tree, monkeypatch):
    monkeypatch.setattr(module, "TIME_LIMIT", 0.5)
    monkeypatch.setattr(engine, "_START", "import time;time.sleep(60)")
    assert "not everything was searched: stopped after" in search(tree, "f()")


def test_without_the_library_the_hint_says_how_to_get_it(tree, monkeypatch):
    monkeypatch.setattr(engine, "is_available", lambda: False)
    with pytest.raises(ToolError, match="not installed") as caught:
        search(tree, "f()")
    assert "zidane_lab[structure]" in caught.value.hint


def test_files_elsewhere_are_fetched_and_searched(tree):
    put(tree, {".gitignore": "out/\n", "out/x.py": "f()\n"})
    text = run(ToolContext(place=Far(tree)), "f($$$A)").parts[0].text
    assert text.endswith("[6 matches in 4 files]")
    assert "out/x.py" not in text
    assert text.startswith(f"a.py\n{tag(1, '')[:1]}")


def test_what_is_fetched_from_elsewhere_is_bounded(tree, monkeypatch):
    monkeypatch.setattr(sources, "MOST_FAR_FILES", 1)
    text = run(ToolContext(place=Far(tree)), "f($$$A)").parts[0].text
    assert "[3 matches in 1 file]" in text
    assert "3 files were not read: at most 1 files or 32.0 MB are fetched" in text


def test_the_function_itself_searches_too(tree):
    (part,) = asyncio.run(ast_grep(ToolContext(cwd=tree), "f()", ["src"])).parts
    assert part.text.startswith("src/b.py\n")


def test_hostile_notebooks_are_told(tmp_path):
    put(
        tmp_path,
        {
            "a.ipynb": notebook(("x", "f('\ud800')")),
            "b.ipynb": "[" * 100_000,
            "c.ipynb": notebook(("ok", "%%time\nf(1)\n!f(2)\n")),
            "d.ipynb": json.dumps(
                {"cells": [{"cell_type": "code", "source": "f(1)"}], "metadata": {"kernelspec": {"language": "R"}}}
            ),
        },
    )
    text = search(tmp_path, "f($A)")
    assert text.startswith("c.ipynb [code] id=ok\n2: f(1)\n    $A = 1\n[1 match in 1 file]\n[3 parse problems:]")
    assert "- b.ipynb: no notebook that can be read" in text
    assert "- d.ipynb: its code is in a language that cannot be parsed" in text


def test_names_and_texts_stay_on_their_lines(tmp_path):
    put(tmp_path, {"a\nb\x1b[31m.py": "f(1)\ndef (:\n"})
    text = search(tmp_path, "f($A)")
    assert "a\\nb\\x1b[31m.py\n" in text
    assert "- a\\nb\\x1b[31m.py: syntax error" in text


def test_headers_are_c_unless_cpp_is_asked_for(tmp_path):
    put(tmp_path, {"a.h": "int f(int x);\n", "b.cpp": "int y = f(1);\n", "c.c": "int z = f(2);\n"})
    assert "a.h" not in search(tmp_path, "f($A)", language="c++")
    assert search(tmp_path, "int f($A);", language="cpp").startswith("a.h\n")
    assert search(tmp_path, "int f($A);", language="c").startswith("a.h\n")
    assert "in 1 file" in search(tmp_path, "f(2)")
