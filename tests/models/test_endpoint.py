"""What goes over the wire to an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.fixtures.models.chat import ChatRequest, Generation, Unreachable
from mmtests.fixtures.models.endpoint import Endpoint, EndpointSettings
from mmtests.fixtures.models.registry import settings
from mmtests.reply import NoReply, Reply
from tests.loopback import Answer, Loopback


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)


def ask(server: Loopback, generation: Generation | None = None, **arguments: Any) -> Reply:
    """One question to the server."""
    return asyncio.run(_ask(Endpoint("m", _settings(server, arguments)), generation or Generation(16)))


def _settings(server: Loopback, arguments: dict[str, Any]) -> EndpointSettings:
    usual = {"model": "m", "base_url": server.url, "max_retries": 0, "timeout": 5}
    return settings(EndpointSettings, "m", usual | arguments)


async def _ask(endpoint: Endpoint, generation: Generation) -> Reply:
    messages = (Message.of("system", "Be brief."), Message.of("user", "Hello"))
    try:
        return await endpoint.chat(ChatRequest(messages, generation, "a/b/multi/1", "a/b/multi/1/turn-01"))
    finally:
        await endpoint.close()


def test_the_plain_request(server: Loopback) -> None:
    """Greedy, with the token limit and the messages, and nothing that a server might not know."""
    reply = ask(server)

    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "max_tokens": 16,
            "temperature": 0.0,
        }
    ]
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("A reply.", 10, 5)
    assert reply.sent.messages == 2


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({"max_tokens_field": "max_completion_tokens"}, {"max_completion_tokens": 16, "max_tokens": None}),
        ({"max_new_tokens": 99}, {"max_tokens": 99}),
        ({"temperature": 0.5}, {"temperature": 0.5}),
        ({"send_temperature": False}, {"temperature": None}),
        ({"seed": 7}, {"seed": 7}),
        ({"extra_body": {"top_k": 1, "reasoning": {"effort": "low"}}}, {"top_k": 1, "reasoning": {"effort": "low"}}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_arguments_change_the_request(arguments: dict[str, Any], sent: dict[str, Any], server: Loopback) -> None:
    """Each argument shows in the request's fields; None stands for a field that is not sent."""
    ask(server, **arguments)

    assert {name: server.requests[0].get(name) for name in sent} == sent


def test_the_generation_settings_are_sent(server: Loopback) -> None:
    """Sampling that is asked for reaches the server."""
    ask(server, Generation(16, temperature=0.7, top_p=0.9, seed=3))

    sent = server.requests[0]
    assert (sent.get("temperature"), sent.get("top_p"), sent.get("seed")) == (0.7, 0.9, 3)


def test_each_argument_that_changes_a_reply_is_part_of_the_identity(server: Loopback) -> None:
    """Replies under other settings are never taken from the store."""
    different: list[dict[str, Any]] = [
        {},
        {"model": "n"},
        {"base_url": "http://127.0.0.1:1/v1"},
        {"base_url": [server.url, "http://127.0.0.1:1/v1"]},
        {"max_new_tokens": 99},
        {"temperature": 0.5},
        {"send_temperature": False},
        {"seed": 7},
        {"extra_body": {"top_k": 1}},
    ]
    identities = [Endpoint("m", _settings(server, arguments)).identity() for arguments in different]

    assert all(one not in identities[:index] for index, one in enumerate(identities))
    how: dict[str, Any] = {"timeout": 9, "concurrency": 2, "budget": 60, "max_retries": 9}
    assert Endpoint("alias", _settings(server, how)).identity() == identities[0]


def test_a_reply_that_was_cut_is_flagged(server: Loopback) -> None:
    """A reply that ends at the token limit says so."""
    server.behaviour = lambda request: Answer("A rep", finish="length")

    reply = ask(server)

    assert (reply.finish, reply.flags) == ("length", ("reply_cut",))


async def ask_each(endpoint: Endpoint, names: list[str]) -> list[Reply]:
    """A question in each dialogue of ``names``, all at once. The question is the dialogue's name."""
    try:
        return await asyncio.gather(*(_ask_in(endpoint, name) for name in names))
    finally:
        await endpoint.close()


async def _ask_in(endpoint: Endpoint, name: str) -> Reply:
    return await endpoint.chat(ChatRequest((Message.of("user", name),), Generation(16), name, f"{name}/turn-01"))


def names(count: int) -> list[str]:
    """Names of dialogues."""
    return [f"dialogue {number}" for number in range(count)]


@pytest.mark.parametrize("faults", [False, True])
def test_requests_in_flight_are_bounded(faults: bool, server: Loopback) -> None:
    """Never more than the number are under way, retries included; without faults, as many as that."""
    seen: set[str] = set()

    def behave(request: dict[str, Any]) -> Answer:
        name = request["messages"][0]["content"]
        fault = (429, 500)[len(seen) % 2] if faults and name not in seen else 200
        seen.add(name)
        return Answer(status=fault, delay=0.05)

    server.behaviour = behave

    replies = asyncio.run(ask_each(Endpoint("m", _settings(server, {"concurrency": 3, "max_retries": 1})), names(12)))

    assert (len(replies), len(server.requests)) == (12, 24 if faults else 12)
    assert server.most_in_flight <= 3 if faults else server.most_in_flight == 3


def test_auto_begins_moderately(server: Loopback) -> None:
    """Many dialogues do not become as many requests: 16 at first, and one more for each full window."""
    server.behaviour = lambda request: Answer(delay=0.02)
    endpoint = Endpoint("m", _settings(server, {"timeout": 60, "max_retries": 5}))

    assert len(asyncio.run(ask_each(endpoint, names(80)))) == 80

    assert endpoint.in_flight == 256
    assert server.most_in_flight <= 20  # 16 + 17 + 18 + 19 answers are 70


def test_a_burst_of_refusals_is_one_halving(server: Loopback) -> None:
    """After 16 refusals of one burst no more than 8 are in flight, 9 when those are answered, and all are answered."""
    refused: set[str] = set()

    def behave(request: dict[str, Any]) -> Answer:
        name = request["messages"][0]["content"]
        if name not in refused:
            refused.add(name)
            return Answer(status=429, headers={"Retry-After": "0.3"}, delay=0.1)
        if len(server.requests) == len(refused) + 1:
            server.most_in_flight = 0  # from the first request after the pause on
        return Answer(delay=0.05)

    server.behaviour = behave

    replies = asyncio.run(ask_each(Endpoint("m", _settings(server, {"max_retries": 5, "timeout": 60})), names(16)))

    assert len(replies) == 16
    assert len(server.requests) == 32
    assert server.most_in_flight <= 9


@pytest.mark.parametrize("concurrency", [2, "auto"])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_pauses_all_requests(status: int, concurrency: int | str, server: Loopback) -> None:
    """What one request is told to wait, all wait, those that were never sent, too."""
    arrived: list[float] = []

    def behave(request: dict[str, Any]) -> Answer:
        arrived.append(time.monotonic())
        return Answer(status=status, headers={"Retry-After": "1"}) if len(arrived) == 1 else Answer()

    server.behaviour = behave

    async def run() -> None:
        endpoint = Endpoint("m", _settings(server, {"concurrency": concurrency}))
        with pytest.raises(Unreachable):
            await _ask_in(endpoint, "refused")
        await ask_each(endpoint, names(4))

    asyncio.run(run())

    assert len(arrived) == 5
    assert arrived[1] - arrived[0] >= 1


def test_a_dialogue_that_began_is_ended_first(server: Loopback) -> None:
    """Its next turn goes before other dialogues' first ones, while the endpoint still has its prefix."""
    server.behaviour = lambda request: Answer(delay=0.05)
    endpoint = Endpoint("m", _settings(server, {"concurrency": 1}))

    async def dialogue(name: str) -> None:
        for _ in range(3):
            await _ask_in(endpoint, name)

    async def run() -> None:
        await asyncio.gather(*(dialogue(name) for name in names(4)))
        await endpoint.close()

    asyncio.run(run())

    # A place is free before the reply is read, so that a dialogue's next turn lets one other go first.
    assert asked_of(server) == names(2) * 3 + names(4)[2:] * 3


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=429, headers={"Retry-After": "30"}),
        Answer(status=500),
        Answer(delay=30),
    ],
    ids=["refused", "broken", "silent"],
)
def test_a_question_has_a_budget(answer: Answer, server: Loopback) -> None:
    """Whatever the endpoint does, a question ends when its seconds are spent, and its failure says so."""
    server.behaviour = lambda request: answer

    with pytest.raises(Unreachable, match=r"no reply within the budget of 1 s \(\d+ requests sent") as caught:
        ask(server, budget=1, max_retries=99, timeout=60)

    assert (f"HTTP {answer.status}" in str(caught.value)) == (answer.status != 200)


def test_the_budget_does_not_count_waiting_for_a_turn(server: Loopback) -> None:
    """Ten questions, one at a time, take longer than the budget of each."""
    server.behaviour = lambda request: Answer(delay=0.3)
    endpoint = Endpoint("m", _settings(server, {"concurrency": 1, "budget": 2.5}))

    assert len(asyncio.run(ask_each(endpoint, names(10)))) == 10


NOBODY = "http://127.0.0.1:1/v1"
"""An address where nothing listens."""


@pytest.fixture
def second() -> Iterator[Loopback]:
    """Another endpoint."""
    with Loopback() as loopback:
        yield loopback


def asked_of(server: Loopback) -> list[str]:
    """The dialogues that a server was asked in, in order."""
    return [request["messages"][0]["content"] for request in server.requests]


def named(dialogue: str, request: dict[str, Any]) -> bool:
    """Whether a request is of a dialogue."""
    return bool(request["messages"][0]["content"] == dialogue)


@pytest.mark.parametrize("form", ["list", "commas"])
def test_a_dialogue_stays_with_one_replica(form: str, server: Loopback, second: Loopback) -> None:
    """All turns of a dialogue go where its first went, and the dialogues are shared out."""
    urls = [server.url, second.url]
    endpoint = Endpoint("m", _settings(server, {"base_url": urls if form == "list" else ", ".join(urls)}))

    async def run() -> None:
        for _ in range(4):
            await asyncio.gather(*(_ask_in(endpoint, name) for name in names(6)))
        await endpoint.close()

    asyncio.run(run())

    assert (len(server.requests), len(second.requests)) == (12, 12)
    assert not set(asked_of(server)) & set(asked_of(second))
    assert endpoint.lost == ()


def test_a_new_dialogue_goes_to_the_least_busy_replica(server: Loopback, second: Loopback) -> None:
    """While one replica is busy with a long answer, the other gets what is new."""
    server.behaviour = second.behaviour = lambda request: Answer(delay=60 if named("busy", request) else 0)
    endpoint = Endpoint("m", _settings(server, {"base_url": [server.url, second.url], "timeout": 60}))

    async def run() -> None:
        busy = asyncio.create_task(_ask_in(endpoint, "busy"))
        await asyncio.sleep(0)
        for name in names(4):
            await _ask_in(endpoint, name)
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)
        await endpoint.close()

    asyncio.run(run())

    assert names(4) in (asked_of(server), asked_of(second))


def test_each_replica_has_its_own_pause(server: Loopback, second: Loopback) -> None:
    """A replica that asks for patience holds up nobody at the other."""
    refusal = Answer(status=429, headers={"Retry-After": "100"})
    server.behaviour = second.behaviour = lambda request: refusal if named("refused", request) else Answer()
    endpoint = Endpoint("m", _settings(server, {"base_url": [server.url, second.url], "timeout": 60}))

    async def run() -> None:
        with pytest.raises(Unreachable, match="HTTP 429"):
            await _ask_in(endpoint, "refused")
        waits = asyncio.create_task(_ask_in(endpoint, "refused"))
        await asyncio.sleep(0)
        for name in names(4):
            await asyncio.wait_for(_ask_in(endpoint, name), 30)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        await endpoint.close()

    asyncio.run(run())

    assert sorted((asked_of(server), asked_of(second)), key=len) == [["refused"], names(4)]


@pytest.mark.parametrize("concurrency", [1, "auto"])
def test_a_replica_that_is_not_there_is_left_out(concurrency: int | str, server: Loopback) -> None:
    """Its dialogues go on at another, those that waited for it, too; it is named without its password."""
    dead = NOBODY.replace("//", "//someone:hunter2@")
    endpoint = Endpoint("m", _settings(server, {"base_url": [dead, server.url], "concurrency": concurrency}))

    assert len(asyncio.run(ask_each(endpoint, names(8)))) == 8

    assert sorted(asked_of(server)) == names(8)
    assert endpoint.lost == (NOBODY,)


def test_a_broken_connection_is_tried_at_another_replica(server: Loopback, second: Loopback) -> None:
    """What is cut short there is asked again elsewhere, and a replica that can be connected to is not left out."""
    server.behaviour = lambda request: Answer(cut=20)
    endpoint = Endpoint("m", _settings(server, {"base_url": [server.url, second.url]}))

    assert len(asyncio.run(ask_each(endpoint, names(4)))) == 4

    assert len(server.requests) == 2
    assert sorted(asked_of(second)) == names(4)
    assert endpoint.lost == ()


def test_a_replica_that_answers_with_an_error_is_not_left_out(server: Loopback, second: Loopback) -> None:
    """A server error is the question's failure: the replica is there."""
    server.behaviour = second.behaviour = lambda request: Answer(status=500)
    endpoint = Endpoint("m", _settings(server, {"base_url": [server.url, second.url]}))

    with pytest.raises(Unreachable, match="HTTP 500"):
        asyncio.run(ask_each(endpoint, ["a"]))

    assert (len(server.requests) + len(second.requests), endpoint.lost) == (1, ())


def test_a_question_fails_when_no_replica_can_be_reached(server: Loopback) -> None:
    """The last replica is not given up, and a question that it fails is unreachable."""
    endpoint = Endpoint("m", _settings(server, {"base_url": [NOBODY, "http://127.0.0.1:2/v1"]}))

    with pytest.raises(Unreachable, match="connection to http://") as caught:
        asyncio.run(ask_each(endpoint, ["a"]))

    (lost,) = endpoint.lost
    assert lost in (NOBODY, "http://127.0.0.1:2/v1")
    assert lost not in str(caught.value)


def test_checking_replicas(server: Loopback) -> None:
    """One that answers is enough; without any, all are named, and no password."""

    async def check(*urls: str) -> tuple[str, ...]:
        endpoint = Endpoint("m", _settings(server, {"base_url": urls}))
        try:
            await endpoint.check()
        finally:
            await endpoint.close()
        return endpoint.lost

    dead = NOBODY.replace("//", "//someone:hunter2@")
    assert asyncio.run(check(server.url, dead)) == (NOBODY,)
    assert asyncio.run(check(dead, server.url)) == (NOBODY,)
    with pytest.raises(UserError) as caught:
        asyncio.run(check(dead, "http://127.0.0.1:2/v1"))
    assert NOBODY in str(caught.value)
    assert "http://127.0.0.1:2/v1" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_replicas_are_one_model_in_any_order(server: Loopback) -> None:
    """A reply may come from any of them, so that all are part of the identity, and their order is not."""
    urls = ["http://b/v1", "http://someone:hunter2@a/v1"]
    one, other = (
        Endpoint("m", _settings(server, {"base_url": form})).identity() for form in (urls, ",".join(reversed(urls)))
    )

    assert one == other
    assert one["base_url"] == ["http://a/v1", "http://b/v1"]


def test_the_key_of_another_variable(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """``api_key_env`` names the variable; without it there is no key to send and nothing is asked."""
    with pytest.raises(UserError, match="Set the environment variable MY_KEY"):
        ask(server, api_key_env="MY_KEY")

    monkeypatch.setenv("MY_KEY", "sk-mine")
    ask(server, api_key_env="MY_KEY")

    assert "Bearer sk-mine" in server.headers[0].values()


def test_a_password_in_the_address_is_in_no_error(server: Loopback) -> None:
    """The address may carry a password; what is said about the endpoint does not."""
    address = server.url.replace("//", "//someone:hunter2@")
    server.behaviour = lambda request: Answer(cut=20)
    with pytest.raises(Unreachable) as caught:
        ask(server, base_url=address)
    assert "hunter2" not in str(caught.value)
    assert server.url in str(caught.value)

    server.behaviour = lambda request: Answer(status=404)
    with pytest.raises(UserError) as refused:
        ask(server, base_url=address)
    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in str(Endpoint("m", _settings(server, {"base_url": address})).identity())


@pytest.mark.parametrize(
    ("code", "said"),
    [("400", "HTTP 400: no such thing"), ('"400"', "HTTP 400: no such thing"), ('"odd"', "HTTP 400: odd no such thing"),
     ("null", "HTTP 400: no such thing")],
)  # fmt: skip
def test_a_refusal_in_the_server_s_words(code: str, said: str, server: Loopback) -> None:
    """With its code, unless that is the status once more."""
    body = f'{{"error": {{"message": "no such thing", "code": {code}}}}}'.encode()
    server.behaviour = lambda request: Answer(status=400, body=body)

    with pytest.raises(Unreachable) as caught:
        ask(server)

    assert str(caught.value) == said


def test_a_refusal_in_plain_text(server: Loopback) -> None:
    """Not every server speaks JSON."""
    server.behaviour = lambda request: Answer(status=400, body=b"too many hats")

    with pytest.raises(Unreachable, match=r"^HTTP 400: too many hats$"):
        ask(server)


@pytest.mark.parametrize("content", ["5", '["A", "B"]'])
def test_a_reply_that_is_no_text(content: str, server: Loopback) -> None:
    """It is no reply, and said to be what it is."""
    body = f'{{"choices": [{{"message": {{"content": {content}}}, "finish_reason": "stop"}}]}}'.encode()
    server.behaviour = lambda request: Answer(body=body)

    with pytest.raises(NoReply, match="the endpoint returned a reply that is no text: "):
        ask(server)


def test_half_characters(server: Loopback) -> None:
    """JSON can carry a surrogate without its other half, and no file can: it is replaced, and the reply flagged."""
    server.behaviour = lambda request: Answer("a \ud800 b \U0001f600")

    reply = ask(server)

    assert reply.text == "a \ufffd b \U0001f600"
    assert reply.flags == ("reply_mended",)

    server.behaviour = lambda request: Answer(status=400, body=b'{"error": {"message": "no \\udfff"}}')
    with pytest.raises(Unreachable, match=r"^HTTP 400: no \ufffd$"):
        ask(server)


def test_an_answer_nested_without_end(server: Loopback) -> None:
    """It is as unreadable as one that is cut."""
    server.behaviour = lambda request: Answer(body=b"[" * 200_000)

    with pytest.raises(NoReply, match="not a chat completion"):
        ask(server)


@pytest.mark.parametrize("address", ["http:// nowhere", "nowhere", "http://[::1"])
def test_an_address_that_is_none(address: str, server: Loopback) -> None:
    """What is no address is the user's to mend, and is told as that."""
    with pytest.raises((UserError, Unreachable)):
        ask(server, base_url=address)
