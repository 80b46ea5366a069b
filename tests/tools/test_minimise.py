"""Noise of well-known programs is left out; whatever might be a problem, the beginning and the end are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.tools.minimise import HEAD_LINES, TAIL_LINES, minimise

MARK = re.compile(r"\[… [\d,]+ lines .* …\]")

NOISE = {
    "pip install -r requirements.txt": [
        "Collecting numpy>=1.2 (from -r requirements.txt (line 1))",
        "  Downloading numpy-2.1.0-cp311-cp311-manylinux_2_17_x86_64.whl.metadata (60 kB)",
        "     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 16.3/16.3 MB 50.1 MB/s eta 0:00:00",
        "Requirement already satisfied: six>=1.5 in ./venv/lib/python3.11/site-packages (1.16.0)",
        "  Preparing metadata (pyproject.toml): finished with status 'done'",
    ],
    "python -m pytest -v": [
        "tests/test_a.py::test_one PASSED                                        [ 10%]",
        "tests/test_b.py ....................                                    [ 20%]",
        "........................................................................ [ 12%]",
    ],
    "npm ci": ["npm http fetch GET 200 https://example.org/a 12ms", "⠙"],
    "sudo apt-get install -y curl": [
        "Get:1 http://deb.debian.org/debian bookworm/main amd64 curl amd64 7.88 [315 kB]",
        "Unpacking curl (7.88.1) ...",
        "Setting up curl (7.88.1) ...",
    ],
    "docker build -t x .": [
        "#7 sha256:0123456789ab 12.58MB / 31.42MB 0.9s",
        "0123456789ab: Pull complete",
        " ---> Using cache",
    ],
    "git clone https://example.org/x": ["Receiving objects:  12% (120/1000), 1.2 MiB | 2.0 MiB/s"],
    "conda install numpy": ["numpy-1.26   | 8.1 MB    | ########5  |  85%"],
    "cargo build": ["   Compiling serde v1.0.200"],
    "cd build && make -j4": ["[ 12%] Building CXX object CMakeFiles/x.dir/a.cpp.o", "  CC      init/main.o"],
    "wget https://example.org/x": ["  1250K .......... .......... .......... .......... ..........  5% 1.21M 20s"],
    "./train.sh": ["epoch:  12%|█▏        | 12/100 [00:01<00:08, 10.2it/s]", "the same words"],
}
PROBLEMS = [
    "ERROR: Could not find a version that satisfies the requirement nope",
    "WARNING: Retrying (Retry(total=4)) after connection broken",
    "npm warn deprecated inflight@1.0.6: This module is not supported",
    "E   AssertionError: assert 1 == 2",
    "FAILED tests/test_a.py::test_two - assert 1 == 2",
    "Traceback (most recent call last):",
    "dpkg: error processing package x (--configure):",
    "Collecting errors from workers",
    "#9 1.234 fatal: unable to access",
    "12 vulnerabilities (3 moderate, 9 high)",
    "   Compiling failed v0.1.0",
]
STRICT = re.compile(r"error|warning|failed|traceback", re.IGNORECASE)


def shortened(command, lines):
    result = minimise(command, "\n".join(lines))
    shown = result.text.split("\n")
    return result, shown, [line for line in shown if not MARK.fullmatch(line)]


def is_part_of(part, whole):
    rest = iter(whole)
    return all(line in rest for line in part)


@pytest.mark.parametrize("command", NOISE)
def test_noise_is_left_out_and_counted(command):
    lines = ["begin", *[line for line in NOISE[command] for _ in range(60 // len(NOISE[command]))], "the end"]
    result, shown, kept = shortened(command, lines)
    assert result.left_out >= 25
    assert len(kept) + result.left_out == len(lines)
    assert len(shown) < len(lines) - 20
    assert (shown[0], shown[-1]) == ("begin", "the end")
    counted = sum(int(re.search(r"[\d,]+", line)[0].replace(",", "")) for line in shown if MARK.fullmatch(line))
    assert counted == result.left_out


@pytest.mark.parametrize("command", NOISE)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_in_the_noise_stays_with_its_neighbours(command, problem):
    noise = [f"{NOISE[command][0]}"] * 40
    _, _, kept = shortened(command, [*noise, problem, "    a line under it", *noise])
    at = kept.index(problem)
    assert kept[at + 1] == "    a line under it"
    assert kept[at - 2 : at] == noise[:2]


@given(
    command=st.sampled_from([*NOISE, "echo", "", "'", "pip install x && pytest | cat; docker build ."]),
    lines=st.lists(
        st.sampled_from([line for each in NOISE.values() for line in each] + PROBLEMS + ["", "x"])
        | st.text(max_size=40).map(lambda text: text.replace("\n", " "))
        | st.tuples(st.text(max_size=9), st.sampled_from(["Error", "WARNING", "failed", "TraceBack"])).map(
            lambda pair: "".join(pair).replace("\n", " ")
        ),
        max_size=120,
    ),
    times=st.integers(1, 4),
)
def test_no_problem_is_ever_lost(command, lines, times):
    lines = [line for line in lines for _ in range(times)] or [""]
    result, shown, kept = shortened(command, lines)
    assert [line for line in shown if STRICT.search(line)] == [line for line in lines if STRICT.search(line)]
    assert shown[:HEAD_LINES] == lines[:HEAD_LINES]
    assert shown[-TAIL_LINES:] == lines[-TAIL_LINES:]
    assert is_part_of(kept, lines)
    assert len(shown) <= len(lines)
    if not result.left_out:
        assert result.text == "\n".join(lines)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("cat log", "Collecting numpy"),
        ("pip list", "Downloading numpy"),
        ("git log --stat", "Receiving objects:  12%"),
        ("grep -rn Compiling .", "   Compiling serde v1.0.200"),
        ("curl -s https://example.org/table", "100 1234 100 1234"),
        ("echo pip install; cat x", "Collecting numpy"),
    ],
)
def test_what_is_asked_for_is_no_noise(command, line):
    lines = [f"{line} {number}" for number in range(100)]
    assert minimise(command, "\n".join(lines)).left_out == 0


def test_numbers_of_a_training_are_no_noise():
    lines = [f"epoch {number} loss {1 / (number + 1):.4f}" for number in range(200)]
    text = "\n".join(lines)
    assert minimise("python train.py", text).text is text


def test_short_texts_stay_as_they_are():
    text = "\n".join(["Collecting numpy"] * 25)
    assert minimise("pip install numpy", text).text is text


@pytest.mark.parametrize(
    "command",
    [
        "uv run pytest",
        "FOO=1 timeout 60 python3.11 -X dev -m pytest -q",
        "cd x && /usr/bin/pytest tests",
        "poetry run pytest; echo",
    ],
)
def test_programs_are_found_behind_what_starts_them(command):
    lines = [f"tests/test_a.py::test_{number} PASSED [ 1%]" for number in range(60)]
    assert minimise(command, "\n".join(lines)).left_out == 40


def test_a_large_output_takes_no_time_to_speak_of():
    lines = [f"Collecting package{number}" + "%|" * 40 for number in range(100_000)]
    assert minimise("pip install x", "\n".join(lines)).left_out == 99_980
    long = "%|" * 50_000 + "1" * 100_000
    assert minimise("pip install x", "\n".join([long] * 60)).left_out == 0  # long lines stay
