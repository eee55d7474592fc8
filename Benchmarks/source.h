/* An app that copies text: what storm and restore have in common. */
#ifndef SOURCE_H
#define SOURCE_H
#include "measure.h"
#include <X11/extensions/Xfixes.h>
#include <poll.h>

typedef struct {
    Display *display;
    Window window;
    Atom clipboard, utf8, targets, timestamp, property;
    unsigned char *bytes;
    size_t size;
    Time since;
    long requests;
} Source;

static inline Source open_source(size_t size) {
    Display *d = open_display();
    return (Source){.display = d, .window = measuring_window(d), .clipboard = XInternAtom(d, "CLIPBOARD", False),
                    .utf8 = XInternAtom(d, "UTF8_STRING", False), .targets = XInternAtom(d, "TARGETS", False),
                    .timestamp = XInternAtom(d, "TIMESTAMP", False), .property = XInternAtom(d, "MEASURE_READ", False),
                    .bytes = content(size), .size = size};
}

/* Makes the content unlike that of every copy with another number. */
static inline void number_content(unsigned char *bytes, size_t size, long number) {
    char head[24];
    int n = snprintf(head, sizeof head, "%020ld", number);
    memcpy(bytes, head, size < (size_t)n ? size : (size_t)n);
}

static inline void take_clipboard(Source *s) {
    s->since = server_time(s->display, s->window);
    XSetSelectionOwner(s->display, s->clipboard, s->window, s->since);
    XFlush(s->display);
}

static inline void serve_request(Source *s, const XSelectionRequestEvent *q) {
    XEvent e = {.xselection = {.type = SelectionNotify, .requestor = q->requestor, .selection = q->selection, .target = q->target,
                               .property = q->property ? q->property : q->target, .time = q->time}};
    Atom list[] = {s->targets, s->timestamp, s->utf8}, property = e.xselection.property;
    long time = (long)s->since;
    s->requests++;
    if (q->target == s->utf8) XChangeProperty(s->display, q->requestor, property, s->utf8, 8, PropModeReplace, s->bytes, (int)s->size);
    else if (q->target == s->targets) XChangeProperty(s->display, q->requestor, property, XA_ATOM, 32, PropModeReplace, (unsigned char *)list, 3);
    else if (q->target == s->timestamp) XChangeProperty(s->display, q->requestor, property, XA_INTEGER, 32, PropModeReplace, (unsigned char *)&time, 1);
    else e.xselection.property = None;
    XSendEvent(s->display, q->requestor, False, 0, &e);
    XFlush(s->display);
}

/* The next event, if one comes in `ms` milliseconds. */
static inline int event_within(Display *d, XEvent *e, int ms) {
    struct pollfd fd = {ConnectionNumber(d), POLLIN, 0};
    if (!XPending(d) && poll(&fd, 1, ms) <= 0) return 0;
    if (!XPending(d)) return 0;
    XNextEvent(d, e);
    return 1;
}

/* Serves until the clipboard is lost, for `ms` milliseconds in all. Whether it was lost. */
static inline int serve_until_lost(Source *s, long ms) {
    long long end = now_ns() + ms * 1000000LL;
    for (long long left; (left = end - now_ns()) > 0;) {
        XEvent e;
        if (!event_within(s->display, &e, (int)(left / 1000000) + 1)) continue;
        if (e.type == SelectionRequest) serve_request(s, &e.xselectionrequest);
        else if (e.type == SelectionClear && XGetSelectionOwner(s->display, s->clipboard) != s->window) return 1;
    }
    return 0;
}

typedef enum { RIGHT, OTHER, NOTHING } Read;

/* Pastes, as an app of its own would, and compares. */
static inline Read read_clipboard(Source *s, const unsigned char *want) {
    XEvent e;
    Atom type;
    int format;
    unsigned long items, rest;
    unsigned char *got = NULL;
    XConvertSelection(s->display, s->clipboard, s->utf8, s->property, s->window, CurrentTime);
    do
        if (!event_within(s->display, &e, 2000)) return NOTHING;
    while (e.type != SelectionNotify);
    if (!e.xselection.property) return NOTHING;
    XGetWindowProperty(s->display, s->window, s->property, 0, 0x1fffffff, True, AnyPropertyType, &type, &format, &items, &rest, &got);
    Read result = type == s->utf8 && items == s->size && !memcmp(got, want, s->size) ? RIGHT : OTHER;
    if (got) XFree(got);
    return result;
}

/* Pastes again and again for `ms` milliseconds, until the content is right. */
static inline Read await_content(Source *s, const unsigned char *want, long ms) {
    long long end = now_ns() + ms * 1000000LL;
    Read last = NOTHING;
    while ((last = read_clipboard(s, want)) != RIGHT && now_ns() < end) nanosleep(&(struct timespec){0, 5000000}, NULL);
    return last;
}

static const char *const READ_NAMES[] = {"right", "other", "nothing"};
#endif
