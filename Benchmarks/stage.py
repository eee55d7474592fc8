"""A private X server, the measuring programs, and every process that a measurement starts."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """Something could not be measured."""


def wrong(place, expected, found):
    raise Failure(f"{place}: expected {expected}, found {found}")


class Stage:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="xpb-bench-")
        self.programs = self.folder + "/programs"
        self.children = []
        for name in ("home", "run"):
            os.mkdir(f"{self.folder}/{name}", 0o700)
        # Qt programs know by a file in TMPDIR whether they run already.
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder + "/home", "XDG_RUNTIME_DIR": self.folder + "/run",
            "TMPDIR": self.folder + "/run", "LC_ALL": "C.UTF-8", "NO_AT_BRIDGE": "1", "GDK_BACKEND": "x11",
            "GSETTINGS_BACKEND": "memory",
        }

    def start(self, command, extra=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        child = subprocess.Popen(command, env={**self.environment, **(extra or {})}, start_new_session=True, **options)
        self.children.append(child)
        return child

    def end(self, child):
        """By its own process group."""
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        self.children.remove(child)

    def close(self):
        for child in reversed(self.children[:]):
            self.end(child)
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self):
        subprocess.run(["make", "-s", "-C", HERE, "OUT=" + self.programs], check=True)
        server = self.start(
            ["Xvfb", "-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        number = server.stdout.readline().decode().strip()
        if not number:
            wrong("Xvfb", "a display number", "the end of its output")
        self.display = ":" + number
        self.environment["DISPLAY"] = self.display

    def measure(self, program, *words, limit=300, quiet=False):
        """Runs one measuring program; its `key=value` words, or none where it failed."""
        command = [f"{self.programs}/{program}", *map(str, words)]
        # A group of its own: its children end with it when it takes too long.
        child = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            told, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            told, errors = None, f"{program}: expected an end within {limit} s, found none"
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        self.children.remove(child)
        if child.returncode or not told:
            if not quiet:
                print(errors.strip(), file=sys.stderr)
            return None
        return dict(word.split("=", 1) for word in told.split())
