"""The command line itself: what is understood, what is refused with code 2, what --help promises."""

from __future__ import annotations

import io
import sys

import pytest

from zidane_lab import __version__
from zidane_lab.cli import main as module
from zidane_lab.cli.main import main
from zidane_lab.cli.run import EXIT_CODES


@pytest.fixture
def asked(monkeypatch):
    """The requests that would have been run."""
    requests = []

    def run(request):
        requests.append(request)
        return 0

    monkeypatch.setattr(module, "run", run)
    return requests


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["run", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    return err


def test_the_version_and_the_help_with_every_exit_code(capsys):
    for arguments in (["--version"], ["--help"], ["run", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"zidane_lab {__version__}" in text
    for code, meaning in EXIT_CODES.items():
        assert f"{code:<4} {meaning}" in text


def test_options_become_a_request_with_absolute_paths(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "x.csv").touch()
    arguments = (
        "--data x.csv --data ../y.csv --output sub/o.ipynb --model m/n --profile plan --max-cost 0.5 --max-turns 3"
    )
    assert main(["run", "ask", *arguments.split()]) == 0
    (request,) = asked
    assert request.prompt == "ask"
    assert request.data == (tmp_path / "x.csv", tmp_path.parent / "y.csv")
    assert (request.output, request.cwd) == (tmp_path / "sub" / "o.ipynb", tmp_path / "sub")
    assert (request.options.model, request.options.profile) == ("m/n", "plan")
    assert (request.options.max_cost, request.options.max_turns) == (0.5, 3)
    main(["run", "ask", "--output", "sub/o.ipynb", "--cwd", "."])
    assert asked[1].cwd == tmp_path
    main(["run", "ask"])
    assert asked[2].cwd == tmp_path


def test_budgets_are_read_as_people_write_them(asked):
    main(["run", "ask", "--max-cost", "$0.5", "--max-tokens", "200k", "--max-time", "1h30m"])
    options = asked[0].options
    assert (options.max_cost, options.budget_tokens, options.budget_seconds) == (0.5, 200_000, 5400)
    assert options.max_turns is None


@pytest.mark.parametrize("arguments", [["-"], []])
def test_the_prompt_may_come_from_standard_input(asked, monkeypatch, arguments):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Wie groß?\nGenau.\n".encode())))
    assert main(["run", *arguments]) == 0
    assert asked[0].prompt == "Wie groß?\nGenau."


def test_a_prompt_that_is_missing_or_empty_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    assert "prompt is empty" in refused(capsys)
    monkeypatch.setattr(sys, "stdin", None)
    assert "no prompt" in refused(capsys)
    assert "prompt is empty" in refused(capsys, "  ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--output", "out.txt"],
        ["--output", "missing/out.ipynb"],
        ["--cwd", "missing"],
        ["--max-turns", "0"],
        ["--max-turns", "1.5"],
        ["--max-cost", "-1"],
        ["--max-cost", "nan"],
        ["--max-cost", "inf"],
        ["--max-tokens", "many"],
        ["--max-time", "10"],
        ["--kernel", "a", "--existing", "b"],
        ["--no-such-option"],
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert "error:" in refused(capsys, "prompt", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


def test_doctor_reports_the_installation_and_the_kernels(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert __version__ in out
    assert "| kernels | python3" in out.replace("elsewhere, ", "")
    assert list(tmp_path.iterdir()) == []
