"""MileBench's official annotation files, unchanged, to dialogues. ``docs/milebench.md`` describes the format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mmtests.benchmark import Loaded
from mmtests.dialogue import ADVERSARIAL, BLIND, SINGLE, Dialogue, Message, Setting, Text, Turn, without_images
from mmtests.errors import NOT_JSON, BadRecords, DataError, described
from mmtests.image import File
from mmtests.milebench.choices import place_of
from mmtests.milebench.needles import depth_of
from mmtests.milebench.normalise import normalise
from mmtests.milebench.pictures import Pictures
from mmtests.milebench.prompt import UNPAIRED, assemble
from mmtests.milebench.tasks import SUBSETS, Metric

_TOP = "MileBench"
"""The folder that the official archives may or may not have around the subsets' folders."""
_FILES: dict[Setting, str] = {SINGLE: "{}.json", ADVERSARIAL: "{}-adv.json"}
_IMAGES, _COMBINED = "images", "combined_1_images"
_LONGEST_ID = 18
"""Digits."""
_BY_TYPE: dict[str, Metric] = {"multi-choice": "choice", "open-ended": "rouge-l"}
"""What ``question_type`` decides, for subsets whose name does not."""


class Meta(Struct):
    """``meta_data`` as the file has it."""

    task_instruction: list[str] | dict[str, str]
    question_type: str
    num_sample: int | None = None


class Annotation(Struct):
    """A file; its records are decoded one by one, so that a bad one harms no other."""

    meta_data: Meta
    data: list[msgspec.Raw]


class Instance(Struct):
    """``task_instance`` as the file has it."""

    context: str
    images_path: list[str]
    choice_list: list[str] | None = None
    combined_1_images: list[str] | None = None


class Record(Struct):
    """A sample as the file has it."""

    sample_id: int | str
    task_instruction_id: int | str
    task_instance: Instance
    response: str | int | float
    depth: float | None = None


class Place(Struct, frozen=True):
    """Which record of which file, for error messages."""

    path: Path
    record: str

    def error(self, problem: str, mend: str, field: str) -> DataError:
        return DataError(self.path, problem, mend, record=self.record, field=field)


class Subset:
    """One annotation file and the pictures beside it."""

    def __init__(self, folder: Path, name: str, path: Path, meta: Meta) -> None:
        self.name, self.path, self.meta = name, path, meta
        self.metric: Metric = _metric(name, meta.question_type, path)
        self._images, self._beside = Pictures(folder / _IMAGES), Pictures(folder)
        self._combined = Pictures(folder / _COMBINED)
        self.reordered = 0
        self.unpaired = 0
        """Samples read whose placeholders do not stand in the order of ``images_path``."""

    def image(self, written: str, place: Place, index: int) -> File:
        """A picture of ``images_path``: below ``images/``, or for a few records below the subset's folder.

        Raises:
            DataError: there is none, or the path leads elsewhere.
        """
        field = f"task_instance.images_path[{index}]"
        found = self._look(self._images, written, place, field) or self._look(self._beside, written, place, field)
        if found is None:
            raise place.error(
                f"there is no picture {written!r}, neither in {_IMAGES}/ nor in the subset's folder",
                "Is the archive extracted whole?", field,
            )  # fmt: skip
        return found

    def combined(self, written: str, place: Place) -> File | None:
        """The sample's pictures in one, if the data brings it."""
        return self._look(self._combined, written, place, f"task_instance.{_COMBINED}[0]")

    @staticmethod
    def _look(folder: Pictures, written: str, place: Place, field: str) -> File | None:
        try:
            return folder.find(written)
        except ValueError as error:
            raise place.error(str(error), "Paths must stay within the subset's folder.", field) from error


def root_of(folder: Path) -> Path | None:
    """The folder that has the subsets' folders: the given one, or ``MileBench`` in it. None if neither has any."""
    return next((root for root in (folder, folder / _TOP) if any(_present(root))), None)


def _present(root: Path) -> Iterator[Path]:
    for name in SUBSETS:
        for pattern in _FILES.values():
            if (path := root / name / pattern.format(name)).is_file():
                yield path


def load(folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
    """Read the annotation files of those subsets that are there.

    ``single`` is the normal set, ``adversarial`` the ``-adv`` files, ``blind`` the normal set without its images. No picture
    is opened.

    Raises:
        DataError: a file or record that cannot be used.
    """
    bad = bad or BadRecords()
    root = root_of(folder) or folder
    dialogues: list[Dialogue] = []
    files: dict[str, str] = {}
    notes: list[str] = []
    absent: list[str] = []
    for setting, pattern in _FILES.items():
        wanted = [one for one in settings if one == setting or (one == BLIND and setting == SINGLE)]
        for name in SUBSETS if wanted else ():
            path = root / name / pattern.format(name)
            if not path.is_file():
                absent.append(path.stem)
                continue
            content = _content(path)
            files[f"{name}/{path.name}"] = hashlib.sha256(content).hexdigest()
            annotation = _decode(content, path)
            subset = Subset(root / name, name, path, annotation.meta_data)
            read = list(_read(subset, annotation.data, setting, bad))
            notes += _remarks(subset, annotation)
            for one in wanted:
                dialogues += map(without_images, read) if one == BLIND else read
    return Loaded(root, dialogues, files, tuple(absent), tuple(notes), tuple(map(str, bad.skipped)))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "Check its permissions.") from error


def _decode(content: bytes, path: Path) -> Annotation:
    try:
        annotation = msgspec.json.decode(content, type=Annotation)
    except msgspec.ValidationError as error:
        problem, field = described(error)
        raise DataError(path, problem, "docs/milebench.md lists the fields and their types.", field=field) from error
    except NOT_JSON as error:
        raise DataError(path, f"not JSON: {error}", "Extract it again: the file must be one JSON object.") from error
    if not annotation.data:
        raise DataError(
            path, "the file has no samples", "Extract it again, or remove it to run without its task.", field="data"
        )
    return annotation


def _metric(name: str, question_type: str, path: Path) -> Metric:
    """As the official scorer chooses: by the subset's name first, then by the type of its questions."""
    if question_type not in _BY_TYPE:
        raise DataError(path, f"unknown question type {question_type!r}", f"It must be {' or '.join(_BY_TYPE)}.",
                        field="meta_data.question_type")  # fmt: skip
    metric = SUBSETS[name][2]
    return metric if metric in ("needle", "containment") else _BY_TYPE[question_type]


def _remarks(subset: Subset, annotation: Annotation) -> Iterator[str]:
    """What is odd about the file, and harms nothing."""
    said, found = annotation.meta_data.num_sample, len(annotation.data)
    if said is not None and said != found:
        yield f"{subset.path.name} has {found} samples, and its num_sample says {said}"
    if subset.metric != (usual := SUBSETS[subset.name][2]):
        yield f"{subset.path.name} is {annotation.meta_data.question_type}: scored by {subset.metric}, not by {usual}"
    if subset.unpaired:
        yield (
            f"{subset.path.name}: in {subset.unpaired} samples images and placeholders are not one to one (flag {UNPAIRED}): "
            f"images without a placeholder stand before the text"
        )
    if subset.reordered:
        yield (
            f"{subset.path.name}: in {subset.reordered} samples the placeholders are not in the order of images_path; "
            f"images are paired by number, where the official code takes them as listed"
        )


def _read(subset: Subset, data: Sequence[msgspec.Raw], setting: Setting, bad: BadRecords) -> Iterator[Dialogue]:
    decoder = msgspec.json.Decoder(Record)
    seen: dict[int, int] = {}
    for number, raw in enumerate(data, 1):
        try:
            place, record = _record(decoder, raw, subset.path, number)
            dialogue = _dialogue(subset, record, setting, place)
            sample = int(dialogue.id)
            if sample in seen:
                raise place.error(
                    f"sample {sample} stands twice: it is already data[{seen[sample] - 1}]",
                    "Ids must be unique within a file; rename or remove one.", "sample_id",
                )  # fmt: skip
        except DataError as error:
            bad(error)
            continue
        seen[sample] = number
        yield dialogue


def _record(decoder: msgspec.json.Decoder[Record], raw: msgspec.Raw, path: Path, number: int) -> tuple[Place, Record]:
    at = f"data[{number - 1}]"
    try:
        record = decoder.decode(raw)
    except msgspec.ValidationError as error:
        problem, field = described(error)
        mend = "docs/milebench.md lists the fields and their types."
        raise DataError(path, problem, mend, record=at, field=field) from error
    except NOT_JSON as error:
        raise DataError(path, f"not JSON: {error}", "Extract it again.", record=at) from error
    written = str(record.sample_id).strip()
    if not (written.isascii() and written.isdecimal() and len(written) <= _LONGEST_ID):
        raise DataError(path, f"the sample id {record.sample_id!r} is no whole number", "Predictions are matched by it.",
                        record=at, field="sample_id")  # fmt: skip
    return Place(path, str(int(written))), record


def _dialogue(subset: Subset, record: Record, setting: Setting, place: Place) -> Dialogue:
    instance, gold = record.task_instance, str(record.response)
    choices = instance.choice_list
    if not normalise(gold):
        raise place.error(
            f"the answer {gold!r} is empty" + (" without its punctuation" if gold else ""),
            "The official scorer stops at it; give the answer.", "response",
        )  # fmt: skip
    if subset.metric == "choice":
        if not choices:
            raise place.error("a multi-choice question without choices", "List them.", "task_instance.choice_list")
        if place_of(gold, choices) is None:
            raise place.error(f"the answer {gold!r} is none of the {len(choices)} choices",
                              "It must be the text of one of them.", "response")  # fmt: skip
    if not instance.images_path:
        raise place.error("the sample has no images", "List them.", "task_instance.images_path")
    if record.depth is not None and not 0 <= record.depth <= 1:
        raise place.error(f"the depth {record.depth:g} is not from 0 to 1", "It is a part of the context.", "depth")
    instruction = _instruction(subset.meta.task_instruction, record.task_instruction_id, place)
    name = f"{subset.path.name}: record {place.record} (field task_instance.images_path["
    sources = [subset.image(written, place, index) for index, written in enumerate(instance.images_path)]
    prompt = assemble(subset.name, instance.context, choices, sources, name, place.error)
    subset.reordered += prompt.reordered
    subset.unpaired += prompt.unpaired
    facts: dict[str, Any] = {"metric": subset.metric, "images": len(sources)}
    if choices:
        facts["choices"] = choices
    if prompt.breaks:
        facts["breaks"] = [at + 1 for at in prompt.breaks]  # the instruction comes before them
    if subset.metric == "needle":
        facts["depth"] = depth_of(prompt.parts, gold) if record.depth is None else record.depth
    if instance.combined_1_images and (own := subset.combined(instance.combined_1_images[0], place)):
        facts["combined"] = own.path
    user = Message("user", (Text(f"{instruction}\n"), *prompt.parts))
    turn = Turn(1, place.record, user, gold, scored=True)
    return Dialogue(
        "milebench",
        subset.name,
        setting,
        place.record,
        (turn,),
        facts=facts,
        flags=(UNPAIRED,) if prompt.unpaired else (),
    )


def _instruction(texts: list[str] | Mapping[str, str], wanted: int | str, place: Place) -> str:
    known = texts if isinstance(texts, Mapping) else {str(index): text for index, text in enumerate(texts)}
    if (text := known.get(str(wanted).strip())) is None:
        raise place.error(f"there is no task instruction {wanted!r}", f"Known: {', '.join(known) or 'none'}.",
                          "task_instruction_id")  # fmt: skip
    return text
