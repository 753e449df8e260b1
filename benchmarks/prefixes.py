"""A local model on refinement dialogues of 12 turns: reading the whole history again each turn, or only what is new.

Peers put each turn's whole history to transformers' own ``generate``, one dialogue after another: the first side here.

python -m benchmarks.prefixes --data DIR --dialogues 5 --check    replies must be the same, token for token
python -m benchmarks.prefixes --data DIR                          seconds, tokens read, batches of 1 to 16
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import ParamSpec

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from benchmarks.timing import machine
from mmtests.dialogue import Dialogue, Message
from mmtests.fixtures.models.chat import ChatModel, ChatRequest, Generation
from mmtests.fixtures.models.local import LocalSettings
from mmtests.fixtures.models.registry import build, resolve, settings
from mmtests.fixtures.models.weights import load, locate
from mmtests.mt_eval import MTEval
from mmtests.reply import Reply

Given = ParamSpec("Given")
PEERS = "transformers' generate"


@dataclass
class Played:
    """What came of playing some dialogues."""

    seconds: float
    replies: list[list[Reply]]

    @property
    def read(self) -> int:
        """Prompt tokens that the model had to read."""
        return sum((reply.prompt_tokens or 0) - reply.reused_tokens for replies in self.replies for reply in replies)

    @property
    def generated(self) -> int:
        return sum(reply.completion_tokens or 0 for replies in self.replies for reply in replies)

    @property
    def needed(self) -> int:
        """Tokens of the final histories that the model did not itself generate: the least that must be read."""
        return sum(
            (replies[-1].prompt_tokens or 0) - sum(reply.completion_tokens or 0 for reply in replies[:-1])
            for replies in self.replies
        )

    def texts(self) -> list[list[str]]:
        return [[reply.text for reply in replies] for replies in self.replies]


def alone(side: Callable[Given, Played], *args: Given.args, **kwargs: Given.kwargs) -> Played:
    """A side in a process of its own: what one leaves behind in torch's threads would slow the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(side, *args, **kwargs).result()


def play(model: str, dialogues: Sequence[Dialogue], tokens: int, *arguments: str, side_by_side: bool = True) -> Played:
    """Play the dialogues, all at once or one after the other, with the model loaded beforehand.

    Args:
        tokens: the most that each reply may have.
        arguments: more arguments of the model's backend.
    """
    return asyncio.run(_play(model, dialogues, tokens, arguments, side_by_side))


async def _play(
    name: str, dialogues: Sequence[Dialogue], tokens: int, arguments: Sequence[str], side_by_side: bool
) -> Played:
    spec = resolve(name, [f"max_new_tokens={tokens}", *arguments], {}, "--model")
    model = build(spec, concurrency=None, recorded=lambda path, recorded: {})
    await model.chat(ChatRequest((Message.of("user", "Hello"),), Generation(1), "warm-up", "warm-up"))
    started = time.perf_counter()
    if side_by_side:
        replies = list(await asyncio.gather(*(_converse(model, dialogue, tokens) for dialogue in dialogues)))
    else:
        replies = [await _converse(model, dialogue, tokens) for dialogue in dialogues]
    seconds = time.perf_counter() - started
    await model.close()
    return Played(seconds, replies)


def plain(name: str, dialogues: Sequence[Dialogue], tokens: int) -> Played:
    """Play them as peers do: ``generate`` as transformers has it, on the whole history, one after the other."""
    import torch

    spec = resolve(name, [], {}, "--model")
    given = settings(LocalSettings, name, {"path": spec.name, **spec.arguments})
    loaded = load(locate(name, given), given)
    model, tokenizer = loaded.model, loaded.tokenizer

    def answer(messages: list[dict[str, str]], limit: int) -> Reply:
        prompt = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            output = model.generate(**prompt, max_new_tokens=limit, do_sample=False, pad_token_id=loaded.pad)
        read = prompt["input_ids"].shape[1]
        new = output[0, read:]
        text = tokenizer.decode(new, skip_special_tokens=True).strip()
        return Reply(text, "stop", read, int((new != loaded.pad).sum()))

    answer([{"role": "user", "content": "Hello"}], 1)
    started = time.perf_counter()
    replies = []
    for dialogue in dialogues:
        history = [{"role": "system", "content": dialogue.system or ""}]
        replies.append(list[Reply]())
        for turn in dialogue.turns:
            history.append({"role": "user", "content": turn.user.text})
            replies[-1].append(answer(history, tokens))
            history.append({"role": "assistant", "content": replies[-1][-1].text})
    return Played(time.perf_counter() - started, replies)


async def _converse(model: ChatModel, dialogue: Dialogue, tokens: int) -> list[Reply]:
    history = [Message.of("system", dialogue.system or "")]
    replies: list[Reply] = []
    for turn in dialogue.turns:
        history.append(turn.user)
        goes_on = turn.number < len(dialogue.turns)
        request = ChatRequest(tuple(history), Generation(tokens), dialogue.key, turn.id, goes_on)
        replies.append(await model.chat(request))
        history.append(Message.of("assistant", replies[-1].text))
    return replies


def refinement(data: Path | None, count: int) -> list[Dialogue]:
    """The first refinement dialogues of a data folder, else of the embedded sample; repeated if there are too few."""
    loaded = MTEval().load(data or MTEval.sample, ["multi"])
    found = [dialogue for dialogue in loaded.dialogues if dialogue.task == "refinement"]
    return [
        replace(found[number % len(found)], id=f"{number}_{found[number % len(found)].id}") for number in range(count)
    ]


def check(arguments: argparse.Namespace) -> int:
    """Are the replies the same, token for token, with and without reuse? Returns the exit status."""
    dialogues = [
        replace(dialogue, turns=dialogue.turns[: arguments.turns])
        for dialogue in refinement(arguments.data, arguments.dialogues)
    ]
    model, tokens, dtype = arguments.model, arguments.tokens, f"dtype={arguments.dtype}"
    again = alone(play, model, dialogues, tokens, dtype, "prefix_cache=0", "batch_size=1", side_by_side=False)
    reuse = alone(play, model, dialogues, tokens, dtype, "batch_size=1", side_by_side=False)
    batch = alone(play, model, dialogues, tokens, dtype)
    sides = {"re-encoding": again, "prefix reuse": reuse, "prefix reuse, one batch": batch}
    if arguments.dtype == "auto":
        sides = {PEERS: alone(plain, model, dialogues, tokens), **sides}
    first = next(iter(sides.values())).texts()
    same = all(played.texts() == first for played in sides.values())
    for name, played in sides.items():
        print(f"{name}: {played.seconds:.1f} s, {played.read} prompt tokens read, {played.generated} generated")
    print(f"prompt tokens that had to be read: {reuse.needed} (ratio {reuse.read / reuse.needed:.3f})")
    turns = sum(len(replies) for replies in reuse.replies)
    print(f"{turns} replies of {len(dialogues)} dialogues are {'identical' if same else 'NOT identical'}")
    for name, played in list(sides.items())[1:] if not same else ():
        pairs = list(zip(first, played.texts(), strict=True))
        firsts = sum(one[0] != other[0] for one, other in pairs)
        print(
            f"  {name}: {sum(one != other for one, other in pairs)} dialogues differ, {firsts} in their first reply already"
        )
    return 0 if same else 1


def measure(arguments: argparse.Namespace) -> None:
    """One dialogue, then sixteen."""
    one_dialogue(arguments)
    sixteen_dialogues(arguments)


def one_dialogue(arguments: argparse.Namespace) -> None:
    one, name, tokens = refinement(arguments.data, 1), arguments.model, arguments.tokens
    rounds = [
        {
            PEERS: alone(plain, name, one, tokens),
            "re-encoding": alone(play, name, one, tokens, "prefix_cache=0", "batch_size=1"),
            "prefix reuse": alone(play, name, one, tokens, "batch_size=1"),
        }
        for _ in range(arguments.repeats)
    ]
    _compare("one refinement dialogue, batch 1", rounds)


def sixteen_dialogues(arguments: argparse.Namespace) -> None:
    many, name, tokens = refinement(arguments.data, 16), arguments.model, arguments.tokens
    sides = {PEERS: alone(plain, name, many, tokens)}
    for size in arguments.batches:
        sides[f"prefix reuse, batch {size}"] = alone(play, name, many, tokens, f"batch_size={size}")
    _compare("16 refinement dialogues", [sides])


def _compare(title: str, rounds: Sequence[Mapping[str, Played]]) -> None:
    """Medians over the rounds; of the ratios to the first side, too."""
    table = Table(title=title, title_justify="left")
    for column in ("", "seconds", "times as fast", "tokens read", "generated", "replies"):
        table.add_column(column, justify="left" if not column else "right")
    first = next(iter(rounds[0]))
    for name, played in rounds[0].items():
        seconds = median(sides[name].seconds for sides in rounds)
        ratio = median(sides[first].seconds / sides[name].seconds for sides in rounds)
        same = all(sides[name].texts() == sides[first].texts() for sides in rounds)
        table.add_row(name, f"{seconds:.1f}", f"{ratio:.2f}", str(played.read), str(played.generated),
                      "" if name == first else "identical" if same else "others")  # fmt: skip
    Console().print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--data", type=Path, help="folder of MT-Eval's files (default: the embedded sample)")
    parser.add_argument("--dialogues", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=48, help="the most that each reply may have (default: 48)")
    parser.add_argument("--turns", type=int, default=12, help="of each dialogue, for --check (default: 12)")
    parser.add_argument("--dtype", default="auto", help="for --check (default: auto, float32 on a CPU)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--batches", type=int, nargs="*", default=[1, 4, 8, 16], help="sizes to try (default: 1 4 8 16)"
    )
    parser.add_argument("--check", action="store_true", help="compare replies instead of timing")
    arguments = parser.parse_args()
    print(machine())
    if arguments.check:
        return check(arguments)
    measure(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
