#!/usr/bin/python3
"""A VNC viewer without a screen: connects to 127.0.0.1 PORT, tells each text that the server has cut, and cuts by command.

Speaks RFB 3.8 (RFC 6143) as far as that needs, without authentication. Pictures are asked for once, since servers send texts to viewers that
are ready alone, and thrown away.
"""

import os
import select
import socket
import struct
import sys

from program import Commands, read_bytes, tell

NO_SECURITY, SHARED = 1, 1
RAW = 0
SET_ENCODINGS, UPDATE_REQUEST, CLIENT_CUT = 2, 3, 6
UPDATE, COLOURS, BELL, SERVER_CUT = 0, 1, 2, 3


class Viewer:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.read(12)
        self.socket.sendall(b"RFB 003.008\n")
        kinds = self.read(self.number("B"))
        if NO_SECURITY not in kinds:
            raise RuntimeError(f"viewer: expected a server without authentication, found {list(kinds)}")
        self.socket.sendall(bytes([NO_SECURITY]))
        if self.number("I"):
            raise RuntimeError("viewer: expected to be let in, found a refusal")
        self.socket.sendall(bytes([SHARED]))
        size = self.read(4)
        self.pixel_bytes = self.read(16)[0] // 8
        self.read(self.number("I"))
        self.socket.sendall(struct.pack(">BxHi", SET_ENCODINGS, 1, RAW))
        self.socket.sendall(struct.pack(">BBHH", UPDATE_REQUEST, 0, 0, 0) + size)
        self.socket.settimeout(None)

    def read(self, count):
        content = b""
        while len(content) < count:
            piece = self.socket.recv(count - len(content))
            if not piece:
                raise EOFError
            content += piece
        return content

    def number(self, form):
        return struct.unpack(">" + form, self.read(struct.calcsize(form)))[0]

    def message(self):
        """Reads one whole message of the server."""
        kind = self.number("B")
        if kind == UPDATE:
            self.read(1)
            for _ in range(self.number("H")):
                _, _, width, height, _ = struct.unpack(">HHHHi", self.read(12))
                self.read(width * height * self.pixel_bytes)
            tell("shown")
        elif kind == COLOURS:
            self.read(3)
            self.read(6 * self.number("H"))
        elif kind == SERVER_CUT:
            self.read(3)
            # Latin-1, by the protocol.
            tell("cut", text=self.read(self.number("I")).decode("latin-1"))
        elif kind != BELL:
            raise RuntimeError(f"viewer: expected a message of RFB 3.8, found {kind}")

    def cut(self, path):
        """cut FILE"""
        content = read_bytes(path)
        self.socket.sendall(struct.pack(">BxxxI", CLIENT_CUT, len(content)) + content)


def main():
    viewer = Viewer(int(sys.argv[1]))
    stopped = []
    commands = Commands({"cut": viewer.cut}, lambda: stopped.append(True))
    tell("ready", pid=os.getpid())
    while not stopped:
        ready, _, _ = select.select([0, viewer.socket], [], [])
        if viewer.socket in ready:
            try:
                viewer.message()
            except EOFError:
                break
        elif 0 in ready:
            commands.ready()


main()
