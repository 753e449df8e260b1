"""What the paper calls the disciplines and sources whose spelling in the data is not known."""

from __future__ import annotations

DISCIPLINES = ("Mathematics", "Business", "Science", "Engineering", "Social Science", "Health")
"""The columns of Table 3, in its order."""

SOURCES = ("M3CoT", "MMStar", "MMMU-Pro", "MMMU", "Newly collected")
"""The columns of Table 4, in its order."""

_DISCIPLINES = {
    "Mathematics": ("math", "maths", "mathematics"),
    "Business": ("business",),
    "Science": ("science", "sciences", "natural science", "natural sciences"),
    "Engineering": ("engineering", "tech and engineering", "technology and engineering"),
    "Social Science": ("social", "social science", "social sciences", "humanities and social science",
                       "humanities and social sciences"),
    "Health": ("health", "medicine", "health and medicine"),
}  # fmt: skip

_SOURCES = {
    "M3CoT": ("m3cot",),
    "MMStar": ("mmstar",),
    "MMMU-Pro": ("mmmu pro", "mmmupro"),
    "MMMU": ("mmmu",),
    "Newly collected": ("new", "ours", "newly collect", "newly collected", "newly collect (ours)",
                        "newly collected (ours)"),
}  # fmt: skip


def discipline(written: str) -> str:
    """The paper's name for a discipline; another than those six as it is written."""
    return _named(written, _DISCIPLINES)


def source(written: str) -> str:
    """The paper's name for a source; another than those five as it is written."""
    return _named(written, _SOURCES)


def _named(written: str, variants: dict[str, tuple[str, ...]]) -> str:
    plain = " ".join(written.casefold().replace("&", " and ").replace("_", " ").replace("-", " ").split())
    return next((name for name, known in variants.items() if plain in known), written.strip())
