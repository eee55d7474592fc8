/* What the measuring programs share. Each prints one line of `key=value` words. */
#ifndef MEASURE_H
#define MEASURE_H
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Past this an owner sends incrementally, in chunks of this size: the fastest of 64 KiB to 16 MiB on the machines tried. */
enum { CHUNK = 256 * 1024 };

static inline long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline Display *open_display(void) {
    Display *d = XOpenDisplay(NULL);
    if (d) return d;
    fprintf(stderr, "DISPLAY: expected an X server that takes connections, found none\n");
    exit(1);
}

static inline long number_argument(int argc, char **argv, int at, const char *what, long least) {
    char *end = NULL;
    long n = at < argc ? strtol(argv[at], &end, 10) : 0;
    if (at < argc && end != argv[at] && !*end && n >= least) return n;
    fprintf(stderr, "argument %d: expected %s of at least %ld, found `%s`\n", at, what, least, at < argc ? argv[at] : "nothing");
    exit(2);
}

/* Content that shows a lost or doubled chunk: its period divides no chunk. */
static inline unsigned char *content(size_t size) {
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(' ' + i % 89);
    return bytes;
}

static inline int compare_times(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return x < y ? -1 : x > y;
}

/* A sorted sample's value at `part` (0.5 is the median). */
static inline double sample_at(const long long *sorted, long count, double part) {
    long i = (long)((double)(count - 1) * part + 0.5);
    return count ? (double)sorted[i] / 1000.0 : 0;
}

static inline Window measuring_window(Display *d) {
    XSetWindowAttributes a = {.event_mask = PropertyChangeMask};
    return XCreateWindow(d, DefaultRootWindow(d), -10, -10, 1, 1, 0, 0, InputOnly, CopyFromParent, CWEventMask, &a);
}

static inline Time server_time(Display *d, Window w) {
    XEvent e;
    XChangeProperty(d, w, XInternAtom(d, "MEASURE_TIME", False), XA_INTEGER, 8, PropModeAppend, NULL, 0);
    do XWindowEvent(d, w, PropertyChangeMask, &e);
    while (e.xproperty.atom != XInternAtom(d, "MEASURE_TIME", False));
    return e.xproperty.time;
}
#endif
