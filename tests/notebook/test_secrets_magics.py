"""Credentials in a real kernel: what the page, the session and the model get, and that code still works with them."""

from __future__ import annotations

import re

import pytest

from tests.kernels import running_kernel
from tests.notebook.test_context_magics import ContextBook
from tests.notebook.test_magics import python

pytestmark = pytest.mark.kernel

KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
PLACEHOLDER = re.compile(r"\[secret:[\w-]+:[0-9a-f]{10}\]")
EXAMPLE = "[secret:openai-key:3f9a2c71d0]"  # in the system prompt, which the session keeps


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    with running_kernel(folder) as kernel:
        kernel.ok(
            f"import os; os.environ['ZIDANE_INTERACTION'] = 'none'\nimport pandas as pd\ntoken = {KEY!r}\nframe = pd.DataFrame({{'who': ['ada'], 'key': [token]}})"
        )
        kernel.ok("%load_ext zidane_lab")
        yield ContextBook(kernel, folder)


@pytest.fixture
def book(shared):
    shared.kernel.ok("%zidane /new")
    return shared


def everything(book, *cells) -> str:
    sent = [message for cell in cells for message in cell.messages if message["msg_type"] != "execute_input"]
    shown = "\n".join(str(message["content"]) for message in sent)
    files = [path for path in book.folder.rglob("*") if path.is_file() and path.parent.name != "kernels"]
    kept = [path.read_text(errors="replace") for path in files if ".zidane" in path.parts]
    return "\n".join((shown, *kept, book.request()[1]))


def test_what_code_prints_shows_and_raises_has_no_credential(book):
    code = [
        "print(token)",
        "token",
        "frame",
        "frame.to_dict()",
        "import sys; sys.stderr.write(token)",
        "from IPython.display import HTML; display(HTML(f'<b>{token}</b>'))",
        "raise ValueError(f'cannot use {token}')",
    ]
    book.model(*({"calls": [python(each)]} for each in code), "Done.")
    cell = book.say("Show me the token")
    text = everything(book, cell)
    assert KEY not in text
    assert len(set(PLACEHOLDER.findall(text)) - {EXAMPLE}) == 1
    assert text.count("[secret:github-token:") > 2 * len(code)


def test_code_gets_the_value_where_the_model_writes_the_placeholder(book):
    book.model({"calls": [python("token")]}, "Seen.")
    book.say("Look at the token")
    placeholder = PLACEHOLDER.search(book.request()[1])[0]
    book.model(
        {"calls": [python(f"same = token == {placeholder!r}; print(len({placeholder!r}), 'of', {placeholder!r})")]},
        "Done.",
    )
    cell = book.say("Compare")
    assert book.kernel.value("same") is True
    assert cell.stream("stdout") == f"{len(KEY)} of {placeholder}\n"
    assert KEY not in everything(book, cell)


def test_the_cells_of_the_person_stay_as_they_are(book):
    book.model({"calls": [python("token")]}, "Seen.")
    book.say("Look at the token")
    assert book.kernel.ok("print(token)").stream("stdout") == f"{KEY}\n"


def test_one_pasted_into_a_prompt_stays_in_the_cell(book):
    book.model("I will use it.")
    cell = book.say(f"My token is {KEY}, what is @token?")
    sent = book.request()[1]
    assert "My token is [secret:github-token:" in sent
    assert KEY not in everything(book, cell)


def test_it_can_be_turned_off(book):
    book.kernel.ok("%zidane /config secrets off")
    try:
        book.model({"calls": [python("token")]}, "Seen.")
        book.say("Look")
        assert KEY in book.request()[1]
    finally:
        book.kernel.ok("%zidane /config secrets on")
