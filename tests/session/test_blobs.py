"""Binary contents leave the line, come back whole, and cost only themselves when they are gone."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zidane_lab.session.blobs import LONG_TEXT, BlobStore, holds_references, restore, take_out
from zidane_lab.session.entries import dump_line
from zidane_lab.turns import ImageBlock, TextBlock, ToolResultBlock, Turn, turn_from_json, turn_to_json

PNG = bytes(range(256)) * 8
KEYS = st.sampled_from(["kind", "data", "$blob", "$literal", "size", "encoding", "image/png", "text/plain", "a"])
LEAVES = st.one_of(
    st.none(),
    st.integers(),
    st.sampled_from(
        ["image", "base64", "text", "x" * LONG_TEXT, base64.b64encode(PNG).decode(), "é" * LONG_TEXT, "=" * 2000]
    ),
    st.text(st.characters(), max_size=5),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


class Shelf(dict):
    def put(self, data):
        digest = hashlib.sha256(data).hexdigest()
        self[digest] = data
        return digest


@given(JSON)
def test_whatever_is_taken_out_comes_back_exactly(value):
    shelf = Shelf()
    stored = json.loads(dump_line({"v": take_out(value, shelf.put)}))["v"]
    assert restore(stored, shelf.get) == value
    if shelf or "$" in json.dumps(value):
        assert holds_references(dump_line({"v": stored})) or stored == value


@given(JSON)
def test_lines_without_references_need_no_restoring(value):
    shelf = Shelf()
    line = dump_line({"v": take_out(value, shelf.put)})
    if not holds_references(line):
        assert json.loads(line) == {"v": value}


def turn_of(*blocks):
    return Turn("user", blocks)


def test_pictures_and_long_mime_texts_leave_the_line_once_each():
    picture, text = ImageBlock("image/png", PNG), base64.b64encode(PNG).decode()
    bundle = {"outputs": [{"data": {"image/png": text, "text/plain": "x" * 5000}}]}
    turn = turn_of(picture, ToolResultBlock("1", (picture,), metadata=bundle))
    shelf = Shelf()
    raw = take_out(turn_to_json(turn), shelf.put)
    assert list(shelf.values()) == [PNG]
    assert len(json.dumps(raw)) < 7000
    assert turn_from_json(restore(json.loads(json.dumps(raw)), shelf.get)) == turn


def test_short_mime_texts_and_other_long_texts_stay():
    shelf = Shelf()
    value = {"image/png": "x" * (LONG_TEXT - 1), "text/html": "x" * 10_000, "code": "x" * 10_000}
    assert take_out(value, shelf.put) is value
    assert not shelf


def test_wrapped_base64_comes_back_with_its_newlines():
    text = base64.encodebytes(PNG).decode()
    shelf = Shelf()
    raw = take_out({"image/png": text}, shelf.put)
    assert raw["image/png"]["encoding"] == "text"
    assert restore(raw, shelf.get) == {"image/png": text}


def test_base64_another_encoder_would_write_otherwise_comes_back_as_it_was():
    text = base64.b64encode(b"x" * 2000).decode()
    sloppy = text[:-2] + "h="  # bits behind the last byte that a decoder ignores
    assert base64.b64decode(sloppy) == b"x" * 2000
    shelf = Shelf()
    assert restore(take_out({"image/png": sloppy}, shelf.put), shelf.get) == {"image/png": sloppy}


def test_data_that_contains_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        take_out(loop, Shelf().put)


def test_a_missing_picture_becomes_a_text_that_names_it():
    shelf = Shelf()
    turn = turn_of(TextBlock("see"), ImageBlock("image/png", PNG))
    raw = take_out(turn_to_json(turn), shelf.put)
    read = turn_from_json(restore(raw, lambda _: None))
    (digest,) = shelf
    assert read.blocks[0] == TextBlock("see")
    assert isinstance(read.blocks[1], TextBlock)
    assert digest in read.blocks[1].text
    assert "image missing" in read.blocks[1].text
    assert "2,048 bytes" in read.blocks[1].text


def test_a_missing_mime_text_becomes_a_text_that_names_it():
    shelf = Shelf()
    raw = take_out({"image/png": base64.b64encode(PNG).decode()}, shelf.put)
    (digest,) = shelf
    assert digest in restore(raw, lambda _: None)["image/png"]


class TestStore:
    def store(self, tmp_path):
        folder = tmp_path / "id" / "blobs"
        return BlobStore(folder), folder

    def test_contents_are_named_by_their_sha256_and_written_once(self, tmp_path):
        store, folder = self.store(tmp_path)
        digest = store.put(PNG)
        assert digest == hashlib.sha256(PNG).hexdigest()
        before = (folder / digest).stat().st_mtime_ns
        assert store.put(PNG) == digest
        assert (folder / digest).stat().st_mtime_ns == before
        assert [path.name for path in folder.iterdir()] == [digest]
        assert store.get(digest) == PNG

    def test_a_damaged_content_is_not_given_out_and_is_mended_by_the_next_put(self, tmp_path):
        store, folder = self.store(tmp_path)
        digest = store.put(PNG)
        (folder / digest).write_bytes(b"\0" * len(PNG))
        assert store.get(digest) is None
        store.put(PNG)
        assert store.get(digest) == PNG

    @pytest.mark.parametrize("name", ["", "..", "../../secret", "/etc/passwd", "A" * 64, "0" * 63])
    def test_names_that_are_no_sha256_reach_no_file(self, tmp_path, name):
        store, _ = self.store(tmp_path)
        (tmp_path / "secret").write_text("s")
        assert store.get(name) is None

    def test_a_write_that_fails_leaves_nothing(self, tmp_path, monkeypatch):
        store, folder = self.store(tmp_path)
        store.put(b"other")

        def full(handle):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("zidane_lab.session.blobs.os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            store.put(PNG)
        assert len(list(folder.iterdir())) == 1
