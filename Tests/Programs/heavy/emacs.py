#!/usr/bin/python3
"""Emacs with one buffer: text, and text with properties, which its kill ring keeps and the clipboard can't carry.

What the buffer holds is put in and read by emacsclient; copies and pastes are by Emacs' own keys.
"""

from desktop import Driver, answer, read_bytes, run, wait_until

# The property is Emacs' own business: no other program has a name for it.
PROPERTY = "xpb-mark"


class Emacs(Driver):
    wm_class = "Emacs"
    copies = ["text", "styled"]
    pastes = ["text", "styled"]

    def open(self):
        self.socket = self.path("server")
        settings = f'(progn (require (quote server)) (setq server-socket-dir "{self.folder}" server-name "server") (server-start))'
        self.process = self.start("emacs", "-Q", "--no-splash", "--eval", settings)
        self.window = self.own_window("--class", "^Emacs$")
        if not wait_until(20, lambda: run("emacsclient", "-s", self.socket, "--eval", "t").stdout.strip() == "t"):
            raise RuntimeError("emacs: expected a server within 20 s, found none")
        self.eval('(switch-to-buffer "document")')

    def eval(self, form):
        done = run("emacsclient", "-s", self.socket, "--eval", f'(with-current-buffer (get-buffer-create "document") {form})')
        if done.returncode:
            raise RuntimeError(f"emacs: {form[:60]}: {done.stderr.strip()}")
        return done.stdout

    def load(self, kind, path):
        self.eval(f'(progn (erase-buffer) (insert-file-contents "{path}"))')
        if kind == "styled":
            # The first half, so that there is text of both kinds.
            self.eval(f"(put-text-property (point-min) (/ (+ 1 (point-max)) 2) '{PROPERTY} t)")

    def copy(self):
        self.keys(self.window, "ctrl+x", "h", "alt+w")

    def paste(self, kind, path, seconds="10"):
        self.eval("(erase-buffer)")
        self.keys(self.window, "ctrl+y")
        copy = self.path("pasted")
        marked = f"(if (get-text-property i '{PROPERTY}) (format \"[%c]\" (char-after i)) (char-to-string (char-after i)))"
        content = {
            "text": "(buffer-substring-no-properties (point-min) (point-max))",
            "styled": f"(mapconcat (lambda (i) {marked}) (number-sequence (point-min) (1- (point-max))) \"\")",
        }[kind]

        def held():
            # Written as it is: what emacsclient prints has escapes.
            self.eval(f'(let ((coding-system-for-write \'utf-8-unix) (text {content})) (write-region text nil "{copy}" nil 0))')
            return read_bytes(copy)

        return answer(path, wait_until(float(seconds), held))


Emacs().serve()
