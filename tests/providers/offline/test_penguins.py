"""The whole exploration of the example table: right facts, honest numbers, good manners."""

from __future__ import annotations

import itertools

import pandas as pd
import polars as pl
import pytest

from tests.providers.offline.checking import dates_in, unexplained, values_in
from tests.providers.offline.conftest import DATA
from tests.providers.offline.support import Kernel, ask
from zidane_lab.approvals.python_code import classify
from zidane_lab.providers.offline.plan import MOST_RUNS

NUMERIC = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"]
GROUPS = ["species", "island", "sex", "year"]


def eta_squared(table: pd.DataFrame, label: str, group: str) -> float:
    """The textbook way: sum of squares between groups over the total sum of squares."""
    known = table[[label, group]].dropna() if label != group else table[[label]].dropna()
    if label == group:
        return 1.0
    whole = ((known[label] - known[label].mean()) ** 2).sum()
    parts = known.groupby(group)[label]
    between = sum(len(part) * (part.mean() - known[label].mean()) ** 2 for _, part in parts)
    return float(between / whole)


def cramer(table: pd.DataFrame, one: str, other: str) -> float:
    """The textbook way: chi squared from observed and expected counts."""
    observed = pd.crosstab(table[one], table[other]).to_numpy(dtype=float)
    expected = observed.sum(1, keepdims=True) @ observed.sum(0, keepdims=True) / observed.sum()
    chi2 = ((observed - expected) ** 2 / expected).sum()
    return float((chi2 / observed.sum() / (min(observed.shape) - 1)) ** 0.5)


def independent_values(table: pd.DataFrame) -> set[float]:
    """Everything a report on ``penguins`` may say, computed here by other code than the planner's."""
    values: set[float] = {*table.shape, 8, len(table) - len(table.dropna())}
    values |= {1 - len(table.dropna()) / len(table)}
    for label in table:
        values |= {table[label].isna().sum(), table[label].isna().mean(), len(set(table[label].dropna()))}
    values |= {float((table[NUMERIC].isna().sum(axis=1) >= 4).sum())}
    for label in NUMERIC:
        column = table[label].dropna()
        n, deviations = len(column), column - column.mean()
        skew = (n * (n - 1)) ** 0.5 / (n - 2) * (deviations**3).mean() / (deviations**2).mean() ** 1.5
        low, high = column.quantile(0.25), column.quantile(0.75)
        out = ((column < low - 1.5 * (high - low)) | (column > high + 1.5 * (high - low))).sum()
        values |= {n, column.mean(), column.min(), low, column.median(), high, column.max(), skew, out, out / n}
        for group in GROUPS:
            values |= {eta_squared(table, label, group)}
        values |= set(table.groupby("species")[label].mean())
    for group in ("species", "island", "sex"):
        counts = table[group].value_counts()
        values |= {*counts, *(counts / counts.sum()), len(counts)}
        values |= {cramer(table, "species", other) for other in ("island", "sex", "year")}
    for one, other in itertools.combinations(NUMERIC, 2):
        known = table[[one, other]].dropna()
        values |= {known.corr().iloc[0, 1], known.rank().corr().iloc[0, 1]}
        values |= {part[[one, other]].corr().iloc[0, 1] for _, part in table.groupby("species")}
    return {float(value) for value in values}


def as_table(library: str):
    path = DATA / "penguins.csv"
    return pd.read_csv(path) if library == "pandas" else pl.read_csv(path, null_values=["NA"])


@pytest.fixture(scope="module", params=["pandas", "polars"])
def run(request, tmp_path_factory):
    return ask("explore penguins", Kernel(tmp_path_factory.mktemp("folder"), {"penguins": as_table(request.param)}))


def test_every_number_of_the_report_was_computed_in_the_run(run):
    assert not unexplained(run.report, values_in(run.texts))


def test_every_number_of_the_report_is_what_other_code_computes(run):
    assert not unexplained(run.report, independent_values(as_table("pandas")))


def test_the_checker_notices_an_invented_number(run):
    assert unexplained(run.report + "\nThe mean is 43.7.", independent_values(as_table("pandas"))) == ["43.7"]


def test_the_report_states_the_known_facts(run):
    for fact in (
        "has 344 rows and 8 columns",
        "`sex` 11 (3.2%)",
        "`bill_length_mm` 2 (0.6%)",
        "are missing together in 2 rows",
        "No row is an exact copy",
        "`flipper_length_mm` and `body_mass_g` (r = 0.871)",
        "`flipper_length_mm` 0.778",
        "`island` 0.660",
    ):
        assert fact in run.report


def test_simpsons_paradox_of_bill_length_and_depth_is_found(run):
    line = next(line for line in run.report.splitlines() if "`bill_length_mm` and `bill_depth_mm` correlate" in line)
    assert "-0.235 over all rows" in line
    for inside in ("`Adelie` 0.391", "`Chinstrap` 0.654", "`Gentoo` 0.643"):
        assert inside in line
    assert "Simpson's paradox" in run.report


def test_associations_are_not_called_causes(run):
    assert "they do not say what causes what" in run.report


def test_the_figures_are_named_with_the_rows_they_show(run):
    assert "the distribution of `bill_length_mm`" in run.report
    assert "coloured by `species` (342 rows)" in run.report
    assert sum(result.text.count("[figure ") for result in run.results.values()) == 3


def test_the_code_warns_of_nothing_and_stays_within_bounds(run):
    assert run.kernel.warned == []
    assert sum(call.name == "run_python" for call in run.calls) <= MOST_RUNS
    assert all(not result.is_error for result in run.results.values())


def test_the_users_table_is_left_as_it_was(run):
    table = run.kernel.namespace["penguins"]
    assert table is run.kernel.variables["penguins"]
    assert table.equals(as_table("pandas" if isinstance(table, pd.DataFrame) else "polars"))


def test_new_names_say_whose_they_are(run):
    made = set(run.kernel.namespace) - {"penguins"}
    assert {name for name in made if not name.startswith("zl_")} <= {"pd", "pl", "plt", "combinations", "find_spec"}


def test_no_name_is_bound_twice_in_one_exploration(run):
    assert "changed:" not in run.texts


def test_every_snippet_is_pure_computation_to_the_gate(run):
    codes = [call.input["code"] for call in run.calls if call.name == "run_python"]
    verdicts = [classify(code, protected=frozenset({"penguins"})) for code in codes]
    assert [verdict.reasons for verdict in verdicts if verdict.risk != "pure"] == []


def test_every_step_says_what_it_is_for(run):
    intents = [call.input["intent"] for call in run.calls if call.name == "run_python"]
    assert all("penguins" in intent for intent in intents)
    assert len(set(intents)) == len(intents)


def test_it_says_that_it_is_no_language_model(run):
    assert "no language model" in run.report
    assert "No model is connected" in run.turns[1].text


def test_a_target_named_in_the_prompt_is_what_all_is_related_to(kernel):
    report = ask("explore penguins, target sex", kernel).report
    assert "between the groups of `sex`" in report
    assert "Mean of `body_mass_g` by `sex`" in report


def test_a_numeric_target_gets_correlations_and_shares_of_variance(kernel, penguins):
    run = ask("explore penguins and predict body_mass_g", kernel)
    assert "Correlation with `body_mass_g` (Pearson): `flipper_length_mm` 0.871" in run.report
    share = eta_squared(penguins, "body_mass_g", "species")
    assert f"variance of `body_mass_g` that lies between groups (η²): `species` {share:.3f}" in run.report
    assert not unexplained(run.report, values_in(run.texts))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_raw_table_shows_dates_constants_and_long_texts(tmp_path, monkeypatch, penguins_raw, library):
    monkeypatch.chdir(tmp_path)
    table = penguins_raw if library == "pandas" else pl.read_csv(DATA / "penguins_raw.csv", null_values=["NA"])
    run = ask("explore penguins_raw", Kernel(tmp_path, {"penguins_raw": table}))
    days = pd.to_datetime(penguins_raw["Date Egg"])
    assert f"runs from {days.min():%Y-%m-%d} to {days.max():%Y-%m-%d}" in run.report
    gaps = days.drop_duplicates().sort_values().diff()
    assert f"the longest gap, {gaps.max().days} days" in run.report
    assert "Constant, one value only: `Region` and `Stage`" in run.report
    assert "`Date Egg` holds dates stored as text" in run.report
    assert "groups of `Species`" in run.report  # chosen since it separates the columns most
    assert run.kernel.warned == []
    assert not unexplained(run.report, values_in(run.texts))
    assert all(date in run.texts for date in dates_in(run.report))


def test_what_does_not_fit_in_one_prompt_is_named(tmp_path, monkeypatch, penguins_raw):
    monkeypatch.chdir(tmp_path)
    run = ask("explore penguins_raw", Kernel(tmp_path, {"penguins_raw": penguins_raw}))
    assert sum(call.name == "run_python" for call in run.calls) == MOST_RUNS
    assert f"one more figure: one prompt runs at most {MOST_RUNS} pieces of code" in run.report.replace("&#46;", ".")
