"""Record what code prints, displays and returns while the person sees it as usual.

A *tee*, not a redirection: text and mime bundles still go where they always go, and a copy is kept in
order. Only the last expression's value and the traceback are taken over, so that they appear as plain
display outputs: the user's ``_``, ``Out`` and execution count stay theirs, and a failed attempt of the
agent does not make the whole cell count as failed.
"""

from __future__ import annotations

import html
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from zidane_lab.kernel.execution import Output

if TYPE_CHECKING:
    from zidane_lab.secrets.screen import Screen

__all__ = ["KEEP_CHARACTERS", "SHOW_CHARACTERS", "Capture", "capture"]

SHOW_CHARACTERS: Final = 200_000
"""Stream text shown in the cell; a page with megabytes of output freezes. The rest is kept, not shown."""

KEEP_CHARACTERS: Final = 50_000_000
"""Stream text kept in memory; beyond it only the length is counted, and said."""

FOLD_LINES: Final = 10
"""Values with only a plain form that are longer than this are shown folded."""

_DRAINED: Final = "\0" * 7
"""Sent through the watched file descriptor after the code: when it arrives, all before it has. Invisible."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class Capture:
    """The record of one piece of code: outputs in order, warnings, and the formatted traceback."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[tuple[str, list[str]] | Output] = []
        self._kept = 0
        self._shown = 0
        self._dropped = 0
        self._clearing = False
        self.closed = False
        self.settling: list[Callable[[], None]] = []
        self.warnings: list[str] = []
        self.tracebacks: list[str] = []

    def stream(self, kind: Literal["stdout", "stderr"], text: str) -> str:
        """Keep ``text`` and return the part of it to show."""
        if not text:
            return text
        with self._lock:
            self._clear_if_due()
            room = max(0, KEEP_CHARACTERS - self._kept)
            self._kept += len(text[:room])
            self._dropped += max(0, len(text) - room)
            last = self._items[-1] if self._items else None
            if isinstance(last, tuple) and last[0] == kind:
                last[1].append(text[:room])
            elif text[:room]:
                self._items.append((kind, [text[:room]]))
            show = max(0, SHOW_CHARACTERS - self._shown)
            before, self._shown = self._shown, self._shown + len(text)
        if len(text) <= show:
            return text
        note = f"\n[more than {SHOW_CHARACTERS:,} characters: the rest is kept but not shown here]\n"
        return text[:show] + (note if before <= SHOW_CHARACTERS else "")

    def settle(self) -> None:
        """Let out the text that waits to be seen whole, before something else is shown."""
        for each in self.settling:
            each()

    def add(self, output: Output) -> None:
        """Keep a display output or a value."""
        with self._lock:
            self._clear_if_due()
            self._items.append(output)

    def update(self, display_id: str, data: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Replace an earlier display of this piece of code, as the page does."""
        with self._lock:
            for index, item in enumerate(self._items):
                if isinstance(item, Output) and item.display_id == display_id:
                    self._items[index] = Output("display", data=data, metadata=metadata, display_id=display_id)

    def clear(self, *, wait: bool = False) -> None:
        """Forget outputs so far (with ``wait``: as soon as another follows), as the code asked the page to."""
        with self._lock:
            self._clearing = wait
            if not wait:
                self._items.clear()

    def _clear_if_due(self) -> None:
        if self._clearing:
            self._items.clear()
            self._clearing = False

    def outputs(self) -> tuple[Output, ...]:
        """Return what was recorded, in order."""
        with self._lock:
            out = [
                Output(item[0], text="".join(item[1])) if isinstance(item, tuple) else item  # type: ignore[arg-type]
                for item in self._items
            ]
            if self._dropped:
                out.append(Output("stderr", text=f"[{self._dropped:,} more characters were printed and not kept]\n"))
        return tuple(out)


@contextmanager
def capture(
    shell: Any, *, quiet: bool = False, ours: Callable[[], bool] = lambda: True, screen: Screen | None = None
) -> Iterator[Capture]:
    """Tee everything that code run by ``shell`` sends out, until the block ends.

    Parameters
    ----------
    shell
        An IPython ``InteractiveShell``: the kernel's, the terminal's, or an embedded one.
    quiet
        Drop the value of the last expression (the code ends in a semicolon).
    ours
        Whether what is sent out now belongs to this code; the user's cells may run while it waits, and what
        they send is left alone.
    screen
        What keeps credentials out of what is shown and recorded.
    """
    record = Capture()

    def mine() -> bool:
        return not record.closed and ours()

    with ExitStack() as stack:
        stack.callback(setattr, record, "closed", True)
        if screen is not None:
            from zidane_lab.kernel.masked import secrets_under_names

            stack.callback(screen.vault.watch(secrets_under_names(shell.user_ns)))
        stack.enter_context(_tee_stream("stdout", record, mine, screen))
        stack.enter_context(_tee_stream("stderr", record, mine, screen))
        stack.enter_context(_tee_displays(shell.display_pub, record, mine, screen))
        stack.enter_context(_take_value(shell, record, mine, screen, quiet=quiet))
        stack.enter_context(_take_traceback(shell, record, mine, screen))
        stack.enter_context(_note_warnings(record))
        yield record


@contextmanager
def _attribute(target: Any, name: str, value: Any) -> Iterator[None]:
    """Set an instance attribute and put the former state back."""
    missing = object()
    former = target.__dict__.get(name, missing)
    setattr(target, name, value)
    try:
        yield
    finally:
        if target.__dict__.get(name) is not value:
            pass  # somebody wrapped it in the meantime; what is left of ours only passes things on
        elif former is missing:
            delattr(target, name)
        else:
            setattr(target, name, former)


class _Tee:
    """A text stream that forwards to another and keeps a copy (for streams whose ``write`` cannot be set)."""

    def __init__(self, target: TextIO, write: Callable[[str], int]) -> None:
        self._target = target
        self.write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)


class _Outlet:
    """Where a stream's text goes while code runs: to the record, through the screen, and on."""

    def __init__(
        self,
        kind: Literal["stdout", "stderr"],
        forward: Callable[[str], Any],
        record: Capture,
        mine: Callable[[], bool],
        screen: Screen | None,
    ) -> None:
        self._kind: Literal["stdout", "stderr"] = kind
        self._forward, self._record, self._mine = forward, record, mine
        self._screen = screen
        self._masked = screen.stream() if screen is not None else None
        self.drained = threading.Event()

    def write(self, text: str) -> int:
        """Take what the code wrote."""
        piece: Any = text
        if isinstance(piece, str) and _DRAINED in piece:
            piece = piece.replace(_DRAINED, "")
            self.drained.set()
        if isinstance(piece, str) and self._mine():
            self._send(self._masked.feed(piece) if self._masked is not None else piece)
        elif piece != "":
            if isinstance(piece, str) and self._record.closed and self._screen is not None:
                piece = self._screen.text(piece)  # later code that has kept this very method
            self._forward(piece)  # what is no text goes on as it is, for the stream's own TypeError
        return len(text)

    def settle(self) -> None:
        """Let out what waits to be seen whole."""
        if self._masked is not None:
            self._send(self._masked.finish())

    def _send(self, text: str) -> None:
        shown = self._record.stream(self._kind, text)
        if shown:
            self._forward(shown)


@contextmanager
def _tee_stream(
    kind: Literal["stdout", "stderr"], record: Capture, mine: Callable[[], bool], screen: Screen | None
) -> Iterator[None]:
    stream = getattr(sys, kind)
    outlet = _Outlet(kind, stream.write, record, mine, screen)
    record.settling.append(outlet.settle)
    # In a kernel the stream object itself is taken: loggers made earlier hold it, and what subprocesses
    # write to the file descriptor comes through its `write` as well.
    if hasattr(stream, "pub_thread"):
        with _attribute(stream, "write", outlet.write):
            try:
                yield
            finally:
                _drain(stream, outlet.drained)
                outlet.settle()
                stream.flush()
        return
    setattr(sys, kind, _Tee(stream, outlet.write))
    try:
        yield
    finally:
        outlet.settle()
        if isinstance(getattr(sys, kind), _Tee):  # the code may have redirected it for good; its choice stands
            setattr(sys, kind, stream)
        stream.flush()


def _drain(stream: Any, drained: threading.Event) -> None:
    """Wait until what was written to the file descriptor has come through the kernel's watching thread."""
    if not getattr(stream, "_should_watch", False) or getattr(stream, "_original_stdstream_fd", None) is None:
        return
    os.write(stream._original_stdstream_fd, _DRAINED.encode())  # noqa: SLF001 - ipykernel offers no other way
    drained.wait(2.0)  # at most; it comes within a millisecond unless the machine is very busy


@contextmanager
def _tee_displays(publisher: Any, record: Capture, mine: Callable[[], bool], screen: Screen | None) -> Iterator[None]:
    publish, clear_output = publisher.publish, publisher.clear_output

    def tee(
        data: Mapping[str, Any],
        metadata: Mapping[str, Any] | None = None,
        *args: Any,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **kwargs: Any,
    ) -> None:
        display_id = (transient or {}).get("display_id")
        if mine():
            record.settle()
        if screen is not None and (record.closed or mine()):  # closed: later code has kept this very function
            data, metadata = screen.json(data), screen.json(metadata)
        if not mine():
            pass
        elif update and display_id:
            record.update(display_id, _encoded(data), metadata or {})
        elif not update:
            record.add(Output("display", data=_encoded(data), metadata=metadata or {}, display_id=display_id))
        publish(data, metadata, *args, transient=transient, update=update, **kwargs)

    def clear(wait: bool = False, *_args: Any, **_kwargs: Any) -> None:
        if mine():  # only the record is cleared: clearing the cell would take the transcript with it
            record.clear(wait=wait)
        else:
            clear_output(wait)

    with _attribute(publisher, "publish", tee), _attribute(publisher, "clear_output", clear):
        yield


def _folded(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a long value that has only a plain form so that a page shows its first line and unfolds the rest."""
    text = data.get("text/plain")
    if set(data) != {"text/plain"} or not isinstance(text, str) or text.count("\n") < FOLD_LINES:
        return dict(data)
    first = text.partition("\n")[0]
    label = f"{first[:80]}… ({text.count(chr(10)) + 1} lines)"
    folded = f"<details><summary><code>{html.escape(label)}</code></summary><pre>{html.escape(text)}</pre></details>"
    return {"text/plain": text, "text/html": folded}


def _encoded(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bundle with binary types as base64 text, as notebook files hold them."""
    import base64

    return {
        mime: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for mime, value in data.items()
    }


@contextmanager
def _take_value(
    shell: Any, record: Capture, mine: Callable[[], bool], screen: Screen | None, *, quiet: bool
) -> Iterator[None]:
    def displayhook(value: Any) -> None:
        if not mine():
            shell.displayhook(value)
            return
        if value is None or quiet:
            return
        data, metadata = shell.display_formatter.format(value)
        if not data:  # the object displayed itself
            return
        record.settle()
        if screen is not None:
            data, metadata = screen.json(data), screen.json(metadata)
        record.add(Output("value", data=_encoded(data), metadata=metadata))
        # The original publisher, so that the value is not recorded a second time.
        type(shell.display_pub).publish(shell.display_pub, _folded(data), metadata)

    former_hook, former_trap = sys.displayhook, shell.display_trap.hook
    sys.displayhook = displayhook
    shell.display_trap.hook = displayhook
    try:
        yield
    finally:
        shell.display_trap.hook = former_trap
        sys.displayhook = former_hook


@contextmanager
def _take_traceback(shell: Any, record: Capture, mine: Callable[[], bool], screen: Screen | None) -> Iterator[None]:
    former = shell._showtraceback  # noqa: SLF001 - IPython's own place to send tracebacks elsewhere

    def show(etype: Any, evalue: Any, lines: Any) -> None:
        if mine():
            text = _ANSI.sub("", lines if isinstance(lines, str) else "\n".join(lines))
            record.tracebacks.append(screen.text(text) if screen is not None else text)
        else:
            former(etype, evalue, lines)

    with _attribute(shell, "_showtraceback", show):
        yield


@contextmanager
def _note_warnings(record: Capture) -> Iterator[None]:
    show = warnings.showwarning

    def note(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        record.warnings.append(f"{category.__name__}: {message}")
        show(message, category, *args, **kwargs)

    warnings.showwarning = note
    try:
        yield
    finally:
        warnings.showwarning = show
