"""When requests go out, told without a network: what happens is fed in, what is let through is counted."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest

from mmtests.fixtures.models.pacing import Gate, Pacer, Shut, retry_after


def answer_window(pacer: Pacer, seconds: float, in_flight: int | None = None) -> None:
    """As many answers as may be in flight, each after ``seconds``; all places taken unless said otherwise."""
    for _ in range(pacer.limit):
        pacer.answered(pacer.sent(in_flight or pacer.limit), seconds)


def test_each_full_window_adds_one() -> None:
    """The limit begins moderately and grows by one for as many answers as it counts, no sooner."""
    pacer = Pacer.of("auto")
    assert pacer.limit == 16

    for _ in range(15):
        pacer.answered(pacer.sent(16), 1.0)
    assert pacer.limit == 16
    pacer.answered(pacer.sent(16), 1.0)
    assert pacer.limit == 17

    answer_window(pacer, 1.0)
    assert pacer.limit == 18


def test_growth_ends_at_the_cap() -> None:
    """However good the endpoint is, there is a most."""
    pacer = Pacer(3, most=5)

    for _ in range(9):
        answer_window(pacer, 1.0)

    assert pacer.limit == 5


def test_growth_waits_while_latency_is_worse() -> None:
    """No growth while a window's median is above 1.5 times the best one's; growth again when it is not."""
    pacer = Pacer(4)
    answer_window(pacer, 2.0)
    answer_window(pacer, 1.0)
    assert pacer.limit == 6

    answer_window(pacer, 1.6)
    answer_window(pacer, 1.6)
    assert pacer.limit == 6

    answer_window(pacer, 1.5)
    assert pacer.limit == 7


def test_a_few_slow_answers_do_not_hold_growth() -> None:
    """The median counts: one long reply among short ones says nothing of the endpoint."""
    pacer = Pacer(5)
    answer_window(pacer, 1.0)
    for seconds in (60.0, 1.0, 1.0, 1.0, 60.0, 1.0):
        pacer.answered(pacer.sent(6), seconds)

    assert pacer.limit == 7


def test_a_limit_that_is_not_reached_is_not_raised() -> None:
    """Where few are asked, good latency is no evidence for more."""
    pacer = Pacer(8)

    for _ in range(5):
        answer_window(pacer, 1.0, in_flight=3)

    assert pacer.limit == 8


def test_a_burst_of_refusals_is_one_halving() -> None:
    """All that was sent before the halving belongs to it; a refusal of what was sent after it halves again."""
    pacer = Pacer(16)
    burst = [pacer.sent(n + 1) for n in range(16)]

    for era in burst:
        pacer.refused(era)
    assert pacer.limit == 8

    pacer.refused(pacer.sent(8))
    assert pacer.limit == 4


def test_answers_from_before_a_halving_do_not_count() -> None:
    """Growth is earned under the limit that holds now."""
    pacer = Pacer(4)
    before = [pacer.sent(4) for _ in range(4)]
    pacer.refused(before.pop())
    assert pacer.limit == 2

    for era in before:
        pacer.answered(era, 1.0)

    assert pacer.limit == 2


def test_halving_ends_at_one() -> None:
    """One request may always be in flight."""
    pacer = Pacer(5)

    for _ in range(9):
        pacer.refused(pacer.sent(1))

    assert pacer.limit == 1


def test_a_fixed_limit_stays() -> None:
    """A number that the user gives neither grows nor shrinks."""
    pacer = Pacer.of(7)
    for _ in range(3):
        answer_window(pacer, 1.0)
    pacer.refused(pacer.sent(7))

    assert (pacer.limit, pacer.most) == (7, 7)


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_gate_lets_through_by_rank_and_never_more_than_the_limit() -> None:
    """A dialogue that began earlier goes first; what queues again goes behind all that wait."""

    async def through() -> list[str]:
        gate, order = Gate(Pacer.of(1)), list[str]()

        async def pass_through(name: str, rank: int | None) -> None:
            await gate.enter(rank)
            assert gate.in_flight == 1
            order.append(name)
            await asyncio.sleep(0)
            gate.leave()

        await gate.enter(0)
        waiting = [("third", 3), ("first", 1), ("second", 2), ("again", None), ("another first", 1)]
        tasks = [asyncio.create_task(pass_through(*one)) for one in waiting]
        await settle()
        assert order == []
        gate.leave()
        await asyncio.gather(*tasks)
        assert gate.in_flight == 0
        return order

    assert asyncio.run(through()) == ["first", "another first", "second", "third", "again"]


def test_what_is_cancelled_keeps_no_place() -> None:
    """Neither one that waits, nor one that is let through in the moment of its cancellation."""

    async def cancel() -> None:
        gate = Gate(Pacer.of(1))
        await gate.enter()
        waits, let_through, last = (asyncio.create_task(gate.enter()) for _ in range(3))
        await settle()
        waits.cancel()
        gate.leave()
        let_through.cancel()
        await asyncio.gather(waits, let_through, return_exceptions=True)
        await asyncio.wait_for(last, 10)
        assert (waits.cancelled(), let_through.cancelled(), gate.in_flight) == (True, True, 1)

    asyncio.run(cancel())


def test_nothing_goes_through_in_a_pause() -> None:
    """A pause holds for all, and a shorter one that comes later does not shorten it."""

    async def paused() -> float:
        gate, loop = Gate(Pacer.of(9)), asyncio.get_running_loop()
        began = loop.time()
        gate.pause(0.3)
        gate.pause(0.1)
        await asyncio.gather(*(gate.enter() for _ in range(5)))
        return loop.time() - began

    assert asyncio.run(paused()) >= 0.3


def test_a_shut_gate_turns_all_away() -> None:
    """Whatever waits and whatever comes, in a pause, too."""

    async def shut() -> None:
        gate = Gate(Pacer.of(1))
        gate.pause(60)
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await settle()
        gate.shut()
        assert {type(e) for e in await asyncio.gather(*waiting, return_exceptions=True)} == {Shut}
        with pytest.raises(Shut):
            await gate.enter()

    asyncio.run(shut())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": "121"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_what_an_answer_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds or milliseconds, up to two minutes; what is longer or cannot be read is no pause."""
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for() -> None:
    """``Retry-After`` may be a date."""
    asked = retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)})

    assert asked is not None
    assert 40 < asked <= 100
