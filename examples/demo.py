"""The main job, offline: explore a real table in a live kernel and leave a notebook that can be run again.

Run by ``make demo``. It is ``jupyter zidane run`` on the Palmer penguins, with no key and no network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "demo-output"
PROMPT = "Explore penguins: what is in it, how good is it, and what separates the species?"


def main() -> int:
    """Run the demo and say where things are; the exit code is the run's own."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    shutil.copy(ROOT / "examples" / "data" / "penguins.csv", FOLDER)
    print(f"Asking the offline planner, in a live kernel: {PROMPT}\n", flush=True)
    command = [sys.executable, "-m", "zidane_lab.cli.main", "run", PROMPT, "--model", "offline", "--json"]
    command += ["--data", "penguins.csv", "--output", "penguins.ipynb"]
    started = time.monotonic()
    # The command is this interpreter and words of ours.
    done = subprocess.run(  # noqa: S603
        command, cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=False, env=without_keys()
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    result = next((event for event in reversed(events) if event["event"] == "result"), None)
    if result is None or done.returncode:
        print(f"The run failed (exit code {done.returncode}); see the messages above.", file=sys.stderr)
        return done.returncode or 1
    calls = sum(event["event"] == "tool:after" for event in events)
    print("\n".join(ten_lines(result["text"])))
    print(f"\nnotebook  {FOLDER / 'penguins.ipynb'}")
    print(f"session   {result['session']}")
    print(f"{calls} tool calls in {time.monotonic() - started:.0f} s. Next: make lab")
    return 0


def without_keys() -> dict[str, str]:
    """Return the environment without model keys: the demo must not spend anybody's money."""
    ours = ("ANTHROPIC_", "OPENAI_", "ZIDANE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def ten_lines(report: str) -> list[str]:
    """Return the first ten lines of a report that say something."""
    lines = [line for line in report.splitlines() if line.strip() and not line.startswith(("|", "#"))]
    return [line if len(line) <= 160 else line[:159] + "…" for line in lines[:10]]


if __name__ == "__main__":
    sys.exit(main())
