/* key_latency COUNT KEYCODE [CLASS [held]]: from a key pressed by XTEST to its KeyPress in a window of that class with the
 * focus, on a server without a window manager. Says how many never came. With `held` the key is pressed with Shift while
 * a program of class Marker has PRIMARY, and it is an error when nobody holds that combination back. */
#include "measure.h"
#include <X11/Xutil.h>
#include <X11/extensions/XTest.h>
#include <poll.h>
#include <string.h>

static Display *d;
static int refused;

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

static int note_refusal(Display *of, XErrorEvent *error) {
    return (void)of, refused = error->error_code == BadAccess, 0;
}

/* Marks something as another program, which never hands it over; nobody has to read it to decide about this window. */
static void mark(void) {
    Display *marker = open_display();
    Window w = XCreateSimpleWindow(marker, DefaultRootWindow(marker), 0, 0, 1, 1, 0, 0, 0);
    XClassHint hint = {"marker", "Marker"};
    XSetClassHint(marker, w, &hint);
    XSetSelectionOwner(marker, XA_PRIMARY, w, CurrentTime);
    XSync(marker, False);
}

static int is_held_back(unsigned code) {
    XSetErrorHandler(note_refusal);
    XGrabKey(d, (int)code, ShiftMask, DefaultRootWindow(d), False, GrabModeAsync, GrabModeAsync);
    XSync(d, False);
    return refused;
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
    if (argc > 4 && !strcmp(argv[4], "held")) {
        mark();
        /* Longer than a source may take to show what it has. */
        for (struct timespec pause = {3, 0}; nanosleep(&pause, &pause);) continue;
        if (!is_held_back(code)) return fprintf(stderr, "key %u: expected to be held back, found it free\n", code), 1;
        XTestFakeKeyEvent(d, 50, True, CurrentTime);
        XFlush(d);
        wait_for(KeyPress, 5000);
    }
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
    XTestFakeKeyEvent(d, 50, False, CurrentTime);
    XSync(d, False);
    qsort(times, (size_t)came, sizeof *times, compare_times);
    printf("keys=%ld came=%ld press_median_us=%.1f press_p95_us=%.1f\n", count, came, sample_at(times, came, 0.5), sample_at(times, came, 0.95));
    return 0;
}
