/* Events that only the server may make, and requests on behalf of others. */
#include "requestor.h"
#include <string.h>

typedef struct {
    long long window, requestor, times;
    Atom selection, target, property;
    Time time;
} Forgery;

static bool window_parse(const char *word, const char *what, Atom selection, long long *window) {
    if (strcmp(word, "owner")) return word_number(word, what, window);
    return *window = (long long)XGetSelectionOwner(display, selection), true;
}

static bool option_parse(Forgery *f, const char *word) {
    const char *v;
    if ((v = word_value(word, "window"))) return window_parse(v, "window", f->selection, &f->window);
    if ((v = word_value(word, "requestor"))) return window_parse(v, "requestor", f->selection, &f->requestor);
    if ((v = word_value(word, "target"))) return f->target = atom(v), true;
    if ((v = word_value(word, "property"))) return f->property = atom(v), true;
    if ((v = word_value(word, "time"))) return time_parse(v, last_time, &f->time);
    if ((v = word_value(word, "times"))) return word_number(v, "times", &f->times);
    return complain("forge: expected window=, requestor=, target=, property=, time= or times=, found `%s`", word);
}

static bool event_make(const char *kind, const Forgery *f, XEvent *e) {
    Window window = (Window)f->window;
    *e = (XEvent){0};
    if (!strcmp(kind, "request"))
        e->xselectionrequest = (XSelectionRequestEvent){.type = SelectionRequest, .owner = window, .requestor = (Window)f->requestor,
                                                        .selection = f->selection, .target = f->target, .property = f->property,
                                                        .time = f->time};
    else if (!strcmp(kind, "notify"))
        e->xselection = (XSelectionEvent){.type = SelectionNotify, .requestor = window, .selection = f->selection, .target = f->target,
                                          .property = f->property, .time = f->time};
    else if (!strcmp(kind, "property"))
        e->xproperty = (XPropertyEvent){.type = PropertyNotify, .window = window, .atom = f->property, .time = f->time,
                                        .state = PropertyDelete};
    else if (!strcmp(kind, "clear"))
        e->xselectionclear = (XSelectionClearEvent){.type = SelectionClear, .window = window, .selection = f->selection, .time = f->time};
    else if (!strcmp(kind, "destroy"))
        e->xdestroywindow = (XDestroyWindowEvent){.type = DestroyNotify, .event = window, .window = window};
    else if (!strcmp(kind, "owner")) {
        XFixesSelectionNotifyEvent change = {.type = xfixes_event + XFixesSelectionNotify, .subtype = XFixesSetSelectionOwnerNotify,
                                             .window = window, .owner = (Window)f->requestor, .selection = f->selection,
                                             .timestamp = f->time, .selection_timestamp = f->time};
        memcpy(e, &change, sizeof change);
    } else return complain("forge: expected request, notify, property, clear, destroy, owner or end, found `%s`", kind);
    return true;
}

/* forge end [window=]: no event, but the end of the connection that owns the window.
   forge KIND [window=] [requestor=] [target=] [property=] [time=] [times=] */
bool forge_command(char **words, int count, Atom selection) {
    Forgery f = {.requestor = (long long)helper, .times = 1, .selection = selection, .target = atom("UTF8_STRING"),
                 .property = atom("XPB_FORGED"), .time = CurrentTime};
    XEvent e;
    if (count < 2) return complain("forge: expected request, notify, property, clear, destroy, owner or end, found none");
    for (int i = 2; i < count; i++)
        if (!option_parse(&f, words[i])) return false;
    if (!f.window) f.window = (long long)XGetSelectionOwner(display, selection);
    if (!strcmp(words[1], "end")) return XKillClient(display, (XID)f.window), true;
    if (!event_make(words[1], &f, &e)) return false;
    for (long long i = 0; i < f.times; i++) XSendEvent(display, (Window)f.window, False, 0, &e);
    return true;
}
