"""What a prompt asks for, by fixed rules: topics from keywords, names from spelling. No model reads it.

The rules, all case-insensitive and for English:

1. *Strong* words (``explore``, ``overview``, ``EDA``, ``profile``, ``first look``, ``report``) ask for a full
   exploration, whatever else is said.
2. Otherwise a verb the planner cannot do (``train``, ``fill``, ``write``, ``fix``, ``why`` …) asks for help: the
   planner says what it can do instead of answering another question than the one asked.
3. Otherwise each topic whose keywords occur is answered, and nothing else (:data:`TOPICS` lists them).
4. Otherwise *weak* words (``analyse``, ``look at``, ``summarize``, ``tell me about`` …), or a prompt that is only
   the name of a table or a data file, ask for a full exploration.
5. Anything else asks for help.

Tables are named by a bare word equal to a variable's name, by ``@name``, in backticks, or as a file with a
data extension. Columns are named by their own spelling; underscores may be spaces, a unit at the end may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["DATA_EXTENSIONS", "TOPICS", "Ask", "Topic", "read_prompt"]

Topic: TypeAlias = Literal[
    "explore",
    "rows",
    "describe",
    "missing",
    "duplicates",
    "numbers",
    "categories",
    "correlations",
    "time",
    "groups",
    "plot",
    "load",
    "variables",
    "files",
    "help",
]

DATA_EXTENSIONS: Final = ("csv", "tsv", "parquet", "jsonl", "ndjson", "json", "xlsx", "xls", "feather")
"""Files the planner can load, by the last part of their name."""

_STRONG: Final = r"explor\w*|eda|overview|profil(?:e|ing)|first look|report"
_WEAK: Final = (
    r"analy[sz]\w*|analysis|look at|summar\w+|tell me about|interesting|investigat\w*|understand|insights?|findings?"
    r"|what(?:'s| is) in"
)
_BEYOND: Final = (
    r"write|fix|train|fit|refactor|explain|why|delete|drop|remove|fill|impute|clean|convert|rename|save|export|merge"
    r"|join|replace|translate|implement|install|deploy|scrape|download|transform|normali[sz]e|encode"
)
_STATISTIC: Final = (
    r"mean|average|median|quantiles?|percentiles?|std|standard deviation|minimum|maximum|min|max|skew\w*"
)

TOPICS: Final[tuple[tuple[Topic, str], ...]] = (
    ("variables", r"(?:what|which|list|show)\b.*\b(?:variables|tables|data ?frames)|namespace|what do i have"),
    ("files", r"(?:what|which|list|show)\b.*\bfiles"),
    ("plot", r"plots?|scatter\w*|histograms?|draw|charts?|box ?plots?|distributions? of"),
    (
        "rows",
        r"how (?:big|large|long|wide)|(?:how many|number of) (?:rows|columns|records|observations|lines)|shape",
    ),
    ("missing", r"missing(?:ness)?|nulls?|nans?|empty (?:cells|values)"),
    ("duplicates", r"duplicat\w*|(?:candidate|primary) keys?|unique rows"),
    ("correlations", r"correlat\w*"),
    ("describe", r"describe|summary statistics|schema|d?types|(?:what|which) columns (?:are|do|does|has|have)"),
    ("numbers", rf"outliers?|distributions?|{_STATISTIC}"),
    ("categories", r"levels|categories|value counts?"),
    ("time", r"(?:time|date) (?:range|span|gaps?)|gaps in (?:time|the dates?)|(?:which|what) (?:dates|period)"),
    ("groups", r"compare|differ\w*|relat\w+|associat\w+|effects?|predict\w*|depends?"),
    ("load", r"load|read|open|import"),
)
"""Narrow topics and the words that ask for them, between word borders."""

_TARGET: Final = (
    r"(?:target(?:ing|s)?(?: (?:is|column|variable))?|predict(?:ing|s)?|outcome(?: is)?|grouped by|split by"
    r"|colou?red by|relat\w+ (?:to|with)|by|per|across|between)"
)
_UNIT: Final = re.compile(r"[_ ](?:[mck]?m|m?[gs]|kg|min|h|usd|eur|pct|percent|\([^()]*\))$", re.IGNORECASE)
_BEFORE_NAME: Final = r"[\s:=]+(?:the\s+)?[`'\"@«“]?"
_FILE: Final = rf"[\w./~\\-]+\.(?:{'|'.join(DATA_EXTENSIONS)})\b"
_MARKED: Final = r"`([^`\n]+)`|(?<!\w)@([A-Za-z_]\w*)"
_QUOTED_FILE: Final = rf"[`'\"]([^`'\"\n]+\.(?:{'|'.join(DATA_EXTENSIONS)}))[`'\"]"


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt, read.

    ``marked`` are names in backticks or after ``@``, ``words`` every bare word, ``files`` file names, each in
    the order of the text and once. ``only_word`` says that the prompt is a single bare word: a table, perhaps.
    """

    text: str
    topics: frozenset[Topic]
    only_word: bool = False
    marked: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def columns(self, labels: Iterable[object]) -> tuple[object, ...]:
        """Return the ``labels`` that the prompt names, in the order of the text."""
        rest, found = self.text, []
        for label in sorted(labels, key=lambda label: -len(str(label))):
            match = _whole(label).search(rest)
            if match is not None:
                found.append((match.start(), label))
                rest = rest[: match.start()] + "\0" * (match.end() - match.start()) + rest[match.end() :]
        return tuple(label for _, label in sorted(found, key=lambda place: place[0]))

    def target(self, labels: Iterable[object]) -> object | None:
        """Return the one of ``labels`` that the prompt makes its target: ``target species``, ``by species`` …."""
        for label in sorted(labels, key=lambda label: -len(str(label))):
            if re.search(rf"\b{_TARGET}{_BEFORE_NAME}(?:{_whole(label).pattern})", self.text, re.IGNORECASE):
                return label
        return None


def _whole(label: object) -> re.Pattern[str]:
    """Match a label as a whole word: as it is, with spaces for underscores, or without its unit."""
    full = str(label)
    spelled = [full, short] if (short := _UNIT.sub("", full)) and short != full else [full]
    either = "|".join(re.escape(each).replace("_", "[_ ]").replace(r"\ ", "[_ ]") for each in spelled)
    return re.compile(rf"(?<![\w.])(?:{either})(?!\w)", re.IGNORECASE)


def read_prompt(text: str) -> Ask:
    """Read a prompt by the rules above."""
    quoted = re.findall(_QUOTED_FILE, text, re.IGNORECASE)
    rest = re.sub(_QUOTED_FILE, " ", text, flags=re.IGNORECASE)
    files = _once([*quoted, *re.findall(_FILE, rest, re.IGNORECASE)])
    rest = re.sub(_FILE, " ", rest, flags=re.IGNORECASE)
    marked = _once(tick or at for tick, at in re.findall(_MARKED, rest))
    plain = re.sub(_MARKED, " ", rest)
    words = _once(re.findall(r"(?<![\w.@])[A-Za-z_]\w*", plain))
    topics = _topics(plain, named_only=bool(files or marked) and not words)
    only_word = len(words) == 1 and text.strip(" .?!\n") == words[0]
    return Ask(text, topics, only_word, marked, words, files)


def _topics(text: str, *, named_only: bool) -> frozenset[Topic]:
    def says(pattern: str) -> bool:
        return re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE) is not None

    if says(_STRONG):
        return frozenset({"explore"})
    if says(_BEYOND):
        return frozenset({"help"})
    topics: set[Topic] = {topic for topic, pattern in TOPICS if says(pattern)}
    if "numbers" in topics and re.search(rf"\b{_TARGET}\b", text, re.IGNORECASE):
        topics.add("groups")
    if topics:
        return frozenset(topics)
    if says(_WEAK) or named_only:
        return frozenset({"explore"})
    return frozenset({"help"})


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
