/* A window that tells which keys reach it, and somebody who presses them (XTEST), switches layouts and holds keyboards. */
#include "client.h"
#include <X11/XKBlib.h>
#include <X11/extensions/XInput2.h>
#include <X11/extensions/XTest.h>
#include <X11/extensions/sync.h>
#include <stdlib.h>
#include <string.h>

static Window popup;

/* Where modifiers are on every PC keyboard (xkb's keycodes/evdev). */
static const struct { const char *name; unsigned code; } modifiers[] = {
    {"ctrl", 37}, {"shift", 50}, {"alt", 64}, {"super", 133}, {"altgr", 108},
};

static unsigned modifier_code(const char *name) {
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        if (!strcmp(name, modifiers[i].name)) return modifiers[i].code;
    return 0;
}

static bool fake(unsigned code, bool down) { return XTestFakeKeyEvent(display, code, down, CurrentTime) != 0; }

static bool press(unsigned code, char **names, int count) {
    for (int i = 0; i < count; i++) {
        unsigned modifier = modifier_code(names[i]);
        if (!modifier) return complain("key: expected ctrl, shift, alt, super or altgr, found `%s`", names[i]);
        fake(modifier, true);
    }
    fake(code, true);
    fake(code, false);
    for (int i = count - 1; i >= 0; i--) fake(modifier_code(names[i]), false);
    XSync(display, False);
    return true;
}

static bool lock_command(const char *name, const char *state) {
    /* Num Lock is Mod2 in every keyboard that xkb makes. */
    unsigned mask = !strcmp(name, "caps") ? LockMask : !strcmp(name, "num") ? Mod2Mask : 0;
    bool on;
    if (!mask) return complain("lock: expected caps or num, found `%s`", name);
    if (!word_flag(state, "lock", &on)) return false;
    XkbLockModifiers(display, XkbUseCoreKbd, mask, on ? mask : 0);
    return XSync(display, False), true;
}

static void make_popup(void) {
    XSetWindowAttributes attributes = {.override_redirect = True, .event_mask = KeyPressMask | StructureNotifyMask};
    popup = XCreateWindow(display, root, 300, 300, 80, 40, 0, CopyFromParent, InputOutput, CopyFromParent,
                          CWOverrideRedirect | CWEventMask, &attributes);
    XMapWindow(display, popup);
    for (XEvent e;;) {
        XWindowEvent(display, popup, StructureNotifyMask, &e);
        if (e.type == MapNotify) break;
    }
    XSetInputFocus(display, popup, RevertToParent, CurrentTime);
    XSync(display, False);
}

static bool grab_command(const char *code, const char *mask, bool on) {
    long long key, with;
    if (!word_number(code, "grab", &key) || !word_number(mask, "grab", &with)) return false;
    Window where = top ? top : DefaultRootWindow(display);
    if (on) XGrabKey(display, (int)key, (unsigned)with, where, False, GrabModeAsync, GrabModeAsync);
    else XUngrabKey(display, (int)key, (unsigned)with, where);
    return XSync(display, False), true;
}

/* The same by the X Input Extension, which the server doesn't compare with the core protocol's grabs. */
static bool grab_by_extension(const char *code, const char *mask) {
    long long key, with;
    int major = 2, minor = 2, count, keyboard = 0;
    if (!word_number(code, "xi-grab", &key) || !word_number(mask, "xi-grab", &with)) return false;
    if (XIQueryVersion(display, &major, &minor) != Success) return complain("xi-grab: expected XI 2, found none");
    XIDeviceInfo *devices = XIQueryDevice(display, XIAllMasterDevices, &count);
    for (int i = 0; i < count; i++)
        if (devices[i].use == XIMasterKeyboard) keyboard = devices[i].deviceid;
    XIFreeDeviceInfo(devices);
    unsigned char bits[4] = {0};
    XISetMask(bits, XI_KeyPress);
    XIEventMask events = {keyboard, sizeof bits, bits};
    XIGrabModifiers held = {(int)with, 0};
    int refused = XIGrabKeycode(display, keyboard, (int)key, top, XIGrabModeAsync, XIGrabModeAsync, False, &events, 1, &held);
    return refused ? complain("xi-grab: expected the key, found status %d", held.status) : true;
}

static bool priority_command(const char *resource, const char *value) {
    long long id, priority;
    int found = 0, major, minor;
    if (!word_number(resource, "priority", &id)) return false;
    if (!XSyncInitialize(display, &major, &minor)) return complain("priority: expected SYNC, found none");
    if (value) {
        if (!word_number(value, "priority", &priority)) return false;
        XSyncSetPriority(display, (XID)id, (int)priority);
        return XSync(display, False), true;
    }
    XSyncGetPriority(display, (XID)id, &found);
    event_begin("priority");
    event_number("value", found);
    event_end();
    return true;
}

static bool command(char **words, int count) {
    const char *name = words[0];
    long long number;
    if (!strcmp(name, "listen")) {
        if (!top) return complain("listen: expected a window, found none; `top` makes it");
        XSelectInput(display, top, KeyPressMask | ButtonPressMask | StructureNotifyMask | PropertyChangeMask);
        XSetInputFocus(display, top, RevertToParent, CurrentTime);
        return XSync(display, False), true;
    }
    if (!strcmp(name, "point")) return XWarpPointer(display, None, top, 0, 0, 0, 0, 9, 9), XSync(display, False), true;
    if (!strcmp(name, "popup")) return make_popup(), true;
    if (!strcmp(name, "hold")) {
        Window where = top ? top : DefaultRootWindow(display);
        int state = XGrabKeyboard(display, where, False, GrabModeAsync, GrabModeAsync, CurrentTime);
        return state == GrabSuccess || complain("hold: expected the keyboard, found status %d", state);
    }
    if (!strcmp(name, "release")) return XUngrabKeyboard(display, CurrentTime), XSync(display, False), true;
    if (count < 2) return complain("command: expected one that --help lists, with its words, found `%s`", name);
    if (!strcmp(name, "key")) return word_number(words[1], "key", &number) && press((unsigned)number, words + 2, count - 2);
    if (!strcmp(name, "down") || !strcmp(name, "up"))
        return word_number(words[1], name, &number) && fake((unsigned)number, *name == 'd') && (XSync(display, False), true);
    if (!strcmp(name, "click")) {
        if (!word_number(words[1], "click", &number)) return false;
        XTestFakeButtonEvent(display, (unsigned)number, True, CurrentTime);
        XTestFakeButtonEvent(display, (unsigned)number, False, CurrentTime);
        return XSync(display, False), true;
    }
    if (!strcmp(name, "priority")) return priority_command(words[1], count > 2 ? words[2] : NULL);
    if (!strcmp(name, "group")) {
        if (!word_number(words[1], "group", &number)) return false;
        XkbLockGroup(display, XkbUseCoreKbd, (unsigned)number);
        return XSync(display, False), true;
    }
    if (count < 3) return complain("command: expected one that --help lists, with its words, found `%s`", name);
    if (!strcmp(name, "lock")) return lock_command(words[1], words[2]);
    if (!strcmp(name, "xi-grab")) return grab_by_extension(words[1], words[2]);
    if (!strcmp(name, "grab")) return grab_command(words[1], words[2], true);
    if (!strcmp(name, "ungrab")) return grab_command(words[1], words[2], false);
    return complain("command: expected one that --help lists, found `%s`", name);
}

static void event(XEvent *e) {
    if (e->type == MappingNotify) XRefreshKeyboardMapping(&e->xmapping);
    if (e->type == ButtonPress) {
        event_begin("button");
        event_number("number", e->xbutton.button);
        event_end();
    }
    if (e->type != KeyPress) return;
    event_begin("key");
    event_number("code", e->xkey.keycode);
    event_number("state", e->xkey.state & 0xff);
    event_text("window", e->xkey.window == popup ? "popup" : "top");
    event_end();
}

static Nanoseconds deadline(void) { return NEVER; }
static void due(void) {}

static const char help[] =
    "xpb-keys [--display D] [COMMAND]... : a window that tells its keys, and a hand that presses them. Each COMMAND\n"
    "argument, then each line of standard input, is one command.\n\n"
    "  listen                           hear keys and clicks of the top-level, which gets the focus\n"
    "  point                            put the pointer into the top-level\n"
    "  click N                          press and release a button\n"
    "  key CODE [MODIFIER]...           press and release a key, held with ctrl shift alt super altgr\n"
    "  down CODE, up CODE               one half of it\n"
    "  group N                          switch to a group of the layout, from 0\n"
    "  lock caps|num yes|no             lock keys\n"
    "  hold, release                    grab the whole keyboard, as screen lockers and menus do\n"
    "  grab CODE MASK, ungrab CODE MASK a passive grab on the top-level, or on the root without one\n"
    "  xi-grab CODE MASK                the same by the X Input Extension\n"
    "  priority WINDOW [VALUE]          the priority of its client, or another one for it (SYNC)\n"
    "  popup                            an override-redirect window that takes the focus\n";

int main(int argc, char **argv) {
    const Program program = {command, event, deadline, due, NULL, help};
    return program_run(&program, argc, argv);
}
