from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.approvals import shell_code
from zidane_lab.approvals.shell_code import classify_shell
from zidane_lab.approvals.shell_parse import MAX_COMMAND, parse_shell

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus_shell.py")))
RISKY_GROUPS: dict[str, list[str]] = CORPUS["RISKY"]
RISKY = [command for commands in RISKY_GROUPS.values() for command in commands]
HARMLESS: list[str] = CORPUS["HARMLESS"]


def allowed(command):
    return classify_shell(command).risk == "pure"


@pytest.mark.parametrize("group", RISKY_GROUPS)
def test_no_risky_command_runs_unasked(group):
    assert [command for command in RISKY_GROUPS[group] if allowed(command)] == []


def test_of_harmless_commands_at_most_one_in_twenty_is_asked_about():
    asked = [command for command in HARMLESS if not allowed(command)]
    assert len(asked) <= len(HARMLESS) // 20, asked


def test_the_corpus_is_as_large_as_it_claims_and_has_nothing_twice():
    assert len(set(RISKY)) == len(RISKY) >= 150
    assert len(set(HARMLESS)) == len(HARMLESS) >= 100
    assert not set(RISKY) & set(HARMLESS)


def test_every_risky_command_has_reasons_with_words_and_a_line_of_it():
    for command in RISKY:
        for reason in classify_shell(command).reasons:
            assert reason.code
            assert reason.why
            assert 1 <= reason.line <= max(1, len(command.splitlines()))


def test_no_verdict_of_the_corpus_comes_from_a_fault_of_the_judge():
    for command in [*HARMLESS, *RISKY]:
        reasons = classify_shell(command).reasons
        assert not any("cannot be judged" in reason.why or "Error)" in reason.why for reason in reasons), command


@pytest.mark.parametrize(
    ("command", "heads"),
    [
        ("cd dir && cat file", ["cd", "cat"]),
        ("a | b || c; d", ["a", "b", "c", "d"]),
        ("echo $(a `b`) <(c)", ["b", "a", "c", "echo"]),
        ("(a; { b; })", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", list("abcde")),
        ("for i in $(a); do b; done; while c; do d; done", list("abcd")),
        ("case x in x) a;; *) b;; esac", ["a", "b"]),
        ("f() { a; }", ["a"]),
        ("cat <<E | a && b\n$(c)\nE", ["c", "a", "b", "cat"]),
        ("x=$(a) y=`b` c", ["a", "b", "c"]),
        ("time nice -n 5 timeout 3 a", ["time", "nice", "timeout", "a"]),
        ("'a' \"b\" \\c", ["a"]),
        ("! a", ["a"]),
        ('[ -f "$(a)" ] && [[ -d b ]]', ["a"]),
    ],
)
def test_every_head_is_found_wherever_it_stands(command, heads):
    assert [head.name for head in classify_shell(command).heads] == heads


@pytest.mark.parametrize(
    ("command", "line"), [("ls\n\nrm x", 3), ("ls \\\n | rm x", 2), ('echo "$(\nrm x)"', 2), ("# c\nrm x", 2)]
)
def test_a_reason_tells_the_line(command, line):
    assert classify_shell(command).reasons[0].line == line


@pytest.mark.parametrize(
    ("command", "level"),
    [
        ("ls", "read"),
        ("ls > f", "write"),
        ("mkdir -p a && touch a/b", "write"),
        ("curl x > f", "network"),
        ("git push", "network"),
        ("rm x; curl y", "execute"),
        ("python x.py", "execute"),
        ("ls 'x", "execute"),
    ],
)
def test_the_level_is_that_of_the_farthest_part(command, level):
    assert classify_shell(command).level == level


@pytest.mark.parametrize(
    ("command", "targets", "bounded"),
    [
        ("echo x > a/b.txt", ("a/b.txt",), True),
        ("mkdir -p a && cp b c", ("a", "b", "c", "c/b"), True),
        ("cp -r b c", ("b", "c", "c/b"), False),
        ("echo x | tee -a f", ("f",), True),
        ("echo x > $f", (), False),
        ("cp --target-directory=/etc a", ("a",), False),
        ("cp -t/etc a", ("a",), False),
        ("touch *.txt", (), False),
        ("cd x && echo y > f", ("f", "x/f"), False),
        ("cd x && cd y && touch f", ("f", "x/f", "x/y/f"), False),
        ("make > f", ("f",), False),
        ("ls", (), True),
    ],
)
def test_what_is_written_is_told_or_said_to_be_unknown(command, targets, bounded):
    verdict = classify_shell(command)
    assert (verdict.targets, verdict.is_bounded) == (targets, bounded)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr ~",
        "rm -r *",
        "rm -rf ..",
        "rm --recursive /usr",
        'rm -rf "$HOME"/*',
        "dd if=a of=b",
        "git reset --hard",
        "git push --force",
        "git clean -fd",
        "mkfs.ext4 x",
        "shutdown",
        "cat .env",
        "cat /dev/sda",
    ],
)
def test_what_nothing_remembered_may_cover_is_critical(command):
    assert classify_shell(command).critical


@pytest.mark.parametrize("command", ["rm a.pyc", "git commit -m x", "pip install x", "python x.py", "rm build/tmp"])
def test_ordinary_risks_are_not_critical(command):
    verdict = classify_shell(command)
    assert (verdict.critical, verdict.is_opaque) == ((), False)


@pytest.mark.parametrize(
    "command",
    [
        "bash -c ls",
        "eval ls",
        "ls | xargs cat",
        "env ls",
        "sudo ls",
        "python -c 1",
        "python - < f",
        "$x",
        "ls '",
        "sh x",
        "find . -exec grep x {} +",
        "awk 'BEGIN{system(\"ls\")}'",
        "PATH=. ls",
        "ls() { ls; }",
        "git -c a=b log",
        ". x",
    ],
)
def test_what_runs_what_is_not_told_is_opaque(command):
    assert classify_shell(command).is_opaque


def test_a_command_that_runs_elsewhere_does_not_trust_the_repository_there():
    assert classify_shell("git status").risk == "pure"
    assert classify_shell("git status", folder="sub").risk == "ask"
    assert classify_shell("ls -la", folder="sub").risk == "pure"


@pytest.mark.parametrize(
    "command",
    [
        *("cat $'.env'", r"cat $'\x2eenv'", r"cat $'\56env'", "cat {.env,x}", "cat .e{n,}v", "cat {a,{.env,b}}"),
        *("cat .en[[:alpha:]]", "cat .en[^x]", "cat .en['!'v]", "cat ~/.ss[[:lower:]]/config2"),
        *("cat /proc/self/envir?n", "cat /proc/*/env*", "cat /pro?/self/environ", "cat /proc/self/{environ,x}"),
        *("cd ~ && cd .aws && cat credentials", "cd ~/.config && cat gh/hosts.yml", "cd ~/.aws && rg key"),
        *("cd /proc/self && cat environ", "cd /proc/self && cat e*n", "pushd ~/.aws && cat *", "ps -o environ"),
    ],
)
def test_what_holds_secrets_is_known_however_it_is_written(command):
    assert classify_shell(command).risk == "ask"


@pytest.mark.parametrize(
    ("folder", "command"),
    [("~/.aws", "cat credentials"), ("/proc/self", "cat environ"), ("~/.ssh", "cat *"), ("~/.config", "cat gh/x")],
)
def test_what_holds_secrets_is_known_from_the_folder_the_command_runs_in(folder, command):
    assert any(reason.code == "secrets" for reason in classify_shell(command, folder=folder).reasons)
    assert classify_shell(command, folder="src").risk == "pure"


@pytest.mark.parametrize(
    "command", ["cat $'\\u002eenv'", "cat $'\\x00'", "cat $'\\cA'", "cat ~+/x", "echo x > ~-/y", "ls ~1"]
)
def test_what_only_the_shell_can_tell_is_opaque(command):
    assert classify_shell(command).is_opaque


@pytest.mark.parametrize(
    "command",
    [
        "cat data/{a,b}.csv",
        "head data/[0-9]*.csv",
        "sort -t$'\\t' -k2 a.tsv",
        "cd src && cat main.py",
        "cd data && ls *",
    ],
)
def test_braces_brackets_and_folders_that_hide_nothing_look_only(command):
    assert classify_shell(command).risk == "pure"


WRAPPERS = [
    "{}; ls",
    "ls && {}",
    "ls || {}",
    "ls | {}",
    "{} | head",
    "({})",
    "{{ {}; }}",
    "echo $({})",
    'echo "$({})"',
    "cat <({})",
    "x=$({})",
    "if true; then {}; fi",
    "if {}; then ls; fi",
    "while {}; do ls; done",
    "for i in 1 2; do {}; done",
    "for i in $({}); do ls; done",
    "case x in x) {};; esac",
    "! {}",
    "time {}",
    '[ -n "$({})" ]',
    "cat <<X\n$({})\nX",
    "ls\n{}",
    "{}\nls",
    "ls # c\n{}",
    "{} 2>&1",
    "{} > /dev/null",
    "{} &",
    "f() {{ {}; }}",
]
ONE_LINE = [
    command
    for command in RISKY
    if "\n" not in command
    and "\r" not in command
    and "\x00" not in command
    and not command.startswith("#")
    # what is no command by itself may be the end of another construct
    and subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False).returncode == 0
]


@given(st.sampled_from(ONE_LINE), st.lists(st.sampled_from(WRAPPERS), min_size=1, max_size=3))
@settings(max_examples=400, deadline=None)
def test_a_risky_command_stays_risky_wherever_it_stands(command, wrappers):
    for wrapper in wrappers:
        command = wrapper.format(command)
    assert not allowed(command)


@given(st.sampled_from(HARMLESS), st.sampled_from(["rm x", "sh", "./x", "curl y", "$z"]), st.data())
@settings(max_examples=200, deadline=None)
def test_a_harmless_command_does_not_cover_what_is_joined_to_it(harmless, risky, data):
    joint = data.draw(st.sampled_from(["; ", " && ", " || ", "\n", " | ", " & "]))
    assert not allowed(f"{harmless}\n{risky}")
    if "\n" not in harmless and "#" not in harmless:
        assert not allowed(f"{harmless}{joint}{risky}")
        assert not allowed(f"{risky}{joint}{harmless}")


@given(st.text(max_size=60) | st.text(alphabet="lsrm x$(){}[]<>|&;'\"`\\\n#=!*~-", max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_gets_a_verdict(command):
    assert classify_shell(command).risk in {"pure", "ask"}


@pytest.mark.parametrize(
    "command",
    [
        "(" * 5000,
        "$(" * 3000 + ")" * 3000,
        "a;" * 9000,
        "'" * 9999,
        "�",
        "x" * (MAX_COMMAND + 1),
        "time " * 99 + "ls",
        "{" * 500,
        "`" * 999,
        "<<A " * 500,
        "if " * 500,
    ],
)
def test_commands_made_to_upset_the_judge_end_in_a_question(command):
    assert classify_shell(command).risk == "ask"


def test_a_fault_of_the_judge_asks(monkeypatch):
    monkeypatch.setattr(shell_code, "judge_head", lambda head: 1 / 0)
    verdict = classify_shell("ls")
    assert (verdict.risk, verdict.is_opaque) == ("ask", True)
    assert "cannot be judged (ZeroDivisionError)" in verdict.reasons[0].why


def test_an_empty_command_starts_nothing():
    assert classify_shell("").heads == classify_shell(" \n# c").heads == ()


def test_the_grammar_is_loaded_with_the_first_command_only():
    code = (
        "import sys, zidane_lab.approvals.gate; assert 'tree_sitter' not in sys.modules;"
        "from zidane_lab.approvals.shell_code import classify_shell; classify_shell('ls');"
        "assert 'tree_sitter' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("source", "text", "known", "option"),
    [
        ("a'b'\"c\"d", "abcd", True, False),
        ("-n", "-n", True, True),
        ("'-n'", "-n", True, True),
        ("\\-n", "-n", True, True),
        ("$x", "*", False, True),
        ('"$x"', "*", False, True),
        ("./$x", "./*", False, True),
        ('"./$x"', "./*", False, False),
        ('"$HOME/a"', "*/a", False, False),
        ("$HOME/a", "*/a", False, False),
        ("$PWD/a", "*/a", False, True),
        ("*.py", "*.py", False, True),
        ("a*.py", "a*.py", False, False),
        ("{a,-b}", "*{a,-b*}", False, True),
        ("$'\\x2dn'", "-n", True, True),
        ("$'a\\tb\\56'", "a\tb.", True, False),
        ("''", "", True, False),
    ],
)
def test_words_are_read_as_a_shell_reads_them(source, text, known, option):
    (head,) = parse_shell(f"cmd {source}").heads
    (word,) = head.argv
    assert (word.text, word.is_known, word.may_be_option) == (text, known, option)


@pytest.mark.parametrize(
    "command", ["{\U000f91ab", "a{\U000f91ab}", "${\U0010ffff}", "x=\U000e0001{1,2}", "ls 日本{é,ü}"]
)
def test_characters_far_out_do_not_crash_the_reader(command):
    assert classify_shell(command).risk in {"pure", "ask"}


def test_words_keep_their_own_characters():
    verdict = classify_shell("cat données.txt '日本 語' > sortie-é.txt")
    assert [word.text for word in verdict.heads[0].argv] == ["données.txt", "日本 語"]
    assert any(target.endswith("sortie-é.txt") for target in verdict.targets)


@pytest.mark.parametrize(
    "command", ["é=1 rm x", "${é}", "ls $é$(rm x)", "cat /tmp/é/../../root/.ssh/id_rsa", "cat é/../.env"]
)
def test_other_letters_hide_nothing(command):
    assert classify_shell(command).risk == "ask"
