/* A program that reads every copy as soon as it can, or every paste, and tells what it got: one JSON object for each new text.
   It ends with its standard input. It has a connection of its own, without client.c's windows, since each of its rounds counts. */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/extensions/Xfixes.h>
#include <X11/extensions/sync.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Display *display;
static Window window;
static Atom clipboard, utf8, answer;
static char last[256];
static unsigned reads, asked;
static bool raises;

static void ask(Time time) {
    if (raises) XSyncSetPriority(display, None, INT_MAX);
    XConvertSelection(display, clipboard, utf8, answer, window, time);
    XFlush(display);
    asked++;
}

static void tell(Window from, const unsigned char *text) {
    static Window last_from;
    if (from == last_from && !strncmp(last, (const char *)text, sizeof last - 1)) return;
    last_from = from;
    snprintf(last, sizeof last, "%s", text);
    reads++;
    printf("{\"event\":\"read\",\"window\":%lu,\"text\":\"", from);
    for (const char *p = last; *p; p++)
        if ((unsigned char)*p >= 0x20 && *p != '"' && *p != '\\') putchar(*p);
    printf("\"}\n");
}

static void take(Window from, Atom property, bool deletes) {
    Atom type;
    int format;
    unsigned long count, left;
    unsigned char *bytes = NULL;
    if (XGetWindowProperty(display, from, property, 0, sizeof last / 4, deletes, AnyPropertyType, &type, &format, &count, &left,
                           &bytes) == Success && bytes && format == 8 && count) tell(from, bytes);
    if (bytes) XFree(bytes);
}

static bool input_ended(void) {
    char byte;
    struct pollfd input = {0, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && fread(&byte, 1, 1, stdin) == 0;
}

/* Hears of a new owner and asks at once. */
static void listen_loop(int first_event) {
    for (;;) {
        while (XPending(display)) {
            XEvent e;
            XNextEvent(display, &e);
            if (e.type == first_event + XFixesSelectionNotify) {
                XFixesSelectionNotifyEvent *change = (XFixesSelectionNotifyEvent *)&e;
                if (change->owner != None) ask(change->timestamp);
            } else if (e.type == SelectionNotify && e.xselection.property != None) {
                take(window, answer, true);
                fflush(stdout);
            }
        }
        struct pollfd ready[2] = {{ConnectionNumber(display), POLLIN, 0}, {0, POLLIN, 0}};
        poll(ready, 2, -1);
        if (ready[1].revents && input_ended()) return;
    }
}

/* Asks again as soon as it has an answer. */
static void poll_loop(void) {
    while (!input_ended()) {
        ask(CurrentTime);
        for (XEvent e;;) {
            XNextEvent(display, &e);
            if (e.type != SelectionNotify) continue;
            if (e.xselection.property != None) take(window, answer, true), fflush(stdout);
            break;
        }
    }
}

static int ignore(Display *unused, XErrorEvent *error) {
    (void)unused, (void)error;
    return 0;
}

static void follow(Window from) {
    Window root, parent, *children = NULL;
    unsigned count = 0;
    XSelectInput(display, from, PropertyChangeMask | SubstructureNotifyMask);
    if (!XQueryTree(display, from, &root, &parent, &children, &count)) return;
    for (unsigned i = 0; i < count; i++) follow(children[i]);
    if (children) XFree(children);
}

/* Asks nobody for anything: looks at every property that somebody sets on a window, which is where a paste arrives. */
static void watch_loop(void) {
    XSetErrorHandler(ignore);
    follow(DefaultRootWindow(display));
    XSync(display, False);
    for (;;) {
        while (XPending(display)) {
            XEvent e;
            XNextEvent(display, &e);
            if (e.type == CreateNotify) follow(e.xcreatewindow.window);
            else if (e.type == PropertyNotify && e.xproperty.state == PropertyNewValue && e.xproperty.atom > XA_LAST_PREDEFINED) {
                take(e.xproperty.window, e.xproperty.atom, false);
                fflush(stdout);
            }
        }
        struct pollfd ready[2] = {{ConnectionNumber(display), POLLIN, 0}, {0, POLLIN, 0}};
        poll(ready, 2, -1);
        if (ready[1].revents && input_ended()) return;
    }
}

int main(int argc, char **argv) {
    const char *mode = argc == 4 && !strcmp(argv[1], "--display") ? argv[3] : "";
    bool listens = !strcmp(mode, "listen"), watches = !strcmp(mode, "watch");
    raises = !strcmp(mode, "evil");
    if (!listens && !watches && !raises && strcmp(mode, "poll")) {
        fprintf(stderr, "xpb-sniffer --display D listen|poll|evil|watch: hears of each copy and reads it; reads in a loop; the same\n"
                        "and puts itself in front of all clients before each round; reads what is set on other programs' windows\n");
        return 2;
    }
    display = XOpenDisplay(argv[2]);
    int first_event = 0, error;
    if (!display || !XFixesQueryExtension(display, &first_event, &error)) return 1;
    window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
    clipboard = XInternAtom(display, "CLIPBOARD", False);
    utf8 = XInternAtom(display, "UTF8_STRING", False);
    answer = XInternAtom(display, "XPB_SNIFFED", False);
    if (listens) XFixesSelectSelectionInput(display, window, clipboard, XFixesSetSelectionOwnerNotifyMask);
    XSync(display, False);
    printf("{\"event\":\"ready\",\"window\":%lu}\n", window);
    fflush(stdout);
    if (listens) listen_loop(first_event);
    else if (watches) watch_loop();
    else poll_loop();
    printf("{\"event\":\"end\",\"reads\":%u,\"asked\":%u}\n", reads, asked);
    XCloseDisplay(display);
    return 0;
}
