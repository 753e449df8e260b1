"""Do replies obey one of the 14 global instructions? (Paper section 3.1 and Table 9.)

Each instruction has a ``reference`` check, which gives what the official script gives, and where that is wrong a
``strict`` one. Both take the reply and the arguments that the data file gives the instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from mmtests.mt_eval.sentences import count_sentences
from mmtests.score import Mode

Arguments = Mapping[str, Any]
Check = Callable[[str, Arguments], bool]

NEWEST_EMOJI = 15
"""The Unicode emoji version that the official script's ``emoji`` 2.9.0 knows. Newer emoji do not count."""

LANGUAGES = {
    "Arabic": "ar", "Bengali": "bn", "Bulgarian": "bg", "English": "en", "Finnish": "fi", "French": "fr",
    "German": "de", "Gujarati": "gu", "Hebrew": "he", "Hindi": "hi", "Italian": "it", "Japanese": "ja",
    "Kannada": "kn", "Korean": "ko", "Malayalam": "ml", "Marathi": "mr", "Nepali": "ne", "Persian": "fa",
    "Polish": "pl", "Portuguese": "pt", "Punjabi": "pa", "Russian": "ru", "Spanish": "es", "Swahili": "sw",
    "Tamil": "ta", "Telugu": "te", "Thai": "th", "Ukrainian": "uk", "Urdu": "ur", "Vietnamese": "vi",
}  # fmt: skip
"""The 30 languages of the benchmark: English name, as data files give it, to the code that ``langdetect`` answers."""


def follows(instruction: str, arguments: Arguments, reply: str, mode: Mode) -> bool:
    """True if the reply obeys the instruction.

    Args:
        arguments: as in the data file; arguments that are null or otherwise empty are dropped, as officially.

    Raises:
        IndexError: an empty reply to ``startend:start_emoji`` in reference mode, as the official script does.
    """
    given = {name: value for name, value in arguments.items() if value}
    check = (_STRICT.get(instruction) if mode == "strict" else None) or _REFERENCE[instruction]
    return check(reply, given)


def _starts_with_letter(reply: str, arguments: Arguments) -> bool:
    return reply.strip().lower().startswith(arguments["letter"].lower())


def _starts_with_emoji(reply: str, arguments: Arguments) -> bool:
    return _is_emoji(reply.strip()[0])


def _starts_with_emoji_strict(reply: str, arguments: Arguments) -> bool:
    import emoji

    first = next(iter(emoji.analyze(reply.strip(), non_emoji=True)), None)  # keycaps and flags count as one
    return first is not None and emoji.is_emoji(first.chars)


def _is_emoji(character: str) -> bool:
    import emoji

    return character in emoji.EMOJI_DATA and emoji.EMOJI_DATA[character]["E"] <= NEWEST_EMOJI


def _ends_with_phrase(reply: str, arguments: Arguments) -> bool:
    return reply.strip().strip("'").lower().endswith(arguments["end_phrase"].lower())


def _ends_with_phrase_strict(reply: str, arguments: Arguments) -> bool:
    closing = "'\"\u201d\u2019*_ \t\r\n"
    return reply.rstrip(closing).lower().endswith(arguments["end_phrase"].rstrip(closing).lower())


def _is_in_language(reply: str, arguments: Arguments, undetectable: bool = True) -> bool:
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0  # unseeded, langdetect answers differently from call to call
    if not reply.strip():
        return False
    try:
        detected: str = detect(reply.strip())
    except LangDetectException:
        return undetectable  # the official script lets a reply without letters pass
    return detected == LANGUAGES[arguments["lang"]]


def _is_in_language_strict(reply: str, arguments: Arguments) -> bool:
    return _is_in_language(reply, arguments, undetectable=False)


def _is_json(reply: str, arguments: Arguments) -> bool:
    return _parses(_without_fences(reply))


def _is_json_strict(reply: str, arguments: Arguments) -> bool:
    try:
        value = json.loads(_without_fences(reply), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _without_fences(reply: str) -> str:
    text = reply.strip()
    for opening in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(opening)
    return text.removesuffix("```").strip()


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_STAR_BULLET = re.compile(r"^\s*\*[^*].*", re.MULTILINE)
_DASH_BULLET = re.compile(r"^\s*-.*", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*[*\-+•][ \t]+\S", re.MULTILINE)


def _has_bullets(reply: str, arguments: Arguments) -> bool:
    return _enough(len(_STAR_BULLET.findall(reply)) + len(_DASH_BULLET.findall(reply)), arguments)


def _has_bullets_strict(reply: str, arguments: Arguments) -> bool:
    return _enough(len(_BULLET.findall(reply)), arguments)


def _enough(bullets: int, arguments: Arguments) -> bool:
    wanted: int = arguments.get("num_bullets", 0)
    return bullets == wanted if wanted else bullets > 0


def _is_short(reply: str, arguments: Arguments) -> bool:
    return count_sentences(reply) < int(arguments["num_sentences"])


def _is_short_strict(reply: str, arguments: Arguments) -> bool:
    return bool(reply.strip()) and _is_short(reply, arguments)


def _has_keywords(reply: str, arguments: Arguments) -> bool:
    return all(keyword.lower() in reply.lower() for keyword in arguments["keywords"])


def _has_keywords_strict(reply: str, arguments: Arguments) -> bool:
    return all(
        re.search(rf"(?<!\w){re.escape(keyword)}(?!\w)", reply, re.IGNORECASE) for keyword in arguments["keywords"]
    )


def _is_upper(reply: str, arguments: Arguments) -> bool:
    return reply.isupper()


def _is_lower(reply: str, arguments: Arguments) -> bool:
    return reply.islower()


def _has_no_comma(reply: str, arguments: Arguments) -> bool:
    return "," not in reply


def _has_no_comma_strict(reply: str, arguments: Arguments) -> bool:
    return bool(reply.strip()) and not re.search("[,，、،]", reply)  # noqa: RUF001 - other scripts' commas are meant


_SEPARATOR = re.compile(r"(?<!\*)\*{6}(?!\*)")


def _has_two_responses(reply: str, arguments: Arguments) -> bool:
    return _two_of(reply.split("******"))


def _has_two_responses_strict(reply: str, arguments: Arguments) -> bool:
    return _two_of(_SEPARATOR.split(reply))


def _two_of(pieces: list[str]) -> bool:
    stripped = [piece.strip() for piece in pieces]
    if not all(stripped[1:-1]):  # blank pieces are let pass at the ends only
        return False
    filled = [piece for piece in stripped if piece]
    return len(filled) == 2 and filled[0] != filled[1]


def _has_placeholders(reply: str, arguments: Arguments) -> bool:
    return len(re.findall(r"\[.*?\]", reply)) >= int(arguments["num_placeholder"])


def _has_placeholders_strict(reply: str, arguments: Arguments) -> bool:
    found = re.findall(r"\[[^\[\]\n]*\w[^\[\]\n]*\](?!\()", reply)  # neither empty brackets nor links
    return len(found) >= int(arguments["num_placeholder"])


def _is_an_option(reply: str, arguments: Arguments) -> bool:
    return any(option in reply for option in arguments["response_options"])


def _is_an_option_strict(reply: str, arguments: Arguments) -> bool:
    named = [option for option in arguments["response_options"] if option in reply]
    return sum(not any(option != other and option in other for other in named) for option in named) == 1


_REFERENCE: dict[str, Check] = {
    "startend:start_char": _starts_with_letter,
    "startend:start_emoji": _starts_with_emoji,
    "startend:end_phrase": _ends_with_phrase,
    "language:response_language": _is_in_language,
    "format:json_format": _is_json,
    "format:bullet_list": _has_bullets,
    "length_constraints:number_sentences": _is_short,
    "keywords:existence": _has_keywords,
    "change_case:capital_letter": _is_upper,
    "change_case:lowercase": _is_lower,
    "punctuation:no_comma": _has_no_comma,
    "combination:two_responses": _has_two_responses,
    "content:placeholder": _has_placeholders,
    "format:constrained_response": _is_an_option,
}

_STRICT: dict[str, Check] = {
    "startend:start_emoji": _starts_with_emoji_strict,
    "startend:end_phrase": _ends_with_phrase_strict,
    "language:response_language": _is_in_language_strict,
    "format:json_format": _is_json_strict,
    "format:bullet_list": _has_bullets_strict,
    "length_constraints:number_sentences": _is_short_strict,
    "keywords:existence": _has_keywords_strict,
    "punctuation:no_comma": _has_no_comma_strict,
    "combination:two_responses": _has_two_responses_strict,
    "content:placeholder": _has_placeholders_strict,
    "format:constrained_response": _is_an_option_strict,
}


class Kind(NamedTuple):
    """What an argument must be: for the machine, and in words."""

    type: Any
    words: str


_Filled = Annotated[str, Meta(min_length=1)]
_TEXT = Kind(_Filled, "a string")
_TEXTS = Kind(Annotated[list[_Filled], Meta(min_length=1)], "a list of strings")
_COUNT = Kind(Annotated[int, Meta(gt=0)], "a whole number above 0")

ARGUMENTS: Mapping[str, Mapping[str, Kind]] = {
    "startend:start_char": {"letter": _TEXT},
    "startend:start_emoji": {},
    "startend:end_phrase": {"end_phrase": _TEXT},
    "language:response_language": {"lang": Kind(Literal[tuple(LANGUAGES)], f"one of {', '.join(LANGUAGES)}")},
    "format:json_format": {},
    "format:bullet_list": {"num_bullets": Kind(int, "a whole number")},
    "length_constraints:number_sentences": {
        "num_sentences": _COUNT,
        "relation": Kind(Literal["less than"], "'less than'"),
    },
    "keywords:existence": {"keywords": _TEXTS},
    "change_case:capital_letter": {},
    "change_case:lowercase": {},
    "punctuation:no_comma": {},
    "combination:two_responses": {},
    "content:placeholder": {"num_placeholder": _COUNT},
    "format:constrained_response": {"response_options": _TEXTS},
}
"""Each instruction's arguments."""

OPTIONAL_ARGUMENTS = ("num_bullets", "relation")
"""Without ``num_bullets`` any number will do; ``less than`` is the only relation in use."""
