/* bare_owner SIZE: the simplest correct owner of CLIPBOARD, one text target, INCR past 256 KiB. The measure for pastes. */
#include "measure.h"

typedef struct {
    Window requestor;
    Atom property;
    size_t at;
    int used, ended;
} Transfer;

static Transfer transfers[256];
static Display *d;
static Atom utf8, incr, targets, timestamp;
static unsigned char *bytes;
static size_t size;
static Time since;

static void begin(const XSelectionRequestEvent *q) {
    for (int i = 0; i < 256; i++)
        if (!transfers[i].used) {
            transfers[i] = (Transfer){q->requestor, q->property, 0, 1, 0};
            break;
        }
    long announced = (long)size;
    XSelectInput(d, q->requestor, PropertyChangeMask | StructureNotifyMask);
    XChangeProperty(d, q->requestor, q->property, incr, 32, PropModeReplace, (unsigned char *)&announced, 1);
}

static void answer(const XSelectionRequestEvent *q) {
    XEvent e = {.xselection = {.type = SelectionNotify, .requestor = q->requestor, .selection = q->selection, .target = q->target,
                               .property = q->property, .time = q->time}};
    Atom list[] = {targets, timestamp, utf8};
    long time = (long)since;
    if (q->target == utf8 && size > CHUNK) begin(q);
    else if (q->target == utf8) XChangeProperty(d, q->requestor, q->property, utf8, 8, PropModeReplace, bytes, (int)size);
    else if (q->target == targets) XChangeProperty(d, q->requestor, q->property, XA_ATOM, 32, PropModeReplace, (unsigned char *)list, 3);
    else if (q->target == timestamp) XChangeProperty(d, q->requestor, q->property, XA_INTEGER, 32, PropModeReplace, (unsigned char *)&time, 1);
    else e.xselection.property = None;
    XSendEvent(d, q->requestor, False, 0, &e);
}

static void next_chunk(const XPropertyEvent *p) {
    for (int i = 0; i < 256; i++) {
        Transfer *t = &transfers[i];
        if (!t->used || t->requestor != p->window || t->property != p->atom) continue;
        if (t->ended) {
            t->used = 0;
            return;
        }
        size_t part = size - t->at < CHUNK ? size - t->at : CHUNK;
        XChangeProperty(d, t->requestor, t->property, utf8, 8, PropModeReplace, bytes + t->at, (int)part);
        t->at += part, t->ended = part == 0;
        return;
    }
}

static int ignore(Display *display, XErrorEvent *e) { return (void)display, (void)e, 0; }

int main(int argc, char **argv) {
    size = (size_t)number_argument(argc, argv, 1, "a size in bytes", 0);
    d = open_display();
    XSetErrorHandler(ignore); /* a requestor that went away costs nothing here */
    bytes = content(size);
    utf8 = XInternAtom(d, "UTF8_STRING", False), incr = XInternAtom(d, "INCR", False);
    targets = XInternAtom(d, "TARGETS", False), timestamp = XInternAtom(d, "TIMESTAMP", False);
    Window w = measuring_window(d);
    since = server_time(d, w);
    Atom clipboard = XInternAtom(d, "CLIPBOARD", False);
    XSetSelectionOwner(d, clipboard, w, since);
    if (XGetSelectionOwner(d, clipboard) != w) return fprintf(stderr, "CLIPBOARD: expected to own it, found another owner\n"), 1;
    printf("owned=yes\n");
    fflush(stdout);
    for (;;) {
        XEvent e;
        XNextEvent(d, &e);
        if (e.type == SelectionRequest) answer(&e.xselectionrequest);
        else if (e.type == PropertyNotify && e.xproperty.state == PropertyDelete) next_chunk(&e.xproperty);
        else if (e.type == DestroyNotify)
            for (int i = 0; i < 256; i++) transfers[i].used &= transfers[i].requestor != e.xdestroywindow.window;
    }
}
