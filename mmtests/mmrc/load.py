"""From a folder in the format of ``docs/mmrc.md`` to dialogues: one for each question and setting."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mmtests.benchmark import Loaded
from mmtests.dialogue import BLIND, GOLD, MULTI, Dialogue, Message, Part, Setting, Text, Turn, without_images
from mmtests.errors import BadRecords, DataError, described
from mmtests.mmrc.checks import question_of
from mmtests.mmrc.mapping import FILE, FieldMapping
from mmtests.mmrc.pictures import Pictures
from mmtests.mmrc.questions import Question
from mmtests.mmrc.records import ConversationRow, Place, QuestionRow, TurnRow, UserRow, raw_records
from mmtests.mmrc.tasks import ABILITIES

NAMES = ("mmrc.jsonl", "mmrc.json")
"""The data file's name, unless a mapping gives another; the first that is there."""
SETTINGS: tuple[Setting, ...] = (MULTI, GOLD, BLIND)
TAG = "<image>"
"""Where a picture stands within a text."""
UNSEEN = "(a picture)"
"""In the blind setting, a message that was a picture and nothing else."""

NAME = "mmrc"


class Conversation(Struct, frozen=True):
    """A conversation of the file."""

    id: str
    users: tuple[Message, ...]
    """What the user says at each turn, with pictures."""
    assistants: tuple[str | None, ...]
    """The recorded replies."""
    questions: tuple[tuple[str, str, Question], ...]
    """Dialogue id, the question's own id, and the question."""
    topic: str | None
    domain: str | None

    @property
    def recorded(self) -> bool:
        """True if every turn has a reply that can be history."""
        return all(self.assistants)


def recognises(folder: Path) -> bool:
    """True for a folder with a data file, or with a mapping that names one."""
    return any((folder / name).is_file() for name in (*NAMES, FILE))


def load(folder: Path, settings: Sequence[Setting], bad: BadRecords | None = None) -> Loaded:
    """Read the data file.

    Raises:
        DataError: the file, its mapping or a record that cannot be used, with line or record and field.
    """
    bad = bad or BadRecords()
    mapping = FieldMapping(folder)
    path = _data_file(folder, mapping)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}", "Check its permissions.") from error
    unread: set[str] = set()
    conversations = list(_conversations(path, content, mapping, _pictures(folder, mapping), unread, bad))
    files = {path.name: hashlib.sha256(content).hexdigest()}
    if mapping.exists:
        files[FILE] = hashlib.sha256(mapping.path.read_bytes()).hexdigest()
    wanted = [setting for setting in SETTINGS if setting in settings]
    dialogues = [one for setting in wanted for conversation in conversations for one in _asked(conversation, setting)]
    notes = []
    if GOLD in wanted and (bare := sum(not conversation.recorded for conversation in conversations)):
        notes.append(
            f"{path.name} gives no reply at some turn of {bare} of {len(conversations)} conversations: they have no gold "
            f"setting"
        )
    if unread:
        notes.append(f"{path.name} has fields that are not read: {', '.join(sorted(unread))}")
    return Loaded(folder, dialogues, files, notes=tuple(notes), skipped=tuple(map(str, bad.skipped)))


def _data_file(folder: Path, mapping: FieldMapping) -> Path:
    if mapping.file is None:
        found = next((path for name in NAMES if (path := folder / name).is_file()), None)
        if found is None:
            raise DataError(
                folder, f"there is no {' or '.join(NAMES)}", f"{FILE} can name another file with the key file."
            )
        return found
    path = folder / mapping.file
    if not _inside(folder, path) or not path.is_file():
        raise DataError(mapping.path, f"there is no file {mapping.file!r} in the folder",
                        "It must be beside the mapping, or below.", field="file")  # fmt: skip
    return path


def _pictures(folder: Path, mapping: FieldMapping) -> Pictures:
    if mapping.images is not None:
        path = folder / mapping.images
        if not _inside(folder, path) or not path.is_dir():
            raise DataError(mapping.path, f"there is no folder {mapping.images!r} in the folder",
                            "It must be beside the mapping, or below.", field="images")  # fmt: skip
    return Pictures(folder, mapping.images)


def _inside(folder: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _conversations(
    path: Path, content: bytes, mapping: FieldMapping, pictures: Pictures, unread: set[str], bad: BadRecords
) -> Iterator[Conversation]:
    taken: dict[str, Place] = {}
    names: dict[tuple[str, str], str] = {}
    for place, record in raw_records(path, content):
        try:
            if isinstance(record, DataError):
                raise record
            place = replace(place, told=mapping.told if mapping.exists else None)
            row = _row(record, place, mapping)
            place = replace(place, record=str(row.id))
            conversation = _conversation(row, place, pictures)
            if (before := taken.get(conversation.id)) is not None:
                where = f"line {before.line}" if before.line else "another record"
                raise place.error(
                    f"conversation id {conversation.id!r} is already that of {where}", "Ids must be unique.", "id"
                )
            mine = {(question.ability, name): conversation.id for name, _, question in conversation.questions}
            for ability, name in mine.keys() & names.keys():
                raise place.error(
                    f"its {ability} question would be called {name!r}, as one of conversation {names[ability, name]!r}",
                    "Rename the conversation: '.2' at the end of an id is for second questions.", "id",
                )  # fmt: skip
        except DataError as error:
            bad(error)
            continue
        taken[conversation.id] = place
        names |= mine
        if not mapping.exists:
            unread |= _unread(record)
        yield conversation
    if mapping.exists and taken:
        mapping.checked()


def _row(record: Any, place: Place, mapping: FieldMapping) -> ConversationRow:
    try:
        return msgspec.convert(mapping.row(record, place), ConversationRow)
    except msgspec.ValidationError as error:
        problem, field = described(error)
        raise place.error(problem, "docs/mmrc.md lists the fields and their types.", field) from error


def _conversation(row: ConversationRow, place: Place, pictures: Pictures) -> Conversation:
    name = str(row.id)
    if not name.strip() or not name.isprintable():
        raise place.error(f"the id {name!r} cannot be shown", "Give it one of printable characters.", "id")
    if not row.turns:
        raise place.error("the conversation has no turns", "Give it at least one.", "turns")
    if not row.questions:
        raise place.error("the conversation has no questions", "Give it at least one.", "questions")
    users = tuple(_user(turn, place, f"turns[{index}].user", pictures) for index, turn in enumerate(row.turns))
    count = sum(len(message.images) for message in users)
    asked: list[tuple[str, str, Question]] = []
    of_ability = dict.fromkeys(ABILITIES, 0)
    seen: dict[str, int] = {}
    for index, one in enumerate(row.questions):
        field = f"questions[{index}]"
        question = question_of(one, place, field, turns=len(users), pictures=count)
        own = str(one.id) if one.id is not None else f"q{index + 1}"
        if own in seen:
            raise place.error(
                f"question id {own!r} is already that of questions[{seen[own]}]", "Ids must be unique.", f"{field}.id"
            )
        seen[own] = index
        of_ability[question.ability] += 1
        nth = of_ability[question.ability]
        asked.append((name if nth == 1 else f"{name}.{nth}", own, question))
    return Conversation(
        name, users, tuple(turn.assistant or None for turn in row.turns), tuple(asked), row.topic, row.domain
    )


def _user(turn: TurnRow, place: Place, field: str, pictures: Pictures) -> Message:
    said = UserRow(turn.user) if isinstance(turn.user, str) else turn.user
    text = said.text or ""
    written = [said.images] if isinstance(said.images, str) else said.images or []
    images = [pictures.find(one, place, f"{field}.images[{number}]") for number, one in enumerate(written)]
    if not text.strip() and not images:
        raise place.error("the user says nothing and shows nothing", "Give the turn a text or a picture.", field)
    pieces = text.split(TAG)
    tags = len(pieces) - 1
    if tags and tags != len(images):
        raise place.error(
            f"the text has {tags} {TAG} and the turn {len(images)} pictures",
            "Give each picture its place, or none of them: then they come before the text.", field,
        )  # fmt: skip
    parts: list[Part] = [] if tags else [*images]
    for piece, image in zip_longest(pieces, images if tags else []):
        if piece:
            parts.append(Text(piece))
        if image is not None:
            parts.append(image)
    return Message("user", tuple(parts))


def _asked(conversation: Conversation, setting: Setting) -> Iterator[Dialogue]:
    """A dialogue for each question. All share the history, as a name and in memory."""
    if setting == GOLD and not conversation.recorded:
        return
    history = tuple(
        Turn(number, str(number), user, assistant, scored=False, asked=setting != GOLD)
        for number, (user, assistant) in enumerate(zip(conversation.users, conversation.assistants, strict=True), 1)
    )
    if setting == BLIND:
        history = _blind(conversation.id, history)
    facts = {"topic": conversation.topic, "domain": conversation.domain, "shown": conversation.users}
    for name, own, question in conversation.questions:
        last = Turn(
            len(history) + 1, own, Message.of("user", question.prompt), question.answer, scored=True,
            facts={"question": question},
        )  # fmt: skip
        yield Dialogue(
            NAME,
            question.ability,
            setting,
            name,
            (*history, last),
            facts=facts,
            trunk=f"{NAME}/{setting}/{conversation.id}",
        )


def _blind(name: str, history: tuple[Turn, ...]) -> tuple[Turn, ...]:
    blind = without_images(Dialogue(NAME, "", MULTI, name, history)).turns
    return tuple(turn if turn.user.text.strip() else replace(turn, user=Message.of("user", UNSEEN)) for turn in blind)


def _unread(record: Mapping[str, Any]) -> set[str]:
    """Fields that are none of ours: in an optional one, a slip of the pen would else go unseen."""
    found = {name for name in record if name not in _KNOWN["conversation"]}
    for name in ("turns", "questions"):
        found |= {f"{name}[].{key}" for one in record[name] for key in one if key not in _KNOWN[name]}
    found |= {
        f"turns[].user.{key}"
        for turn in record["turns"]
        if isinstance(turn["user"], dict)
        for key in turn["user"]
        if key not in _KNOWN["user"]
    }
    return found


_KNOWN: Mapping[str, frozenset[str]] = {
    "conversation": frozenset(ConversationRow.__struct_fields__),
    "turns": frozenset(TurnRow.__struct_fields__),
    "questions": frozenset(QuestionRow.__struct_fields__),
    "user": frozenset(UserRow.__struct_fields__),
}
