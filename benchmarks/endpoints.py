"""How busy an endpoint of 200 ms is kept: mmtests beside a bare AsyncOpenAI loop and the physical limit.

python -m benchmarks.endpoints --repeats 3
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import Side, alternate, machine, show
from benchmarks.workloads import write_dialogues

LATENCY = 0.2
IN_FLIGHT = 64

BARE = """
import asyncio, sys
from openai import AsyncOpenAI


async def main(url, calls, in_flight):
    client, slots = AsyncOpenAI(base_url=url, api_key="none"), asyncio.Semaphore(in_flight)

    async def call(n):
        async with slots:
            await client.chat.completions.create(
                model="test", messages=[{"role": "user", "content": f"Document {n}"}], max_tokens=1024, temperature=0
            )

    await asyncio.gather(*(call(n) for n in range(calls)))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


@contextmanager
def endpoint(latency: float = LATENCY) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.server", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ours(name: str, folder: Path, url: str, *more: str) -> Side:
    """mmtests over the dialogues in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "mmtests", "--data=.",
               "--model", "openai:test", "--model-arg", f"base_url={url}", f"--concurrency={IN_FLIGHT}", *more]  # fmt: skip
    return Side(name, command, folder, before=lambda: shutil.rmtree(folder / ".mmtests", ignore_errors=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(machine())
    with tempfile.TemporaryDirectory() as name, endpoint() as url:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE)
        write_dialogues(folder / "short", 1170, 1)
        calls = [
            Side("bare AsyncOpenAI", [sys.executable, "bare.py", url, "1170", str(IN_FLIGHT)], folder),
            ours("mmtests", folder / "short", url),
        ]
        alternate(calls, repeats)
        show(f"1,170 calls of {LATENCY * 1000:.0f} ms, {IN_FLIGHT} in flight", calls)
        print(f"physical limit: {math.ceil(1170 / IN_FLIGHT) * LATENCY:.2f} s")

        write_dialogues(folder / "long", 64, 12)
        dialogues = [ours("mmtests", folder / "long", url)]
        alternate(dialogues, repeats)
        show(f"64 dialogues of 12 turns, {IN_FLIGHT} in flight", dialogues)
        limit = 12 * LATENCY
        print(f"physical limit: {limit:.2f} s; ratio to it: {sorted(dialogues[0].seconds)[repeats // 2] / limit:.2f}")

        again = ours("mmtests, everything stored", folder / "short", url)
        again.before = lambda: None
        ours("fill the store", folder / "short", url).run()
        collect = ours("collection", folder / "short", url, "--collect-only")
        collect.before = lambda: None
        rerun = [collect, again]
        alternate(rerun, repeats)
        show("1,170 items again", rerun)


if __name__ == "__main__":
    main()
