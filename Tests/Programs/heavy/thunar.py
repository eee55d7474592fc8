#!/usr/bin/python3
"""Thunar: copies, cuts and pastes files."""

from filemanager import FileManager


class Thunar(FileManager):
    wm_class = "Thunar"

    def command(self, folder):
        return ["thunar", folder]


Thunar().serve()
