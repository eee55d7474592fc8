#include "client.h"
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Display *display;
Window root, helper, top;
int xfixes_event;
unsigned x_errors;
static Atom time_property;
static bool quitting;

Nanoseconds now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- output ---- */

static bool first_item, event_open;
/* X errors that came while an event was being written: naming an atom asks the server, and errors come with its answer. */
static struct { int code, request; } late_errors[64];
static int late_error_count;

void event_begin(const char *name) {
    event_open = true;
    printf("{\"event\":\"%s\",\"t\":%lld", name, now());
}

static void put_string(const char *value) {
    putchar('"');
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        if (*p < 0x20 || *p == '"' || *p == '\\') printf("\\u%04x", *p);
        else putchar(*p);
    putchar('"');
}

void event_text(const char *key, const char *value) {
    printf(",\"%s\":", key);
    if (value) put_string(value);
    else printf("null");
}

void event_bytes(const char *key, const unsigned char *bytes, size_t count) {
    printf(",\"%s\":\"", key);
    for (size_t i = 0; i < count; i++) putchar("0123456789abcdef"[bytes[i] >> 4]), putchar("0123456789abcdef"[bytes[i] & 15]);
    putchar('"');
}

void event_number(const char *key, long long value) { printf(",\"%s\":%lld", key, value); }
void event_flag(const char *key, bool value) { printf(",\"%s\":%s", key, value ? "true" : "false"); }
void event_list(const char *key) { printf(",\"%s\":[", key), first_item = true; }
void event_item(const char *value) {
    if (!first_item) putchar(',');
    first_item = false;
    put_string(value);
}
void event_list_end(void) { putchar(']'); }

static void tell_error(int code, int request) {
    printf("{\"event\":\"xerror\",\"t\":%lld,\"code\":%d,\"request\":%d}\n", now(), code, request);
}

void event_end(void) {
    printf("}\n");
    event_open = false;
    for (int i = 0; i < late_error_count; i++) tell_error(late_errors[i].code, late_errors[i].request);
    late_error_count = 0;
    fflush(stdout);
}

/* ---- connection ---- */

/* Peers go away in the middle by design here: an error is told and is never the end. */
static int on_error(Display *d, XErrorEvent *e) {
    (void)d;
    x_errors++;
    if (!event_open) {
        tell_error(e->error_code, e->request_code);
        fflush(stdout);
    } else if (late_error_count < 64) {
        late_errors[late_error_count].code = e->error_code;
        late_errors[late_error_count++].request = e->request_code;
    }
    return 0;
}

void client_open(const char *name) {
    setlocale(LC_ALL, "C.UTF-8"); /* titles are given in UTF-8 whatever the caller uses */
    display = XOpenDisplay(name);
    if (!display) {
        fprintf(stderr, "%s: expected an X server that takes connections, found none\n", XDisplayName(name));
        exit(1);
    }
    fcntl(ConnectionNumber(display), F_SETFD, FD_CLOEXEC);
    XSetErrorHandler(on_error);
    root = DefaultRootWindow(display);
    XSetWindowAttributes a = {.event_mask = PropertyChangeMask};
    helper = XCreateWindow(display, root, -10, -10, 1, 1, 0, 0, InputOnly, CopyFromParent, CWEventMask, &a);
    time_property = XInternAtom(display, "XPB_TIME", False);
    int error;
    if (!XFixesQueryExtension(display, &xfixes_event, &error)) {
        fprintf(stderr, "%s: expected an X server with XFixes, found one without\n", XDisplayName(name));
        exit(1);
    }
}

Atom atom(const char *name) {
    if (!strcmp(name, "none")) return None;
    if (name[0] == '#') return strtoul(name + 1, NULL, 0);
    return XInternAtom(display, name, False);
}

const char *atom_name(Atom a) {
    static struct { Atom atom; char *name; } known[4096];
    static int next;
    static char number[32];
    if (!a) return NULL;
    for (int i = 0; i < 4096 && known[i].atom; i++)
        if (known[i].atom == a) return known[i].name;
    char *name = XGetAtomName(display, a);
    if (!name) {
        snprintf(number, sizeof number, "#%lu", a);
        return number;
    }
    int at = next++ % 4096;
    if (known[at].name) XFree(known[at].name);
    known[at].atom = a, known[at].name = name;
    return name;
}

static Bool is_time(Display *d, XEvent *e, XPointer p) {
    (void)d, (void)p;
    return e->type == PropertyNotify && e->xproperty.window == helper && e->xproperty.atom == time_property;
}

Time server_time(void) {
    XEvent e;
    XChangeProperty(display, helper, time_property, XA_INTEGER, 8, PropModeAppend, NULL, 0);
    XIfEvent(display, &e, is_time, NULL);
    return e.xproperty.time;
}

bool time_parse(const char *word, Time last, Time *time) {
    long long shift = 0;
    size_t n = strcspn(word, "+-");
    if (word[n] && n && !word_number(word + n, "time", &shift)) return false;
    if (!strcmp(word, "current")) *time = CurrentTime;
    else if (!strncmp(word, "fresh", 5) && n == 5) *time = (server_time() + (Time)shift) & 0xffffffff;
    else if (!strncmp(word, "last", 4) && n == 4) *time = (last + (Time)shift) & 0xffffffff;
    else {
        if (!word_number(word, "time", &shift)) return complain("time: expected current, fresh, last or a number, found `%s`", word);
        *time = (Time)shift & 0xffffffff;
    }
    return true;
}

void property_put(Window w, Atom property, Atom type, int format, const unsigned char *bytes, size_t count) {
    if (format != 32) {
        XChangeProperty(display, w, property, type, format, PropModeReplace, bytes, (int)(count / (size_t)(format / 8)));
        return;
    }
    size_t items = count / 4;
    long *wide = malloc((items + 1) * sizeof *wide);
    for (size_t i = 0; i < items; i++) {
        int32_t v;
        memcpy(&v, bytes + 4 * i, 4);
        wide[i] = v;
    }
    XChangeProperty(display, w, property, type, 32, PropModeReplace, (unsigned char *)wide, (int)items);
    free(wide);
}

bool property_take(Window w, Atom property, bool delete, Atom *type, int *format, unsigned char **bytes, size_t *count) {
    unsigned long items = 0, rest = 0;
    unsigned char *raw = NULL;
    *type = None, *format = 0, *bytes = NULL, *count = 0;
    unsigned before = x_errors;
    if (XGetWindowProperty(display, w, property, 0, 0x1fffffff, delete, AnyPropertyType, type, format, &items, &rest, &raw) != Success ||
        x_errors != before)
        return false;
    *count = items * (size_t)(*format / 8);
    *bytes = malloc(*count + 1);
    if (*format == 32)
        for (size_t i = 0; i < items; i++) {
            uint32_t v = (uint32_t)((unsigned long *)(void *)raw)[i];
            memcpy(*bytes + 4 * i, &v, 4);
        }
    else if (raw) memcpy(*bytes, raw, *count);
    if (raw) XFree(raw);
    return true;
}

/* ---- commands of both programs ---- */

const char *const shared_help =
    "  top                              map a top-level window (without WM_CLASS)\n"
    "  class [helper] INSTANCE CLASS    set WM_CLASS of the top-level (made where missing) or of the helper\n"
    "  class [helper] -                 remove it\n"
    "  title TEXT                       WM_NAME (COMPOUND_TEXT) and _NET_WM_NAME (UTF-8) of the top-level\n"
    "  pid N                            _NET_WM_PID of both windows, true or not\n"
    "  machine NAME                     WM_CLIENT_MACHINE of both windows\n"
    "  root PROPERTY TEXT               put a copy into a property of the root window, as toolkits do\n"
    "  focus                            ask the window manager to activate the top-level\n"
    "  watch SELECTION                  report owner changes as XFixes tells them\n"
    "  owner SELECTION                  report the owner window\n"
    "  windows                          report the window ids\n"
    "  destroy helper|top               destroy a window\n"
    "  sync                             wait for the server\n"
    "  stop                             SIGSTOP to itself\n"
    "  exit [CODE]                      end at once, as a crash does\n"
    "  quit                             end\n";

static Bool is_map(Display *d, XEvent *e, XPointer p) {
    (void)d, (void)p;
    return e->type == MapNotify && e->xmap.window == top;
}

static void make_top(void) {
    if (top) return;
    top = XCreateSimpleWindow(display, root, 40, 40, 160, 60, 1, 0, 0xc0c0c0);
    XSelectInput(display, top, StructureNotifyMask | PropertyChangeMask | KeyPressMask | ButtonPressMask);
}

/* Waits for MapNotify, so that what follows finds the window where a person would see it. A window manager has been seen
   that left a window unmapped for good; it is asked again then. */
static void map_top(void) {
    XWindowAttributes a;
    make_top();
    if (XGetWindowAttributes(display, top, &a) && a.map_state != IsUnmapped) return;
    XEvent e;
    for (int asked = 0; asked < 4; asked++) {
        XMapWindow(display, top);
        for (int tick = 0; tick < 200; tick++) {
            if (XCheckIfEvent(display, &e, is_map, NULL)) return;
            struct pollfd p = {ConnectionNumber(display), POLLIN, 0};
            poll(&p, 1, 10);
        }
        XWithdrawWindow(display, top, DefaultScreen(display));
    }
    complain("no MapNotify for the top-level in four times 2 s");
}

static void set_class(Window w, char *instance, char *class) {
    XClassHint hint = {instance, class};
    if (class) XSetClassHint(display, w, &hint);
    else XDeleteProperty(display, w, XA_WM_CLASS);
}

static void set_title(const char *text) {
    XTextProperty p;
    char *list[1] = {(char *)(uintptr_t)text};
    make_top();
    if (Xutf8TextListToTextProperty(display, list, 1, XCompoundTextStyle, &p) >= 0) XSetWMName(display, top, &p), XFree(p.value);
    XChangeProperty(display, top, atom("_NET_WM_NAME"), atom("UTF8_STRING"), 8, PropModeReplace, (const unsigned char *)text,
                    (int)strlen(text));
}

static void activate(void) {
    XEvent e = {.xclient = {.type = ClientMessage, .window = top, .message_type = atom("_NET_ACTIVE_WINDOW"), .format = 32}};
    e.xclient.data.l[0] = 2; /* as a pager: the window manager must not refuse it for being stale */
    XSendEvent(display, root, False, SubstructureRedirectMask | SubstructureNotifyMask, &e);
}

static void tell_windows(void) {
    event_begin("windows");
    event_number("helper", (long long)helper);
    event_number("top", (long long)top);
    event_number("pid", getpid());
    event_end();
}

static int both_windows_text(Atom property, const char *value) {
    XChangeProperty(display, helper, property, XA_STRING, 8, PropModeReplace, (const unsigned char *)value, (int)strlen(value));
    if (top) XChangeProperty(display, top, property, XA_STRING, 8, PropModeReplace, (const unsigned char *)value, (int)strlen(value));
    return 1;
}

static int set_pid(const char *word) {
    long long n;
    if (!word_number(word, "pid", &n)) return -1;
    long v = (long)n;
    XChangeProperty(display, helper, atom("_NET_WM_PID"), XA_CARDINAL, 32, PropModeReplace, (unsigned char *)&v, 1);
    if (top) XChangeProperty(display, top, atom("_NET_WM_PID"), XA_CARDINAL, 32, PropModeReplace, (unsigned char *)&v, 1);
    return 1;
}

static int class_command(char **words, int count) {
    bool on_helper = count > 1 && !strcmp(words[1], "helper");
    char **rest = words + (on_helper ? 2 : 1);
    int n = count - (on_helper ? 2 : 1);
    bool none = n == 1 && !strcmp(rest[0], "-");
    if (n != 2 && !none) return complain("class: expected INSTANCE CLASS or -, found %d words", n), -1;
    if (!on_helper) make_top();
    set_class(on_helper ? helper : top, none ? NULL : rest[0], none ? NULL : rest[1]);
    if (!on_helper) map_top();
    return 1;
}

static int root_command(char **words, int count) {
    if (count != 3) return complain("root: expected PROPERTY TEXT, found %d words", count - 1), -1;
    property_put(root, atom(words[1]), XA_STRING, 8, (const unsigned char *)words[2], strlen(words[2]));
    return XSync(display, False), 1;
}

int shared_command(char **words, int count) {
    const char *name = words[0], *argument = count > 1 ? words[1] : NULL;
    if (!strcmp(name, "top")) return map_top(), 1;
    if (!strcmp(name, "class")) return class_command(words, count);
    if (!strcmp(name, "root")) return root_command(words, count);
    if (!strcmp(name, "windows")) return tell_windows(), 1;
    if (!strcmp(name, "focus")) return activate(), 1;
    if (!strcmp(name, "sync")) return XSync(display, False), 1;
    if (!strcmp(name, "stop")) return XSync(display, False), raise(SIGSTOP), 1;
    if (!strcmp(name, "exit")) _exit(argument ? atoi(argument) : 0);
    if (!strcmp(name, "quit")) return quitting = true, 1;
    const char *const need[] = {"title", "pid", "machine", "watch", "owner", "destroy", NULL};
    for (int i = 0; need[i]; i++)
        if (!strcmp(name, need[i]) && !argument) return complain("%s: expected a word, found none", name), -1;
    if (!strcmp(name, "title")) return set_title(argument), 1;
    if (!strcmp(name, "pid")) return set_pid(argument);
    if (!strcmp(name, "machine")) return both_windows_text(XA_WM_CLIENT_MACHINE, argument);
    if (!strcmp(name, "watch")) {
        XFixesSelectSelectionInput(display, helper, atom(argument),
                                   XFixesSetSelectionOwnerNotifyMask | XFixesSelectionWindowDestroyNotifyMask |
                                       XFixesSelectionClientCloseNotifyMask);
        return XSync(display, False), 1;
    }
    if (!strcmp(name, "owner")) {
        event_begin("owner");
        event_text("selection", argument);
        event_number("window", (long long)XGetSelectionOwner(display, atom(argument)));
        event_end();
        return 1;
    }
    if (!strcmp(name, "destroy")) {
        Window *w = !strcmp(argument, "top") ? &top : &helper;
        XDestroyWindow(display, *w);
        return *w = None, XSync(display, False), 1;
    }
    return 0;
}

static void tell_owner_change(XFixesSelectionNotifyEvent *e) {
    event_begin("owner-change");
    event_text("selection", atom_name(e->selection));
    event_number("window", (long long)e->owner);
    event_number("claimed", (long long)e->selection_timestamp);
    event_number("time", (long long)e->timestamp);
    event_text("cause", e->subtype == XFixesSetSelectionOwnerNotify ? "set"
                        : e->subtype == XFixesSelectionWindowDestroyNotify ? "window-destroyed" : "client-closed");
    event_end();
}

/* ---- loop ---- */

static bool run_command(const Program *p, char *line, const char *where, int number) {
    char *words[WORDS_MAX];
    int count = words_split(line, words, WORDS_MAX);
    if (!count || words[0][0] == '#') return true;
    int known = shared_command(words, count);
    bool done = known > 0 || (known == 0 && p->command(words, count));
    XFlush(display);
    event_begin(done ? "done" : "error");
    event_text("command", words[0]);
    if (!done) event_text("message", complaint);
    event_end();
    if (!done) fprintf(stderr, "%s:%d: %s\n", where, number, complaint);
    return done;
}

static bool drain(const Program *p) {
    bool any = false;
    while (XPending(display)) {
        any = true;
        XEvent e;
        XNextEvent(display, &e);
        if (e.type == xfixes_event + XFixesSelectionNotify) tell_owner_change((XFixesSelectionNotifyEvent *)&e);
        p->event(&e);
        if (p->deadline() != NEVER && p->deadline() <= now()) p->due();
    }
    return any;
}

/* One turn: events, deadlines, then sleep until something is there; after events it only looks, since what they did may
   have set the next command free. True when there is input. */
static bool turn(const Program *p, bool reads_input) {
    bool any = drain(p);
    Nanoseconds at = p->deadline(), left = at == NEVER ? NEVER : at - now();
    if (at != NEVER && left <= 0) return p->due(), XFlush(display), false;
    struct pollfd fds[2] = {{ConnectionNumber(display), POLLIN, 0}, {reads_input ? 0 : -1, POLLIN, 0}};
    XFlush(display);
    /* Flushing also reads: an event that came just now is in Xlib's queue, and the descriptor says nothing of it any more. */
    if (XEventsQueued(display, QueuedAlready)) any = true;
    int timeout = any ? 0 : at == NEVER ? -1 : (int)(left / MILLISECONDS) + 1;
    if (poll(fds, 2, timeout) < 0 && errno != EINTR) return false;
    return fds[1].revents != 0;
}

static void run_input(const Program *p) {
    static char buffer[1 << 20];
    size_t held = 0;
    int number = 0;
    bool open = true;
    while (!quitting) {
        char *end = p->busy && p->busy() ? NULL : memchr(buffer, '\n', held);
        if (end) {
            *end = 0;
            size_t used = (size_t)(end - buffer) + 1;
            run_command(p, buffer, "stdin", ++number);
            memmove(buffer, buffer + used, held -= used);
            continue;
        }
        bool busy = p->busy && p->busy();
        if (!open && !busy) return;
        if (!turn(p, open && !busy && held < sizeof buffer)) continue;
        ssize_t got = read(0, buffer + held, sizeof buffer - held);
        if (got <= 0) open = false;
        else held += (size_t)got;
    }
}

int program_run(const Program *p, int argc, char **argv) {
    const char *name = NULL;
    int first = 1;
    signal(SIGPIPE, SIG_DFL);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return printf("%s\nBoth clients:\n%s", p->help, shared_help), 0;
    if (argc > 2 && !strcmp(argv[1], "--display")) name = argv[2], first = 3;
    if (argc > first && argv[first][0] == '-' && argv[first][1]) {
        fprintf(stderr, "argument %d: expected --help, --display D or a command, found `%s`\n", first, argv[first]);
        return 2;
    }
    client_open(name);
    tell_windows();
    for (int i = first; i < argc && !quitting; i++) {
        while (p->busy && p->busy()) turn(p, false);
        if (!run_command(p, argv[i], "argument", i)) return 2;
    }
    run_input(p);
    XCloseDisplay(display);
    return 0;
}
