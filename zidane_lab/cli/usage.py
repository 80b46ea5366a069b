"""``jupyter zidane usage``: what the notebooks below a folder used, day by day; as tables or as JSON."""

from __future__ import annotations

import argparse
import dataclasses
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from zidane_lab.chat.report import to_markdown
from zidane_lab.chat.usage_report import MOST_DAYS, days_report
from zidane_lab.cli.output import Pipe
from zidane_lab.session.usage import UsageBuckets, run_usage_aggregates

__all__ = ["DEFAULT_DAYS", "add_arguments", "usage"]

DEFAULT_DAYS: Final = 30


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = command.add_argument
    add("--days", metavar="N", type=_days, default=DEFAULT_DAYS, help="so many days, today included (default: 30)")
    add("--folder", metavar="PATH", default=".", help="folder of notebooks, and those below it (default: this one)")
    add("--json", dest="as_json", action="store_true", help="write one JSON object instead of tables")


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{days} is not from 1 to {MOST_DAYS}")
    return days


def usage(folder: Path, days: int, out: Pipe, *, as_json: bool = False, today: date | None = None) -> int:
    """Write the usage of the last ``days`` local days, and return the exit code.

    Parameters
    ----------
    folder
        Folder of notebooks; those in folders below it count as well.
    days
        How many days, today included.
    out
        Where to write.
    as_json
        Whether to write one JSON object instead of tables.
    today
        The last day.
    """
    until = today if today is not None else date.today()  # noqa: DTZ011 - the person's own day
    since = until - timedelta(days=days - 1)
    buckets = run_usage_aggregates(folder, since=since)
    if as_json:
        out.json(_as_json(buckets, folder, since, until))
    else:
        out.text(to_markdown(days_report(buckets, str(folder), since, until)))
    return 0


def _as_json(buckets: UsageBuckets, folder: Path, since: date, until: date) -> dict[str, Any]:
    """Return the aggregates as data; a cost that is not known is ``null``."""
    return {
        "folder": str(folder),
        "since": since.isoformat(),
        "until": until.isoformat(),
        **dataclasses.asdict(buckets),
    }
