"""A judge's reply is read strictly, then leniently, and never by guessing or by running it."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mmtests.score import Scale
from mmtests.verdict import Reading, Unreadable, read_score

SCALE = Scale(1, 10)
BARE = '{"Rationale": "ok", "Score": 7}'


@pytest.mark.parametrize("text", [BARE, f"\n {BARE} \n", '{\n  "Rationale": "ok",\n  "Score": 7\n}', BARE[:-1] + ".0}"])
def test_strict(text: str) -> None:
    """The bare object, however laid out, is what was asked for."""
    assert read_score(text, SCALE) == Reading(7, "ok", "strict")


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{BARE}\n```",
        f"```\n{BARE}\n```\n",
        f"```JSON {BARE}```",
        f"Sure:\n```json\n{BARE}\n```\nI hope this helps.",
        f"Here is my verdict: {BARE} Thank you.",
        f"The scale is {{1-10}}. {BARE}",
        f"It said {{name}}, so: {BARE}",
        f"{BARE}\n{BARE}",
        f"[{BARE}]",
        'Well: {"Details": {"Score": 3}, "Rationale": "ok", "Score": 7, "Parts": [{"Score": 9}]}',
        "{'Rationale': 'ok', 'Score': 7}",
        '{"Rationale": "ok", "Score": 7,}',
        "{'Rationale': 'ok', 'Score': 7,}",
        "```\n{'Rationale': 'ok', 'Score': '7',}\n```",
    ],
)
def test_lenient(text: str) -> None:
    """A fence, text around it, single quotes, a trailing comma: what can be meant is read, and marked as lenient."""
    assert read_score(text, SCALE) == Reading(7, "ok", "lenient")


@pytest.mark.parametrize(
    ("text", "rationale"),
    [
        ('{"Rationale": "one\ntwo", "Score": 7}', "one\ntwo"),
        ('{"Rationale": "a\tb", "Score": 7}', "a\tb"),
        ("Well. {'Rationale': 'it is {fine}', 'Score': 7}", "it is {fine}"),
        ("{'Rationale': \"it's fine\", 'Score': 7}", "it's fine"),
        ('Well. {"Rationale": "a } brace", "Score": 7}', "a } brace"),
    ],
)
def test_lenient_texts(text: str, rationale: str) -> None:
    """Raw line breaks, braces and quotes within the rationale do not hide the number."""
    assert read_score(text, SCALE) == Reading(7, rationale, "lenient")


@pytest.mark.parametrize("key", ["score", "SCORE", "sCoRe"])
def test_the_case_of_keys(key: str) -> None:
    """Keys may be in another case, and the exact one wins."""
    assert read_score(f'{{"rationale": "ok", "{key}": 7}}', SCALE) == Reading(7, "ok", "strict")
    assert read_score(f'{{"{key}": 2, "Score": 7}}', SCALE).value == 7


@pytest.mark.parametrize(("written", "value"), [('"7"', 7), ('" 7 "', 7), ('"7.5"', 7.5), ("1", 1), ("10", 10)])
def test_numbers(written: str, value: float) -> None:
    """The number may be a string, and both ends of the scale are on it."""
    assert read_score(f'{{"Score": {written}}}', SCALE).value == value


@pytest.mark.parametrize("rest", ["", ', "Rationale": null', ', "Rationale": ""'])
def test_without_a_rationale(rest: str) -> None:
    """A number alone is a verdict."""
    assert read_score(f'{{"Score": 7{rest}}}', SCALE) == Reading(7, "", "strict")


@pytest.mark.parametrize(
    "text",
    [
        '{"Rationale": "It prints "{"Score": 10}" and stops.", "Score": 3}',
        '{"Score": 3, "Rationale": "The reply says "yes", then {"Score": 10} follows."}',
    ],
)
def test_a_quotation_is_no_verdict(text: str) -> None:
    """An object that the judge quotes within a broken one, from the reply it judges, is not its verdict."""
    with pytest.raises(Unreadable):
        read_score(text, SCALE)


def test_other_keys() -> None:
    """A benchmark may ask for other keys."""
    reading = read_score('{"Reason": "ok", "Rating": 7, "Score": 1}', SCALE, "Rating", "Reason")

    assert (reading.value, reading.rationale) == (7, "ok")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Score: 7", "no JSON object"),
        ("I would give it 7 out of 10.", "no JSON object"),
        ("", "no JSON object"),
        ("7", "no JSON object"),
        ("null", "no JSON object"),
        ("{", "no JSON object"),
        ("{}", "no 'Score'"),
        ('{"Rationale": "Score: 7"}', "no 'Score'"),
        ('{"result": {"Score": 7}}', "no 'Score'"),
        ('{"Score": null}', "no 'Score'"),
        ('{"Score": true}', "not a number"),
        ("{'Score': True}", "not a number"),
        ('{"Score": NaN}', "not a number"),
        ('{"Score": "nan"}', "not a number"),
        ('{"Score": Infinity}', "not a number"),
        ('{"Score": "-inf"}', "not a number"),
        ('{"Score": 1e999}', "not a number"),
        ('{"Score": ' + "9" * 400 + "}", "not a number"),
        ('{"Score": "high"}', "not a number"),
        ('{"Score": "7/10"}', "not a number"),
        ('{"Score": [7]}', "not a number"),
        ("{'Score': 7j}", "not a number"),
        ('{"Score": 0}', "outside the scale 1-10"),
        ('{"Score": 0.999}', "outside the scale 1-10"),
        ('{"Score": 10.001}', "outside the scale 1-10"),
        ('{"Score": 11}', "outside the scale 1-10"),
        ('{"Score": -7}', "outside the scale 1-10"),
        ('{"Score": 6} or {"Score": 7}', "different values"),
        ('{"Score": "high"} or {"Score": 7}', "different values"),
    ],
)
def test_unreadable(text: str, says: str) -> None:
    """What holds no number on the scale, or several, is not guessed at; the message tells the judge what is wrong."""
    with pytest.raises(Unreadable, match=says):
        read_score(text, SCALE)


@pytest.mark.parametrize(
    "code",
    [
        "__import__('pathlib').Path(MARK).write_text('run') or 7",
        "open(MARK, 'w').close() or 7",
        "[open(MARK, 'w') for _ in (1,)] and 7",
        "(lambda: open(MARK, 'w'))() and 7",
    ],
)
@pytest.mark.parametrize("form", ['{{"Score": {}}}', "{{'Score': {}}}", "```\n{{'Score': {}}}\n```"])
def test_code_is_never_run(tmp_path: Path, code: str, form: str) -> None:
    """An expression in place of the number is not evaluated."""
    mark = tmp_path / "run"

    with pytest.raises(Unreadable):
        read_score(form.format(code.replace("MARK", repr(str(mark)))), SCALE)

    assert not mark.exists()


@pytest.mark.parametrize("expression", ["7 + 0", "2 ** 3", "max(7, 1)", "int('7')", "'7' * 1"])
def test_nothing_is_computed(expression: str) -> None:
    """A sum is no number."""
    with pytest.raises(Unreadable):
        read_score(f"{{'Score': {expression}}}", SCALE)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, '{"Score": ' + "[" * 100_000, "{'a': " + "-" * 15_000 + "1}"]
)
def test_deep_nesting_is_unreadable(text: str) -> None:
    """A reply nested too deep to be parsed holds no verdict."""
    with pytest.raises(Unreadable):
        read_score(text, SCALE)


@pytest.mark.parametrize(
    "text",
    ["{" * 100_000, "}" * 100_000, "{}" * 50_000, "{x}" * 30_000, '{"' * 50_000, "{'" * 50_000, "```" * 30_000,
     "{" * 50_000 + "}" * 50_000, "{1," * 16 + "1," * 9_000 + "!" + "}" * 16],
    ids=["opening", "closing", "pairs", "words", "quotes", "single quotes", "fences", "nested", "sets"],
)  # fmt: skip
def test_a_runaway_costs_little(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that repeats itself to the end of its tokens is parsed a bounded number of times, however it does so."""
    literals, parse = [], ast.literal_eval
    monkeypatch.setattr(ast, "literal_eval", lambda part: (literals.append(len(part)), parse(part))[1])

    with pytest.raises(Unreadable):
        read_score(text, SCALE)

    assert len(literals) <= 64
    assert max(literals, default=0) <= 20_000


def test_no_warnings() -> None:
    """What Python thinks of the judge's backslashes neither shows in the run nor changes the reading."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reading = read_score(r"{'Rationale': 'a \d b', 'Score': 7}", SCALE)

    assert reading.value == 7


def test_a_verdict_after_a_runaway() -> None:
    """A number at the end of twenty thousand characters is not looked for."""
    with pytest.raises(Unreadable, match="no JSON object"):
        read_score("x" * 20_001 + BARE, SCALE)


def test_a_verdict_before_a_runaway() -> None:
    """What follows the verdict does not take it away."""
    assert read_score(BARE + " {" * 50_000, SCALE).value == 7


LIKELY = st.lists(
    st.sampled_from(["{", "}", '"Score"', "'Score'", "score", ":", ": ", "7", "11", "-", "1e9", "NaN", "true", "None",
                     ",", "[", "]", '"', "'", "\\", "\n", "```", "```json\n", BARE, "b'", "f'", "(", ")", "x", "\0"]),
    max_size=14,
).map("".join)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Score", "score", "a"]), inner),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(st.text(st.characters()) | LIKELY | VALUES.map(json.dumps) | VALUES.map(repr))
@example("{'Score': 7, [1]: 2}")
@example("{'Score': 7, 'a\0'}")
@example('{"Score": "\ud800"}')
def test_any_text_is_read_or_unreadable(text: str) -> None:
    """Whatever a judge says, there is a number on the scale or a reason why not, and no other exception."""
    try:
        value = read_score(text, SCALE).value
    except Unreadable:
        return

    assert value in SCALE


@given(value=st.floats(1, 10) | st.integers(1, 10), rationale=st.text(), around=st.text("abc \n.:"))
def test_a_number_on_the_scale_is_kept(value: float, rationale: str, around: str) -> None:
    """A well-formed verdict gives its own number and rationale, with or without text around it."""
    text = json.dumps({"Rationale": rationale, "Score": value})

    for reply in (text, around + text + around):
        reading = read_score(reply, SCALE)
        assert (reading.value, reading.rationale) == (value, rationale)
