"""From what is written after ``--model`` to a backend and its arguments."""

from __future__ import annotations

import pytest

from mmtests.errors import UserError
from mmtests.fixtures.models.endpoint import EndpointSettings
from mmtests.fixtures.models.registry import build, resolve, settings


def test_an_alias_of_ours() -> None:
    """An alias brings its backend, its name there, and its arguments."""
    spec = resolve("vicuna-7b", [], {}, "--model")

    assert (spec.alias, spec.backend, spec.name) == ("vicuna-7b", "transformers", "lmsys/vicuna-7b-v1.5")
    assert spec.arguments == {"dtype": "float16", "chat_template": "vicuna"}


def test_any_model_by_its_backend() -> None:
    """``BACKEND:NAME`` needs no alias, and the name may hold colons."""
    spec = resolve("openai:llama3:8b", [], {}, "--model")

    assert (spec.alias, spec.backend, spec.name, spec.arguments) == ("openai:llama3:8b", "openai", "llama3:8b", {})


@pytest.mark.parametrize(
    ("argument", "key", "value"),
    [
        ("timeout=2.5", "timeout", 2.5),
        ("max_retries=0", "max_retries", 0),
        ("max-retries=0", "max_retries", 0),
        ("send_temperature=false", "send_temperature", False),
        ("extra_body={top_k = 1}", "extra_body", {"top_k": 1}),
        ("base_url=http://127.0.0.1:8000/v1", "base_url", "http://127.0.0.1:8000/v1"),
        ('name="8"', "name", "8"),
        ("base_url=http://host/v1?a=b", "base_url", "http://host/v1?a=b"),
    ],
)
def test_arguments_have_types(argument: str, key: str, value: object) -> None:
    """Numbers, truth values, tables and quoted text are read as such; all else is the text itself."""
    spec = resolve("openai:m", [argument], {}, "--model")

    assert spec.arguments == {key: value}
    assert type(spec.arguments[key]) is type(value)


def test_an_argument_wins_over_the_alias() -> None:
    """What is written on the command line counts, and the last of it where it is written twice."""
    spec = resolve("vicuna-7b", ["dtype=float32", "dtype=bfloat16"], {}, "--model")

    assert spec.arguments["dtype"] == "bfloat16"


def test_an_alias_of_the_user_replaces_ours() -> None:
    """The user's own entry is taken whole; nothing of ours is mixed in."""
    users = {"vicuna-7b": {"backend": "openai", "name": "vicuna", "base_url": "http://127.0.0.1:1/v1"}}

    spec = resolve("vicuna-7b", ["timeout=1"], users, "--model")

    assert (spec.backend, spec.name) == ("openai", "vicuna")
    assert spec.arguments == {"base_url": "http://127.0.0.1:1/v1", "timeout": 1}


@pytest.mark.parametrize(
    ("written", "users", "says"),
    [
        ("mine", {"mine": {"name": "x"}}, "model 'mine': backend is None"),
        ("mine", {"mine": {"backend": "openai"}}, "neither a name nor a package"),
        ("openai:", {}, "--judge openai:: no model has this alias"),
        ("gpt4", {}, "Did you mean gpt-4"),
    ],
)
def test_what_names_no_model(written: str, users: dict[str, dict[str, object]], says: str) -> None:
    """The message names the option, and what is wrong with the entry."""
    with pytest.raises(UserError) as caught:
        resolve(written, [], users, "--judge")

    assert says in str(caught.value)


def test_a_table_of_the_wrong_shape() -> None:
    """An argument is checked to its depth."""
    with pytest.raises(UserError, match=r"model 'm': argument .*max_retries"):
        settings(EndpointSettings, "m", {"model": "m", "max_retries": 1.5})


def test_concurrency_is_the_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--concurrency`` holds for an endpoint that names none of its own."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    address = "base_url=http://127.0.0.1:1/v1"

    plain = build(resolve("openai:m", [address], {}, "--model"), concurrency=3, recorded=lambda path, name: {})
    own = build(
        resolve("openai:m", [address, "concurrency=5"], {}, "--model"), concurrency=3, recorded=lambda path, name: {}
    )

    assert (plain.in_flight, own.in_flight) == (3, 5)
