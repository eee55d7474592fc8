/* How the scriptable requestor follows its conversions from the request to the last chunk. */
#include "requestor.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_SHOWN = 20000, KEPT_BYTES = 1 << 17 };

static Conversion **open_list;
static int open_count, open_room, next_id;
int pending_waits;
long long stray_notifies;
Time last_time;

int conversions_open(void) { return open_count; }

static const char *state_name(State s) {
    const char *const names[] = {"asked", "chunks", "stalled", "answered", "refused", "unstored", "unanswered", "incomplete"};
    return names[s];
}

static void tell_notify(const Conversion *c) {
    event_text("notify_selection", atom_name(c->notify.selection));
    event_text("notify_target", atom_name(c->notify.target));
    event_text("notify_property", atom_name(c->notify.property));
    event_number("notify_requestor", (long long)c->notify.requestor);
    event_number("notify_time", (long long)c->notify.time);
    event_flag("echo", c->echo);
}

static void tell_items(const Conversion *c) {
    size_t items = c->bytes ? c->count / 4 : 0;
    if (c->format != 32 || items > LIST_SHOWN) return;
    bool atoms = c->type == XA_ATOM || c->type == atom("ATOM_PAIR");
    if (atoms) event_list("atoms");
    else printf(",\"values\":[");
    for (size_t i = 0; i < items; i++) {
        uint32_t v;
        memcpy(&v, c->bytes + 4 * i, 4);
        if (atoms) event_item(v ? atom_name(v) : "");
        else printf("%s%u", i ? "," : "", v);
    }
    event_list_end();
}

static void tell(const Conversion *c) {
    char digits[65];
    Sha256 sha = c->sha;
    sha256_end(&sha, digits);
    event_begin(c->parent ? "part" : "answer");
    event_number("id", c->id);
    if (c->parent) event_number("parent", c->parent);
    event_text("selection", atom_name(c->selection));
    event_text("target", atom_name(c->target));
    event_text("property", atom_name(c->property));
    event_number("window", (long long)c->window);
    event_number("time", (long long)c->time);
    event_text("state", state_name(c->state));
    if (!c->parent && c->notified) tell_notify(c);
    event_text("type", atom_name(c->type));
    event_number("format", c->format);
    event_number("bytes", (long long)c->count);
    event_number("items", c->format ? (long long)c->count / (c->format / 8) : 0);
    event_text("sha256", digits);
    event_flag("incremental", c->incremental);
    event_number("chunks", c->chunks);
    event_number("hint", c->hint);
    tell_items(c);
    if (c->hex && c->bytes) event_bytes("hex", c->bytes, c->count);
    event_number("us", (c->finished - c->asked) / 1000);
    event_end();
}

/* The parts of MULTIPLE are read from their parent's window, and are still to be read when it is answered. */
static bool is_shared(const Conversion *c) {
    for (int i = 0; i < open_count; i++)
        if (open_list[i] != c && open_list[i]->window == c->window) return true;
    return false;
}

static void finish(Conversion *c, State state) {
    c->state = state, c->finished = now();
    if (c->file) fclose(c->file), c->file = NULL;
    if (!c->quiet) tell(c);
    if (c->own_window && !c->window_gone && !is_shared(c)) XDestroyWindow(display, c->window);
    for (int i = 0; i < open_count; i++)
        if (open_list[i] == c) {
            memmove(open_list + i, open_list + i + 1, (size_t)(--open_count - i) * sizeof *open_list);
            break;
        }
    if (c->waits) pending_waits--;
    if (c->group) group_finished(c->group, c);
    free(c->bytes);
    free(c->pairs);
    free(c->path);
    free(c);
}

static Conversion *open_conversion(const Conversion *like) {
    Conversion *c = malloc(sizeof *c);
    *c = *like;
    c->id = ++next_id;
    sha256_begin(&c->sha);
    if (open_count == open_room) open_list = realloc(open_list, (size_t)(open_room = open_room * 2 + 16) * sizeof *open_list);
    open_list[open_count++] = c;
    if (c->waits) pending_waits++;
    if (like->path && !(c->file = fopen(like->path, "wb"))) fprintf(stderr, "%s: expected a writable file, found none\n", like->path);
    return c;
}

/* Pairs are put on the requestor's property first, as ICCCM 2.6.2 has it. */
static void put_pairs(Conversion *c) {
    uint32_t *list = malloc((size_t)(c->pair_count * 2 + 1) * sizeof *list);
    for (int i = 0; i < c->pair_count * 2; i++) list[i] = (uint32_t)c->pairs[i];
    property_put(c->window, c->property, atom("ATOM_PAIR"), 32, (unsigned char *)list, (size_t)c->pair_count * 8);
    free(list);
}

Conversion *conversion_start(const Conversion *like, bool fresh_window) {
    Conversion *c = open_conversion(like);
    if (fresh_window) {
        XSetWindowAttributes a = {.event_mask = PropertyChangeMask};
        c->window = XCreateWindow(display, root, -10, -10, 1, 1, 0, 0, InputOnly, CopyFromParent, CWEventMask, &a);
        c->own_window = true;
    }
    if (!c->property && !c->missing_property) {
        char name[32];
        snprintf(name, sizeof name, "XPB_ANSWER_%d", c->id % 1000); /* bounded: atoms are never freed */
        c->property = atom(name);
    }
    if (c->pair_count) put_pairs(c);
    c->asked = now(), c->deadline += c->asked;
    last_time = c->time;
    XConvertSelection(display, c->selection, c->target, c->property, c->window, c->time);
    return c;
}

/* ---- reading ---- */

static void leave_if_told(Conversion *c, int chunks) {
    if (c->exit_after == chunks) XSync(display, False), _exit(7);
    if (c->destroy_after != chunks) return;
    XDestroyWindow(display, c->window);
    if (c->window == helper) helper = None;
    if (c->window == top) top = None;
    c->window_gone = true;
    XSync(display, False);
}

static void add_bytes(Conversion *c, const unsigned char *bytes, size_t count, bool keep) {
    sha256_add(&c->sha, bytes, count);
    if (c->file) fwrite(bytes, 1, count, c->file);
    if (keep) c->bytes = realloc(c->bytes, c->count + count + 1), memcpy(c->bytes + c->count, bytes, count);
    c->count += count;
}

static void start_parts(Conversion *c) {
    for (int i = 0; i + 1 < (int)(c->count / 4); i += 2) {
        uint32_t pair[2];
        memcpy(pair, c->bytes + 4 * (size_t)i, 8);
        if (!pair[1]) continue;
        Conversion part = {.parent = c->id, .window = c->window, .own_window = c->own_window, .selection = c->selection, .target = pair[0], .property = pair[1],
                           .time = c->time, .stall_after = NEVER, .destroy_after = NEVER, .exit_after = NEVER, .waits = c->waits,
                           .hex = c->hex, .asked = c->asked, .notified = c->notified, .read_due = now(),
                           .deadline = c->deadline, .hint = NEVER};
        open_conversion(&part);
    }
}

/* Reads the property once; the answer, the announcement of an incremental transfer, or a chunk of it. */
static void read_property(Conversion *c) {
    Atom type;
    int format;
    unsigned char *bytes;
    size_t count;
    bool first = c->state == ASKED;
    c->read_due = 0;
    bool delete = !(first && c->keeps_property);
    if (!property_take(c->window, c->property, delete, &type, &format, &bytes, &count)) return finish(c, INCOMPLETE);
    if (first && type == None) return free(bytes), finish(c, UNSTORED);
    if (first && type == atom("INCR")) {
        c->incremental = true, c->state = CHUNKS;
        uint32_t v = 0;
        if (count >= 4) memcpy(&v, bytes, 4);
        c->hint = v;
        free(bytes);
        return leave_if_told(c, 0);
    }
    if (type == None) return free(bytes); /* somebody deleted it before us */
    c->type = type, c->format = format;
    bool keep = c->hex || (format == 32 && c->count + count <= KEPT_BYTES) || c->pair_count;
    add_bytes(c, bytes, count, keep);
    free(bytes);
    if (first || count == 0) {
        if (c->pair_count && first) start_parts(c);
        return finish(c, ANSWERED);
    }
    c->chunks++;
    leave_if_told(c, c->chunks);
    if (c->stall_after == c->chunks) c->state = STALLED;
}

static void schedule_read(Conversion *c) {
    if (c->window_gone) return finish(c, INCOMPLETE);
    if (c->stall_after == 0) c->state = STALLED;
    else if (c->slow) c->read_due = now() + c->slow * MILLISECONDS;
    else read_property(c);
}

static void notified(const XSelectionEvent *e) {
    for (int i = 0; i < open_count; i++) {
        Conversion *c = open_list[i];
        if (c->notified || c->window != e->requestor || c->selection != e->selection || c->target != e->target) continue;
        if (e->property && c->property && e->property != c->property) continue;
        c->notify = *e, c->notified = now();
        c->echo = e->time == c->time && (e->property == None || e->property == c->property || c->missing_property);
        if (c->missing_property) c->property = e->property;
        if (!e->property) return finish(c, REFUSED);
        return schedule_read(c);
    }
    stray_notifies++;
    event_begin("stray");
    event_text("selection", atom_name(e->selection));
    event_text("target", atom_name(e->target));
    event_text("property", atom_name(e->property));
    event_number("requestor", (long long)e->requestor);
    event_end();
}

void conversions_event(XEvent *e) {
    if (e->type == SelectionNotify) return notified(&e->xselection);
    if (e->type != PropertyNotify || e->xproperty.state != PropertyNewValue) return;
    for (int i = 0; i < open_count; i++) {
        Conversion *c = open_list[i];
        if (c->state != CHUNKS || c->window != e->xproperty.window || c->property != e->xproperty.atom) continue;
        return schedule_read(c);
    }
}

Nanoseconds conversions_deadline(void) {
    Nanoseconds at = NEVER;
    for (int i = 0; i < open_count; i++) {
        Nanoseconds d = open_list[i]->read_due ? open_list[i]->read_due : open_list[i]->deadline;
        if (at == NEVER || d < at) at = d;
    }
    return at;
}

void conversions_due(void) {
    for (int i = open_count - 1; i >= 0; i--) {
        if (i >= open_count) continue; /* ending one may have ended others */
        Conversion *c = open_list[i];
        Nanoseconds t = now();
        if (c->read_due && c->read_due <= t) read_property(c);
        else if (c->deadline <= t) finish(c, c->notified ? INCOMPLETE : UNANSWERED);
    }
}
