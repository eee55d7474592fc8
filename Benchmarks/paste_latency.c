/* paste_latency SIZE COUNT REQUESTORS [SLOW_MS]: COUNT pastes of CLIPBOARD in each of REQUESTORS processes at once, all of
 * them checked. With SLOW_MS one more process pastes beside them and lets each chunk lie for that long. */
#include "measure.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static Display *d;
static Window w;
static Atom clipboard, utf8, incr, property;

/* An owner that leaves a paste unanswered for longer has failed; the signal ends the process. */
enum { PATIENCE = 15 };

/* One paste, `rest_ms` milliseconds before each chunk is taken; the bytes that came, or -1 when it was refused or wrong. */
static long paste(const unsigned char *want, size_t size, long rest_ms) {
    XEvent e;
    Atom type;
    int format;
    unsigned long items, rest;
    unsigned char *got;
    long at = 0;
    XConvertSelection(d, clipboard, utf8, property, w, CurrentTime);
    do XNextEvent(d, &e);
    while (e.type != SelectionNotify);
    if (!e.xselection.property) return -1;
    XGetWindowProperty(d, w, property, 0, 0x1fffffff, True, AnyPropertyType, &type, &format, &items, &rest, &got);
    if (type != incr) {
        at = items == size && !memcmp(got, want, size) ? (long)items : -1;
        XFree(got);
        return at;
    }
    XFree(got);
    XFlush(d);
    for (;;) {
        do XNextEvent(d, &e);
        while (e.type != PropertyNotify || e.xproperty.atom != property || e.xproperty.state != PropertyNewValue);
        if (rest_ms) nanosleep(&(struct timespec){rest_ms / 1000, rest_ms % 1000 * 1000000}, NULL);
        XGetWindowProperty(d, w, property, 0, 0x1fffffff, True, AnyPropertyType, &type, &format, &items, &rest, &got);
        if (type == None) continue; /* the event of the announcement, read already */
        if ((size_t)at + items > size || memcmp(got, want + at, items)) return XFree(got), -1;
        XFree(got);
        if (!items) return at == (long)size ? at : -1;
        at += (long)items;
    }
}

static void connect_requestor(void) {
    d = open_display();
    w = measuring_window(d);
    clipboard = XInternAtom(d, "CLIPBOARD", False), utf8 = XInternAtom(d, "UTF8_STRING", False);
    incr = XInternAtom(d, "INCR", False), property = XInternAtom(d, "MEASURE_PASTE", False);
}

static void measure(const unsigned char *want, size_t size, long count, long long *times) {
    connect_requestor();
    for (long i = -2; i < count; i++) { /* two to warm up */
        long long begun = now_ns();
        alarm(PATIENCE);
        long got = paste(want, size, 0);
        if (got < 0) {
            fprintf(stderr, "paste %ld: expected %zu right bytes, found a refusal or others\n", i, size);
            _exit(1);
        }
        if (i >= 0) times[i] = now_ns() - begun;
    }
    _exit(0);
}

/* Pastes until it is ended, counting. */
static void paste_slowly(const unsigned char *want, size_t size, long rest_ms, volatile long *pastes) {
    connect_requestor();
    for (;; ++*pastes)
        if (paste(want, size, rest_ms) < 0) {
            fprintf(stderr, "slow paste: expected %zu right bytes, found a refusal or others\n", size);
            _exit(1);
        }
}

int main(int argc, char **argv) {
    size_t size = (size_t)number_argument(argc, argv, 1, "a size in bytes", 0);
    long count = number_argument(argc, argv, 2, "a number of pastes", 1), processes = number_argument(argc, argv, 3, "a number of requestors", 1);
    long rest_ms = argc > 4 ? number_argument(argc, argv, 4, "milliseconds", 1) : 0;
    unsigned char *want = content(size);
    long long *times = mmap(NULL, (size_t)(count * processes) * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile long *slow_pastes = mmap(NULL, sizeof *slow_pastes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t slow = rest_ms ? fork() : -1;
    if (slow == 0) paste_slowly(want, size, rest_ms, slow_pastes);
    if (slow > 0) nanosleep(&(struct timespec){rest_ms / 1000, rest_ms % 1000 * 1000000}, NULL); /* it is in its first chunk */
    long long begun = now_ns();
    for (long i = 0; i < processes; i++)
        if (fork() == 0) measure(want, size, count, times + i * count);
    int status, failed = 0;
    for (long done = 0; done < processes;) {
        pid_t ended = wait(&status);
        failed |= status != 0; /* the slow one ends only by failing */
        if (ended == slow) slow = -1;
        else done++;
    }
    if (slow > 0) kill(slow, SIGKILL), waitpid(slow, &status, 0);
    if (failed) return fprintf(stderr, "expected %ld pastes in each of %ld requestors, found one that failed\n", count, processes), 1;
    double wall = (double)(now_ns() - begun) / 1e9;
    qsort(times, (size_t)(count * processes), sizeof *times, compare_times);
    double median = sample_at(times, count * processes, 0.5);
    printf("size=%zu count=%ld requestors=%ld median_us=%.1f p99_us=%.1f mb_per_s=%.1f aggregate_mb_per_s=%.1f slow_pastes=%ld\n", size, count, processes,
           median, sample_at(times, count * processes, 0.99), (double)size / median,
           (double)size * (double)(count * processes) / wall / 1e6, *slow_pastes);
    return 0;
}
