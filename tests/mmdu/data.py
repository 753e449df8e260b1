"""Small files in MMDU's official format, for tests."""

from __future__ import annotations

import base64
import csv
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image as pillow

from mmtests.dialogue import MULTI, Dialogue, Setting
from mmtests.mmdu.load import load
from mmtests.mmdu.tasks import KEYS

Json = dict[str, Any]
Colour = tuple[int, int, int]

RED, GREEN, BLUE = (255, 0, 0), (0, 128, 0), (0, 0, 255)
COLOURS = {"red": RED, "green": GREEN, "blue": BLUE}
TAG = "<ImageHere>"


def content(colour: Colour) -> bytes:
    """The bytes of a picture of one colour, 8 pixels wide and high."""
    stream = io.BytesIO()
    pillow.new("RGB", (8, 8), colour).save(stream, "PNG")
    return stream.getvalue()


def said(*texts: str) -> list[Json]:
    """Messages, the user's first, then in turns."""
    return [{"from": "assistant" if n % 2 else "user", "value": text} for n, text in enumerate(texts)]


def boats(id: Any = 7, **changes: Any) -> Json:
    """A dialogue of three turns, of which the first brings two pictures, the second none and the third one."""
    return {
        "id": id,
        "image": ["/mmdu_pics/red.png", "/mmdu_pics/green.png", "/mmdu_pics/blue.png"],
        "conversations": said(
            f"Image1: {TAG}. Image2: {TAG}. What do they share?", "Both are squares.",
            "Which is warmer?", "The first.",
            f"{TAG} And this?", "Cold.",
        ),
        **changes,
    }  # fmt: skip


def pictures(folder: Path) -> Path:
    """The folder ``mmdu_pics`` with three pictures, each named after its colour."""
    pics = folder / "mmdu_pics"
    pics.mkdir(exist_ok=True)
    for name, colour in COLOURS.items():
        (pics / f"{name}.png").write_bytes(content(colour))
    return pics


def archive(folder: Path, *more: str) -> Path:
    """``mmdu_pics.zip`` with the same pictures, and further members."""
    path = folder / "mmdu_pics.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for name, colour in COLOURS.items():
            opened.writestr(f"mmdu_pics/{name}.png", content(colour))
        for name in more:
            opened.writestr(name, b"x")
    return path


def write(folder: Path, *records: Any) -> Path:
    """``benchmark.json`` as a list of records."""
    path = folder / "benchmark.json"
    path.write_text(json.dumps(list(records)), encoding="utf-8")
    return path


def sheet(folder: Path, *rows: Json) -> Path:
    """``MMDU.tsv``. Lists are written as Python literals, as table libraries do."""
    path = folder / "MMDU.tsv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["index", "image", "question", "answer"], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: str(value) for name, value in row.items()} for row in rows)
    return path


def encoded(*colours: Colour) -> list[str]:
    """Pictures as a cell of the sheet has them."""
    return [base64.b64encode(content(colour)).decode() for colour in colours]


def boats_row(index: int = 7, **changes: Any) -> Json:
    """``boats`` as a row of the sheet."""
    texts = [one["value"] for one in boats()["conversations"]]
    return {
        "index": index, "image": encoded(RED, GREEN, BLUE), "question": texts[::2], "answer": texts[1::2], **changes,
    }  # fmt: skip


def loaded(folder: Path, *records: Any, settings: Sequence[Setting] = (MULTI,)) -> Sequence[Dialogue]:
    """The dialogues of these records, with the three pictures beside them."""
    pictures(folder)
    write(folder, *records)
    return load(folder, settings).dialogues


def verdict(number: object = 7, **changes: object) -> str:
    """A judge's good reply: the same number for each key, but for changes by key."""
    return json.dumps({"Rationale": "Because.", **dict.fromkeys(KEYS, number), **changes})
