"""Who may hold the clipboard while others paste: the daemon, a bare owner in C, and programs that people have.

`hold(size)` has it hold the content that measure.h makes, and says whether it does; `process` is then the one to watch.
"""

import os
import shutil
import socket
import subprocess
import time

from stage import wrong

MIB = 1024 * 1024


class Holder:
    name = ""
    program = None  # what has to be installed
    manages = False  # takes over, or puts back, what others copied

    def __init__(self, stage):
        self.stage = stage
        self.process = None

    def is_installed(self):
        return self.program is None or shutil.which(self.program) is not None

    def end(self):
        if self.process:
            self.stage.end(self.process)
        self.process = None

    def holds(self, size, seconds):
        """Whether a paste gives the content, tried for so long."""
        end = time.monotonic() + seconds
        while True:
            if self.stage.measure("paste_latency", size, 1, 1, limit=60, quiet=True):
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.05)

    def source(self, size):
        """An app that has copied."""
        owner = self.stage.start([self.stage.programs + "/bare_owner", str(size)], stdout=subprocess.PIPE)
        owner.stdout.readline()
        return owner


class BareOwner(Holder):
    name = "bare C owner"

    def hold(self, size):
        self.process = self.source(size)
        return True


class Command(Holder):
    """xclip and xsel: the content comes by standard input."""

    def __init__(self, stage, name, *words):
        super().__init__(stage)
        self.name = self.program = name
        self.words = words

    def hold(self, size):
        path = self.stage.folder + "/content"
        period = bytes(32 + i for i in range(89))
        with open(path, "wb") as file:
            file.write((period * (size // 89 + 1))[:size])
        with open(path, "rb") as file:
            self.process = self.stage.start(
                [self.program, *self.words], stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.holds(size, 10)


class Daemon(Holder):
    name = "XPasteBridge"
    manages = True

    def __init__(self, stage, binary, rules=None):
        super().__init__(stage)
        self.binary = binary
        self.rules = rules or "version: 1\ndefault: allow\n"
        self.ready_after = 0

    def start(self):
        """Starts it and waits until it says that it is ready."""
        folder, display = self.stage.folder, self.stage.display
        policy, notify = folder + "/policy.yaml", folder + "/notify"
        with open(policy, "w") as file:
            file.write(self.rules)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(notify)
            ready.settimeout(10)
            begun = time.monotonic()
            # Its journal is of no interest here; what it says on standard error is shown when it doesn't start.
            command = [self.binary, "run", "--display", display, "--policy", policy, "--no-bus"]
            with open(folder + "/daemon.log", "wb") as log:
                self.process = self.stage.start(
                    command, stdout=subprocess.DEVNULL, stderr=log, extra={"NOTIFY_SOCKET": notify})
            try:
                while b"READY=1" not in ready.recv(4096).split(b"\n"):
                    pass
            except TimeoutError:
                with open(folder + "/daemon.log") as log:
                    wrong(self.binary, "a daemon that is ready within 10 s", f"status {self.process.poll()}: {log.read()}")
            self.ready_after = (time.monotonic() - begun) * 1000
        os.unlink(notify)
        return True

    def hold(self, size):
        self.start()
        owner = self.source(size)
        subprocess.run([self.binary, "sync", "--display", self.stage.display], env=self.stage.environment, check=True)
        self.stage.end(owner)
        return True


class Manager(Holder):
    """A clipboard manager, with a home and a session bus of its own."""

    manages = True

    def __init__(self, stage, name, *command):
        super().__init__(stage)
        self.name, self.program, self.command = name, command[0], command
        self.bus = None

    def start(self):
        home = f"{self.stage.folder}/home-{self.name}"
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        self.bus = self.stage.start(
            ["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            extra={"HOME": home})
        address = self.bus.stdout.readline().decode().strip()
        self.process = self.stage.start(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            extra={"HOME": home, "DBUS_SESSION_BUS_ADDRESS": address})
        # It is ready when it keeps what it was given; a copy while it starts leaves some in a muddle.
        time.sleep(3)
        return self.keeps(1024)

    def keeps(self, size):
        for _ in range(8 if size <= MIB else 2):
            owner = self.source(size)
            time.sleep(1 + size / (8 * MIB))  # managers look at a copy at leisure, and nothing says when they have
            self.stage.end(owner)
            if self.holds(size, 1 + size / (16 * MIB)):
                return True
        return False

    def hold(self, size):
        return self.start() and self.keeps(size)

    def end(self):
        super().end()
        if self.bus:
            self.stage.end(self.bus)
        self.bus = None


def others(stage):
    """Programs that people have, whether installed or not."""
    return [
        Command(stage, "xclip", "-quiet", "-i", "-selection", "clipboard"), Command(stage, "xsel", "-i", "-b", "-n"),
        Manager(stage, "Clipman", "xfce4-clipman"), Manager(stage, "Diodon", "diodon"),
    ]
