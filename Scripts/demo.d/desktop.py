"""The desktop of the demonstration: an X server where there is none, the daemon, and the programs on it."""
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# No answer of a small program takes this long on a machine that works.
DEADLINE = 20


class Failure(Exception):
    """Something that the demonstration needs doesn't work."""


class Program:
    """A program told over its standard input what to do; one line in, one line out."""

    def __init__(self, desktop, name, command):
        self.name = name
        self.messages = lambda: desktop.messages(command[0])
        self.process = desktop.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.read()

    def read(self):
        if not select.select([self.process.stdout], [], [], DEADLINE)[0]:
            raise Failure(f"{self.name} does not answer")
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.name} ended with {self.process.wait()}: {self.messages()}")
        return line.rstrip("\n")

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.read()

    def quit(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE)


class Desktop:
    """Starts things in order and ends them in the reverse one."""

    def __init__(self):
        self.started = []
        self.folder = tempfile.TemporaryDirectory(prefix="xpastebridge-demo.")
        self.path = pathlib.Path(self.folder.name)
        self.environment = dict(os.environ, NO_AT_BRIDGE="1", LC_ALL="C.UTF-8")
        if not os.environ.get("XDG_RUNTIME_DIR"):
            self.environment["XDG_RUNTIME_DIR"] = self.folder.name
        self.is_private = not os.environ.get("DISPLAY")
        self.daemon = None
        self.audit_offset = 0

    def start(self, command, **options):
        # What each says goes to a file of its own, shown only when it fails.
        messages = open(self.messages_of(command[0]), "ab")
        options.setdefault("stdout", messages)
        options.setdefault("stderr", messages)
        # A session of its own: Ctrl+C is for this script, which then ends what it started.
        process = subprocess.Popen(command, env=self.environment, start_new_session=True, **options)
        self.started.append(process)
        return process

    def close(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                if process.poll() is None:
                    process.kill()
                    process.wait()
        self.folder.cleanup()

    def messages_of(self, program):
        return self.path / (pathlib.Path(program).name + ".messages")

    def messages(self, program):
        return self.messages_of(program).read_text(errors="replace").strip()

    def start_server(self):
        """An X server without a screen, which picks a free number itself, and a window manager on it."""
        reader, writer = os.pipe()
        self.start(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"],
                   pass_fds=[writer])
        os.close(writer)
        # The server writes the number and the end of the line apart, and ends when it can't write the second.
        number = b""
        while not number.endswith(b"\n"):
            if not select.select([reader], [], [], DEADLINE)[0]:
                raise Failure("Xvfb does not start")
            if not (part := os.read(reader, 16)):
                raise Failure("Xvfb ended: " + self.messages("Xvfb"))
            number += part
        os.close(reader)
        self.environment["DISPLAY"] = ":" + number.decode().strip()
        self.start(["openbox", "--sm-disable"])
        return self.environment["DISPLAY"]

    def start_daemon(self, binary, policy):
        """The daemon; returns once it says that it is ready, by the service manager's protocol (sd_notify(3))."""
        self.binary = binary
        self.audit = self.path / "audit.jsonl"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(self.path / "notify"))
            ready.settimeout(0.1)
            self.environment["NOTIFY_SOCKET"] = str(self.path / "notify")
            self.daemon = self.start([binary, "run", "--policy", policy, "--audit", "all", "--audit-file", self.audit])
            del self.environment["NOTIFY_SOCKET"]
            for _ in range(DEADLINE * 10):
                with contextlib.suppress(TimeoutError):
                    if b"READY=1" in ready.recv(4096):
                        return
                if self.daemon.poll() is not None:
                    raise Failure(f"the daemon ended with {self.daemon.returncode}: {self.messages(binary)}")
        raise Failure("the daemon doesn't become ready: " + self.messages(binary))

    def synchronize(self):
        """Until the daemon has done everything that happened so far."""
        if self.daemon:
            done = subprocess.run([self.binary, "sync"], env=self.environment, capture_output=True, text=True,
                                  timeout=DEADLINE)
            if done.returncode != 0:
                raise Failure(f"`xpastebridge sync` ended with {done.returncode}: {done.stderr.strip()}")

    def new_records(self):
        """The audit records written since the last call."""
        if not self.daemon or not self.audit.exists():
            return []
        with open(self.audit, "rb") as file:
            file.seek(self.audit_offset)
            lines = file.read()
            self.audit_offset = file.tell()
        return [json.loads(line) for line in lines.splitlines()]

    def tk(self, name):
        return Program(self, name, ["wish", HERE / "editor.tcl", "-name", name.lower()])

    def gtk(self, name):
        return Program(self, name, ["/usr/bin/python3", HERE / "editor.py", name])

    def xclip_paste(self):
        """What a command line program without a window class gets."""
        done = subprocess.run(["xclip", "-selection", "clipboard", "-o"], env=self.environment, capture_output=True,
                              text=True, timeout=DEADLINE)
        return done.stdout.replace("\n", " ")
