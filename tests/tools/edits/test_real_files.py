"""Real source files, changed at random: our edits give the bytes that git apply, difflib and plain lists give."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from zidane_lab.errors import ToolError
from zidane_lab.tools.apply_patch import apply_patch_tool
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.edit_lines import edit_lines_tool
from zidane_lab.tools.edits.anchors import anchor
from zidane_lab.tools.edits.diff import line_changes, split_lines, unified
from zidane_lab.tools.edits.generated import generated_by
from zidane_lab.tools.edits.merge import merge
from zidane_lab.tools.edits.text import decode
from zidane_lab.tools.multi_edit import multi_edit_tool
from zidane_lab.tools.write_file import write_file_tool

FILES = 40
GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="compares with git")


def sources():
    """Files of the standard library and of installed packages, the same ones every time."""
    paths = sysconfig.get_paths()
    found = [
        *sorted(Path(paths["stdlib"]).glob("*.py")),
        *sorted(Path(paths["purelib"]).glob("[a-n]*/*.py")),
    ]
    fit = [path for path in found if 500 < path.stat().st_size < 60_000]
    return random.Random(7).sample(fit, FILES)


SOURCES = sources()
NAMES = [path.name for path in SOURCES]


def disguised(path, rng):
    """The bytes of a file in some encoding and line ending, perhaps without a final newline."""
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    ending = rng.choice(["\n", "\n", "\r\n", "mixed"])
    lines = split_lines(text)
    lines = [line.replace("\n", rng.choice(["\n", "\r\n"]) if ending == "mixed" else ending) for line in lines]
    if rng.random() < 0.3 and lines:
        lines[-1] = lines[-1].rstrip("\r\n")
    mark = "\ufeff" if rng.random() < 0.2 and not text.startswith("\ufeff") else ""
    return (mark + "".join(lines)).encode("utf-8")


def hunks(lines, rng):
    """Random changes of some lines: (first, last, new lines), from the top, apart from each other."""
    found, at = [], 0
    for _ in range(rng.randint(1, 6)):
        at += rng.randint(1, max(2, len(lines) // 4))
        if at >= len(lines):
            break
        length = rng.choice([0, 1, 1, 2, 5])
        new = [
            rng.choice(["x = 1", "    naïve = '→ 日本'", "", "}", "\tpass  ", "#" * 90])
            for _ in range(rng.choice([0, 1, 1, 3]))
        ]
        stop = min(len(lines), at + length)
        if length or new:
            found.append((at, stop, new))
        at = stop + 1
    return found


def changed(data, found):
    """What a list of lines says the file becomes; new lines end as those they replace, then as most do."""
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    raw = split_lines(data[len(mark) :].decode())
    windows = sum(line.endswith("\r\n") for line in raw)
    most = "\r\n" if windows > sum(line.endswith("\n") for line in raw) - windows else "\n"
    for start, stop, new in reversed(found):
        endings = [line[len(line.rstrip("\r\n")) :] if line.endswith("\n") else "" for line in raw[start:stop]]
        unended = stop == len(raw) and not raw[-1].endswith("\n")
        endings = [each for each in endings if each]
        fresh = [line + (endings[index] if index < len(endings) else most) for index, line in enumerate(new)]
        if unended and start < stop:
            if fresh:
                fresh[-1] = fresh[-1].rstrip("\r\n")
            elif start:
                raw[start - 1] = raw[start - 1].rstrip("\r\n")
        raw[start:stop] = fresh
    return mark + "".join(raw).encode()


def git_apply(folder, name, data, patch):
    (folder / name).write_bytes(data)
    subprocess.run(
        [GIT, "apply", "--whitespace=nowarn", "-"],
        input=patch,
        cwd=folder,
        check=True,
        capture_output=True,
        env={"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)},
    )
    return (folder / name).read_bytes()


@needs_git
@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_git_apply_makes_of_our_diff_what_we_made(path, tmp_path):
    rng = random.Random(path.name)
    data = disguised(path, rng)
    lines = split_lines(data.decode())
    new = changed(data, hunks(lines, rng))
    diff = unified(data.decode(), new.decode(), "f.py", limit=10**9)
    if diff.text:
        assert git_apply(tmp_path, "f.py", data, diff.text.encode()) == new


@needs_git
@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_multi_edit_makes_of_gits_hunks_what_git_apply_makes(path, tmp_path):
    """Each hunk of `git diff` is an edit: its old lines with their context, and its new ones."""
    rng = random.Random(path.name + "2")
    data = disguised(path, rng).replace(b"\r\n", b"\n")
    if rng.random() < 0.5:
        data = data.replace(b"\n", b"\r\n")
    new = changed(data, hunks(split_lines(data.decode()), rng))
    folder = tmp_path / "git"
    folder.mkdir()
    (folder / "old").write_bytes(data)
    (folder / "new").write_bytes(new)
    out = subprocess.run([GIT, "diff", "--no-index", "-U6", "old", "new"], cwd=folder, capture_output=True, check=False)
    edits = []
    for hunk in out.stdout.decode().split("\n@@ ")[1:]:
        old_lines, new_lines, last = [], [], ""
        for line in hunk.split("\n")[1:]:
            if line.startswith("\\"):
                for side in {" ": (old_lines, new_lines), "-": (old_lines,), "+": (new_lines,)}[last]:
                    side[-1] = side[-1][:-1]
            elif line:
                last = line[0]
                for side in {" ": (old_lines, new_lines), "-": (old_lines,), "+": (new_lines,)}[last]:
                    side.append(line[1:] + "\n")
        edits.append({"old_string": "".join(old_lines), "new_string": "".join(new_lines)})
    target = tmp_path / "f.py"
    target.write_bytes(data)
    text = decode(data, "f").text
    sure = [each for each in edits if text.count(each["old_string"].replace("\r\n", "\n")) == 1]
    if not edits or generated_by(data[:1024], target) or len(sure) < len(edits):
        return  # nothing to do, or a hunk that only its line numbers place
    output = asyncio.run(multi_edit_tool().run(ToolContext(cwd=tmp_path), {"path": "f.py", "edits": edits}))
    assert output.parts[0].text.startswith(f"Edited f.py: applied {len(edits)} edits ({len(edits)} replacements).")
    assert target.read_bytes() == new
    again = output.metadata["edit"]["diff"]
    if b"\r" not in data and not data.startswith(b"\xef\xbb\xbf"):
        assert git_apply(folder, "f.py", data, again.encode()) == new


def git_diff(folder, old, new, *options):
    """What `git diff` says of two contents of f.py."""
    for side, data in (("a", old), ("b", new)):
        (folder / side).mkdir(parents=True, exist_ok=True)
        (folder / side / "f.py").write_bytes(data)
    command = [GIT, "diff", "--no-index", "--no-prefix", *options, "a/f.py", "b/f.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


def apply_ours(folder, data, patch):
    """The file after our tool, or ``None`` where it refuses; then it is as it was."""
    folder.mkdir(exist_ok=True)
    (folder / "f.py").write_bytes(data)
    try:
        asyncio.run(apply_patch_tool().run(ToolContext(cwd=folder), {"patch": patch.decode()}))
    except ToolError:
        assert (folder / "f.py").read_bytes() == data
        return None
    return (folder / "f.py").read_bytes()


@needs_git
@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_apply_patch_makes_of_gits_diff_what_git_apply_makes(path, tmp_path):
    """Also without a last line end, with CR LF, tabs and letters of all kinds; mixed endings go by what is replaced."""
    rng = random.Random(path.name + "6")
    data = disguised(path, rng)
    new = changed(data, hunks(split_lines(data.decode()), rng))
    patch = git_diff(tmp_path, data, new, rng.choice(["-U1", "-U3", "-U8"]))
    if not patch or generated_by(data[:1024], Path("f.py")):
        return
    made = apply_ours(tmp_path / "ours", data, patch)
    assert made is not None
    assert git_apply(tmp_path / "a", "f.py", data, patch) == new
    if decode(data, "f").mixed:
        assert made.replace(b"\r\n", b"\n") == new.replace(b"\r\n", b"\n")
    else:
        assert made == new


@needs_git
def test_a_patch_of_an_older_text_is_placed_as_git_places_it_or_refused(tmp_path):
    """The file has changed elsewhere since: where both apply it, the bytes are the same."""
    agreed = refused = 0
    for number, path in enumerate(SOURCES * 2):
        rng = random.Random(f"{path.name}{number}7")
        data = path.read_bytes().replace(b"\r\n", b"\n")
        if generated_by(data[:1024], Path("f.py")):
            continue
        lines = split_lines(data.decode("utf-8", "replace"))
        data = "".join(lines).encode()
        new, now = (changed(data, hunks(lines, rng)) for _ in range(2))
        patch = git_diff(tmp_path, data, new)
        if not patch:
            continue
        made = apply_ours(tmp_path / "ours", now, patch)
        try:
            git = git_apply(tmp_path / "a", "f.py", now, patch)
        except subprocess.CalledProcessError:
            git = None
        if made is None:
            refused += git is not None
        elif git is not None:
            assert made == git, path.name
            agreed += 1
    assert agreed > 25
    assert refused <= agreed // 10  # places git chooses by nearness, where we ask for more lines


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_edit_lines_makes_what_a_list_of_lines_makes(path, tmp_path):
    rng = random.Random(path.name + "3")
    data = disguised(path, rng)
    target = tmp_path / "f.py"
    target.write_bytes(data)
    lines = decode(data, "f").text.split("\n")
    if lines[-1] == "":
        lines.pop()
    found = hunks(lines, rng)
    edits = []
    for start, stop, new in found:
        first = anchor(lines[start], start + 1)
        text = "".join(f"{line}\n" for line in new)
        if start == stop:
            edits.append({"op": "insert_before", "anchor": first, "text": text})
        else:
            edits.append({"op": "replace", "anchor": first, "to": anchor(lines[stop - 1], stop), "text": text})
    rng.shuffle(edits)
    expected = changed(data, found)
    if expected == data or generated_by(data[:1024], target):
        return
    output = asyncio.run(edit_lines_tool().run(ToolContext(cwd=tmp_path), {"path": "f.py", "edits": edits}))
    if "not doubled" not in output.parts[0].text:
        assert target.read_bytes() == expected


@pytest.mark.parametrize("path", SOURCES, ids=NAMES)
def test_a_whole_new_text_is_written_line_for_line(path, tmp_path):
    rng = random.Random(path.name + "4")
    data = disguised(path, rng).replace(b"\r\n", b"\n")
    windows = data.replace(b"\n", b"\r\n")
    new = changed(data, hunks(split_lines(data.decode()), rng))
    target = tmp_path / "f.py"
    target.write_bytes(windows)
    call = write_file_tool().run(ToolContext(cwd=tmp_path), {"path": "f.py", "content": new.decode()})
    if generated_by(windows, target):
        with pytest.raises(ToolError, match="made by a program"):
            asyncio.run(call)
        return
    asyncio.run(call)
    assert target.read_bytes() == new.replace(b"\n", b"\r\n")


@needs_git
def test_merges_are_those_of_git_merge_file(tmp_path):
    """Where both merge, they agree; we never merge what git calls a conflict."""
    agreed = refused = 0
    for number, path in enumerate(SOURCES * 3):
        rng = random.Random(f"{path.name}{number}5")
        base = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        if not base.endswith("\n"):
            base += "\n"
        lines = split_lines(base)
        ours, theirs = (changed(base.encode(), hunks(lines, rng)).decode() for _ in range(2))
        for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
            (tmp_path / name).write_bytes(text.encode())
        git = subprocess.run(
            [GIT, "merge-file", "-p", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True, check=False
        )
        merged = merge(base, ours, theirs)
        if merged is None:
            refused += 1
        elif git.returncode == 0:
            assert merged.encode() == git.stdout, path.name
            agreed += 1
        else:
            assert alike(lines, ours, theirs), path.name
    assert agreed > 40
    assert refused < 60


def alike(base, ours, theirs):
    """Whether both sides made changes that touch and are partly the same: git merges by other lines then."""
    sides = [
        [change for change in line_changes(base, split_lines(side)) if change[0] != "equal"] for side in (ours, theirs)
    ]
    return any(a[1] <= b[2] and b[1] <= a[2] for a in sides[0] for b in sides[1])
