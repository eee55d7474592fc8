"""What the terminals of the tests share: the way to the reader inside (terminal_reader.py)."""

import os
import select
import tempfile

from program import write_bytes


class Host:
    def __init__(self, name):
        self.folder = tempfile.mkdtemp(prefix=f"xpb-{name}-")
        for pipe in ("commands", "answers"):
            os.mkfifo(f"{self.folder}/{pipe}", 0o600)
        self.answers = os.open(self.folder + "/answers", os.O_RDONLY | os.O_NONBLOCK)
        self.commands = os.open(self.folder + "/commands", os.O_RDWR)
        here = os.path.dirname(os.path.abspath(__file__))
        self.reader = ["/usr/bin/python3", here + "/terminal_reader.py", self.folder]

    def wait_for_input(self, limit):
        """Whether the reader has said something; a terminal in this process draws meanwhile."""
        return bool(select.select([self.answers], [], [], limit)[0])

    def ask(self, line, limit=10):
        """Sends a command to the reader and waits for its answer."""
        if line:
            os.write(self.commands, line.encode() + b"\n")
        got = b""
        while b"\n" not in got:
            if not self.wait_for_input(limit):
                raise RuntimeError(f"no answer to `{line}` within {limit} s")
            got += os.read(self.answers, 4096)

    def load(self, path):
        self.ask("show " + path)

    def clear(self):
        self.ask("reset")

    def typed(self):
        with open(self.folder + "/typed", "rb") as file:
            return file.read()

    def length(self):
        return {"bytes": len(self.typed())}

    def dump(self, path):
        write_bytes(path, self.typed())
        return {"bytes": len(self.typed())}

    def remove(self):
        for name in os.listdir(self.folder):
            os.unlink(f"{self.folder}/{name}")
        os.rmdir(self.folder)
