from __future__ import annotations

import base64
import io

import pytest

from zidane_lab.tools import images
from zidane_lab.tools.base import ToolContext
from zidane_lab.tools.images import LONG_SIDE, for_model
from zidane_lab.tools.read_file import read_file
from zidane_lab.turns import ImageBlock, TextBlock

Image = pytest.importorskip("PIL.Image")


def saved(path, size, kind, mode="RGB"):
    Image.new(mode, size, "red" if mode == "RGB" else None).save(path, format=kind)


@pytest.mark.parametrize(("kind", "sent"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/png")])
def test_large_pictures_are_shrunk(tmp_path, kind, sent):
    saved(tmp_path / "a", (3000, 1500), kind)
    _, image = read_file(ToolContext(cwd=tmp_path), "a").parts
    assert image.media_type == sent
    assert Image.open(io.BytesIO(image.data)).size == (LONG_SIDE, LONG_SIDE // 2)


@pytest.mark.parametrize(("kind", "mode"), [("TIFF", "RGB"), ("BMP", "RGB"), ("TIFF", "CMYK"), ("TIFF", "LA")])
def test_pictures_that_no_model_takes_become_png(tmp_path, kind, mode):
    saved(tmp_path / "a", (40, 30), kind, mode)
    note, image = read_file(ToolContext(cwd=tmp_path), "a").parts
    assert f"a {kind} image" in note.text
    assert image.media_type == "image/png"
    assert Image.open(io.BytesIO(image.data)).size == (40, 30)


def test_a_picture_of_too_many_pixels_is_not_unpacked(tmp_path, monkeypatch):
    saved(tmp_path / "a.png", (2000, 1500), "PNG")
    monkeypatch.setattr(images, "MOST_PIXELS", 1_000_000)
    monkeypatch.setattr(Image.Image, "thumbnail", lambda *_a: pytest.fail("it was unpacked"))
    _, note = read_file(ToolContext(cwd=tmp_path), "a.png").parts
    assert note == TextBlock("[not attached: it has 2,000 × 1,500 pixels, too many to shrink it here]")


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"II*\x00" + bytes(30), b"BM" + bytes(60)])
@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/webp", ""])
def test_what_is_no_picture_is_left_out_with_a_reason(data, kind):
    image, note = for_model(kind, base64.b64encode(data).decode())
    assert image is None
    assert note


def test_small_ones_are_sent_as_they_are(tmp_path):
    saved(tmp_path / "a.gif", (20, 10), "GIF")
    _, image = read_file(ToolContext(cwd=tmp_path), "a.gif").parts
    assert image == ImageBlock("image/gif", (tmp_path / "a.gif").read_bytes(), "a.gif")
