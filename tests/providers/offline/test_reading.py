"""What the planner reads: prompts, tool results, listings, conversations. And how it writes numbers and names."""

from __future__ import annotations

import doctest
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.lib.pretty import pretty

from zidane_lab.providers.offline import discovery, prose
from zidane_lab.providers.offline.discovery import Found, discover
from zidane_lab.providers.offline.intent import read_prompt
from zidane_lab.providers.offline.results import Opaque, literal, outcome_of, sections
from zidane_lab.providers.offline.scope import listing, scope_for
from zidane_lab.providers.offline.state import call_id, read_state
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn
from zidane_lab.wire.envelope import draw_tag, enveloped

# --- prompts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "topics"),
    [
        ("explore penguins", {"explore"}),
        ("Please do an EDA of df", {"explore"}),
        ("explore df and look for missing values", {"explore"}),
        ("give me an overview", {"explore"}),
        ("analyse df", {"explore"}),
        ("what's in data.csv", {"explore"}),
        ("MISSING values in df", {"missing"}),
        ("missing values and duplicates in df", {"missing", "duplicates"}),
        ("how many rows are there", {"rows"}),
        ("describe df", {"describe"}),
        ("plot x against y", {"plot"}),
        ("make a histogram of x", {"plot"}),
        ("correlation of x and y", {"correlations"}),
        ("load penguins.csv", {"load"}),
        ("what variables do I have?", {"variables"}),
        ("list the files", {"files"}),
        ("mean of x by g", {"numbers", "groups"}),
        ("compare groups by g", {"groups"}),
        ("date range of df", {"time"}),
        ("fill missing values in df", {"help"}),
        ("train a model to predict price", {"help"}),
        ("hello there", {"help"}),
        ("", {"help"}),
    ],
)
def test_topics_follow_from_keywords(prompt, topics):
    assert read_prompt(prompt).topics == topics


@pytest.mark.parametrize("name", ["plot", "missing_values", "mean", "explore"])
def test_a_marked_name_is_not_a_keyword(name):
    assert read_prompt(f"how many rows in `{name}`").topics == {"rows"}
    assert read_prompt(f"how many rows in @{name}").topics == {"rows"}


def test_names_files_and_words_are_told_apart():
    ask = read_prompt('explore @a, `b c` and data/my.file.csv or "with space.parquet" with target species')
    assert ask.marked == ("a", "b c")
    assert set(ask.files) == {"data/my.file.csv", "with space.parquet"}
    assert "species" in ask.words
    assert "a" not in ask.words


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        ("explore df, target species", "species"),
        ("explore df with target column `species`", None),
        ("target: species", "species"),
        ("predict body mass", "body_mass_g"),
        ("mean of x by Species", "species"),
        ("compare x across species", "species"),
        ("species of penguins", None),
        ("what relates to species", "species"),
        ("nearby species", None),
    ],
)
def test_the_target_is_the_column_after_a_phrase(prompt, target):
    found = read_prompt(prompt).target(["species", "body_mass_g", "mass", "x"])
    assert found == target or (target is None and "`" in prompt and found == "species")


def test_columns_come_in_the_order_of_the_prompt_the_longest_first():
    labels = ["mass", "body_mass_g", "year", 0, "Bill Length (mm)"]
    assert read_prompt("plot body mass against year").columns(labels) == ("body_mass_g", "year")
    assert read_prompt("year then bill length").columns(labels) == ("year", "Bill Length (mm)")
    assert read_prompt("yearly masses").columns(labels) == ()


@given(st.text())
def test_any_prompt_can_be_read(text):
    assert read_prompt(text).topics


# --- results ----------------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.text(), st.integers()), inner, max_size=5)
    ),
    max_leaves=20,
)


def same(one, other) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


@given(PLAIN)
def test_what_ipython_prints_is_read_back(value):
    assert same(literal(pretty(value)), value)


@given(PLAIN, st.text(alphabet=st.characters(exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_the_last_value_section_counts_whatever_was_displayed_before(value, shown):
    text = f"[display]\n{shown}\n[value]\n{pretty(value)}\n[figure 1: 640x480 PNG attached]\n[done in 0.12 s; created: a, b]"
    outcome = outcome_of(ToolResultBlock("c", (TextBlock(text),)))
    assert same(literal(outcome.value), value)
    assert outcome.problem is None
    assert outcome.created == {"a", "b"}


def test_scalars_of_numpy_are_read_and_objects_kept_as_text():
    assert literal("{'a': np.float64(0.5), 'b': np.int64(3), 'c': np.True_}") == {"a": 0.5, "b": 3, "c": True}
    assert literal("[Timestamp('2020-01-01 00:00:00')]") == ["Timestamp('2020-01-01 00:00:00')"]
    assert isinstance(literal("__import__('os').system('x')"), Opaque)  # nothing is ever run


@pytest.mark.parametrize(
    "text", ["", "{'a': 1", "{'a': ...}", "[… 3 lines left out …]", "{[]: 1}", "a b", "[1, ...]", "((" * 500]
)
def test_what_is_no_value_is_refused(text):
    with pytest.raises(ValueError, match="result"):
        literal(text)


@given(st.text())
def test_any_text_can_be_split_into_sections(text):
    assert isinstance(sections(text), list)


@pytest.mark.parametrize(
    ("text", "is_error", "problem"),
    [
        ("[value]\n1\n[done in 0.01 s]", False, None),
        ("[error]\nTraceback\n  x\nValueError: bad\n[failed after 0.01 s]", True, "ValueError: bad"),
        ("[error]\nKeyboardInterrupt: \n[interrupted after 0.01 s]", True, "it was interrupted"),
        ("[timed out after 5.00 s]", True, "it ran out of time"),
        ("[Tool result missing due to internal error]", True, "Tool result missing due to internal error"),
        ("", True, "it failed without saying why"),
        ("[stdout]\n[error]\nValueError: only printed\n[done in 0.01 s]", False, None),
    ],
)
def test_the_reason_of_a_failure_is_short(text, is_error, problem):
    assert outcome_of(ToolResultBlock("c", (TextBlock(text),), is_error=is_error)).problem == problem


# --- listings ---------------------------------------------------------------------------------------


def answered(*results: tuple[str, str, str], prompt: str = "explore") -> list[Turn]:
    """A conversation in which the planner's calls got these texts."""
    turns = [Turn("user", (TextBlock(prompt),))]
    for step, tool, text in results:
        identity = call_id("0123456789", (step, 0))
        turns.append(Turn("assistant", (ToolCallBlock(identity, tool),)))
        turns.append(Turn("user", (ToolResultBlock(identity, (TextBlock(text),)),)))
    return turns


@pytest.mark.parametrize(
    "text",
    [
        "df: pandas.DataFrame — 344 × 8: a, b\nxs: list — 1 item: [<pandas.DataFrame: 0 × 0>]\nlazy: polars.LazyFrame — not computed",
        "- `df` DataFrame (344, 8)\n- `xs` list\n- `lazy` LazyFrame",
        "| name | type |\n| --- | --- |\n| df | DataFrame |\n| xs | list |",
        '{"variables": [{"name": "df", "type": "pandas.DataFrame", "summary": ""}, {"name": "xs", "type": "list"}], "total": 2}',
        "[value]\n{'df': 'pandas.DataFrame', 'xs': 'builtins.list'}\n[done in 0.01 s]",
    ],
)
def test_tables_are_found_in_listings_of_several_forms(text):
    state = read_state(tuple(answered(("variables", "list_variables", text))))
    found = discover(read_prompt("explore"), state, {"list_variables", "run_python"})
    assert isinstance(found, Found)
    assert found.present == ("df",)
    assert [table.name for table in found.tables] == ["df"]


def test_data_files_are_found_in_a_listing_with_sizes_and_times():
    text = "/home/me/work\nsub/  2026-11-30T10:36\na.csv  0 B  2026-11-30T10:36\nb c.parquet  3 kB  2026-11-30T10:36\nnote.md  1 B\n[2 more]"
    turns = answered(("variables", "list_variables", "There are no variables."), ("files", "list_files", text))
    found = discover(read_prompt("explore"), read_state(tuple(turns)), {"list_variables", "list_files", "run_python"})
    assert isinstance(found, Found)
    assert found.files == ("a.csv", "b c.parquet")
    assert [table.variable for table in found.tables] == ["a", "b_c"]


@pytest.mark.parametrize(("wanted", "found"), [("p.csv", "p.csv"), ("sub/p.csv", "x/sub/p.csv"), ("P.CSV", "p.csv")])
def test_of_several_matches_the_nearest_that_fits_is_taken(wanted, found):
    outcome = outcome_of(ToolResultBlock("c", (TextBlock("/root\nx/sub/p.csv  0 B\np.csv  0 B\nq/p.csvx\n"),)))
    assert discovery._path(wanted, outcome) == found


# --- conversations ----------------------------------------------------------------------------------


def test_only_calls_of_ours_count_and_only_since_the_last_prompt():
    turns = answered(("look", "run_python", "[value]\n1\n[done in 0.01 s; created: zl_a]"))
    turns += [
        Turn("assistant", (TextBlock("done"),)),
        Turn("user", (TextBlock("next"),)),
        Turn("assistant", (ToolCallBlock("toolu_1", "run_python"),)),
        Turn("user", (ToolResultBlock("toolu_1", (TextBlock("[done in 0.01 s; created: mine]"),)),)),
    ]
    state = read_state(tuple(turns))
    assert (state.prompt, state.earlier) == ("next", ("explore",))
    assert state.outcomes == {}
    assert state.made == {"zl_a"}


def test_the_digest_changes_with_every_turn():
    turns = answered(("look", "run_python", "x"))
    digests = [read_state(tuple(turns[:length])).digest for length in range(1, len(turns) + 1)]
    assert len(set(digests)) == len(digests)


def test_call_ids_are_acceptable_everywhere():
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id("0123456789", ("plot_distributions", 2)))


# --- names in code ----------------------------------------------------------------------------------


@given(st.lists(st.text() | st.integers(), max_size=20))
def test_labels_get_into_code_and_come_back(labels):
    assert literal(listing(labels)) == labels


def test_the_prefix_gives_way_to_names_of_the_user():
    assert scope_for({"x": ""}, frozenset()).prefix == "zl_"
    assert scope_for({"zl_x": ""}, frozenset()).prefix == "zl2_"
    assert scope_for({"zl_x": ""}, frozenset({"zl_x"})).prefix == "zl_"
    assert scope_for({"zl_x": "", "zl2_x": ""}, frozenset({"zl2_x"})).prefix == "zl2_"
    assert scope_for({"zl_x": "", "zl2_x": ""}, frozenset()).prefix == "zl3_"


def test_a_module_keeps_its_name_unless_the_user_means_something_else():
    scope = scope_for({"pd": ": module — pandas, '3.0'", "plt": ": int — 3"}, frozenset())
    assert scope.imports("pd", "plt", "display") == "import pandas as pd\nimport matplotlib.pyplot as zl_plt\n\n"


# --- prose ------------------------------------------------------------------------------------------


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(prose).failed == 0


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e14, max_value=1e14))
def test_numbers_are_within_their_rounding(value):
    written = float(prose.number(value).replace(",", ""))
    assert abs(written - value) <= max(0.5, 0) if abs(value) >= 999.5 else abs(written - value) <= 0.0051 * abs(value)


@given(st.floats(min_value=0, max_value=1))
def test_shares_never_claim_all_or_nothing_falsely(value):
    written = prose.share(value)
    assert (written == "0%") == (value == 0)
    assert (written == "100%") == (value == 1)


@given(st.text())
def test_a_name_cannot_break_out_of_its_place(text):
    written = prose.name(text)
    assert "\n" not in written
    assert "|" not in written
    if written.startswith("`"):
        assert written.count("`") == 2
        assert not re.search(r"[<>$\\]", written)
    else:
        assert not re.search(r"[`*_<>\[\]()$\\~!]", written)
    assert len(written) <= 6 * 60 + 2


@given(st.text(), st.integers(1, 40))
def test_chunks_join_to_the_text(text, size):
    pieces = list(prose.chunks(text, size))
    assert "".join(pieces) == text
    assert all(len(piece) <= 4 * size for piece in pieces)


def test_a_result_reads_the_same_in_an_envelope():
    text = "[stdout]\nhello\n[value]\n{'rows': 3}\n[done in 0.12 s; created: penguins; changed: none]"
    plain = outcome_of(ToolResultBlock("c", (TextBlock(text), TextBlock("[figure 1: x]"))))
    wrapped = outcome_of(ToolResultBlock("c", (TextBlock(enveloped(text, draw_tag())), TextBlock("[figure 1: x]"))))
    assert wrapped == plain
    assert plain.value == "{'rows': 3}"
