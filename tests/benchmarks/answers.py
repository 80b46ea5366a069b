"""Long answers of different shapes, made the same way every time."""

from __future__ import annotations

import random
from collections.abc import Iterator

SENTENCES = (
    "The mean of the column is 4.2, a little above the median, so the upper tail is the longer one.",
    "Two rows have no value at all; they were left out of the sums below, *not* filled.",
    "Grouping by `species` first and by island second gives nearly the same picture.",
    "Größere Werte kommen vor allem im Winter vor — see the figure above.",
    "A plot on a logarithmic axis shows **two** clusters rather than one.",
)
CODE = (
    "totals = frame.groupby(['species', 'island'])['mass'].agg(['mean', 'median', 'count'])",
    "totals = totals[totals['count'] > 10].sort_values('mean', ascending=False)",
    "for name, row in totals.iterrows():",
    "    print(f\"{name}: {row['mean']:.1f} g\")",
)


def markdown(size: int) -> str:
    """An answer as models write them: headings, paragraphs, lists, code, tables; about ``size`` bytes."""
    chance, out, length = random.Random(7), [], 0
    while length < size:
        out.append(_block(chance))
        length += len(out[-1].encode())
    return "".join(out)


def one_fence(size: int) -> str:
    """One block of code without an end, as in a file written into the answer."""
    line = CODE[0] + "\n"
    return "```python\n" + line * (size // len(line)) + "```\n"


def one_paragraph(size: int) -> str:
    """One line without an end."""
    sentence = SENTENCES[0] + " "
    return sentence * (size // len(sentence))


def pieces(text: str, characters: int = 4) -> Iterator[str]:
    """Cut a text into deltas of about one token each."""
    return (text[start : start + characters] for start in range(0, len(text), characters))


def _block(chance: random.Random) -> str:
    match chance.choice(("paragraph",) * 5 + ("list", "code", "table", "heading")):
        case "heading":
            return "## What the groups have in common\n\n"
        case "list":
            return "".join(f"- {chance.choice(SENTENCES)}\n" for _ in range(chance.randint(3, 7))) + "\n"
        case "code":
            return "```python\n" + "\n".join(chance.choices(CODE, k=chance.randint(4, 25))) + "\n```\n\n"
        case "table":
            rows = "".join(f"| Adelie | {chance.randint(1, 999)} | {chance.random():.3f} |\n" for _ in range(8))
            return "| species | count | share |\n| --- | ---: | ---: |\n" + rows + "\n"
    return " ".join(chance.choices(SENTENCES, k=chance.randint(3, 8))) + "\n\n"
