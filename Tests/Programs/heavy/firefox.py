#!/usr/bin/python3
"""Firefox with a page of its own; Marionette, its remote protocol on loopback, fills and reads the page."""

import json
import os
import socket

from browser import PAGE, Browser
from desktop import wait_until

PREFERENCES = {
    "marionette.port": 0,
    # Marionette's own choice of preferences would turn things off that people have on.
    "remote.prefs.recommended": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.aboutwelcome.enabled": False,
    "browser.startup.page": 0,
    "browser.sessionstore.resume_from_crash": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "app.update.enabled": False,
    "app.normandy.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "termsofuse.bypassNotification": True,
    "trailhead.firstrun.didSeeAboutWelcome": True,
    "layers.acceleration.disabled": True,
}


class Firefox(Browser):
    wm_class = "firefox-esr"

    def open(self):
        profile = self.path("profile")
        os.mkdir(profile)
        with open(profile + "/user.js", "w", encoding="utf-8") as file:
            for name, value in PREFERENCES.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = self.start(
            "firefox-esr", "--no-remote", "--profile", profile, "--marionette", "about:blank",
            env=os.environ | {"MOZ_CRASHREPORTER_DISABLE": "1",
                              "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        self.number = 0
        self.window = self.own_window("--class", "^firefox-esr$")
        port = wait_until(60, lambda: self.port(profile))
        if not port:
            raise RuntimeError("Firefox: expected Marionette's port within 60 s, found none")
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.rest = b""
        self.message()
        self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}})
        self.command("WebDriver:Navigate", {"url": PAGE})
        self.wait_for_keys()

    @staticmethod
    def port(profile):
        try:
            with open(profile + "/MarionetteActivePort", encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return 0

    def message(self):
        """One message: its length in decimal digits, a colon, JSON."""
        while b":" not in self.rest or len(self.rest) < int(self.rest.split(b":")[0]) + self.rest.index(b":") + 1:
            piece = self.socket.recv(1 << 20)
            if not piece:
                raise RuntimeError("Firefox: expected an answer, found the end of the connection")
            self.rest += piece
        length, _, rest = self.rest.partition(b":")
        self.rest = rest[int(length):]
        return json.loads(rest[:int(length)])

    def command(self, name, parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(str(len(text)).encode() + b":" + text)
        _, _, error, result = self.message()
        if error:
            raise RuntimeError(f"Firefox: {name}: {error['message'][:200]}")
        return result

    def evaluate(self, script):
        # The page's own functions are of its own world, not of Marionette's sandbox.
        wrapped = "const [script, done] = arguments; Promise.resolve(window.eval(script)).then(v => done(String(v)))"
        return self.command(
            "WebDriver:ExecuteAsyncScript", {"script": wrapped, "args": [script], "newSandbox": False, "sandbox": None}
        )["value"]


if __name__ == "__main__":
    Firefox().serve()
