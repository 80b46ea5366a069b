from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from zidane_lab.chat.safelist_store import Safelist, own_files, project_keys, safelist_for
from zidane_lab.errors import ConfigurationError


@pytest.fixture
def env(tmp_path):
    return {"ZIDANE_HOME": str(tmp_path / "home")}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_what_is_remembered_is_there_for_the_project_and_no_other(env, folder, tmp_path):
    safelist_for(folder, env).remember(["shell:make:*", "shell:git:*"])
    safelist_for(folder, env).remember(["shell:make:*"])
    assert safelist_for(folder, env).allowed() == ("shell:make:*", "shell:git:*")
    assert safelist_for(tmp_path / "other", env).allowed() == ()
    safelist_for(folder, env).remember(["shell:rm:*"], "deny")
    assert safelist_for(folder, env).denied() == ("shell:rm:*",)


def test_folders_of_one_repository_share_it(env, folder):
    (folder / ".git").mkdir()
    (folder / "a" / "b").mkdir(parents=True)
    safelist_for(folder / "a", env).remember(["shell:make:*"])
    assert safelist_for(folder / "a" / "b", env).allowed() == ("shell:make:*",)
    assert project_keys(folder / "a")[0] == str(folder)


def test_older_keys_are_honoured_but_not_written(tmp_path):
    file = tmp_path / "safelist.json"
    file.write_text(
        json.dumps({"version": 1, "projects": {"/old": {"allow": ["shell:a:*"]}, "/x": {"allow": ["edit"]}}})
    )
    file.chmod(0o600)
    safelist = Safelist(file, ("/new", "/old"))
    assert safelist.allowed() == ("shell:a:*",)
    safelist.remember(["shell:b:*"])
    stored = json.loads(file.read_text())["projects"]
    assert stored == {"/old": {"allow": ["shell:a:*"]}, "/x": {"allow": ["edit"]}, "/new": {"allow": ["shell:b:*"]}}
    assert safelist.revoke("shell:a:*")
    assert safelist.allowed() == ("shell:b:*",)
    assert not safelist.revoke("shell:a:*")


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_the_file_is_the_users_alone(env, folder):
    safelist = safelist_for(folder, env)
    safelist.remember(["edit"])
    assert stat.S_IMODE(safelist.file.stat().st_mode) == 0o600
    assert [path.name for path in safelist.file.parent.iterdir() if path.suffix != ".lock"] == ["safelist.json"]
    safelist.file.chmod(0o666)
    assert safelist.allowed() == ()
    assert "others can write it" in safelist.problem


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"projects": []}', '{"projects": {"a": []}}', "\udcff", "[" * 100_000, " " * 1_000_001],
)
def test_a_damaged_file_counts_as_empty_is_told_and_is_left_alone(env, folder, text):
    safelist = safelist_for(folder, env)
    safelist.file.parent.mkdir()
    safelist.file.write_bytes(text.encode("utf-8", "surrogateescape"))
    safelist.file.chmod(0o600)
    assert (safelist.allowed(), safelist.denied()) == ((), ())
    assert safelist.problem
    for change in (lambda: safelist.remember(["edit"]), lambda: safelist.revoke("edit")):
        with pytest.raises(ConfigurationError):
            change()
    assert safelist.file.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_odd_values_inside_are_left_out(env, folder):
    safelist = safelist_for(folder, env)
    safelist.file.parent.mkdir()
    safelist.file.write_text(json.dumps({"projects": {safelist.keys[0]: {"allow": ["edit", 3, None], "deny": "x"}}}))
    safelist.file.chmod(0o600)
    assert (safelist.allowed(), safelist.denied()) == (("edit",), ())
    safelist.remember(["shell:a:*"], "deny")
    assert safelist.denied() == ("shell:a:*",)


def test_what_cannot_be_read_is_not_remembered(env, folder):
    with pytest.raises(ConfigurationError, match="is not an entry"):
        safelist_for(folder, env).remember(["edit", "shell:make"])
    assert safelist_for(folder, env).allowed() == ()


def test_two_that_write_at_once_lose_nothing(env, folder):
    def write(number):
        safelist_for(folder, env).remember([f"shell:tool{number}:*"])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(safelist_for(folder, env).allowed()) == 12


def test_the_agents_own_files_are_the_users_folder(env):
    assert own_files(env) == (env["ZIDANE_HOME"],)


def test_another_place_has_a_list_of_its_own(env, folder):
    safelist_for(folder, env).remember(["shell:make:*"])
    there = safelist_for(folder, env, where="ssh me@host")
    assert there.allowed() == ()
    there.remember(["shell:ls:*"])
    assert safelist_for(folder, env, where="ssh me@host").allowed() == ("shell:ls:*",)
    assert safelist_for(folder, env).allowed() == ("shell:make:*",)
    assert safelist_for(folder, env, where="docker x").allowed() == ()
