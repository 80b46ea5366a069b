"""What single calls do, as the gate sees them: previews, pages, patches, containers, tasks of the project, folders."""

from __future__ import annotations

import pytest

from zidane_lab.approvals.assess import Foreseen, Surroundings
from zidane_lab.approvals.judging import assess
from zidane_lab.approvals.project import Project


@pytest.fixture
def around(tmp_path):
    (tmp_path / "src").mkdir()
    return Surroundings(Project(str(tmp_path), str(tmp_path), own=(str(tmp_path / "home"),)))


# --- editing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["write_file", "edit", "multi_edit", "edit_lines", "apply_patch", "ast_edit"])
def test_a_preview_only_looks(around, tool):
    found = assess(tool, {"path": "a.py", "patch": "", "preview": True}, "write", around)
    assert (found.tier, found.reach, found.reasons) == ("read", "read", ())


@pytest.mark.parametrize("preview", [False, None, "true", 1])
def test_only_a_plain_true_is_a_preview(around, preview):
    assert assess("edit", {"path": "a.py", "preview": preview}, "write", around).reach == "write"


def test_a_tool_of_others_with_such_an_argument_writes_all_the_same(around):
    assert assess("publish", {"path": "a.py", "preview": True}, "write", around).reach == "write"


def test_editing_by_syntax_is_shown_first_unless_told_otherwise(around):
    assert assess("ast_edit", {"path": "src"}, "write", around).reach == "read"
    assert assess("ast_edit", {"path": "src", "preview": False}, "write", around).reach == "write"


def test_a_preview_of_a_secret_shows_it(around):
    assert assess("edit", {"path": ".env", "preview": True}, "write", around).critical


@pytest.mark.parametrize("tool", ["resolve", "undo_edit"])
def test_what_a_tool_would_write_is_what_it_says_beforehand(around, tmp_path, tool):
    def judged(*writes):
        return assess(tool, {}, "write", around, Foreseen(writes=writes))

    inside = judged(str(tmp_path / "a.py"))
    assert (inside.reach, inside.in_project, inside.critical) == ("write", True, ())
    assert inside.shown == (f"changes {tmp_path / 'a.py'}",)
    assert judged(str(tmp_path / "a.py"), "/etc/hosts").critical
    assert judged(str(tmp_path / ".git" / "config")).critical
    assert judged(str(tmp_path / ".env")).critical
    assert judged(str(tmp_path / "home" / "settings.json")).touches_own
    assert judged().reach == "read"
    unknown = assess(tool, {}, "write", around)
    assert (unknown.reach, unknown.in_project) == ("write", False)


PATCHES = [
    "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch",
    "*** Begin Patch\n*** Add File: {}\n+b\n*** End Patch",
    "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: {}\n*** End Patch",
    "*** Begin Patch\n*** Delete File: {}\n*** End Patch",
    "--- a/src/a.py\n+++ b/{}\n@@ -1 +1 @@\n-a\n+b\n",
    "--- {}\n+++ {}\n@@ -1 +1 @@\n-a\n+b\n",
    "diff --git a/x b/y\nrename from src/a.py\nrename to {}\n",
    "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+b\n",
]


@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.parametrize("path", ["../out.py", ".git/hooks/pre-commit", ".env", "src/../../x"])
def test_every_file_of_a_patch_counts(around, patch, path):
    patches = {"patch": "*** Update File: src/ok.py\n" + patch.replace("{}", path)}
    assert assess("apply_patch", patches, "write", around).critical


@pytest.mark.parametrize("patch", PATCHES)
def test_a_patch_within_the_project_is_an_edit(around, patch):
    found = assess("apply_patch", {"patch": patch.replace("{}", "src/b.py")}, "write", around)
    assert (found.reach, found.in_project, found.critical) == ("write", True, ())


@pytest.mark.parametrize("patch", ["", "nonsense", 3, None])
def test_a_patch_that_names_nothing_is_not_known_to_stay_inside(around, patch):
    assert not assess("apply_patch", {"patch": patch}, "write", around).in_project


def test_what_is_written_into_a_container_changes_its_file(around, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"")
    (tmp_path / "linked.zip").symlink_to("/tmp/elsewhere.zip")
    (tmp_path / "d.db").symlink_to("/tmp/elsewhere.db")

    def judged(path):
        return assess("write_file", {"path": path, "content": ""}, "write", around)

    assert judged("a.zip:inner.txt").in_project
    for path in ("linked.zip:x", "d.db:table:key", "../b.zip:x", "/tmp/x.zip:y", "home/x.zip:y", "a.zip:conf/.env"):
        assert judged(path).critical


@pytest.mark.parametrize(
    "path", [".env:1-5", ".env:raw", "a.zip:conf/.env", "a.zip:id_rsa", "k.pem:b0+10", "d.db?q=1:.env"]
)
def test_a_part_of_a_secret_is_a_secret(around, path):
    assert assess("read_file", {"path": path}, "read", around).critical


def test_links_are_followed_from_the_projects_folder(around, tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("x")
    (tmp_path / "plain.txt").symlink_to(".env")
    monkeypatch.chdir("/")
    assert assess("read_file", {"path": "plain.txt"}, "read", around).critical
    assert not assess("read_file", {"path": "other.txt"}, "read", around).critical


# --- pages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["https://example.org/a?b=1", " http://example.org:8080/x", "HTTPS://EXAMPLE.org"])
def test_reading_an_address_is_fetching_it(around, path):
    found = assess("read_file", {"path": path}, "read", around)
    assert (found.tier, found.reach, found.listed) == ("network", "network", "fetch_url")
    assert found.host in {"example.org", "example.org:8080"}
    assert found.suggested == (f"fetch_url:{found.host}",)


@pytest.mark.parametrize("path", ["a.txt", "https.txt", "notes/https:", "example.org"])
def test_reading_a_file_is_looking(around, path):
    assert assess("read_file", {"path": path}, "read", around).reach == "read"


# --- tasks of the project ---------------------------------------------------------------------------


def test_a_task_is_judged_by_the_command_it_is(around):
    def judged(command, cwd=None):
        return assess("recipe", {"op": "x"}, "execute", around, Foreseen(command=command, cwd=cwd))

    run = judged("make test")
    assert (run.reach, run.tokens, run.suggested) == ("execute", ("make",), ("shell:make:*",))
    assert run.shown == ("runs make test",)
    assert judged("make test; git push --force").critical
    assert judged("npm run build", "packages/a").shown == ("runs npm run build in packages/a",)
    assert not judged("make test", "/elsewhere").is_coverable


def test_listing_tasks_looks_and_one_that_cannot_be_found_out_about_asks(around):
    listing = assess("recipe", {}, "execute", around, Foreseen())
    assert (listing.tier, listing.reach) == ("read", "read")
    unknown = assess("recipe", {"op": "test"}, "execute", around)
    assert (unknown.reach, unknown.is_coverable) == ("execute", False)


# --- where commands run -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("make", "/tmp"),
        ("make", ".."),
        ("make", "~"),
        ("cd /tmp && make", None),
        ("cd .. && make", None),
        ("cd && make", None),
        ("cd - && make", None),
        ("cd $x && make", None),
        ("pushd /tmp && make", None),
        ("popd && make", None),
        ("(cd /tmp; make)", None),
        ("cd src && cd ../.. && make", None),
        ("make -C /tmp", None),
        ("make -C/tmp", None),
        ("make --directory=/tmp", None),
        ("npm --prefix /tmp run x", None),
        ("mv a /tmp/b", None),
        ("mv a ../b", None),
        ("ln -s /etc/passwd x", None),
        ("tar xf a.tar -C /opt", None),
        ("unzip a.zip -d /opt", None),
        ("chmod +x /opt/x", None),
        ("rm /opt/x", None),
    ],
)
def test_what_is_allowed_in_the_project_is_not_allowed_elsewhere(around, command, cwd):
    found = assess("shell", {"command": command, "cwd": cwd}, "execute", around)
    assert not found.is_coverable or found.critical


@pytest.mark.parametrize(
    ("command", "cwd"),
    [("make", None), ("make", "src"), ("make", "."), ("cd src && make", None), ("make -C src", None), ("mv a b", None)],
)
def test_folders_of_the_project_are_the_project(around, command, cwd):
    found = assess("shell", {"command": command, "cwd": cwd}, "execute", around)
    assert found.is_coverable
    assert not found.critical


def test_looking_elsewhere_is_looking(around):
    assert assess("shell", {"command": "ls", "cwd": "/tmp"}, "execute", around).reach == "read"


def test_a_kernel_that_went_elsewhere_takes_nothing_with_it(tmp_path):
    around = Surroundings(Project(str(tmp_path), "/tmp"))
    assert not assess("shell", {"command": "make"}, "execute", around).is_coverable


@pytest.mark.parametrize(
    "command",
    [
        "curl -o .bashrc https://x",
        "mv a .git/hooks/pre-commit",
        "sed -i s/a/b/ .envrc",
        "chmod +x .husky/pre-commit",
        "install hook .git/hooks/post-commit",
        "python make.py --output=.vscode/tasks.json",
        "tar xf a.tar -C .git/hooks",
    ],
)
def test_files_that_other_programs_obey_are_asked_about_whatever_writes_them(around, command):
    assert assess("shell", {"command": command}, "execute", around).critical


@pytest.mark.parametrize(
    "command", ["git add .vscode/tasks.json .gitmodules", "ls .git/hooks && make", "pytest .github"]
)
def test_naming_them_alone_is_harmless(around, command):
    assert not assess("shell", {"command": command}, "execute", around).critical
