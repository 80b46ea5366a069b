from __future__ import annotations

from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.web.memory import FRESH_SECONDS, KEEP_SECONDS, MOST_PAGES, Pages, pages_of
from zidane_lab.tools.web.pages import Page


def page(name, text="x"):
    return Page(name, name, method="text", text=text)


def test_a_page_is_kept_for_a_while_by_address_and_way():
    now = [0.0]
    pages = Pages(lambda: now[0])
    pages.add(page("a"), None, raw=False)
    now[0] = FRESH_SECONDS + 1
    assert pages.get("a", raw=False).age == FRESH_SECONDS + 1
    assert pages.get("a", raw=False, within=FRESH_SECONDS) is None
    assert pages.get("a", raw=True) is None
    now[0] = KEEP_SECONDS
    assert pages.get("a", raw=False) is None


def test_only_the_last_pages_are_kept_and_only_so_much_of_them():
    pages = Pages()
    for number in range(MOST_PAGES + 2):
        pages.add(page(str(number)), None, raw=False)
    assert pages.get("1", raw=False) is None
    assert pages.get("2", raw=False) is not None
    for number in range(6):
        pages.add(page(f"long {number}", "x" * 4_000_000), None, raw=False)
    assert pages.get("2", raw=False) is None
    assert pages.get("long 1", raw=False) is None
    assert pages.get("long 5", raw=False) is not None


def test_a_conversation_has_its_own_pages():
    class Outputs:
        def save_output(self, name, text):
            return None

    one, other = ToolContext(outputs=Outputs()), ToolContext(outputs=Outputs())
    assert pages_of(one) is pages_of(one)
    assert pages_of(one) is not pages_of(other)
    assert pages_of(ToolContext()) is not pages_of(ToolContext())
