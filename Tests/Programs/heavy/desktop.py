"""What the drivers of heavy programs share: a profile of their own, windows, real keys, pictures in a comparable form.

A driver starts one real program and obeys, beside `quit`:

    load KIND PATH    gives the program's own document the content of PATH
    copy [WORD]       focuses it, selects and presses the copy keys
    paste KIND PATH [SECONDS]
                      empties the document, focuses it, presses the paste keys, waits until content is there or it is clear
                      that none comes, SECONDS at most, and writes what the document then holds to PATH, in a form that can
                      be compared

KIND is text, rich, image (a PNG), files (a folder) or cells. `ready` tells the program's own pid, its class, and the kinds
that it copies and pastes.
"""

import faulthandler
import hashlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from program import Commands, read_bytes, tell, write_bytes  # noqa: E402, F401

# A program that shows no window within this time has a dialog in its way, or died.
START_LIMIT = 90

BUS = """<busconfig><type>session</type><listen>unix:dir={folder}</listen><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""


def wait_until(seconds, condition):
    """The first true value of the condition, or its last one when the time is over."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


def run(*command, seconds=20, **options):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, stdin=None if "input" in options else subprocess.DEVNULL,
        **options)


class Driver:
    """One real program with a folder for its profile and documents."""

    copies = []
    pastes = []
    wm_class = ""

    def __init__(self):
        self.name = os.path.basename(sys.argv[0]).removesuffix(".py")
        self.folder = tempfile.mkdtemp(prefix=f"xpb-{self.name}-")
        self.children = []
        self.process = None
        self.pid = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *command, **options):
        """Starts a program in the driver's own process group, so that whoever ends the driver ends it too."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", sys.stderr)
        process = subprocess.Popen(command, **options)
        self.children.append(process)
        return process

    def start_bus(self):
        """A session bus of its own, for programs that don't work without one; it starts no service by itself."""
        with open(self.path("bus.conf"), "w") as file:
            file.write(BUS.format(folder=self.folder))
        bus = self.start(
            "dbus-daemon", "--nofork", "--print-address", "--config-file", self.path("bus.conf"), stdout=subprocess.PIPE)
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()

    def find_window(self, *criteria, seconds=START_LIMIT):
        """The newest visible window with these properties, in xdotool's words."""

        def search():
            if self.process and self.process.poll() is not None:
                raise RuntimeError(f"{self.name}: expected it to run, found exit status {self.process.returncode}")
            return run("xdotool", "search", "--onlyvisible", *criteria).stdout.split()

        found = wait_until(seconds, search)
        if not found:
            raise RuntimeError(f"{self.name}: expected a window {criteria} within {seconds} s, found {window_titles()}")
        return found[-1]

    def keys(self, window, *names, delay=20):
        """Presses keys in the window, as a person would: it has the focus, and the X server makes the events."""
        activate(window, "key", "--delay", str(delay), *names)

    def copy_keys(self, window, *names, seconds=10):
        """Presses copy keys and waits until somebody has taken CLIPBOARD since."""
        before = clipboard_time()
        self.keys(window, *names)
        wait_until(seconds, lambda: clipboard_time() not in (before, b""))

    def own_window(self, *criteria):
        """The newest visible window of the program itself: another one's may have the same name."""
        return self.find_window("--all", "--pid", str(self.process.pid), *criteria)

    def close(self):
        # Whoever ends the driver by a signal gives it two seconds.
        alive = [process for process in reversed(self.children) if process.poll() is None]
        for process in alive:
            process.terminate()
        if not wait_until(1, lambda: all(process.poll() is not None for process in alive)):
            for process in alive:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command_names(self):
        return ["load", "copy", "paste"]

    def serve(self):
        """Says `ready` and obeys until `quit`, the end of input or a signal."""
        stopped = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        # A start that hangs ends by saying where.
        faulthandler.dump_traceback_later(1.5 * START_LIMIT, exit=True)
        try:
            self.open()
            faulthandler.cancel_dump_traceback_later()
            commands = Commands({n: getattr(self, n) for n in self.command_names()}, lambda: stopped.append(True))
            tell("ready", pid=self.pid or self.process.pid, **{"class": self.wm_class}, copies=self.copies, pastes=self.pastes)
            while not stopped:
                if select.select([0], [], [], 1)[0]:
                    commands.ready()
        finally:
            self.close()


def activate(window, *then):
    """Gives the window the focus, then does what xdotool is told; some windows are told of the focus a moment late."""
    for _ in range(3):
        try:
            done = run("xdotool", "windowactivate", "--sync", window, *then, seconds=5)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            return
    raise RuntimeError(f"window {window}: expected it to become active, found {window_titles()}")


def clipboard_time():
    """When CLIPBOARD was taken, as its owner says."""
    command = ["xclip", "-o", "-selection", "clipboard", "-t", "TIMESTAMP"]
    try:
        return subprocess.run(command, capture_output=True, timeout=5).stdout
    except subprocess.TimeoutExpired:
        return b""


def window_titles():
    """Who has windows on the screen, for messages; a title is no content of ours."""
    listed = run("xprop", "-root", "_NET_CLIENT_LIST").stdout.partition("#")[2]
    titles = [run("xdotool", "getwindowname", w.strip()).stdout.strip() for w in listed.split(",") if w.strip()]
    return "windows " + ", ".join(f"`{t}`" for t in titles) if titles else "no window"


def picture_form(content):
    """Size and hash of a picture's pixels, so that two encodings of one picture are equal."""
    import gi

    gi.require_version("GdkPixbuf", "2.0")
    from gi.repository import GdkPixbuf

    loader = GdkPixbuf.PixbufLoader()
    loader.write(content)
    loader.close()
    picture = loader.get_pixbuf()
    # An opaque picture is the same with and without an alpha channel; rows may be padded.
    whole = picture if picture.get_has_alpha() else picture.add_alpha(False, 0, 0, 0)
    width, height, stride = whole.get_width(), whole.get_height(), whole.get_rowstride()
    pixels = whole.get_pixels()
    rows = b"".join(pixels[y * stride:y * stride + width * 4] for y in range(height))
    return f"{width}x{height} {hashlib.sha256(rows).hexdigest()}\n".encode()


def folder_form(folder):
    """Each file below the folder with its hash, sorted."""
    lines = []
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            lines.append(f"{os.path.relpath(os.path.join(place, name), folder)} {digest}\n")
    return "".join(sorted(lines)).encode()


def answer(path, content):
    write_bytes(path, content)
    return {"bytes": len(content)}


def windows():
    """The top-level windows on the screen now, menus included."""
    return set(run("xdotool", "search", "--onlyvisible", "--maxdepth", "1", ".*").stdout.split())
