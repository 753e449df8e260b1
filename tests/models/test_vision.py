"""Vision-language models in this process: the real transformers path, with tiny models of every kind an alias names."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import io
import itertools
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow
from PIL import ImageDraw

from mmtests.dialogue import Message, Part, Text
from mmtests.errors import UserError
from mmtests.fixtures.models import local, seeing, tiny, weights
from mmtests.fixtures.models.chat import ChatRequest, DoesNotFit, Generation
from mmtests.fixtures.models.local import Local, LocalSettings
from mmtests.fixtures.models.registry import resolve, settings
from mmtests.fixtures.models.seeing import Group, Pictures, together
from mmtests.image import File, Image, Inline
from mmtests.reply import NoReply, Reply
from tests import tiny_vision
from tests.tiny import build_tiny_model

torch = pytest.importorskip("torch")

Folders = Callable[[str], str]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """The folder of a tiny model of a kind, built when it is first asked for."""
    built: dict[str, str] = {}

    def folder(kind: str) -> str:
        if kind not in built:
            built[kind] = str(tiny_vision.build(kind, tmp_path_factory.mktemp(kind)))
        return built[kind]

    return folder


def drawn(colour: str, width: int = 112, height: int = 56) -> Image:
    """A picture with a white ellipse on a ground of a colour."""
    canvas = pillow.new("RGB", (width, height), colour)
    ImageDraw.Draw(canvas).ellipse((width // 8, height // 6, width // 2, height // 2), fill="white")
    stream = io.BytesIO()
    canvas.save(stream, "PNG")
    return Image(Inline(base64.b64encode(stream.getvalue()).decode()), f"{colour} picture")


def said(*parts: str | Image) -> tuple[Part, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in parts)


def ask(model: Local, *parts: str | Image, tokens: int = 8, may_cut: bool = False) -> Reply:
    """One question."""
    request = ChatRequest((Message("user", said(*parts)),), Generation(tokens), "d", "d/turn-01", may_cut=may_cut)
    return asyncio.run(model.chat(request))


def ask_together(model: Local, questions: Sequence[Sequence[str | Image]]) -> list[Reply | BaseException]:
    """Questions of dialogues of their own, all at once."""

    async def all_of_them() -> list[Reply | BaseException]:
        requests = [
            ChatRequest((Message("user", said(*parts)),), Generation(8), str(number), f"{number}/turn-01")
            for number, parts in enumerate(questions)
        ]
        return await asyncio.gather(*map(model.chat, requests), return_exceptions=True)

    return asyncio.run(all_of_them())


def turns_of(colour: str) -> list[tuple[Part, ...]]:
    """Four user messages, with one picture in the first and two in the third."""
    return [
        said("Look: ", drawn(colour), f" Is it {colour}?"),
        said("Why?"),
        said("And ", drawn("green", 168, 84), " or ", drawn(colour, 56, 112), "?"),
        said("Thanks."),
    ]


def converse(model: Local, colours: Sequence[str]) -> list[list[Reply]]:
    """Dialogues of four turns, side by side; each goes on from its own replies."""

    async def one(colour: str) -> list[Reply]:
        history: list[Message] = []
        replies: list[Reply] = []
        for number, parts in enumerate(turns_of(colour)):
            history.append(Message("user", parts))
            request = ChatRequest(tuple(history), Generation(8), colour, f"{colour}/{number}", number < 3)
            replies.append(await model.chat(request))
            history.append(Message.of("assistant", replies[-1].text))
        return replies

    async def all_of_them() -> list[list[Reply]]:
        return list(await asyncio.gather(*map(one, colours)))

    return asyncio.run(all_of_them())


def texts(dialogues: list[list[Reply]]) -> list[list[str]]:
    return [[reply.text for reply in replies] for replies in dialogues]


def loaded(folder: str, **arguments: Any) -> weights.Loaded:
    given = LocalSettings(folder, **arguments)
    return weights.load(weights.locate("x", given), given)


def first_logits(model: weights.Loaded, *parts: str | Image) -> Any:
    """What the model makes of a prompt before it writes anything."""
    prompt = model.prompt([Message("user", said(*parts))])
    given = dict(prompt.pictures.inputs) if prompt.pictures else {}
    given |= {name: tensor[None] for name, tensor in (prompt.along or {}).items()}
    if prompt.positions is not None:
        given["position_ids"] = prompt.positions[:, None]
    with torch.inference_mode():
        return model.model(input_ids=torch.tensor([prompt.tokens]), **given).logits[0, -1]


def placed(model: weights.Loaded, *parts: str | Image) -> str:
    """The prompt as text, every run of placeholders as ``[I]``, ``[J]``, ... by the picture it stands for."""
    prompt = model.prompt([Message("user", said(*parts))])
    assert prompt.keys is not None
    names: dict[int, str] = {}
    text = ""
    for key, run in itertools.groupby(prompt.keys):
        if key < len(model.tokenizer):
            text += model.tokenizer.decode(list(run))
        else:
            text += f"[{names.setdefault(key, 'IJKL'[len(names)])}]"
    return text


@pytest.mark.parametrize("kind", tiny_vision.KINDS)
def test_batches_and_kept_prefixes_change_no_reply(folders: Folders, kind: str) -> None:
    """In float32, replies are the same alone with re-encoding, alone with reuse, and in batches with reuse."""
    colours = ("red", "blue", "yellow")
    again = converse(Local("x", LocalSettings(folders(kind), batch_size=1, prefix_cache=0)), colours)
    reuse = converse(Local("x", LocalSettings(folders(kind), batch_size=1)), colours)
    batch = converse(Local("x", LocalSettings(folders(kind), batch_size=3)), colours)

    assert texts(again) == texts(reuse) == texts(batch)
    assert len({text for replies in texts(again) for text in replies}) > 6  # and they are no constant


@pytest.mark.parametrize("kind", tiny_vision.KINDS)
def test_dialogues_with_different_numbers_of_images(folders: Folders, kind: str) -> None:
    """A batch of dialogues with none to three pictures, of several sizes, gets the replies that each gets alone."""
    questions: list[tuple[str | Image, ...]] = [
        ("No picture, but a text that is longer than any other here, so that all the others are padded.",),
        (drawn("red"), "One."),
        ("Two: ", drawn("blue", 200, 90), drawn("green", 70, 150), " and their order?"),
        (drawn("red", 90, 90), "a", drawn("red", 90, 90), "b", drawn("black", 190, 90)),
        ("None.",),
    ]
    alone = ask_together(Local("x", LocalSettings(folders(kind), batch_size=1)), questions)
    batch = ask_together(Local("x", LocalSettings(folders(kind), batch_size=5)), questions)

    assert [str(reply) for reply in batch] == [str(reply) for reply in alone]
    assert all(isinstance(reply, Reply) for reply in alone)


@pytest.mark.parametrize("kind", ["qwen2_vl", "llava"])
def test_a_later_turn_reads_only_what_is_new(folders: Folders, kind: str) -> None:
    """What earlier turns computed is kept, pictures included, even where the new turn brings pictures of its own."""
    (replies,) = converse(Local("x", LocalSettings(folders(kind))), ["blue"])

    assert replies[0].reused_tokens == 0
    for before, after in itertools.pairwise(replies):
        assert before.prompt_tokens is not None
        assert after.reused_tokens >= before.prompt_tokens - 1
    assert [reply.sent.images for reply in replies] == [1, 1, 3, 3]


@pytest.mark.parametrize("kind", ["qwen2_vl", "llava"])
def test_another_picture_is_another_prefix(folders: Folders, kind: str) -> None:
    """The same words and the same number of placeholders, but another picture: it is read again."""

    async def both(model: Local) -> Reply:
        for picture in (drawn("red"), drawn("blue")):
            messages = (Message("user", said("See ", picture, " and say.")),)
            reply = await model.chat(ChatRequest(messages, Generation(8), "d", "d/turn-01", True))
        return reply

    model = Local("x", LocalSettings(folders(kind)))
    reply = asyncio.run(both(model))

    assert 0 < reply.reused_tokens <= len("<|user|>\nSee <|vision_start|>")
    assert reply.text == ask(Local("x", LocalSettings(folders(kind))), "See ", drawn("blue"), " and say.").text


@pytest.mark.parametrize(("kind", "before", "after"), [
    ("qwen2_vl", "<|vision_start|>", "<|vision_end|>"), ("llava", "", ""),
])  # fmt: skip
def test_pictures_are_where_they_were_put(folders: Folders, kind: str, before: str, after: str) -> None:
    """Placeholders stand in the message's own order, and are told apart by their pictures."""
    model = loaded(folders(kind))
    red, blue = drawn("red"), drawn("blue")

    one, two = (f"{before}[{name}]{after}" for name in "IJ")
    assert placed(model, "a", red, "b", blue, "c") == (
        f"<|im_start|>user\na{one}b{two}c<|im_end|>\n<|im_start|>assistant\n"
    )
    assert placed(model, "a", red, "b", red) == f"<|im_start|>user\na{one}b{one}<|im_end|>\n<|im_start|>assistant\n"


def test_pictures_next_to_each_other_are_told_apart(folders: Folders) -> None:
    """LLaVA marks no border between pictures."""
    assert "user\n[I][J]?<" in placed(loaded(folders("llava")), drawn("red"), drawn("blue"), "?")


@pytest.mark.parametrize("kind", tiny_vision.KINDS)
def test_pixels_and_their_order_arrive(folders: Folders, kind: str) -> None:
    """Another picture, or the same two in the other order, make another first token likely."""
    model = loaded(folders(kind))
    red, blue = drawn("red"), drawn("blue")
    first, swapped, other = (
        first_logits(model, one, " and ", two, "?") for one, two in ((red, blue), (blue, red), (red, red))
    )

    assert torch.equal(first, first_logits(model, red, " and ", blue, "?"))
    assert (first - swapped).abs().max() > 1e-3
    assert (first - other).abs().max() > 1e-3


def test_positions_are_the_models_own(folders: Folders) -> None:
    """What we work out for Qwen2-VL, so that a prefix can be reused, is what it works out for itself."""
    model = loaded(folders("qwen2_vl"))
    chat = [
        {
            "role": "user",
            "content": [{"type": "image", "image": pillow.new("RGB", (112, 56))}, {"type": "text", "text": "?"}],
        }
    ]
    read = model.eyes._processor.apply_chat_template(  # type: ignore[union-attr]
        chat, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    own = model.model.generate(**read, max_new_tokens=8, do_sample=False)[0, read["input_ids"].shape[1] :]
    stream = io.BytesIO()
    pillow.new("RGB", (112, 56)).save(stream, "PNG")
    black = Image(Inline(base64.b64encode(stream.getvalue()).decode()), "black picture")
    ours = ask(Local("x", LocalSettings(folders("qwen2_vl"))), black, "?")

    assert ours.text == model.tokenizer.decode(own, skip_special_tokens=True).strip()


def test_limits_of_pixels(folders: Folders) -> None:
    """Fewer pixels are fewer tokens, 28 by 28 pixels each, and both limits are part of the model's identity."""
    folder = folders("qwen2_vl")

    def cost(picture: Image, **limits: int) -> int:
        with_picture = ask(Local("x", LocalSettings(folder, **limits)), picture, tokens=1).prompt_tokens
        without = ask(Local("x", LocalSettings(folder)), "", tokens=1).prompt_tokens
        assert with_picture is not None
        assert without is not None
        return with_picture - without - len(("before", "after"))

    assert cost(drawn("red", 224, 224)) == 64
    assert cost(drawn("red", 224, 224), max_pixels=16 * 784) == 16
    assert cost(drawn("red", 28, 28)) == 1
    assert cost(drawn("red", 28, 28), min_pixels=16 * 784) == 16
    identities = [Local("x", LocalSettings(folder, **limits)).identity() for limits in ({}, {"max_pixels": 16 * 784})]
    assert identities[0] != identities[1]


@pytest.mark.parametrize(("kind", "limits", "problem"), [
    ("llava", {"max_pixels": 784}, r"argument 'max_pixels': its processor \(CLIPImageProcessorPil\) has no limit"),
    ("qwen2_vl", {"min_pixels": 65 * 784}, "min_pixels is 50960, more than max_pixels, 50176"),
])  # fmt: skip
def test_limits_that_cannot_be_kept(folders: Folders, kind: str, limits: dict[str, int], problem: str) -> None:
    """A limit that the model does not have is an error, and so are limits that contradict each other."""
    with pytest.raises(UserError, match=problem):
        ask(Local("x", LocalSettings(folders(kind), **limits)), drawn("red"))


def test_a_dialogue_that_does_not_fit(folders: Folders) -> None:
    """Placeholders count, and the message says how many they are."""
    model = Local("x", LocalSettings(folders("llava"), context=50))

    with pytest.raises(DoesNotFit, match=r"has 53 tokens, 32 of them for its 2 images, the model's context 50"):
        ask(model, drawn("red"), drawn("blue"), "??")


def test_a_message_that_may_be_cut(folders: Folders) -> None:
    """With what an image costs given, a message that does not fit is cut from its left, and the reply is flagged."""
    long = "x" * 300
    assert Local("x", LocalSettings(folders("llava"))).cannot_cut == (
        "model 'x' must say how many tokens an image is to be counted as: --model-arg image_tokens=N"
    )
    model = Local("x", LocalSettings(folders("llava"), context=200, image_tokens=16))
    reply = ask(model, "Do: ", long, drawn("red"), "What?", may_cut=True)

    assert model.cannot_cut is None
    assert reply.flags[:1] == ("context_cut",)
    assert reply.text == ask(model, "Do: ", drawn("red"), "What?").text


def test_a_model_that_reads_text_only(tmp_path: Path) -> None:
    """Shown an image, it has no reply rather than one to half of the question."""
    model = Local("x", LocalSettings(str(build_tiny_model(tmp_path))))

    assert not model.sees_images
    assert "min_pixels" not in model.identity()
    with pytest.raises(NoReply, match="the model reads text only, and the dialogue has 2 images"):
        ask(model, drawn("red"), drawn("blue"), "?")


def test_a_picture_that_cannot_be_read_fails_alone(folders: Folders, tmp_path: Path) -> None:
    """The others of its batch are answered."""
    missing = Image(File(str(tmp_path / "no.png")), "data.json: record 7 (field image[2])")
    red = drawn("red")
    failed, answered = ask_together(Local("x", LocalSettings(folders("llava"))), [(missing, "?"), (red, "?")])

    assert isinstance(failed, NoReply)
    assert str(failed).startswith("data.json: record 7 (field image[2]): the picture ")
    assert isinstance(answered, Reply)
    assert answered.text == ask(Local("x", LocalSettings(folders("llava"))), red, "?").text


def test_words_that_look_like_a_placeholder(folders: Folders) -> None:
    """They are no place for a picture, and the reply says that they were changed."""
    reply = ask(Local("x", LocalSettings(folders("qwen2_vl"))), "Is <|image_pad|> a word? ", drawn("red"))

    assert reply.flags[:1] == ("placeholder_escaped",)


def test_running_out_of_memory_halves_the_batch(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half is put together anew, with its own pictures."""
    sizes = []
    decode = local.decode

    def short_of_memory(loaded, rows, generation, stop):  # type: ignore[no-untyped-def]
        sizes.append(len(rows))
        if len(rows) > 1:
            raise MemoryError
        return decode(loaded, rows, generation, stop)

    colours = ("red", "blue", "yellow", "black")
    expected = texts(converse(Local("x", LocalSettings(folders("qwen2_vl"), batch_size=1)), colours))
    monkeypatch.setattr(local, "decode", short_of_memory)

    assert texts(converse(Local("x", LocalSettings(folders("qwen2_vl"), batch_size=4)), colours)) == expected
    assert sizes[:5] == [4, 2, 1, 1, 2]


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_model_that_needs_torchvision(folders: Folders, tmp_path: Path) -> None:
    """The missing package is named, with the command that installs the build that fits torch."""
    folder = tiny.build("llava", tmp_path / "pixtral")
    described = json.loads((folder / "processor_config.json").read_text())
    (folder / "processor_config.json").write_text(json.dumps({**described, "processor_class": "PixtralProcessor"}))

    with pytest.raises(
        UserError, match=r"model 'x' needs the package torchvision, in the build .* pip install 'torchvi"
    ):
        ask(Local("x", LocalSettings(str(folder))), drawn("red"))


@pytest.mark.parametrize(("release", "command"), [
    ("2.13.0+cpu", "pip install 'torchvision==0.28.*' --index-url https://download.pytorch.org/whl/cpu"),
    ("2.6.0+cu124", "pip install 'torchvision==0.21.*' --index-url https://download.pytorch.org/whl/cu124"),
    ("2.13.0", "pip install 'torchvision==0.28.*'"),
])  # fmt: skip
def test_which_torchvision_fits(monkeypatch: pytest.MonkeyPatch, release: str, command: str) -> None:
    """torchvision counts 15 minor versions behind torch, and comes from the same index."""
    monkeypatch.setattr(torch, "__version__", release)

    assert seeing.torchvision_command() == command


def test_whether_a_model_sees_is_known_without_torch(folders: Folders) -> None:
    """Collecting asks, and must stay cheap."""
    program = (
        "import sys; from mmtests.fixtures.models.local import Local, LocalSettings; "
        "print(Local('x', LocalSettings(sys.argv[1])).sees_images, 'torch' in sys.modules, 'transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, folders("llava")], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "False", "False"]


def test_the_tiny_model_is_built_on_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its alias, into the cache folder, the same each time."""
    monkeypatch.setenv("MMTESTS_CACHE", str(tmp_path))
    spec = resolve("tiny-vl", [], {}, "--model")
    given = settings(LocalSettings, spec.alias, {"path": spec.name, **spec.arguments})
    model = Local("tiny-vl", given)

    assert model.sees_images
    assert model.identity()["built"] == f"tiny-qwen2vl-{tiny.VERSION}"
    assert not (tmp_path / "weights").exists()
    reply = ask(model, drawn("red"), "What is this?", tokens=100)
    assert reply.completion_tokens == 8
    assert (tmp_path / "weights" / f"tiny-qwen2vl-{tiny.VERSION}" / "config.json").is_file()
    assert ask(Local("tiny-vl", given), drawn("red"), "What is this?").text == reply.text


def test_an_unknown_tiny_model() -> None:
    """The kinds there are are named."""
    with pytest.raises(UserError, match="no tiny model 'gpt', only qwen2vl and llava"):
        Local("x", LocalSettings("tiny:gpt"))


def test_the_command_that_builds_a_tiny_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how to use what it wrote."""
    monkeypatch.setattr(sys, "argv", ["tiny", str(tmp_path / "m"), "--kind", "llava"])
    tiny.main()

    assert f"--model transformers:{tmp_path / 'm'}" in capsys.readouterr().out
    assert ask(Local("x", LocalSettings(str(tmp_path / "m"))), drawn("red")).completion_tokens is not None


def test_aliases_of_local_models_have_arguments_that_are_known() -> None:
    """Every alias of the backend can be made into settings, and 72 billion weights are loaded in 4 bits."""
    entries = tomllib.loads(files("mmtests.fixtures.models").joinpath("models.toml").read_text(encoding="utf-8"))
    for alias, entry in entries.items():
        if entry["backend"] == "transformers":
            spec = resolve(alias, [], {}, "--model")
            given = settings(LocalSettings, alias, {"path": spec.name, **spec.arguments})
            assert given.load_in_4bit == ("72b" in alias)


def test_groups_of_placeholders() -> None:
    """One run a picture; else runs of one size; else all that stand between first and last."""
    divided = seeing._divided

    assert divided([(2, 6), (9, 10)], 2) == (Group(2, 6, 1), Group(9, 10, 2))
    assert divided([(2, 6), (9, 11)], 3) == (Group(2, 4, 1), Group(4, 6, 2), Group(9, 11, 3))
    assert divided([(2, 7), (9, 11)], 3) == (Group(2, 11, 3),)


def test_pictures_that_are_left_to_read() -> None:
    """Pictures are told apart along the first axis, patches of Qwen2-VL by their grid; else all are read."""
    grid = torch.tensor([[1, 2, 2], [1, 2, 4]])
    patches = Pictures((), 2, {"pixel_values": torch.arange(12)[:, None], "image_grid_thw": grid})
    left = patches.after(1)

    assert left is not None
    assert left["pixel_values"][:, 0].tolist() == list(range(4, 12))
    assert left["image_grid_thw"].tolist() == [[1, 2, 4]]
    assert patches.after(2) == {}
    assert Pictures((), 2, {"pixel_values": torch.zeros(1, 2, 3)}).after(1) is None


def test_pictures_of_several_sizes_in_one_batch() -> None:
    """The smaller are made larger with zeros."""
    batch = together([{"pixels": torch.ones(1, 1, 2)}, {}, {"pixels": torch.ones(2, 2, 1)}])

    assert batch["pixels"].tolist() == [[[1, 1], [0, 0]], [[1, 0], [1, 0]], [[1, 0], [1, 0]]]
