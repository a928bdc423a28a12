"""The program in the page on failures sends dead letters again as it stands there."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from asyncsink import AsyncSinkWriterConfig
from asyncsink.dead_letters import DeadLetterFiles, read_dead_letters
from asyncsink_http import HttpSink
from asyncsink_testing.http_server import HttpRequest, Reaction, serving

DOCUMENT = Path(__file__).resolve().parents[1] / "explanation" / "failing.md"


def refuse_rows(request: HttpRequest) -> Reaction:
    return Reaction.refuse(422)


async def write_into_refusals(url: str, folder: Path) -> None:
    config = AsyncSinkWriterConfig(on_rejected="dead_letter", dead_letters=DeadLetterFiles(folder), max_rejected=1.0)
    async with HttpSink(url=url, config=config).open() as writer:
        await writer.write_many([{"id": number} for number in range(5)])


def test_what_was_refused_is_sent_again(tmp_path: Path) -> None:
    folder, program = tmp_path / "dead", tmp_path / "again.py"
    program.write_text(DOCUMENT.read_text().split("```python\n")[1].split("```")[0])
    with serving(refuse_rows) as server:
        asyncio.run(write_into_refusals(server.url, folder))
        assert server.stored == []
    assert len([*read_dead_letters(folder)]) == 5
    with serving() as server:
        command = [sys.executable, str(program), server.url, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
        assert (done.stdout, done.returncode) == ("5 entries sent again\n", 0), done.stderr
        assert sorted(row["id"] for each in server.stored for row in json.loads(each.body)) == [*range(5)]
