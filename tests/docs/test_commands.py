"""The hand-written tables name every option, mode and variable there is, and no other."""

from __future__ import annotations

import itertools
import re

from tests.docs.pages import DOCS, ROOT, pages


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str, head: str) -> list[str]:
    """First cells of the table that begins with ``head``."""
    lines = text[text.index(head) :].splitlines()[2:]
    table = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [line.split("|")[1].strip() for line in table]


def test_the_options_of_the_magic_are_all_there():
    from zidane_lab.notebook.options import _FLAGS, _VALUES

    told = [cell.strip("`").split() for cell in rows(page("commands.md"), "| option | does |")]
    assert {name for name, *_ in told} == {*_FLAGS, *_VALUES}
    assert {name for name, *value in told if value} == set(_VALUES)


def test_every_option_told_can_be_read():
    from zidane_lab.notebook.options import parse

    values = {"DOLLARS": "0.5", "N": "3", "NAME": "answer", "PATH": "book.ipynb", "TOKENS": "200k", "TIME": "10m"}
    for cell in rows(page("commands.md"), "| option | does |"):
        name, *value = cell.strip("`").split()
        _, prompt = parse(" ".join([name, *(values[each] for each in value), "what is it?"]))
        assert prompt == "what is it?"


def test_every_slash_command_named_anywhere_exists():
    import zidane_lab.chat.builtin_commands  # noqa: F401
    from zidane_lab.chat.commands import COMMANDS

    for path in pages():
        for name in re.findall(r"%zidane /([a-z][a-z-]*)|`/([a-z][a-z-]*)`", path.read_text(encoding="utf-8")):
            assert (name[0] or name[1]) in {*COMMANDS, "name", "data", "tmp", "proc", "sys", "dev", "workspace"}, path


def test_every_setting_and_mode_named_exists():
    from zidane_lab.chat.profiles import PROFILES
    from zidane_lab.chat.settings import DRAWINGS, INTERACTIONS, KEYS, MODES

    modes = [re.findall(r"`([\w-]+)`", cell)[0] for cell in rows(page("approvals.md"), "| mode | looking")]
    assert sorted(modes) == sorted(MODES)
    for path in pages():
        for key, value in re.findall(r"/config (\w+) ([\w./:-]+[\w])", path.read_text(encoding="utf-8")):
            if key != "KEY" and value != "AMOUNT":
                KEYS[key](value)
    text = page("commands.md")
    for word in (*INTERACTIONS, *DRAWINGS, *PROFILES):
        assert f"`{word}`" in text


def test_variables_that_are_told_are_read_and_the_other_way_round():
    wanted = r"(?:ZIDANE|OPENAI|ANTHROPIC)_[A-Z_]+[A-Z]"
    told = {name for path in pages() for name in re.findall(wanted, path.read_text(encoding="utf-8"))}
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "zidane_lab").rglob("*.py"))
    assert told == set(re.findall(rf'"({wanted})"', code))


def test_every_budget_told_can_be_read():
    """Amounts as the pages write them, behind ``/budget`` and the options of limits."""
    from zidane_lab.chat.amounts import read_amount

    kinds = {"max-turns": "turns", "max-tokens": "tokens", "max-cost": "cost", "max-time": "time"}
    seen = set()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"/budget session (\w+) ([\w.]+)", text)
        found += [(kinds[name], amount) for name, amount in re.findall(r"--(max-\w+) ([\d.]+\w*)", text)]
        for kind, amount in found:
            if amount not in ("AMOUNT", "none"):
                assert read_amount(kind, amount) > 0, f"{path.name}: {kind} {amount}"
                seen.add(kind)
    assert seen == {"turns", "tokens", "cost", "time"}


def test_every_kind_of_record_is_told():
    """Kinds that the package itself keeps in a session are in the table of the sessions page, and no other."""
    told = {name for cell in rows(page("sessions.md"), "| kind | says |") for name in re.findall(r"`([\w-]+)`", cell)}
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "zidane_lab").rglob("*.py"))
    names = set(re.findall(r"\b_?record\(\s*([A-Z_]+),", code))
    kept = {value for name in names for value in re.findall(rf'^{name}: Final = "([\w-]+)"', code, re.MULTILINE)}
    kept |= set(re.findall(r'\.record\(\s*"([\w-]+)"', code))
    assert told == kept


def test_every_layer_is_told():
    layers = re.findall(
        r'"zidane_lab\.(\w+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[1]
    )
    text, drawing = page("architecture.md"), page("_static/architecture.svg")
    for layer in layers:
        assert f"`{layer}`" in text
        assert layer in drawing


def test_modules_that_are_named_exist():
    folders = "|".join(path.name for path in (ROOT / "zidane_lab").iterdir() if path.is_dir() and path.name[0] != "_")
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for name in re.findall(rf"`((?:{folders})/\w*(?:\.py)?|zidane_lab/[\w/]+(?:\.py)?)`", text):
            inside = name.removeprefix("zidane_lab/")
            assert (ROOT / "zidane_lab" / inside).exists(), f"{path.name}: {name}"


def test_every_public_name_is_in_the_reference():
    import zidane_lab

    told = set(re.findall(r"^\.\. auto\w+:: (\w+)$", page("api.md"), re.MULTILINE))
    assert told == set(zidane_lab.__all__) - {"__version__"}


def test_links_between_pages_lead_somewhere():
    for path in pages():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists() or target == "benchmarks.md", f"{path.name}: {target}"


def test_every_file_of_the_agent_that_is_named_exists_and_every_large_one_is_named():
    told = set(
        re.findall(r"`([\w/]+\.py|guards/)`", page("architecture.md").split("## Inside the agent")[1].split("## ")[0])
    )
    folder = ROOT / "zidane_lab" / "agent"
    for name in told:
        assert (folder / name).exists(), name
    small = 120
    large = {path.name for path in folder.glob("*.py") if path.read_text(encoding="utf-8").count("\n") > small}
    assert large - told == {"assemble.py", "context_breakdown.py", "durable.py", "run_summary.py"}


def test_nothing_of_a_machine_is_named():
    for path in pages():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/home/\w|/root/|/Users/|/tmp/", text), path
