"""What the two browsers share: a page with a text area, an editable element and a picture, worked by real keys."""

import base64
import json
import os
import time

from desktop import START_LIMIT, Driver, activate, run, wait_until, windows

# Nothing arrives when nothing can be pasted; a browser is through with asking long before.
PASTE_LIMIT = 6
# What a paste inserts is there at once, or in the same turn as its event.
SETTLING = 0.15

PAGE = "file://" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")


class Browser(Driver):
    """`evaluate` runs a script in the page and returns a string."""

    copies = ["text", "rich", "image"]
    pastes = ["text", "rich", "image"]

    def wait_for_keys(self):
        """A window that has just been opened may take its first keys elsewhere."""

        def takes_keys():
            self.call("empty", "text")
            self.keys(self.window, "x")
            return wait_until(1, lambda: self.call("held", "text"))

        if not wait_until(START_LIMIT, takes_keys):
            raise RuntimeError(f"{self.name}: expected a page that takes keys within {START_LIMIT} s")
        self.call("empty", "text")

    def call(self, function, *arguments):
        return self.evaluate(f"{function}({', '.join(json.dumps(a) for a in arguments)})")

    def load(self, kind, path):
        with open(path, "rb") as file:
            content = file.read()
        self.kind = kind
        if kind == "image":
            url = "data:image/png;base64," + base64.b64encode(content).decode()
            self.point = json.loads(self.call("show", url))
        else:
            self.call("empty", kind)
            field = "value" if kind == "text" else "innerHTML"
            self.evaluate(f"place({json.dumps(kind)}).{field} = {json.dumps(content.decode())}")

    def copy(self):
        if self.kind != "image":
            self.evaluate(f"place({json.dumps(self.kind)}).focus()")
            self.keys(self.window, "ctrl+a", "ctrl+c")
            return
        x, y = (str(int(value)) for value in self.point)
        before = windows()
        activate(self.window, "mousemove", x, y, "click", "3")
        # The menu is a window of its own; "Copy Image" has the same key in both browsers.
        if not wait_until(5, lambda: windows() - before):
            raise RuntimeError(f"{self.name}: expected a menu, found none")
        run("xdotool", "key", "y")

    def paste(self, kind, path, seconds=PASTE_LIMIT):
        place = "text" if kind == "text" else "rich"
        self.call("empty", place)
        self.keys(self.window, "ctrl+v")

        def arrived():
            events, length, waiting = json.loads(self.call("state", place))
            return (events or length) and not waiting

        if wait_until(float(seconds), arrived):
            time.sleep(SETTLING)
            wait_until(float(seconds), arrived)
        content = self.call("result", place).encode()
        with open(path, "wb") as file:
            file.write(content)
        self.call("empty", place)
        return {"bytes": len(content)}
