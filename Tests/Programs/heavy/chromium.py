#!/usr/bin/python3
"""Chromium with a page of its own; the debugging protocol on a pair of pipes fills and reads the page."""

import json
import os

from browser import PAGE, Browser
from desktop import START_LIMIT, wait_until


class Chromium(Browser):
    wm_class = "Chromium"

    def open(self):
        # The protocol's pipes are descriptors 3 (commands) and 4 (answers) of the browser.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        as_root = ["--no-sandbox", "--test-type"] if os.geteuid() == 0 else []

        def place_pipes():
            # Out of the way first: one of them may itself be 3 or 4.
            low, high = os.dup(commands), os.dup(answers)
            while min(low, high) <= 4:
                low, high = os.dup(low), os.dup(high)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = self.start(
            "chromium", *as_root, "--remote-debugging-pipe", "--user-data-dir=" + self.path("profile"), "--no-first-run",
            "--no-default-browser-check", "--disable-gpu", "--disable-breakpad", "--disable-crash-reporter",
            "--password-store=basic", "--ozone-platform=x11", "--disable-component-update", "--disable-sync",
            "--disable-background-networking", "--window-size=900,700", PAGE,
            close_fds=False, preexec_fn=place_pipes,
            env=os.environ | {"DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        os.close(commands)
        os.close(answers)
        self.number = 0
        self.rest = b""
        self.session = None
        self.window = self.own_window("--class", "^Chromium$")
        pages = [t for t in self.command("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.command("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self.session = attached["sessionId"]
        if not wait_until(START_LIMIT, self.has_page):
            raise RuntimeError(f"Chromium: expected its page within {START_LIMIT} s, found another one")
        self.wait_for_keys()

    def has_page(self):
        """The window is there before the page; at first it holds an empty one, which is complete."""
        try:
            return self.evaluate("document.readyState === 'complete' && typeof empty === 'function'") == "True"
        except RuntimeError:
            # The page came while the empty one was asked.
            return False

    def command(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.commands, rest):]
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                continue
            if "error" in answer:
                raise RuntimeError(f"Chromium: {method}: {answer['error']['message'][:200]}")
            return answer["result"]

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium: expected an answer, found the end of the pipe")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def evaluate(self, script):
        result = self.command("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"Chromium: {result['exceptionDetails'].get('exception', {}).get('description', '')[:200]}")
        return str(result["result"].get("value"))


if __name__ == "__main__":
    Chromium().serve()
