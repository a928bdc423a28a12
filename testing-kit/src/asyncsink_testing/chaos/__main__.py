"""``python -m asyncsink_testing.chaos --sink http --guarantee at-least-once --kills 50 [--seed X]``."""

from __future__ import annotations

import random
import shutil
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from tempfile import mkdtemp

from asyncsink_testing.chaos import TARGETS, Campaign, ChaosError
from asyncsink_testing.chaos.processes import is_supported
from asyncsink_testing.chaos.schedule import schedule


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 if rows are missing, or doubled against the guarantee, or if the kills hit too little.

    What the run has left on disk stays where it failed.
    """
    options = _parse(arguments)
    # Ended by a signal, it still ends what it has started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    _say(f"seed {options.seed}")
    folder = Path(mkdtemp(prefix="asyncsink-chaos-"))
    try:
        status = _run(options, folder / "run")
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    if status == 1:
        print(f"checkpoint, logs and stored rows are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return status


def _run(options: Namespace, folder: Path) -> int:
    target = TARGETS[options.sink]
    kills = schedule(options.kills, random.Random(options.seed), target.victims)
    try:
        outcome = Campaign(target, options.guarantee, kills, options.seed, folder, _say).run()
    except ChaosError as error:
        print(error, file=sys.stderr)
        return 1
    faults = list(outcome.faults())
    for line in (outcome.table(), *faults, outcome.line):
        _say(line)
    return 1 if faults else 0


def _say(line: str) -> None:
    print(line, flush=True)


def _parse(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m asyncsink_testing.chaos", description="Kill and replay.")
    parser.add_argument("--sink", choices=sorted(TARGETS), required=True)
    parser.add_argument("--guarantee", required=True)
    parser.add_argument("--kills", type=_count, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), metavar="X", help="by default any")
    options = parser.parse_args(arguments)
    if not is_supported():
        parser.error("processes are found in /proc, which this system does not have; run it on Linux")
    offered = TARGETS[options.sink].guarantees
    if options.guarantee not in offered:
        parser.error(f"sink {options.sink} cannot be asked for {options.guarantee!r}; it offers {', '.join(offered)}")
    return options


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of kills; give 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
