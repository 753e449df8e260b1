"""What goes over the wire to an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mmtests.dialogue import Message
from mmtests.errors import UserError
from mmtests.fixtures.models.chat import ChatRequest, Generation, Unreachable
from mmtests.fixtures.models.endpoint import Endpoint, EndpointSettings
from mmtests.fixtures.models.registry import settings
from mmtests.reply import Reply
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
        {"max_new_tokens": 99},
        {"temperature": 0.5},
        {"send_temperature": False},
        {"seed": 7},
        {"extra_body": {"top_k": 1}},
    ]
    identities = [Endpoint("m", _settings(server, arguments)).identity() for arguments in different]

    assert all(one not in identities[:index] for index, one in enumerate(identities))
    assert Endpoint("alias", _settings(server, {"timeout": 9, "concurrency": 2})).identity() == identities[0]


def test_a_reply_that_was_cut_is_flagged(server: Loopback) -> None:
    """A reply that ends at the token limit says so."""
    server.behaviour = lambda request: Answer("A rep", finish="length")

    reply = ask(server)

    assert (reply.finish, reply.flags) == ("length", ("reply_cut",))


def test_requests_in_flight_are_bounded(server: Loopback) -> None:
    """Never more than the endpoint's limit are under way, and as many as that."""
    server.behaviour = lambda request: Answer(delay=0.05)

    async def many() -> None:
        endpoint = Endpoint("m", _settings(server, {"concurrency": 3}))
        question = (Message.of("user", "Hello"),)
        await asyncio.gather(*(endpoint.chat(ChatRequest(question, Generation(16), str(n), str(n))) for n in range(12)))
        await endpoint.close()

    asyncio.run(many())

    assert len(server.requests) == 12
    assert server.most_in_flight == 3


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


@pytest.mark.parametrize("address", ["http:// nowhere", "nowhere", "http://[::1"])
def test_an_address_that_is_none(address: str, server: Loopback) -> None:
    """What is no address is the user's to mend, and is told as that."""
    with pytest.raises((UserError, Unreachable)):
        ask(server, base_url=address)
