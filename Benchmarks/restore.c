/* restore ROUNDS SIZE: an app copies, serves for a second and ends. How soon does somebody take the copy over while the app
 * lives, or put it back once it has ended; and is it the copy? */
#include "source.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFE_MS = 1000, PATIENCE_MS = 3000 };

static void run_app(size_t size, long round) {
    Source app = open_source(size);
    number_content(app.bytes, size, round);
    take_clipboard(&app);
    long long end = now_ns() + LIFE_MS * 1000000LL;
    serve_until_lost(&app, LIFE_MS);
    long long left = end - now_ns();
    if (left > 0) nanosleep(&(struct timespec){0, left}, NULL);
    _exit(0);
}

int main(int argc, char **argv) {
    long rounds = number_argument(argc, argv, 1, "a number of rounds", 1);
    size_t size = (size_t)number_argument(argc, argv, 2, "a size in bytes", 24);
    if (size > CHUNK) return fprintf(stderr, "argument 2: expected at most %d, found %zu\n", CHUNK, size), 2;
    Source watcher = open_source(size);
    int event_base, error_base;
    if (!XFixesQueryExtension(watcher.display, &event_base, &error_base)) return fprintf(stderr, "XFixes: expected on the server, found none\n"), 1;
    XFixesSelectSelectionInput(watcher.display, watcher.window, watcher.clipboard,
                               XFixesSetSelectionOwnerNotifyMask | XFixesSelectionWindowDestroyNotifyMask | XFixesSelectionClientCloseNotifyMask);
    long long *over = malloc((size_t)rounds * sizeof *over), *back = malloc((size_t)rounds * sizeof *back);
    long taken = 0, restored = 0, right = 0;
    for (long i = 0; i < rounds; i++) {
        XEvent e;
        long long copied = 0, ended = 0, over_at = 0, back_at = 0;
        Window app = None;
        XSync(watcher.display, True);
        pid_t child = fork();
        if (child == 0) run_app(size, i);
        /* Until it is with somebody for good: one who took it, or one who put it back. */
        for (long long begun = now_ns(); now_ns() - begun < (LIFE_MS + PATIENCE_MS) * 1000000LL && !over_at && !back_at;) {
            if (!event_within(watcher.display, &e, 100) || e.type != event_base + XFixesSelectionNotify) continue;
            XFixesSelectionNotifyEvent *change = (XFixesSelectionNotifyEvent *)&e;
            long long now = now_ns();
            if (!copied) copied = now, app = change->owner;
            else if (change->owner == None) ended = now;
            else if (change->owner != app && ended) back_at = now;
            else if (change->owner != app) over_at = now;
        }
        waitpid(child, NULL, 0);
        if (over_at) over[taken++] = over_at - copied;
        if (back_at) back[restored++] = back_at - ended;
        number_content(watcher.bytes, size, i);
        right += await_content(&watcher, watcher.bytes, 1000) == RIGHT;
    }
    qsort(over, (size_t)taken, sizeof *over, compare_times);
    qsort(back, (size_t)restored, sizeof *back, compare_times);
    printf("rounds=%ld taken=%ld takeover_median_us=%.0f restored=%ld restore_median_us=%.0f right=%ld\n", rounds, taken,
           sample_at(over, taken, 0.5), restored, sample_at(back, restored, 0.5), right);
    return 0;
}
