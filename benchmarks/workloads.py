"""Data in MT-Eval's format, of any size, and replies to it."""

from __future__ import annotations

import json
from pathlib import Path

LABELS = ("science", "art", "food", "history", "travel")


def write_dialogues(folder: Path, dialogues: int, turns: int) -> None:
    """Classification dialogues with a right reply to each turn.

    ``folder/mt_eval`` gets the data, ``folder/replies`` what the official inference script would have left.
    """
    data, replies = folder / "mt_eval", folder / "replies" / "recollection"
    data.mkdir(parents=True)
    replies.mkdir(parents=True)
    with (data / "recollection_multi_cls.jsonl").open("w") as asked, (replies / "multi_cls_x.jsonl").open("w") as said:
        for number in range(dialogues):
            conversation = [{"user": "Name the label only.", "sys": "OK", "id": "instruction", "do_inference": False}]
            for turn in range(turns):
                label = LABELS[turn % len(LABELS)]
                text = f"Document {turn} of {number} is about {label}."
                conversation.append({"user": text, "sys": label, "id": str(turn), "do_inference": True})
            asked.write(json.dumps({"id": str(number), "conv": conversation}) + "\n")
            answered = [{**turn, "gen_resp": turn["sys"], "error": False} for turn in conversation]
            said.write(json.dumps({"id": str(number), "conv": answered}) + "\n")
