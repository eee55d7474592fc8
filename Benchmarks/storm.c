/* storm COPIES SIZE: an app copies as fast as it can, each time something else, and answers whoever asks in between. Then:
 * is the last copy what is pasted, while the app lives and after it has ended? */
#include "source.h"

int main(int argc, char **argv) {
    long copies = number_argument(argc, argv, 1, "a number of copies", 1);
    size_t size = (size_t)number_argument(argc, argv, 2, "a size in bytes", 24);
    if (size > CHUNK) return fprintf(stderr, "argument 2: expected at most %d, found %zu\n", CHUNK, size), 2;
    Source app = open_source(size), reader = open_source(size);
    XEvent e;
    long long begun = now_ns();
    for (long i = 0; i < copies; i++) {
        number_content(app.bytes, size, i);
        take_clipboard(&app);
        while (XPending(app.display)) {
            XNextEvent(app.display, &e);
            if (e.type == SelectionRequest) serve_request(&app, &e.xselectionrequest);
        }
    }
    double seconds = (double)(now_ns() - begun) / 1e9;
    number_content(reader.bytes, size, copies - 1);
    begun = now_ns();
    int taken = serve_until_lost(&app, 2000);
    double settled = (double)(now_ns() - begun) / 1e6;
    /* While the app owns, its own answer is right by nature. */
    Read alive = taken ? read_clipboard(&reader, reader.bytes) : RIGHT;
    XCloseDisplay(app.display);
    Read after = await_content(&reader, reader.bytes, 3000);
    printf("copies=%ld copies_per_s=%.0f requests=%ld taken=%s settled_ms=%.1f alive=%s after_exit=%s\n", copies, (double)copies / seconds,
           app.requests, taken ? "yes" : "no", settled, READ_NAMES[alive], READ_NAMES[after]);
    return 0;
}
