"""Conversations on disk: append-only, one file a session, safe before anybody builds on them.

The public face is :class:`~zidane_lab.session.session.Session`, with
:func:`~zidane_lab.session.layout.sessions_folder` to say where sessions live and
:func:`~zidane_lab.session.listing.list_sessions` to find them again. Below it are the pure parts (layout,
entries, reader, state) and those that touch the disk (journal, blobs, lock, numbered files, store).
"""

from __future__ import annotations

from zidane_lab.session.layout import sessions_folder
from zidane_lab.session.listing import SessionInfo, find_session, list_sessions
from zidane_lab.session.session import Session

__all__ = ["Session", "SessionInfo", "find_session", "list_sessions", "sessions_folder"]
