"""The X server, the daemon and the raw clients of a soak, each ended by its own number."""
import json
import os
import queue
import signal
import subprocess
import threading
import time


def spawn(words, environment, log, **rest):
    """Starts a program in a process group of its own."""
    return subprocess.Popen(words, env=environment, stderr=log, start_new_session=True, **rest)


def end(process):
    """Ends a program and what it left behind, and waits for it."""
    try:
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Client:
    """xpb-owner or xpb-requestor: commands in, events out."""

    def __init__(self, program, soak):
        self.process = spawn([program, "--display", soak.display], soak.environment, soak.log, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.wait("windows")

    def _read(self):
        for line in self.process.stdout:
            try:
                self.events.put(json.loads(line))
            except ValueError:
                break  # the end of a line that was cut by its writer's death
        self.events.put(None)

    def tell(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def next(self, seconds):
        """The next event; None when it has ended."""
        try:
            return self.events.get(timeout=seconds)
        except queue.Empty:
            raise SystemExit(f"{self.process.args[0]}: expected an event within {seconds} s, found none")

    def wait(self, name, seconds=20):
        while (event := self.next(seconds)) is not None:
            if event["event"] == name:
                return event
        return None

    def end(self):
        end(self.process)


class Soak:
    """A private X server with the daemon on it."""

    def __init__(self, binary, clients, folder, policy):
        self.binary, self.clients, self.folder = binary, clients, folder
        self.log = open(os.path.join(folder, "log"), "wb")
        os.mkdir(os.path.join(folder, "run"), 0o700)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": os.path.join(folder, "run")}
        self.server = spawn(["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"],
                            self.environment, self.log, stdout=subprocess.PIPE)
        self.display = ":" + self.server.stdout.readline().decode().strip()
        path = os.path.join(folder, "policy.yaml")
        with open(path, "w") as file:
            file.write(policy)
        self.daemon = spawn([binary, "run", "--display", self.display, "--policy", path, "--fatal-x-errors", "--no-bus"],
                            self.environment, self.log, stdin=subprocess.DEVNULL, stdout=self.log)
        deadline = time.monotonic() + 10
        while self.call("sync").returncode:
            if time.monotonic() > deadline or self.daemon.poll() is not None:
                raise SystemExit(f"the daemon doesn't become ready: {self.tail()}")
            time.sleep(0.02)

    def call(self, *words):
        return subprocess.run([self.binary, *words, "--display", self.display], env=self.environment,
                              capture_output=True, timeout=30)

    def sync(self):
        if self.call("sync").returncode:
            raise SystemExit(f"the daemon doesn't answer: {self.tail()}")

    def status(self):
        """How CLIPBOARD stands."""
        return json.loads(self.call("status", "--json").stdout)["selections"][0]

    def owner(self):
        return Client(os.path.join(self.clients, "xpb-owner"), self)

    def requestor(self):
        return Client(os.path.join(self.clients, "xpb-requestor"), self)

    def tail(self):
        self.log.flush()
        with open(self.log.name, "rb") as file:
            return file.read()[-600:].decode(errors="replace")

    def holdings(self, asker):
        """Descriptors, X resources by type and resident KiB of the daemon."""
        asker.tell("owner CLIPBOARD")
        window = asker.wait("owner")["window"]
        asker.tell(f"resources {window}")
        types = dict(text.rsplit(" ", 1) for text in asker.wait("resources")["types"])
        folder = f"/proc/{self.daemon.pid}/fd"
        held = []
        for number in os.listdir(folder):
            try:
                held.append(os.readlink(os.path.join(folder, number)))
            except FileNotFoundError:
                pass
        with open(f"/proc/{self.daemon.pid}/statm") as file:
            memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
        # One descriptor for each process that it knows of late is no leak: they are bounded and change hands.
        return {"descriptors": sum(not name.startswith("/proc/") for name in held),
                "resources": {name: int(count) for name, count in types.items()}, "memory": memory}

    def close(self):
        """Ends all; gives the daemon's own exit status."""
        status = None
        if self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                status = self.daemon.wait(5)
            except subprocess.TimeoutExpired:
                pass
        end(self.daemon)
        end(self.server)
        self.log.close()
        return status
