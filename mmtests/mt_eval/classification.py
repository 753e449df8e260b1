"""Does the reply name the right class? (Paper section 3.1.)"""

from __future__ import annotations

import re
import string

from mmtests.score import Mode

LABELS = ("ethics", "sports", "music", "art", "science", "literature", "economics", "medicine", "food", "technology",
          "history", "travel", "education")  # fmt: skip

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


def names_label(reply: str, label: str, mode: Mode) -> bool:
    """True if the reply names ``label``.

    ``reference``: the label is anywhere in the reply, so that "martial" counts as "art".
    ``strict``: the label is a word of the reply, and no other label is.
    """
    said, wanted = _plain(reply), _plain(label)
    if mode == "reference":
        return wanted in said
    named = {name for name in {*LABELS, wanted.strip()} if re.search(rf"\b{re.escape(name)}\b", said)}
    return named == {wanted.strip()}


def _plain(text: str) -> str:
    return text.translate(_PUNCTUATION).lower()
