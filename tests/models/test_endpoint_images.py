"""Images on their way to an endpoint: right pixels, in the right order and place, and none lost in silence."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow

from mmtests.dialogue import Message, Part, Text
from mmtests.fixtures.models.chat import ChatRequest, Generation
from mmtests.fixtures.models.endpoint import Endpoint, EndpointSettings
from mmtests.fixtures.models.registry import settings
from mmtests.image import BadImage, File, Image, Inline, digest
from mmtests.reply import NoReply, Reply
from tests.loopback import Loopback, middle, order, pictures

RED, GREEN, BLUE = (255, 0, 0), (0, 128, 0), (0, 0, 255)


def drawn(folder: Path, colour: tuple[int, int, int], kind: str = "PNG") -> Image:
    """A picture of one colour."""
    path = folder / f"{'-'.join(map(str, colour))}.{kind.lower()}"
    pillow.new("RGB", (24, 16), colour).save(path, kind)
    return Image(File(str(path)), f"data.json: record 1 (field image {path.name})")


def ask(server: Loopback, *messages: Message, **arguments: Any) -> Reply:
    """One question to the server."""

    async def asked() -> Reply:
        usual = {"model": "m", "base_url": server.url, "max_retries": 0, "timeout": 5}
        endpoint = Endpoint("m", settings(EndpointSettings, "m", usual | arguments))
        try:
            return await endpoint.chat(ChatRequest(messages, Generation(16), "a/b/multi/1", "a/b/multi/1/turn-01"))
        finally:
            await endpoint.close()

    return asyncio.run(asked())


def user(*parts: Part | str) -> Message:
    """A user message of texts and images."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


def test_order_and_place(server: Loopback, tmp_path: Path) -> None:
    """Every image stands where it stood, in this message and in the history; text alone stays a string."""
    red, green, blue = (drawn(tmp_path, colour) for colour in (RED, GREEN, BLUE))

    reply = ask(
        server,
        user("First ", red, " then ", green, "?"),
        Message.of("assistant", "Two colours."),
        user(blue, "And this?"),
    )

    (request,) = server.requests
    assert [order(message) for message in request["messages"]] == [
        ["First ", RED, " then ", GREEN, "?"],
        ["Two colours."],
        [BLUE, "And this?"],
    ]
    assert request["messages"][1]["content"] == "Two colours."
    assert reply.sent.images == 3


def test_a_jpeg_arrives_byte_for_byte(server: Loopback, tmp_path: Path) -> None:
    """What endpoints take is not encoded anew."""
    red = drawn(tmp_path, RED, "JPEG")

    ask(server, user(red))

    ((part,),) = (message["content"] for message in server.requests[0]["messages"])
    kind, _, data = part["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/jpeg"
    assert base64.b64decode(data) == (tmp_path / "255-0-0.jpeg").read_bytes()


def test_other_formats_become_png(server: Loopback, tmp_path: Path) -> None:
    """A BMP has the same pixels afterwards."""
    ask(server, user(drawn(tmp_path, GREEN, "BMP")))

    assert "data:image/png;base64," in server.requests[0]["messages"][0]["content"][0]["image_url"]["url"]
    assert middle(pictures(server.requests[0]["messages"][0])[0]) == GREEN


def test_detail(server: Loopback, tmp_path: Path) -> None:
    """``detail`` goes with each image, and with none unless asked for."""
    red = drawn(tmp_path, RED)

    ask(server, user(red, red), detail="low")
    ask(server, user(red))

    first, second = (request["messages"][0]["content"] for request in server.requests)
    assert [part["image_url"].get("detail") for part in first] == ["low", "low"]
    assert "detail" not in second[0]["image_url"]


def test_more_images_than_the_cap_fail(server: Loopback, tmp_path: Path) -> None:
    """Nothing is sent, and the message says what may be done."""
    red = drawn(tmp_path, RED)

    with pytest.raises(NoReply, match=r"3 images, and max_images allows 2.*too_many_images=drop-oldest"):
        ask(server, user(red, red, red), max_images=2)

    assert server.requests == []


@pytest.mark.parametrize(
    ("policy", "left"), [("drop-oldest", [[], ["And?", GREEN, BLUE]]), ("drop-newest", [[RED], ["And?", GREEN]])]
)
def test_images_over_the_cap_are_dropped_on_request(
    policy: str, left: list[list[Any]], server: Loopback, tmp_path: Path
) -> None:
    """The oldest or the newest go, over the whole dialogue, and the reply says so."""
    red, green, blue = (drawn(tmp_path, colour) for colour in (RED, GREEN, BLUE))

    reply = ask(
        server, user("See ", red), Message.of("assistant", "Yes."), user("And?", green, blue),
        max_images=2, too_many_images=policy,
    )  # fmt: skip

    messages = server.requests[0]["messages"]
    assert [order(messages[0]), order(messages[2])] == [["See ", *left[0]], left[1]]
    assert reply.flags == ("images_dropped",)
    assert reply.sent.images == 2


def test_a_dialogue_within_the_cap_is_left_alone(server: Loopback, tmp_path: Path) -> None:
    """No flag where nothing was dropped."""
    reply = ask(server, user(drawn(tmp_path, RED)), max_images=1, too_many_images="drop-oldest")

    assert reply.flags == ()


def test_how_images_are_sent_is_part_of_the_identity(server: Loopback) -> None:
    """Another detail or cap is another model to the store; arguments at their default are not."""

    def identity(**arguments: Any) -> str:
        usual = {"model": "m", "base_url": server.url}
        return repr(Endpoint("m", settings(EndpointSettings, "m", usual | arguments)).identity())

    kinds = [{}, {"detail": "low"}, {"max_images": 2}, {"max_images": 2, "too_many_images": "drop-oldest"}]
    assert len({identity(**kind) for kind in kinds}) == len(kinds)


def test_a_picture_that_is_none_is_not_sent(server: Loopback, tmp_path: Path) -> None:
    """The fault names where the data has it."""
    path = tmp_path / "not.png"
    path.write_bytes(b"A text, whatever its name says.")

    with pytest.raises(BadImage, match=r"data.json: record 7 \(field image\): .*not.png is none that Pillow can read"):
        ask(server, user(Image(File(str(path)), "data.json: record 7 (field image)")))

    assert server.requests == []


def test_the_same_bytes_are_the_same_image(tmp_path: Path) -> None:
    """Wherever a picture lies, caches know it by its content."""
    red = drawn(tmp_path, RED)
    stream = io.BytesIO((tmp_path / "255-0-0.png").read_bytes())

    assert digest(Image(Inline(base64.b64encode(stream.getvalue()).decode()), "elsewhere")) == digest(red)
