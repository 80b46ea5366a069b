"""Real shells are asked: what runs unasked must not start a program that no one has seen.

Commands are bent at random; those that are called harmless and mention the program ``zap`` are run where ``zap`` leaves
a trace and nothing else can do harm: an empty folder, a ``PATH`` with nothing but stand-ins.
"""

from __future__ import annotations

import random
import re
import runpy
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from zidane_lab.approvals.shell_code import classify_shell

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus_shell.py")))
SHELLS = [shell for shell in map(shutil.which, ("bash", "dash")) if shell]
BASE = [command.replace("rm x", "zap").replace("rm", "zap") for command in CORPUS["RISKY"]["hidden"]]
BASE += [command for command in CORPUS["HARMLESS"] if "tail -f" not in command and "sleep" not in command]
PIECES = [
    *"'\"`)|~*=^?a \\#$\t;\n",
    "zap",
    "zap",
    "$(",
    "(",
    "{ ",
    "; }",
    "&&",
    "\\\n",
    "<<EOF\n",
    "\nEOF\n",
    "EOF",
    " #",
]
PIECES += ["x=", "<<<", "<(", ";;", "! ", "${x:-", "}", "$'", "<<'EOF'\n", "$((", "))", "\\'", '\\"', "$x", "-n", "|&"]
PIECES += ["<<-E\n\tE\n", ">&2", "\\`", "\\\\", " zap ", " zap;", "\nzap\n", "$(zap)", "`zap`", '"$(zap)"', "<(zap)"]
PIECES += ["<<X\n$(zap)\nX\n", "<<X\n", "\nX\n", "[[ ", " ]]", "[ ", " ]", "if ", "; then ", "; fi", "case ", " in "]
KEYWORDS = {
    "if",
    "then",
    "else",
    "fi",
    "for",
    "do",
    "done",
    "case",
    "esac",
    "in",
    "while",
    "until",
    "elif",
    "select",
    "function",
    "echo",
    "printf",
    "cd",
    "read",
    "set",
    "test",
    "true",
    "false",
    "time",
    "zap",
    "coproc",
    "export",
    "declare",
    "unset",
    "let",
    "eval",
    "exec",
    "source",
}


def bent(random_):
    command = random_.choice(BASE)
    if random_.random() < 0.3:
        command += random_.choice([" ", "\n", "; ", "|"]) + random_.choice(BASE)
    for _ in range(random_.randint(1, 5)):
        at = random_.randint(0, len(command))
        if random_.random() < 0.75:
            command = command[:at] + random_.choice(PIECES) + command[at:]
        else:
            command = command[:at] + command[at + random_.randint(1, 3) :]
    return command


@pytest.mark.slow
@pytest.mark.skipif(not SHELLS, reason="there is no shell to ask")
@pytest.mark.parametrize("seed", range(4))
def test_what_runs_unasked_starts_nothing_unseen(seed, tmp_path):
    programs, folder = tmp_path / "bin", tmp_path / "empty"
    programs.mkdir()
    folder.mkdir()
    for name in set(re.findall(r"[a-z][a-z0-9]+", " ".join(BASE))) - KEYWORDS:
        (programs / name).write_text("#!/bin/sh\nexit 0\n")
        (programs / name).chmod(0o755)
    (programs / "zap").write_text(f"#!/bin/sh\necho x > {tmp_path}/zapped.$NUMBER\n")
    (programs / "zap").chmod(0o755)
    random_ = random.Random(seed)
    run: list[str] = []
    for command in (bent(random_) for _ in range(20_000)):
        if "zap" not in command or classify_shell(command).risk == "ask":
            continue
        run.append(command)
        for shell in SHELLS:
            environment = {"PATH": str(programs), "HOME": str(folder), "NUMBER": str(len(run) - 1)}
            subprocess.run(
                [shell, "-c", command],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
        assert list(folder.iterdir()) == [], command
    time.sleep(0.3)  # what was started in the background
    assert [run[int(path.suffix[1:])] for path in tmp_path.glob("zapped.*")] == []
    assert len(run) > 50
