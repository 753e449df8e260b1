"""The prompt is the official one to the letter, and each placeholder gets the image of its number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmtests.dialogue import SINGLE, Text
from mmtests.errors import DataError
from mmtests.image import File, Grid, Image
from mmtests.milebench import MileBench
from mmtests.milebench.load import load
from mmtests.milebench.prompt import UNPAIRED, assemble, with_choices
from tests.milebench.data import dialogue, sample, write

SUBSET = "MovingDirection"


def fault(problem: str, mend: str, field: str) -> DataError:
    return DataError(Path("x.json"), problem, mend, field=field)


def shown(context: str, images: int, subset: str = SUBSET, choices: list[str] | None = None) -> str:
    """The prompt as a string, with the official tag for each image."""
    parts = assemble(subset, context, choices, [File(str(n)) for n in range(images)], "x[", fault).parts
    return "".join(part.text if isinstance(part, Text) else "<ImageHere>" for part in parts)


def test_the_whole_prompt(tmp_path: Path) -> None:
    """Instruction, line break, context, options with letters; images where their placeholders stand."""
    one = dialogue(tmp_path, SUBSET, sample("First {image#1} then {table#2} Which way?"))

    assert one.turns[0].user.shown == (
        "Look.\nFirst <image> then <image> Which way?\nChoice list: \nA. to the left\nB. to the right\nYour answer is: "
    )
    assert one.turns[0].user.parts[0] == Text("Look.\n")


def test_options_without_letters() -> None:
    """GPR1200's options have no letters, and letters go on past Z as officially."""
    assert (
        with_choices("GPR1200", "Q", ["Image 1", "Image 2"]) == "Q\nChoice list: \nImage 1\nImage 2\nYour answer is: "
    )
    listed = with_choices("TQA", "Q", [str(number) for number in range(28)])
    assert "\nY. 24\nZ. 25\n[. 26\n\\. 27\n" in listed


def test_no_options() -> None:
    """Without a choice list the context is the end."""
    assert with_choices("ALFRED", "Step 1:", None) == "Step 1:"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("{image#1}{image#2} Q", "<ImageHere>\n<ImageHere>\n Q"),
        ("{image#1}{image#2}{image#3} Q", "<ImageHere>\n<ImageHere>\n<ImageHere> Q"),
        ("{image#1}{image#2}{image#3}{image#4}", "<ImageHere>\n<ImageHere>\n<ImageHere>\n<ImageHere>\n"),
        ("{image#1} {image#2} Q", "<ImageHere> <ImageHere> Q"),
        ("a{image#1}b{image#2}{image#3}c", "a<ImageHere>b<ImageHere>\n<ImageHere>\nc"),
    ],
)
def test_adjacent_images(context: str, expected: str) -> None:
    """Of two adjacent images each has a line break after it."""
    assert shown(context, context.count("#")) == expected


@given(st.lists(st.sampled_from(["", "", " ", "text", "\n"]), min_size=2, max_size=9))
def test_adjacent_images_as_officially(texts: list[str]) -> None:
    """Line breaks come as the sample worker's replacement in the whole string puts them."""
    context = texts[0] + "".join(f"{{image#{number}}}{text}" for number, text in enumerate(texts[1:], 1))
    tagged = "<ImageHere>".join(texts)

    expected = tagged.replace("<ImageHere><ImageHere>", "<ImageHere>\n<ImageHere>\n")

    assert shown(context, len(texts) - 1) == expected


def test_pairing_by_number(tmp_path: Path) -> None:
    """Placeholder k gets the k-th image, wherever it stands, and the header says that the official code differs."""
    write(tmp_path, SUBSET, sample("{image#2} then {image#1} Which way?"), sample(sample_id=1))

    loaded = load(tmp_path, [SINGLE])

    first, second = loaded.dialogues
    assert [Path(image.source.path).name for image in first.turns[0].user.images if isinstance(image.source, File)] == [
        "b.jpg", "a.jpg",
    ]  # fmt: skip
    assert first.turns[0].user.images[0].place.endswith("images_path[1])")
    assert [Path(image.source.path).name for image in second.turns[0].user.images if isinstance(image.source, File)] == [
        "a.jpg", "b.jpg",
    ]  # fmt: skip
    (note,) = loaded.notes
    assert note.startswith("MovingDirection.json: in 1 samples the placeholders are not in the order of images_path")


def test_placeholders_among_the_options() -> None:
    """Options may hold images, too."""
    assert shown("Which?", 2, choices=["{image#1}", "{image#2}"]) == (
        "Which?\nChoice list: \nA. <ImageHere>\nB. <ImageHere>\nYour answer is: "
    )


def test_what_is_no_placeholder() -> None:
    """Numbers in other braces, and numbers with zeros before them, are text, as officially."""
    assert shown("{i} {image#01} {image#0} {image#1}", 1) == "{i} {image#01} {image#0} <ImageHere>"


@pytest.mark.parametrize(
    ("context", "images", "seen"),
    [
        ("{image#1} Q", 2, "[1]\n[0]\n Q"),
        ("Q", 2, "[0]\n[1]\nQ"),
        ("{image#1} {image#2} {image#3} Q", 2, "[0] [1] {image#3} Q"),
        ("{image#1} and {table#1} Q", 1, "[0] and [0] Q"),
        ("{image#9} {image#1} {image#1} {image#4} Q", 3, "[1]\n[2]\n{image#9} [0] [0] {image#4} Q"),
    ],
)
def test_placeholders_that_do_not_pair(context: str, images: int, seen: str) -> None:
    """No image is lost, none is shown in another's place, and the sample is known to be so."""
    prompt = assemble(SUBSET, context, None, [File(str(n)) for n in range(images)], "x[", fault)

    assert "".join(part.text if isinstance(part, Text) else f"[{part.source.path}]" for part in prompt.parts) == seen
    assert prompt.unpaired


def test_a_sample_that_does_not_pair_is_flagged(tmp_path: Path) -> None:
    """In its records and in the header."""
    one = dialogue(tmp_path, SUBSET, sample("{image#1} Which way?"))

    assert one.flags == (UNPAIRED,)
    assert len(one.turns[0].user.images) == 2


def test_the_official_mark_in_the_text() -> None:
    """It would be taken for an image."""
    with pytest.raises(DataError, match="the text holds <ImageHere>") as caught:
        shown("{image#1} <ImageHere>", 1)

    assert caught.value.field == "task_instance.context"


# Combined


def test_a_grid(tmp_path: Path) -> None:
    """Without a picture of its own the images come in a grid; text as in the official combined mode, no line breaks."""
    one = MileBench().combine(dialogue(tmp_path, SUBSET, sample("{image#1}{image#2} Which way?")))

    picture, instruction, rest = one.turns[0].user.parts
    assert isinstance(picture, Image)
    assert isinstance(picture.source, Grid)
    assert len(picture.source.sources) == 2
    assert instruction == Text("\nLook.\n")
    assert rest == Text(
        "<Image 1> <Image 2>  Which way?\nChoice list: \nA. to the left\nB. to the right\nYour answer is: "
    )
    assert one.flags == ("images_combined",)


def test_line_breaks_of_the_data_stay(tmp_path: Path) -> None:
    """Only the line breaks that were put between adjacent images go."""
    one = MileBench().combine(dialogue(tmp_path, SUBSET, sample("{image#1}\n{image#2}\nWhich way?")))

    assert one.turns[0].user.text.startswith("\nLook.\n<Image 1> \n<Image 2> \nWhich way?")


def test_the_picture_of_the_data(tmp_path: Path) -> None:
    """The data's own combined picture is taken where it exists."""
    own = tmp_path / SUBSET / "combined_1_images" / "0-0.jpg"
    own.parent.mkdir(parents=True)
    own.touch()

    one = MileBench().combine(dialogue(tmp_path, SUBSET, sample(combined_1_images=["0-0.jpg"])))

    (picture,) = one.turns[0].user.images
    assert picture.source == File(str(own.resolve()))
    assert picture.place == "MovingDirection.json: record 0 (field task_instance.combined_1_images[0])"


@pytest.mark.parametrize("setting", ["single", "blind"])
def test_nothing_to_combine(tmp_path: Path, setting: str) -> None:
    """A message with one image, or without any, stays as it is."""
    record = sample("{image#1} Which way?", ["a.jpg"]) if setting == "single" else sample()
    one = dialogue(tmp_path, SUBSET, record, setting)

    assert MileBench().combine(one) is one
