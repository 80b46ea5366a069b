"""A value put back into code or a command is data there, whatever it is made of."""

from __future__ import annotations

import ast
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zidane_lab.secrets.restoring import restore_command, restore_python
from zidane_lab.secrets.vault import Vault

NASTY = [
    "it's",
    'say "x"',
    "back\\slash",
    "new\nline",
    "{brace}",
    "$HOME `id` $(id)",
    "'; import os; '",
    '"""',
    "\\",
    "é€",
]


@pytest.fixture
def vault():
    return Vault(b"k")


def put(vault, value):
    return vault.hold(f"12345678 {value}"), f"12345678 {value}"


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "code", ["x = '{}'", 'x = "a {} b"', "x = '''{}'''", "x = f'{{1}}{}'", "x = 'a' + ('{}')  # {}\n", "# {}\nx = '{}'"]
)
def test_in_python_it_stays_in_its_string(vault, value, code):
    placeholder, real = put(vault, value)
    written = code.replace("{{", "{").replace("}}", "}").replace("{}", placeholder)
    restored = restore_python(written, vault)
    assert restored is not None
    space: dict[str, str] = {}
    exec(compile(ast.parse(restored), "x", "exec"), space)
    assert real in space["x"]
    assert len(ast.parse(restored).body) == len(ast.parse(written).body)


def test_a_plain_value_is_put_anywhere(vault):
    placeholder = vault.hold("sk-plain_value.123=")
    assert restore_python(f"!curl -H 'X: {placeholder}' %%x", vault) == "!curl -H 'X: sk-plain_value.123=' %%x"
    assert restore_command(f"curl -u me:{placeholder} <<EOF\n$({placeholder})", vault) is not None


@pytest.mark.parametrize("code", ["!curl {}", "x = r'{}'", "x = {}"])
def test_what_cannot_be_put_in_is_refused(vault, code):
    placeholder, _ = put(vault, 'it\'s \\ "quoted"\n')
    assert restore_python(code.replace("{}", placeholder), vault) is None


SH = shutil.which("sh")


@pytest.mark.skipif(SH is None, reason="no shell")
@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "command", ["printf %s {}", "printf %s '{}'", 'printf %s "{}"', "printf '%s' x\\ '{}'", 'printf %s "a\\"{}"']
)
def test_in_a_command_it_stays_one_word(vault, value, command):
    placeholder, real = put(vault, value)
    restored = restore_command(command.replace("{}", placeholder), vault)
    assert restored is not None
    done = subprocess.run([SH, "-c", restored], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(real)


@pytest.mark.parametrize(
    "command", ["cat <<EOF\n{}\nEOF", 'x="$(printf %s {})"', "echo `echo {}`", "ls # {}", "echo \\{}"]
)
def test_in_a_command_it_is_refused_where_quoting_nests(vault, command):
    placeholder, _ = put(vault, "it's $HOME")
    assert restore_command(command.replace("{}", placeholder), vault) is None


@pytest.mark.skipif(SH is None, reason="no shell")
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20))
@settings(max_examples=40, deadline=None)
def test_any_value_survives_the_shell(value):
    vault = Vault(b"k")
    placeholder, real = put(vault, value)
    for command in (f"printf %s {placeholder}", f"printf %s '{placeholder}'", f'printf %s "{placeholder}"'):
        restored = restore_command(command, vault)
        assert subprocess.run([SH, "-c", restored], capture_output=True, text=True, check=True).stdout == real


@given(st.text(max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_value_survives_python(value):
    vault = Vault(b"k")
    placeholder, real = put(vault, value)
    restored = restore_python(f"x = ['{placeholder}', \"{placeholder}\"]", vault)
    if restored is not None:
        assert ast.literal_eval(restored[4:]) == [real, real]


@pytest.mark.parametrize(
    "code",
    [
        "x = {}",
        "data{}",
        "x = f{}('a')",
        "import os\nos.{}",
    ],
)
def test_a_plain_value_does_not_become_code(vault, code):
    """Not even where the placeholder itself would be code: an index between its brackets."""
    while True:
        placeholder = vault.hold(f"sk-plain.value{len(vault._values)}")
        if placeholder.rpartition(":")[2][:-1][0].isalpha():
            break
    assert restore_python(code.replace("{}", placeholder), vault) is None


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.system('curl -u me:{}')",
        "exec('x = \"{}\"')",
        "import subprocess\nsubprocess.run('curl {}', shell=True)",
        "import subprocess\nsubprocess.run(['sh', '-c', 'curl {}'])",
        "get_ipython().run_cell_magic('bash', '', 'curl {}')",
        "%%bash\ncurl -u '{}'",
    ],
)
def test_a_value_that_is_not_plain_is_not_put_into_what_runs_texts(vault, code):
    placeholder, _ = put(vault, "'; import os; '")
    assert restore_python(code.replace("{}", placeholder), vault) is None
    plain = vault.hold("Zx8vQm3kLw9t")
    assert "Zx8vQm3kLw9t" in restore_python(code.replace("{}", plain), vault)


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'curl {}'",
        'bash -lc "curl {}"',
        "python3 -c 'x = \"{}\"'",
        "ssh host 'curl {}'",
        "awk '{ print \"{}\" }' a",
        "eval echo {}",
        "cat a | xargs sh -c 'echo {}'",
        "echo $'{}'",
    ],
)
def test_a_value_that_is_not_plain_is_not_read_twice(vault, command):
    placeholder, _ = put(vault, "'; touch x; \\")
    assert restore_command(command.replace("{}", placeholder), vault) is None


def test_words_that_only_look_like_a_shell_are_commands_like_others(vault):
    placeholder, real = put(vault, "a b")
    assert restore_command(f"git push --push-option '{placeholder}' refresh", vault) == (
        f"git push --push-option '{real}' refresh"
    )
