"""What `ssh -X` does on this side: takes X clients by TCP and connects to the display for each. Prints its display."""
import os
import socket
import sys
import threading

number = os.environ["DISPLAY"].rsplit(":", 1)[1].split(".")[0]


def pass_on(source, target):
    while True:
        data = source.recv(65536)
        if not data:
            break
        target.sendall(data)
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(listener):
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect("/tmp/.X11-unix/X" + number)
        for pair in ((client, server), (server, client)):
            threading.Thread(target=pass_on, args=pair, daemon=True).start()


for offset in range(10, 1000):
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", 6000 + offset))
    except OSError:
        continue
    listener.listen()
    print(offset, flush=True)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    break
sys.stdin.read()
