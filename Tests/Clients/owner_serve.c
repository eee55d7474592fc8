/* How the scriptable owner answers: right by default, wrong exactly where it was told to be. */
#include "owner.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    XSelectionRequestEvent request;
    Nanoseconds due;
} Delayed;

/* One incremental transfer. */
typedef struct {
    Window requestor;
    Atom property, target, type;
    int format, chunks;
    Content *content;
    Offer offer; /* as it was when the transfer began */
    size_t at;
    bool waits, ended; /* waits: the chunk is due when `due` comes; else when the property is deleted */
    Nanoseconds due;
} Transfer;

static Delayed *delayed;
static Transfer *transfers;
static int delayed_count, transfer_count, delayed_room, transfer_room;

unsigned serve_transfers(void) { return (unsigned)transfer_count; }

static void report(const Selection *s, const XSelectionRequestEvent *q, const char *outcome) {
    if (!reports) return;
    event_begin("request");
    event_text("selection", atom_name(q->selection));
    event_text("target", atom_name(q->target));
    event_number("requestor", (long long)q->requestor);
    event_text("property", atom_name(q->property));
    event_number("time", (long long)q->time);
    event_flag("owned", s->owned);
    event_text("outcome", outcome);
    event_end();
}

static void notify(const XSelectionRequestEvent *q, Atom property) {
    XEvent e = {.xselection = {.type = SelectionNotify,
                               .requestor = q->requestor,
                               .selection = q->selection,
                               .target = q->target,
                               .property = property,
                               .time = q->time}};
    XSendEvent(display, q->requestor, False, 0, &e);
}

static void put_targets(const Selection *s, const Offer *o, Window w, Atom property) {
    int room = 0;
    for (int i = 0; i < s->count; i++) room += s->offers[i].listed;
    uint32_t *list = malloc((size_t)(room + 1) * sizeof *list);
    int n = 0;
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->offers[i].listed; k++) list[n++] = (uint32_t)s->offers[i].name;
    property_put(w, property, o->type, o->format, (unsigned char *)list, (size_t)n * 4);
    free(list);
}

static void begin_transfer(const XSelectionRequestEvent *q, Atom property, const Offer *o) {
    if (transfer_count == transfer_room) transfers = realloc(transfers, (size_t)(transfer_room = transfer_room * 2 + 8) * sizeof *transfers);
    transfers[transfer_count++] = (Transfer){.requestor = q->requestor,
                                             .property = property,
                                             .target = o->name,
                                             .type = o->chunk_type ? o->chunk_type : o->type,
                                             .format = o->chunk_format ? o->chunk_format : o->format,
                                             .content = content_use(o->content),
                                             .offer = *o};
    /* Selected before INCR is stored: the deletion may follow at once. */
    XSelectInput(display, q->requestor, PropertyChangeMask | StructureNotifyMask);
    int32_t hint = (int32_t)(o->hint == NEVER ? (long long)o->content->count : o->hint);
    property_put(q->requestor, property, atom("INCR"), 32, (unsigned char *)&hint, 4);
}

static bool store_pairs(Selection *, const XSelectionRequestEvent *);

/* Stores the answer; NULL when the target is refused, else the outcome's name. */
static const char *store(Selection *s, Offer *o, const XSelectionRequestEvent *q, Atom property) {
    if (o->conduct == REFUSE || (o->once && o->completed)) return NULL;
    if (o->conduct == EMPTY_ALL) {
        for (int i = 0; i < s->count; i++)
            if (s->offers[i].content) content_drop(s->offers[i].content), s->offers[i].content = content_parse("empty");
        property_put(q->requestor, property, atom("NULL"), 32, NULL, 0);
        return "side-effect";
    }
    if (o->kind == LIST) return put_targets(s, o, q->requestor, property), "served";
    if (o->kind == PAIRS) return store_pairs(s, q) ? "served" : NULL;
    if (o->kind == STAMP) {
        uint32_t t = (uint32_t)s->time;
        return property_put(q->requestor, property, o->type, o->format, (unsigned char *)&t, 4), "served";
    }
    if (o->chunk || o->endless || o->content->count > incremental_above) return begin_transfer(q, property, o), "incremental";
    property_put(q->requestor, property, o->type, o->format, o->content->bytes, o->content->count);
    return "served";
}

static bool store_pairs(Selection *s, const XSelectionRequestEvent *q) {
    Atom type;
    int format;
    unsigned char *bytes;
    size_t count;
    if (!property_take(q->requestor, q->property, false, &type, &format, &bytes, &count)) return false;
    bool whole = format == 32 && count % 8 == 0;
    for (size_t i = 0; whole && i < count; i += 8) {
        uint32_t pair[2];
        memcpy(pair, bytes + i, 8);
        Offer *o = offer_named(s, pair[0]);
        if (o) o->requests++;
        /* ICCCM 2.6.2: a target that can't be had has its property replaced by None. */
        if (o && o->kind != PAIRS && pair[1] && store(s, o, q, pair[1])) o->completed++;
        else memset(bytes + i + 4, 0, 4);
    }
    if (whole) property_put(q->requestor, q->property, atom("ATOM_PAIR"), 32, bytes, count);
    free(bytes);
    return whole;
}

static void count_answer(Offer *o) {
    o->completed++;
    if (!exit_after || o->kind != BYTES || --exit_after) return;
    XSync(display, False);
    _exit(0);
}

static void answer(Selection *s, Offer *o, const XSelectionRequestEvent *q) {
    Atom property = q->property ? q->property : q->target; /* obsolete clients, ICCCM 2.2 */
    if (o->conduct == DIE) report(s, q, "died"), _exit(9);
    if (o->conduct == STOP) report(s, q, "stopped"), raise(SIGSTOP);
    if (o->conduct == VANISH) {
        XDestroyWindow(display, s->window);
        if (s->window == top) top = None;
        else helper = None;
        return report(s, q, "vanished");
    }
    if (o->conduct == SILENT) return report(s, q, "silent");
    if (o->conduct == UNSTORED) return notify(q, property), report(s, q, "unstored");
    const char *outcome = store(s, o, q, property);
    XSelectionRequestEvent named = *q;
    if (o->answers_as) named.target = o->answers_as;
    notify(&named, outcome ? property : None);
    if (o->conduct == TWICE) notify(q, outcome ? property : None);
    XFlush(display);
    report(s, q, outcome ? outcome : "refused");
    if (outcome) count_answer(o);
}

static void requested(const XSelectionRequestEvent *q, bool may_wait) {
    Selection *s = selection_named(q->selection);
    Offer *o = offer_named(s, q->target);
    if (may_wait) s->requests++;
    if (may_wait && o) o->requests++;
    if (!o) return s->unlisted++, notify(q, None), report(s, q, "refused");
    if (!s->owned && s->after_loss == AFTER_REFUSE) return notify(q, None), report(s, q, "refused");
    if (!s->owned && s->after_loss == AFTER_SILENT) return report(s, q, "silent");
    if (!may_wait || !o->delay) return answer(s, o, q);
    if (delayed_count == delayed_room) delayed = realloc(delayed, (size_t)(delayed_room = delayed_room * 2 + 8) * sizeof *delayed);
    delayed[delayed_count++] = (Delayed){*q, now() + o->delay * MILLISECONDS};
    report(s, q, "delayed");
}

/* ---- incremental transfers ---- */

static void tell_transfer(const Transfer *t, const char *outcome) {
    event_begin("transfer");
    event_text("target", atom_name(t->target));
    event_number("requestor", (long long)t->requestor);
    event_number("bytes", (long long)t->at);
    event_number("chunks", t->chunks);
    event_text("outcome", outcome);
    event_end();
}

static void end_transfer(int i, const char *outcome) {
    Transfer *t = &transfers[i];
    if (reports) tell_transfer(t, outcome);
    content_drop(t->content);
    transfers[i] = transfers[--transfer_count];
}

/* The next chunk, or the zero-length end. */
static void send_chunk(int i) {
    Transfer *t = &transfers[i];
    const Offer *o = &t->offer;
    size_t part = o->chunk ? o->chunk : chunk_size, left = t->content->count - t->at;
    t->waits = false;
    if (o->endless && t->content->count) {
        if (left == 0) t->at = 0, left = t->content->count;
    } else if (left == 0) {
        if (!o->closes) return; /* keeps the requestor waiting, as told */
        property_put(t->requestor, t->property, t->type, t->format, NULL, 0);
        t->ended = true;
        return;
    }
    if (part > left) part = left;
    property_put(t->requestor, t->property, t->type, t->format, t->content->bytes + t->at, part);
    t->at += part, t->chunks++;
    if (t->chunks == o->die_after) XSync(display, False), _exit(9);
    if (t->chunks == o->stop_after) XSync(display, False), raise(SIGSTOP);
}

static void deleted(Window w, Atom property) {
    for (int i = 0; i < transfer_count; i++) {
        Transfer *t = &transfers[i];
        if (t->requestor != w || t->property != property || t->waits) continue;
        if (t->ended) return end_transfer(i, "whole");
        if (!t->offer.pause) return send_chunk(i);
        t->waits = true, t->due = now() + t->offer.pause * MILLISECONDS;
        return;
    }
}

static void gone(Window w) {
    for (int i = transfer_count - 1; i >= 0; i--)
        if (transfers[i].requestor == w) end_transfer(i, "requestor-gone");
}

/* ---- events and time ---- */

static void tell_loss(const XSelectionClearEvent *e) {
    event_begin("lost");
    event_text("selection", atom_name(e->selection));
    event_number("time", (long long)e->time);
    event_end();
}

static void lost(const XSelectionClearEvent *e) {
    Selection *s = selection_named(e->selection);
    s->owned = false, s->losses++;
    if (reports) tell_loss(e);
    if (s->fights <= 0) return;
    s->fights--;
    selection_claim(s, server_time(), reports);
}

void serve_event(XEvent *e) {
    if (e->type == SelectionRequest) requested(&e->xselectionrequest, true);
    else if (e->type == SelectionClear) lost(&e->xselectionclear);
    else if (e->type == PropertyNotify && e->xproperty.state == PropertyDelete) deleted(e->xproperty.window, e->xproperty.atom);
    else if (e->type == DestroyNotify) gone(e->xdestroywindow.window);
}

Nanoseconds serve_deadline(void) {
    Nanoseconds at = NEVER;
    for (int i = 0; i < delayed_count; i++)
        if (at == NEVER || delayed[i].due < at) at = delayed[i].due;
    for (int i = 0; i < transfer_count; i++)
        if (transfers[i].waits && (at == NEVER || transfers[i].due < at)) at = transfers[i].due;
    return at;
}

void serve_due(void) {
    Nanoseconds t = now();
    for (int i = 0; i < delayed_count;)
        if (delayed[i].due <= t) {
            Delayed d = delayed[i];
            memmove(delayed + i, delayed + i + 1, (size_t)(--delayed_count - i) * sizeof *delayed);
            requested(&d.request, false);
        } else i++;
    for (int i = 0; i < transfer_count; i++)
        if (transfers[i].waits && transfers[i].due <= t) send_chunk(i);
}
