#!/usr/bin/python3
"""KeePassXC: copies a password or a user name from an unlocked database; pastes into its search field.

--clear SECONDS sets its own timer. `load text` makes the first line of the file the password; KeePassXC is started anew for
it, so the answer has another pid. `copy` takes `password` (also when nothing is said) or `username`, which is USERNAME.
"""

import argparse
import os
import subprocess
import uuid

from desktop import Driver, answer, read_bytes, wait_until

MASTER = "master"
USERNAME = "user-of-the-vault"

CONFIGURATION = """[General]
ConfigVersion=2
UpdateCheckMessageShown=true
RememberLastDatabases=false
OpenPreviousDatabasesOnStartup=false
[GUI]
CheckForUpdates=false
ShowTrayIcon=false
[Security]
ClearClipboard=true
ClearClipboardTimeout={seconds}
ClearSearch=false
"""


class KeePassXC(Driver):
    wm_class = "KeePassXC"
    copies = ["text"]
    pastes = ["text"]

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def open(self):
        with open(self.path("keepassxc.ini"), "w") as file:
            file.write(CONFIGURATION.format(seconds=self.seconds))
        self.database = self.path("vault.kdbx")
        self.ask("db-create", "--set-password", self.database, lines=[MASTER, MASTER])
        self.ask("add", "--username", USERNAME, "--password-prompt", self.database, "Entry", lines=[MASTER, "unset"])
        self.show()

    def ask(self, *words, lines):
        """Secrets go by standard input: a command line is open to everyone."""
        done = subprocess.run(
            ["keepassxc-cli", words[0], "-q", *words[1:]], input="".join(line + "\n" for line in lines), text=True,
            capture_output=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"keepassxc-cli {words[0]}: expected status 0, found {done.stderr.strip()}")

    def show(self):
        self.process = self.start(
            "keepassxc", "--pw-stdin", "--config", self.path("keepassxc.ini"), "--localconfig", self.path("local.ini"),
            self.database, stdin=subprocess.PIPE,
            # There its lock lies, which lets a user have one KeePassXC on all displays together.
            env={**os.environ, "TMPDIR": self.folder})
        self.process.stdin.write(MASTER.encode() + b"\n")
        self.process.stdin.close()
        self.window = self.own_window("--name", "^vault.kdbx - KeePassXC$")

    def load(self, kind, path):
        secret = read_bytes(path).decode().split("\n")[0]
        self.leave()
        self.ask("edit", "--password-prompt", self.database, "Entry", lines=[MASTER, secret])
        self.show()
        return {"pid": self.process.pid}

    def leave(self):
        """Ends KeePassXC as a person does: on SIGTERM it doesn't end at once."""
        self.keys(self.window, "ctrl+q")
        self.process.wait(20)

    def close(self):
        if self.process and self.process.poll() is None:
            try:
                self.leave()
            except (RuntimeError, subprocess.SubprocessError):
                pass
        super().close()

    def copy(self, what="password"):
        # Down leads from the search field to the list; its only entry is selected.
        self.copy_keys(self.window, "ctrl+f", "ctrl+a", "BackSpace", "Down", {"password": "ctrl+c", "username": "ctrl+b"}[what])

    def paste(self, kind, path, seconds="10"):
        self.keys(self.window, "ctrl+f", "ctrl+a", "BackSpace", "ctrl+v")
        # What the field holds is what selecting all of it makes the primary selection; the mark stays if it holds nothing.
        mark = uuid.uuid4().hex.encode()
        subprocess.run(
            ["xclip", "-i", "-selection", "primary"], input=mark, timeout=10, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        content = wait_until(float(seconds), lambda: self.select_all(mark)) or b""
        self.keys(self.window, "BackSpace")
        return answer(path, content)

    def select_all(self, mark):
        self.keys(self.window, "ctrl+a")
        command = ["xclip", "-o", "-selection", "primary", "-t", "UTF8_STRING"]
        found = subprocess.run(command, capture_output=True, timeout=10).stdout
        return b"" if found == mark else found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clear", type=int, default=10, help="seconds after which it clears the clipboard")
    KeePassXC(parser.parse_args().clear).serve()


main()
