"""The Messages API of the tests on the loopback, for the daemons of a workbench: it answers when it is told to.

It prints its address. Each line on stdin lets one waiting request through; at the end of stdin it ends. It prints
`request` for each request that came.
"""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from tests.anthropic_server import API_KEY, AnthropicServer, Reply, Request

SUMMARY = "## Goal\nThe summary that the slow model wrote."


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    gates: list[threading.Event] = []

    def waiting(_: Request) -> Reply:
        gates.append(threading.Event())
        say("request")
        return Reply(SUMMARY, gate=gates[-1])

    with AnthropicServer() as server:
        server.default = waiting
        say(f"listening {server.url} {API_KEY}")
        for _ in sys.stdin:
            for gate in gates:
                gate.set()


if __name__ == "__main__":
    main()
