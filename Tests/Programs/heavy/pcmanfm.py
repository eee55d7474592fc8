#!/usr/bin/python3
"""PCManFM: copies, cuts and pastes files."""

from filemanager import FileManager


class PCManFM(FileManager):
    wm_class = "Pcmanfm"

    def command(self, folder):
        return ["pcmanfm", "--no-desktop", "--new-win", folder]


PCManFM().serve()
