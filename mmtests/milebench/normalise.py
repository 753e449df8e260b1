"""Two ways to take the accidents of writing out of a text: the official scorer's, and a sane one."""

from __future__ import annotations

import re
import unicodedata

_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_GROUPED = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
_MOST_PERIODS = 32
"""The official script hands a flag of this value to the parameter that limits the count."""


def normalise(text: str) -> str:
    """What the official scorer makes of every text before it compares.

    Each of 21 marks is deleted wherever it stands if it stands beside a space anywhere, or if the text has a comma between
    two digits; otherwise it becomes a space. The first 32 periods that no digit follows are deleted. Quotes at the ends go,
    and the rest is lower-cased.
    """
    text = text.replace("\n", " ").replace("\t", " ").strip()
    grouped = _GROUPED.search(text) is not None
    text = text.translate(
        {ord(mark): None if grouped or f"{mark} " in text or f" {mark}" in text else " " for mark in _MARKS}
    )
    return _PERIOD.sub("", text, count=_MOST_PERIODS).strip("'").strip('"').strip().lower()


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(
    r"(?:(?<![^\W_])[-\u2212])?\d+(?:\.\d+)+|(?<![^\W_])[-\u2212]\d+|[^\W_]+(?:['\u2019][^\W_]+)*|[$%\u20ac\u00a3]"
)


def words(text: str) -> tuple[str, ...]:
    """The words of a text, for the strict rules: lower case, numbers whole with sign and decimals and without thousands'
    commas, currency and percent signs as words of their own, no other punctuation."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    return tuple(_WORD.findall(plain.replace("\u2212", "-").replace("\u2019", "'")))
