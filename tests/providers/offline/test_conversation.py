"""Conversations: narrow questions, follow-ups, files, several tables, and what goes wrong on the way."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import polars as pl
import pytest

from tests.providers.offline.checking import unexplained, values_in
from tests.providers.offline.conftest import DATA
from tests.providers.offline.support import ask, events_of
from zidane_lab.providers.base import Finish, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from zidane_lab.providers.offline.plan import MOST_RUNS
from zidane_lab.turns import TextBlock, ToolCallBlock, ToolResultBlock, Turn

# --- narrow questions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "last_step", "said"),
    [
        ("missing values in penguins", "missing", "`sex` 11 (3.2%)"),
        ("how many rows?", "look", "344 rows and 8 columns"),
        ("Describe penguins", "categories", "| `body_mass_g` | 342 | 4202 |"),
        ("any duplicates?", "duplicates", "No row is an exact copy"),
        ("outliers of body_mass_g", "numbers", "| `body_mass_g` | 342 |"),
        ("what are the levels of island", "categories", "`Biscoe` 168 (48.8%)"),
        ("correlation of body mass with the rest", "correlations", "| 0.871 | 0.840 |"),
        ("mean of body_mass_g by species", "groups", "Mean of `body_mass_g` by `species`: `Gentoo` 5076"),
        ("predict body_mass_g", "groups", "Correlation with `body_mass_g`"),
        ("which columns relate to species?", "groups", "`flipper_length_mm` 0.778"),
        ("time range of penguins", "duplicates", "There is no result for its time range"),
        ("plot bill_length_mm against bill_depth_mm by species", "plot_asked", "coloured by `species` (342 rows)"),
        ("histogram of body_mass_g", "plot_asked", "the distribution of `body_mass_g`"),
        ("plot body mass by island", "plot_asked", "`body_mass_g` by `island` (342 rows)"),
        ("plot species", "plot_asked", "the most frequent values of `species`"),
    ],
)
def test_a_narrow_question_gets_a_narrow_answer(kernel, prompt, last_step, said):
    kernel.plots = True
    run = ask(prompt, kernel)
    assert run.steps()[-1] == last_step
    assert said in run.report
    assert "First look at" not in run.report
    assert not unexplained(run.report, values_in(run.texts))
    assert kernel.warned == []


def test_only_the_columns_named_are_summarized(kernel):
    report = ask("median of body_mass_g and bill_depth_mm", kernel).report
    assert [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("| `")] == [
        "`body_mass_g`",
        "`bill_depth_mm`",
    ]


def test_against_puts_the_first_named_column_on_the_vertical_axis(kernel):
    kernel.plots = True
    code = ask("plot bill_length_mm against bill_depth_mm", kernel).code_of("plot_asked")
    assert "plt.xlabel('bill_depth_mm')" in code
    assert "plt.ylabel('bill_length_mm')" in code


@pytest.mark.parametrize(
    "prompt", ["penguins", "@penguins", "`penguins`", "Tell me about penguins", "analyse penguins"]
)
def test_naming_a_table_alone_explores_it(kernel, prompt):
    assert "First look at `penguins`" in ask(prompt, kernel).report


def test_variables_are_listed_as_the_tool_lists_them(kernel):
    run = ask("what variables do I have?", kernel)
    assert run.steps() == ["variables"]
    assert "penguins: pandas.DataFrame" in run.report


def test_a_listing_cannot_close_its_fence(empty_kernel):
    empty_kernel.namespace["x"] = type("```\n# heading", (), {})()
    report = ask("list variables", empty_kernel).report
    fence = report.splitlines()[2].removesuffix("text")
    assert len(fence) > 3
    assert report.count(fence) == 2


def test_files_are_listed(empty_kernel):
    (empty_kernel.folder / "note.txt").write_text("x")
    run = ask("which files are here?", empty_kernel)
    assert set(run.steps()) == {"variables", "files"}
    assert "note.txt" in run.report


@pytest.mark.parametrize(
    "prompt",
    [
        "hello",
        "train a random forest on penguins",
        "fill the missing values of penguins",
        "why is sex missing?",
        "",
        "🐧",
    ],
)
def test_what_is_beyond_it_gets_a_short_honest_answer(kernel, prompt):
    run = ask(prompt, kernel)
    assert "no language model" in run.report
    for said in ("`penguins`", "explore penguins", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "--model provider/model"):
        assert said in run.report
    assert not any(call.name == "run_python" for call in run.calls)


@pytest.mark.parametrize(
    ("value", "kind"), [(pd.Series([1, 2]), "pandas.Series"), (pl.LazyFrame({"a": [1]}), "polars.LazyFrame")]
)
@pytest.mark.parametrize("prompt", ["explore s", "missing values in `s`", "describe @s"])
def test_data_of_another_type_is_not_mistaken_for_some_other_table(kernel, prompt, value, kind):
    kernel.namespace["s"] = value
    run = ask(prompt, kernel)
    assert f"`s` is a `{kind}`; this planner works on pandas and polars DataFrames only" in run.report
    assert run.steps() == ["variables"]


# --- follow-ups -------------------------------------------------------------------------------------


def test_a_follow_up_does_only_what_it_asks(kernel):
    first = ask("explore penguins", kernel)
    second = ask("and the missing values?", kernel, turns=first.turns)
    assert second.steps() == ["variables", "look", "missing"]
    assert "`sex` 11 (3.2%)" in second.report
    assert len({call.id for call in [*first.calls, *second.calls]}) == len(first.calls) + len(second.calls)


def test_a_follow_up_stays_with_the_table_it_was_about(kernel):
    kernel.namespace["other"] = pd.DataFrame({"x": [1, 2]})
    first = ask("missing values in penguins", kernel)
    assert "`penguins` has 344 rows" in ask("how many rows?", kernel, turns=first.turns).report


def test_data_that_changed_is_computed_anew(kernel):
    first = ask("how many rows?", kernel)
    kernel.namespace["penguins"] = kernel.namespace["penguins"].head(10)
    assert "10 rows" in ask("how many rows?", kernel, turns=first.turns).report


def test_a_repeated_question_reuses_its_own_names_only(kernel):
    kernel.namespace["zl_gaps"] = "the user's own"
    first = ask("missing values in penguins", kernel)
    ask("missing values in penguins", kernel, turns=first.turns)
    assert kernel.namespace["zl_gaps"] == "the user's own"
    assert [name for name in kernel.namespace if name.endswith("gaps")] == ["zl_gaps", "zl2_gaps"]


def test_continue_goes_on_where_the_work_stopped(kernel):
    run = ask("missing values in penguins", kernel)
    cut = run.turns[:5]  # up to the result of the first look
    assert cut[-1].tool_results
    stopped = (*cut, Turn("assistant", (TextBlock("…"),)))
    resumed = ask("Continue.", kernel, turns=stopped)
    assert resumed.steps() == ["missing"]
    assert "`sex` 11 (3.2%)" in resumed.report


def test_notes_and_injected_turns_are_no_prompts(kernel):
    run = ask("how many rows?", kernel)
    told = (
        *run.turns[:-1],
        Turn("user", (TextBlock("explore everything"),), injected="length-resume"),
        Turn("user", (TextBlock("[Orphaned tool result removed due to conversation resume]"),)),
    )
    text = "".join(event.text for event in events_of(told) if isinstance(event, TextDelta))
    assert "344 rows" in text


def test_what_is_attached_does_not_change_the_question(kernel):
    run = ask("how many rows in @penguins", kernel, attached="penguins: explore, plot, missing, duplicates")
    assert run.steps() == ["variables", "look"]


# --- files ------------------------------------------------------------------------------------------


def write(table: pd.DataFrame, path) -> None:
    extension = path.suffix[1:]
    if extension in ("csv", "tsv"):
        table.to_csv(path, index=False, sep="\t" if extension == "tsv" else ",")
    elif extension in ("json", "jsonl"):
        table.to_json(path, orient="records", lines=extension == "jsonl")
    else:
        getattr(table, f"to_{extension}")(path)


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "json", "jsonl", "feather"])
def test_a_file_is_loaded_into_a_variable_of_its_name(empty_kernel, penguins, extension):
    write(penguins, empty_kernel.folder / f"my-penguins.{extension}")
    run = ask(f"load my-penguins.{extension}", empty_kernel)
    assert "344 rows and 8 columns" in run.report
    assert "Loaded into new variables: `my_penguins`" in run.report
    assert empty_kernel.namespace["my_penguins"].shape == penguins.shape
    assert empty_kernel.warned == []


def test_a_file_is_found_in_a_folder_below_and_explored(empty_kernel):
    (empty_kernel.folder / "data").mkdir()
    shutil.copy(DATA / "penguins.csv", empty_kernel.folder / "data")
    run = ask("explore penguins.csv", empty_kernel)
    assert "pd.read_csv('data/penguins.csv')" in run.code_of("look")
    assert "`sex` 11 (3.2%)" in run.report


def test_a_taken_name_is_never_rebound(empty_kernel):
    empty_kernel.plots = True
    shutil.copy(DATA / "penguins.csv", empty_kernel.folder)
    mine = {"penguins": 3, "pd": "mine", "plt": 0, "display": 1, "find_spec": 2, "combinations": 4}
    empty_kernel.namespace.update(mine)
    run = ask("explore penguins.csv", empty_kernel)
    assert {name: empty_kernel.namespace[name] for name in mine} == mine
    assert "Loaded into new variables: `penguins_2`" in run.report
    assert not any(result.is_error for result in run.results.values())


def test_a_table_that_is_there_is_not_loaded_again(kernel):
    shutil.copy(DATA / "penguins.csv", kernel.folder)
    before = kernel.namespace["penguins"]
    run = ask("missing values in penguins.csv", kernel)
    assert kernel.namespace["penguins"] is before
    assert "Already in the kernel and used as it is, not loaded again: `penguins`" in run.report


def test_a_file_that_is_not_there_is_said_to_be_missing(kernel):
    run = ask("explore nothing.csv", kernel)
    assert "I found nothing named `nothing.csv`. Tables in the kernel: `penguins`." in run.report


def test_without_any_table_the_files_of_the_folder_are_explored(empty_kernel):
    shutil.copy(DATA / "penguins.csv", empty_kernel.folder)
    run = ask("explore", empty_kernel)
    assert run.steps()[:3] == ["variables", "files", "look"]
    assert "First look at `penguins`" in run.report


def test_without_table_and_file_it_says_so(empty_kernel):
    report = ask("explore my data", empty_kernel).report
    assert "There is no table in the kernel, and no data file in this folder" in report


def test_where_pandas_is_missing_polars_opens_the_file(empty_kernel):
    shutil.copy(DATA / "penguins.csv", empty_kernel.folder)

    def without_pandas(call: ToolCallBlock) -> ToolResultBlock | None:
        if "import pandas" not in str(call.input.get("code")):
            return None
        text = "[error]\nModuleNotFoundError: No module named 'pandas'\n[failed after 0.01 s]"
        return ToolResultBlock(call.id, (TextBlock(text),), is_error=True)

    run = ask("explore penguins.csv", empty_kernel, fault=without_pandas)
    assert isinstance(empty_kernel.namespace["penguins"], pl.DataFrame)
    assert "344 rows and 8 columns (polars)" in run.report
    assert "`sex` 11 (3.2%)" in run.report


# --- several tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd, pl])
def test_tables_named_together_are_checked_for_a_join(empty_kernel, library):
    orders = {"order": range(50), "cust": [i % 12 for i in range(50)], "amount": [i / 7 for i in range(50)]}
    customers = {"cust": range(10), "city": ["x", "y"] * 5}
    empty_kernel.namespace |= {"orders": library.DataFrame(orders), "customers": library.DataFrame(customers)}
    run = ask("explore orders and customers", empty_kernel)
    assert "First look at `orders`" in run.report
    assert "First look at `customers`" in run.report
    assert "`cust`: distinct values 12 in `orders` and 10 in `customers` (each once)" in run.report
    matched = sum(i % 12 < 10 for i in range(50)) / 50
    assert f"{matched:.1%} of the rows of `orders` and 100% of the rows of `customers` find a partner" in run.report
    assert sum(call.name == "run_python" for call in run.calls) <= MOST_RUNS
    assert not any(result.is_error for result in run.results.values())
    assert not unexplained(run.report, values_in(run.texts))


def test_of_many_tables_three_are_explored_and_the_rest_named(empty_kernel):
    for name in "abcde":
        empty_kernel.namespace[name] = pd.DataFrame({"k": range(20), name: range(20)})
    run = ask("explore everything", empty_kernel)
    assert [name for name in "abcde" if f"First look at `{name}`" in run.report] == ["a", "b", "c"]
    assert "Not looked at, to stay within bounds: `d` and `e`" in run.report
    assert sum(call.name == "run_python" for call in run.calls) <= MOST_RUNS


# --- the stream -------------------------------------------------------------------------------------


def test_the_same_turns_give_the_same_events(kernel):
    run = ask("explore penguins", kernel)
    for length in range(1, len(run.turns), 2):
        assert events_of(run.turns[:length]) == events_of(run.turns[:length])


def test_the_stream_is_well_formed_and_comes_in_small_pieces(kernel):
    run = ask("explore penguins", kernel)
    for length in range(1, len(run.turns), 2):
        *events, last = events_of(run.turns[:length])
        ends = {event.index: event for event in events if isinstance(event, ToolCallEnd)}
        assert isinstance(last, Finish)
        assert last.reason == ("tool-calls" if ends else "stop")
        assert sum(isinstance(event, ToolCallStart) for event in events) == len(ends)
        for index, end in ends.items():
            pieces = [event.text for event in events if isinstance(event, ToolCallDelta) and event.index == index]
            assert json.loads("".join(pieces)) == end.input
        sizes = [len(event.text) for event in events if isinstance(event, (TextDelta, ToolCallDelta))]
        assert max(sizes) <= 400


def test_result_metadata_is_never_looked_at(kernel):
    run = ask("missing values in penguins", kernel)

    def with_metadata(turn: Turn) -> Turn:
        blocks = [
            ToolResultBlock(block.call_id, block.parts, block.is_error, {"execution": "secret"})
            if isinstance(block, ToolResultBlock)
            else block
            for block in turn.blocks
        ]
        return Turn(turn.role, tuple(blocks))

    for length in range(1, len(run.turns), 2):
        bare, rich = run.turns[:length], tuple(map(with_metadata, run.turns[:length]))
        assert events_of(bare) == events_of(rich)
