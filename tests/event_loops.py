"""Run coroutines in tests."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run(conversation: Callable[[], Awaitable[T]]) -> T:
    """Await ``conversation()`` in a thread of its own.

    The loop of the browser tests stays in the main thread of the process that did them until that process ends, and
    no second loop can run there.
    """

    async def wait() -> T:
        return await conversation()

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(lambda: asyncio.run(wait())).result()  # noqa: TID251
