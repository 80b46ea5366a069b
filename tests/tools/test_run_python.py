"""How evidence is worded for the model, within its limits, and what is kept of it."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

from zidane_lab.errors import ToolError, ToolInputError
from zidane_lab.kernel.execution import ErrorInfo, Execution, Output
from zidane_lab.session.session import Session
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.images import for_model
from zidane_lab.tools.run_python import MOST_FIGURES, RUN_PYTHON, describe_execution
from zidane_lab.turns import ImageBlock


def picture(width: int, height: int, kind: str = "PNG") -> str:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(out, kind)
    return base64.b64encode(out.getvalue()).decode()


def described(*outputs: Output, **facts):
    facts = {"status": "ok", "wall_seconds": 0.1234, **facts}
    return describe_execution(Execution("x", outputs=outputs, **facts), ToolContext())


def text_of(output) -> str:
    return output.parts[0].text


def test_sections_come_in_the_order_of_the_outputs():
    result = described(
        Output("stdout", "one\n"),
        Output("stderr", "careful\n"),
        Output("display", data={"text/html": "<b>x</b>", "text/plain": "x"}),
        Output("value", data={"text/plain": "{'rows': 344}"}),
        created=("a", "b"),
        changed=("c",),
    )
    assert text_of(result) == (
        "[stdout]\none\n[stderr]\ncareful\n[display]\nx\n[value]\n{'rows': 344}\n[done in 0.12 s; created: a, b; changed: c]"
    )
    assert not result.is_error


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text/markdown": "**m**", "text/plain": "<Markdown object>"}, "**m**"),
        ({"text/latex": "$x$", "text/plain": "<Latex>"}, "$x$"),
        ({"application/json": {"a": [1]}}, '{"a": [1]}'),
        ({"text/html": "<b>x</b>"}, "(an output of type text/html; it has no text form)"),
        ({}, "(an output of type unknown; it has no text form)"),
    ],
)
def test_the_form_that_reads_best_is_chosen(data, expected):
    assert text_of(described(Output("display", data=data))).startswith(f"[display]\n{expected}\n")


def test_nothing_to_show_is_said():
    assert text_of(described()) == "(no output)\n[done in 0.12 s]"


def test_figures_are_attached_in_order_and_counted():
    result = described(
        Output("display", data={"image/png": picture(640, 480), "text/plain": "<Figure>"}),
        Output("display", data={"image/jpeg": picture(3000, 1000, "JPEG")}),
    )
    assert text_of(result).startswith(
        "[figure 1: 640x480 PNG attached]\n[figure 2: 1024x341 JPEG (shrunk from 3000x1000) attached]"
    )
    assert [part.media_type for part in result.parts[1:]] == ["image/png", "image/jpeg"]
    assert all(isinstance(part, ImageBlock) for part in result.parts[1:])


def test_only_so_many_figures_are_sent_and_the_rest_is_said():
    result = described(*[Output("display", data={"image/png": picture(10, 10)})] * (MOST_FIGURES + 2))
    assert len(result.parts) == 1 + MOST_FIGURES
    assert text_of(result).count("at most 8 figures of one step are sent") == 2


@pytest.mark.parametrize(
    ("encoded", "why"),
    [("!!!", "not valid base64"), (base64.b64encode(b"\x89PNG\r\n\x1a\nbroken").decode(), "cannot be read as PNG")],
)
def test_a_broken_picture_is_left_out_never_cut(encoded, why):
    image, note = for_model("image/png", encoded)
    assert image is None
    assert why in note
    assert f"[figure not attached: {note}]" in text_of(described(Output("display", data={"image/png": encoded})))


def test_an_error_says_what_stays():
    error = ErrorInfo("ValueError", "no", "cell, line 2\nValueError: no")
    result = described(Output("stdout", "so far\n"), status="error", error=error, created=("half",))
    assert result.is_error
    assert text_of(result) == (
        "[stdout]\nso far\n[error]\ncell, line 2\nValueError: no\n[failed after 0.12 s; what ran before stays (created: half)]"
    )
    assert text_of(described(status="error", error=error)).endswith(
        "[failed after 0.12 s; no variable was created, changed or deleted]"
    )


def test_an_interrupt_starts_with_its_marker():
    result = described(status="interrupted", error=ErrorInfo("KeyboardInterrupt", "", "cell, line 1"))
    assert text_of(result).startswith("[Request interrupted by user for tool use]\n")
    assert result.is_error


def test_a_timeout_says_so():
    assert "[timed out after 0.12 s" in text_of(described(status="timeout"))


def test_warnings_not_seen_in_the_streams_are_told():
    assert "[warnings]\nUserWarning: mind" in text_of(described(warnings=("UserWarning: mind",)))
    seen = described(Output("stderr", "UserWarning: mind\n"), warnings=("UserWarning: mind",))
    assert "[warnings]" not in text_of(seen)


def test_costs_worth_a_word_are_told():
    ending = text_of(described(wall_seconds=12.0, cpu_seconds=11.5, peak_memory=250_000_000)).splitlines()[-1]
    assert ending == "[done in 12.00 s; cpu 11.50 s; peak memory +250 MB]"


def test_many_names_are_counted():
    ending = text_of(described(created=tuple(f"n{i}" for i in range(50)))).splitlines()[-1]
    assert "n29 and 20 more]" in ending


def test_long_output_is_cut_in_the_text_and_in_the_session_and_kept_in_a_file(tmp_path):
    session = Session.create(tmp_path)
    execution = Execution(
        "x",
        "ok",
        (
            Output("stdout", "a line of text\n" * 20_000),
            Output("display", data={"text/html": "x" * 300_000, "text/plain": "p"}),
        ),
    )
    result = describe_execution(execution, ToolContext(outputs=session))
    path = result.metadata["execution"]["full_output"]
    assert path in text_of(result)
    assert Path(path).read_text().count("a line of text") == 20_000
    assert len(text_of(result).encode()) < 52_000
    assert len(json.dumps(result.metadata)) < 60_000
    assert result.metadata["execution"]["outputs"][1]["left_out"] == ["text/html"]
    session.close()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "`code`: expected Python source"),
        ({"code": "  "}, "`code`: expected Python source"),
        ({"code": "x", "intent": 3}, "`intent`"),
        ({"code": "x", "timeout": 0}, "`timeout`"),
        ({"code": "x", "timeout": True}, "`timeout`"),
        ({"code": "x", "cells": []}, "`cells`: there is no such argument"),
    ],
)
def test_arguments_are_checked_before_anything_runs(arguments, problem):
    with pytest.raises(ToolInputError, match=problem):
        RUN_PYTHON.validate(arguments)


@pytest.mark.asyncio
async def test_without_a_kernel_it_says_so():
    with pytest.raises(ToolError, match="no kernel"):
        await RUN_PYTHON.run(ToolContext(), {"code": "1", "intent": "x"})
