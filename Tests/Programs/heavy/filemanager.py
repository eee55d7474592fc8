"""What the drivers of file managers share: two folders in two windows, one to copy from and one to paste into.

Beside the commands of all drivers: `cut`, and `source PATH`, which writes what the folder to copy from holds.
"""

import os
import shutil
import subprocess

from desktop import Driver, answer, folder_form, wait_until


class FileManager(Driver):
    copies = ["files"]
    pastes = ["files"]

    def open(self):
        # Windows are found by the folder's name, also when two file managers are there.
        self.source_folder, self.target_folder = (self.path(f"{use}-{self.name}") for use in ("source", "target"))
        for folder in self.source_folder, self.target_folder, self.path("config"), self.path("data"):
            os.mkdir(folder)
        os.environ["XDG_CONFIG_HOME"] = self.path("config")
        os.environ["XDG_DATA_HOME"] = self.path("data")
        self.start_bus()
        self.prepare()
        self.process = self.start(*self.command(self.source_folder))
        self.source_window = self.own_window("--name", f"^source-{self.name}")
        opener = self.start(*self.command(self.target_folder))
        self.target_window = self.own_window("--name", f"^target-{self.name}")
        # The second start hands over to the first and ends.
        opener.wait(20)

    def prepare(self):
        pass

    def load(self, kind, path):
        empty(self.source_folder)
        for name in os.listdir(path):
            origin = os.path.join(path, name)
            (shutil.copytree if os.path.isdir(origin) else shutil.copy)(origin, os.path.join(self.source_folder, name))

    def copy(self):
        self.take("ctrl+c", b"copy")

    def cut(self):
        self.take("ctrl+x", b"cut")

    def take(self, key, word):
        """Presses the key until all files are in what is copied: a window shows new files after a moment."""
        wanted = len(os.listdir(self.source_folder))
        for _ in range(5):
            self.copy_keys(self.source_window, "ctrl+a", key)
            lines = copied_files().split(b"\n")
            # Whoever may not read it can't tell.
            if lines == [b""] or (lines[0] == word and len([line for line in lines if line]) == wanted + 1):
                return
        raise RuntimeError(f"{self.name}: expected {wanted} files copied, found {len(lines) - 1}")

    def paste(self, kind, path, seconds="10"):
        target = self.target_folder
        empty(target)
        self.keys(self.target_window, "ctrl+v")
        form = None

        def settled():
            nonlocal form
            before, form = form, folder_form(target)
            return form if form and form == before else b""

        wait_until(float(seconds), settled)
        return answer(path, folder_form(target))

    def source(self, path):
        return answer(path, folder_form(self.source_folder))

    def command_names(self):
        return super().command_names() + ["cut", "source"]


def empty(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


def copied_files():
    command = ["xclip", "-o", "-selection", "clipboard", "-t", "x-special/gnome-copied-files"]
    return subprocess.run(command, capture_output=True, timeout=10).stdout
