/* key_latency COUNT KEYCODE [CLASS]: from a key pressed by XTEST to its KeyPress in a window of that class with the focus,
 * on a server without a window manager. Says how many never came. */
#include "measure.h"
#include <X11/Xutil.h>
#include <X11/extensions/XTest.h>
#include <poll.h>

static Display *d;

/* Waits for a key event of this kind; 0 when none comes within `milliseconds`. */
static int wait_for(int type, int milliseconds) {
    long long end = now_ns() + milliseconds * 1000000LL;
    for (;;) {
        while (XPending(d)) {
            XEvent e;
            XNextEvent(d, &e);
            if (e.type == type) return 1;
        }
        int left = (int)((end - now_ns()) / 1000000);
        struct pollfd fd = {ConnectionNumber(d), POLLIN, 0};
        if (left <= 0 || poll(&fd, 1, left) == 0) return 0;
    }
}

int main(int argc, char **argv) {
    long count = number_argument(argc, argv, 1, "a number of keys", 1);
    unsigned code = (unsigned)number_argument(argc, argv, 2, "a key code", 8);
    d = open_display();
    XSetWindowAttributes a = {.event_mask = KeyPressMask | KeyReleaseMask | StructureNotifyMask};
    Window w = XCreateWindow(d, DefaultRootWindow(d), 10, 10, 50, 50, 0, CopyFromParent, InputOutput, CopyFromParent, CWEventMask, &a);
    XClassHint hint = {argc > 3 ? argv[3] : "Measured", argc > 3 ? argv[3] : "Measured"};
    XSetClassHint(d, w, &hint);
    XMapWindow(d, w);
    if (!wait_for(MapNotify, 5000)) return fprintf(stderr, "window: expected to be mapped, found nothing\n"), 1;
    XSetInputFocus(d, w, RevertToParent, CurrentTime);
    XSync(d, False);
    /* Whoever watches windows is through with this one after some round trips of its own. */
    for (struct timespec pause = {0, 300000000}; nanosleep(&pause, &pause);) continue;
    long long *times = malloc((size_t)count * sizeof *times);
    long came = 0;
    for (long i = 0; i < count; i++) {
        long long begun = now_ns();
        XTestFakeKeyEvent(d, code, True, CurrentTime);
        XFlush(d);
        if (wait_for(KeyPress, 200)) times[came++] = now_ns() - begun;
        XTestFakeKeyEvent(d, code, False, CurrentTime);
        XFlush(d);
        wait_for(KeyRelease, 200);
    }
    qsort(times, (size_t)came, sizeof *times, compare_times);
    printf("keys=%ld came=%ld press_median_us=%.1f press_p95_us=%.1f\n", count, came, sample_at(times, came, 0.5), sample_at(times, came, 0.95));
    return 0;
}
