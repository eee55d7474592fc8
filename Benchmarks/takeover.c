/* takeover ROUNDS SIZE: copies and lets whoever watches take over; from the last answer of the owner to the loss of the
 * selection, as the owner sees it. With a third argument it leaves the last copy to the one who took it and ends. */
#include "measure.h"
#include <poll.h>

static Display *d;
static Atom utf8, targets, timestamp;
static unsigned char *bytes;
static size_t size;
static Time since;

static void answer(const XSelectionRequestEvent *q) {
    XEvent e = {.xselection = {.type = SelectionNotify, .requestor = q->requestor, .selection = q->selection, .target = q->target,
                               .property = q->property, .time = q->time}};
    Atom list[] = {targets, timestamp, utf8};
    long time = (long)since;
    if (q->target == utf8) XChangeProperty(d, q->requestor, q->property, utf8, 8, PropModeReplace, bytes, (int)size);
    else if (q->target == targets) XChangeProperty(d, q->requestor, q->property, XA_ATOM, 32, PropModeReplace, (unsigned char *)list, 3);
    else if (q->target == timestamp) XChangeProperty(d, q->requestor, q->property, XA_INTEGER, 32, PropModeReplace, (unsigned char *)&time, 1);
    else e.xselection.property = None;
    XSendEvent(d, q->requestor, False, 0, &e);
    XFlush(d);
}

/* The next event within five seconds. */
static int next_event(XEvent *e) {
    while (!XPending(d)) {
        struct pollfd fd = {ConnectionNumber(d), POLLIN, 0};
        if (poll(&fd, 1, 5000) == 0) return 0;
    }
    XNextEvent(d, e);
    return 1;
}

int main(int argc, char **argv) {
    long rounds = number_argument(argc, argv, 1, "a number of rounds", 1);
    size = (size_t)number_argument(argc, argv, 2, "a size in bytes", 0);
    if (size > 4 * 1024 * 1024) return fprintf(stderr, "argument 2: expected at most 4 MiB, which one property holds, found %zu\n", size), 2;
    d = open_display();
    bytes = content(size);
    unsigned char first = size ? bytes[0] : 0;
    utf8 = XInternAtom(d, "UTF8_STRING", False), targets = XInternAtom(d, "TARGETS", False), timestamp = XInternAtom(d, "TIMESTAMP", False);
    Atom clipboard = XInternAtom(d, "CLIPBOARD", False);
    Window w = measuring_window(d);
    long long *after_answer = malloc((size_t)rounds * sizeof *after_answer), *after_claim = malloc((size_t)rounds * sizeof *after_claim);
    for (long i = 0; i < rounds; i++) {
        long long claimed, answered = 0;
        /* No two copies in a row are alike, as with a person; the last one is the content asked for. */
        if (size) bytes[0] = (unsigned char)(first ^ ((rounds - 1 - i) & 1));
        since = server_time(d, w);
        claimed = now_ns();
        XSetSelectionOwner(d, clipboard, w, since);
        XFlush(d);
        for (;;) {
            XEvent e;
            if (!next_event(&e)) return fprintf(stderr, "round %ld: expected a takeover within 5 s, found none\n", i), 1;
            if (e.type == SelectionRequest) answer(&e.xselectionrequest), answered = now_ns();
            if (e.type == SelectionClear) break;
        }
        after_claim[i] = now_ns() - claimed;
        after_answer[i] = now_ns() - (answered ? answered : claimed);
    }
    qsort(after_answer, (size_t)rounds, sizeof *after_answer, compare_times);
    qsort(after_claim, (size_t)rounds, sizeof *after_claim, compare_times);
    printf("rounds=%ld size=%zu answer_to_loss_median_us=%.1f answer_to_loss_p99_us=%.1f claim_to_loss_median_us=%.1f\n", rounds, size,
           sample_at(after_answer, rounds, 0.5), sample_at(after_answer, rounds, 0.99), sample_at(after_claim, rounds, 0.5));
    return 0;
}
