/* xpb-owner: a selection owner that does what it is told, right or wrong, and reports what it was asked. */
#define _GNU_SOURCE
#include "owner.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Selection selections[16];
int selection_count;
size_t incremental_above = 256 * 1024, chunk_size = 256 * 1024;
bool claims_by_top, reports = true;
long long exit_after;

static Selection *current;
/* claims still to be made one after another */
static struct {
    Selection *selection;
    long long left, interval;
    bool flaps, clears_next;
    Nanoseconds due;
} series;
/* SAVE_TARGETS under way */
static struct {
    bool waits, exits;
    Nanoseconds asked;
    Atom property;
} hand_over;

Offer *offer_named(Selection *s, Atom name) {
    for (int i = 0; i < s->count; i++)
        if (s->offers[i].name == name) return &s->offers[i];
    return NULL;
}

Offer *offer_add(Selection *s, Atom name) {
    if (s->count == s->room) s->offers = realloc(s->offers, (size_t)(s->room = s->room * 2 + 16) * sizeof *s->offers);
    Offer *o = &s->offers[s->count++];
    *o = (Offer){.name = name, .type = name, .format = 8, .content = content_parse("empty"), .listed = 1, .hint = NEVER, .closes = true};
    return o;
}

void offers_reset(Selection *s) {
    for (int i = 0; i < s->count; i++) content_drop(s->offers[i].content);
    s->count = 0;
    const struct { const char *name, *type; Kind kind; } always[] = {
        {"TARGETS", "ATOM", LIST}, {"TIMESTAMP", "INTEGER", STAMP}, {"MULTIPLE", "ATOM_PAIR", PAIRS}};
    for (int i = 0; i < 3; i++) {
        Offer *o = offer_add(s, atom(always[i].name));
        o->type = atom(always[i].type), o->kind = always[i].kind, o->format = 32;
    }
}

Selection *selection_named(Atom name) {
    for (int i = 0; i < selection_count; i++)
        if (selections[i].name == name) return &selections[i];
    Selection *s = &selections[selection_count < 15 ? selection_count++ : 15];
    *s = (Selection){.name = name};
    offers_reset(s);
    return s;
}

void selection_claim(Selection *s, Time time, bool tells) {
    s->window = claims_by_top && top ? top : helper;
    /* TIMESTAMP has to tell the time of the claim, and CurrentTime isn't one. */
    s->time = time == CurrentTime ? server_time() : time;
    XSetSelectionOwner(display, s->name, s->window, time);
    Window owner = XGetSelectionOwner(display, s->name);
    s->owned = owner == s->window, s->claims++;
    if (!tells) return;
    event_begin("claimed");
    event_text("selection", atom_name(s->name));
    event_number("window", (long long)s->window);
    event_number("time", (long long)s->time);
    event_flag("owned", s->owned);
    event_end();
}

static void clear(Selection *s, Time time) {
    XSetSelectionOwner(display, s->name, None, time);
    Window owner = XGetSelectionOwner(display, s->name);
    s->owned = owner == s->window && owner;
    event_begin("cleared");
    event_text("selection", atom_name(s->name));
    event_number("time", (long long)time);
    event_number("owner", (long long)owner);
    event_end();
}

/* ---- commands ---- */

static bool conduct_parse(const char *word, Conduct *conduct) {
    const char *const names[] = {"serve", "refuse", "silent", "unstored", "twice", "die", "stop", "vanish", "empty-all"};
    for (int i = 0; i < 9; i++)
        if (!strcmp(word, names[i])) return *conduct = (Conduct)i, true;
    return complain("do: expected serve, refuse, silent, unstored, twice, die, stop, vanish or empty-all, found `%s`", word);
}

static bool listed_parse(const char *word, int *times) {
    long long n;
    bool flag;
    if (!strcmp(word, "twice")) return *times = 2, true;
    if (word_number(word, "listed", &n)) return *times = (int)n, true;
    if (!word_flag(word, "listed", &flag)) return complain("listed: expected yes, no, twice or a number, found `%s`", word);
    return *times = flag, true;
}

static bool number_into(const char *word, const char *what, int *out) {
    long long n;
    if (!word_number(word, what, &n)) return false;
    return *out = (int)n, true;
}

static bool option_parse(Offer *o, const char *word) {
    const char *v;
    if ((v = word_value(word, "do"))) return conduct_parse(v, &o->conduct);
    if ((v = word_value(word, "type"))) return o->type = atom(v), true;
    if ((v = word_value(word, "format"))) return number_into(v, "format", &o->format);
    if ((v = word_value(word, "listed"))) return listed_parse(v, &o->listed);
    if ((v = word_value(word, "delay"))) return word_number(v, "delay", &o->delay);
    if ((v = word_value(word, "pause"))) return word_number(v, "pause", &o->pause);
    if ((v = word_value(word, "chunk"))) return word_size(v, "chunk", &o->chunk);
    if ((v = word_value(word, "endless"))) return word_flag(v, "endless", &o->endless);
    if ((v = word_value(word, "closes"))) return word_flag(v, "closes", &o->closes);
    if ((v = word_value(word, "hint"))) return word_number(v, "hint", &o->hint);
    if ((v = word_value(word, "chunk-type"))) return o->chunk_type = atom(v), true;
    if ((v = word_value(word, "chunk-format"))) return number_into(v, "chunk-format", &o->chunk_format);
    if ((v = word_value(word, "die-after"))) return number_into(v, "die-after", &o->die_after);
    if ((v = word_value(word, "stop-after"))) return number_into(v, "stop-after", &o->stop_after);
    if ((v = word_value(word, "answers-as"))) return o->answers_as = atom(v), true;
    if ((v = word_value(word, "once"))) return word_flag(v, "once", &o->once);
    return complain("target: expected do=, type=, format=, listed=, delay=, pause=, chunk=, endless=, closes=, hint=, chunk-type=, "
                    "chunk-format=, die-after=, stop-after=, answers-as= or once=, found `%s`", word);
}

/* target NAME [CONTENT] [OPTION]...: makes or changes an offer */
static bool target_command(char **words, int count) {
    if (count < 2) return complain("target: expected a name, found none");
    Atom name = atom(words[1]);
    Offer *o = offer_named(current, name);
    if (!o) o = offer_add(current, name);
    for (int i = 2; i < count; i++) {
        bool is_content = i == 2 && (!strcmp(words[i], "empty") || (strchr(words[i], ':') && !strchr(words[i], '=')));
        if (i == 2 && (!strncmp(words[i], "text:", 5) || !strncmp(words[i], "file:", 5))) is_content = true;
        if (!is_content) {
            if (!option_parse(o, words[i])) return false;
            continue;
        }
        Content *c = content_parse(words[i]);
        if (!c) return false;
        content_drop(o->content);
        o->content = c;
    }
    return true;
}

/* fill N PREFIX CONTENT: N targets PREFIX0, PREFIX1 … */
static bool fill_command(char **words, int count) {
    long long n;
    if (count != 4) return complain("fill: expected N PREFIX CONTENT, found %d words", count - 1);
    if (!word_number(words[1], "fill", &n)) return false;
    Content *c = content_parse(words[3]);
    if (!c) return false;
    char **names = malloc((size_t)(n + 1) * sizeof *names);
    Atom *atoms = malloc((size_t)(n + 1) * sizeof *atoms);
    for (long long i = 0; i < n; i++)
        if (asprintf(&names[i], "%s%lld", words[2], i) < 0) abort();
    XInternAtoms(display, names, (int)n, False, atoms); /* one round trip, not n */
    for (long long i = 0; i < n; i++) {
        Offer *o = offer_add(current, atoms[i]);
        content_drop(o->content);
        o->content = content_use(c);
        free(names[i]);
    }
    content_drop(c);
    free(names), free(atoms);
    return true;
}

static bool series_command(char **words, int count) {
    if (count != 3) return complain("%s: expected N MILLISECONDS, found %d words", words[0], count - 1);
    if (!word_number(words[1], words[0], &series.left) || !word_number(words[2], words[0], &series.interval)) return false;
    series.selection = current, series.flaps = !strcmp(words[0], "flap"), series.clears_next = false, series.due = now();
    return true;
}

static void series_step(void) {
    Selection *s = series.selection;
    if (series.flaps && series.clears_next) clear(s, server_time());
    else selection_claim(s, server_time(), reports);
    if (!series.flaps || series.clears_next) series.left--;
    series.clears_next = !series.clears_next;
    series.due = now() + series.interval * MILLISECONDS;
    if (series.left > 0) return;
    event_begin("series-end");
    event_number("claims", s->claims);
    event_end();
}

/* save [exit] [TARGET]...: hand the content over as ICCCM's clipboard manager convention has it */
static bool save_command(char **words, int count) {
    Window w = current->window ? current->window : helper;
    int from = count > 1 && !strcmp(words[1], "exit") ? 2 : 1;
    uint32_t list[WORDS_MAX];
    for (int i = from; i < count; i++) list[i - from] = (uint32_t)atom(words[i]);
    hand_over.property = count > from ? atom("XPB_SAVE") : None;
    if (count > from) property_put(w, hand_over.property, XA_ATOM, 32, (unsigned char *)list, (size_t)(count - from) * 4);
    hand_over.waits = true, hand_over.exits = from == 2, hand_over.asked = now();
    XConvertSelection(display, atom("CLIPBOARD_MANAGER"), atom("SAVE_TARGETS"), hand_over.property, w, current->time);
    return true;
}

static void saved(const XSelectionEvent *e) {
    if (!hand_over.waits || e->selection != atom("CLIPBOARD_MANAGER")) return;
    hand_over.waits = false;
    event_begin("saved");
    event_flag("accepted", e->property != None);
    event_text("target", atom_name(e->target));
    event_text("property", atom_name(e->property));
    event_number("us", (now() - hand_over.asked) / 1000);
    event_end();
    if (hand_over.exits) exit(0);
}

static bool status_command(void) {
    for (int i = 0; i < selection_count; i++) {
        Selection *s = &selections[i];
        event_begin("status");
        event_text("selection", atom_name(s->name));
        event_flag("owned", s->owned);
        event_number("owner", (long long)XGetSelectionOwner(display, s->name));
        event_number("claims", s->claims);
        event_number("losses", s->losses);
        event_number("requests", s->requests);
        event_number("unlisted", s->unlisted);
        event_number("transfers", serve_transfers());
        event_list("asked");
        for (int k = 0; k < s->count; k++)
            if (s->offers[k].requests) event_item(atom_name(s->offers[k].name));
        event_list_end();
        event_list("counts");
        for (int k = 0; k < s->count; k++) {
            char text[128];
            snprintf(text, sizeof text, "%s %u %u", atom_name(s->offers[k].name), s->offers[k].requests, s->offers[k].completed);
            if (s->offers[k].requests) event_item(text);
        }
        event_list_end();
        event_end();
    }
    return true;
}

static bool setting(char **words, const char *v) {
    const char *name = words[0];
    if (!strcmp(name, "selection")) return current = selection_named(atom(v)), true;
    if (!strcmp(name, "incremental-above")) return word_size(v, name, &incremental_above);
    if (!strcmp(name, "chunk-size")) return word_size(v, name, &chunk_size);
    if (!strcmp(name, "exit-after")) return word_number(v, name, &exit_after);
    if (!strcmp(name, "fight")) return word_number(v, name, &current->fights);
    if (!strcmp(name, "report")) return word_flag(v, name, &reports);
    if (!strcmp(name, "own-by")) return claims_by_top = !strcmp(v, "top"), true;
    if (!strcmp(name, "after-loss")) {
        current->after_loss = !strcmp(v, "refuse") ? AFTER_REFUSE : !strcmp(v, "silent") ? AFTER_SILENT : AFTER_SERVE;
        return true;
    }
    if (strcmp(name, "drop")) return complain("command: expected one that --help lists, found `%s`", name);
    Offer *o = offer_named(current, atom(v));
    if (!o) return complain("drop: expected an offered target, found `%s`", v);
    content_drop(o->content);
    *o = current->offers[--current->count];
    return true;
}

static bool command(char **words, int count) {
    const char *name = words[0];
    Time time;
    if (!strcmp(name, "target")) return target_command(words, count);
    if (!strcmp(name, "fill")) return fill_command(words, count);
    if (!strcmp(name, "reset")) return offers_reset(current), true;
    if (!strcmp(name, "claim") || !strcmp(name, "clear")) {
        if (!time_parse(count > 1 ? words[1] : "fresh", current->time, &time)) return false;
        if (name[2] == 'a') selection_claim(current, time, true);
        else clear(current, time);
        return true;
    }
    if (!strcmp(name, "repeat") || !strcmp(name, "flap")) return series_command(words, count);
    if (!strcmp(name, "save")) return save_command(words, count);
    if (!strcmp(name, "status")) return status_command();
    if (count != 2) return complain("command: expected one that --help lists with its words, found `%s` with %d", name, count - 1);
    return setting(words, words[1]);
}

static void event(XEvent *e) {
    if (e->type == SelectionNotify) saved(&e->xselection);
    else serve_event(e);
}

static Nanoseconds deadline(void) {
    Nanoseconds at = serve_deadline();
    if (series.left > 0 && (at == NEVER || series.due < at)) at = series.due;
    return at;
}

static void due(void) {
    serve_due();
    if (series.left > 0 && series.due <= now()) series_step();
}

static const char help[] =
    "xpb-owner [--display D] [COMMAND]... : a scriptable selection owner. Each COMMAND argument, then each line of standard\n"
    "input, is one command; every command is answered by a `done` or `error` line, every event by a line of JSON.\n"
    "Words are split at blanks; in contents \\_ is a blank, \\n \\r \\t \\0 \\\\ \\xHH as in C.\n\n"
    "  selection NAME                   work on this selection from now on (CLIPBOARD)\n"
    "  target NAME [CONTENT] [OPTION]...  offer a target or change it; TARGETS, TIMESTAMP and MULTIPLE are there already\n"
    "      CONTENT  text:WORD hex:DIGITS size:N[:PATTERN] file:PATH empty\n"
    "      do=      serve refuse silent unstored twice die stop vanish empty-all\n"
    "      type=ATOM format=8|16|32     ATOM may be #N, known to the server or not\n"
    "      listed=yes|no|twice|N        how often TARGETS names it\n"
    "      delay=MS pause=MS            before the answer, before each chunk\n"
    "      chunk=SIZE                   always incremental, in such chunks\n"
    "      hint=N chunk-type= chunk-format=   lies about an incremental transfer\n"
    "      endless=yes closes=no        chunks for ever; no zero-length end\n"
    "      die-after=N stop-after=N     after N chunks\n"
    "      answers-as=ATOM              the answer names another target\n"
    "      once=yes                     refuse from the second request on\n"
    "  fill N PREFIX CONTENT            N targets PREFIX0, PREFIX1 …\n"
    "  drop NAME, reset                 take one, take all away\n"
    "  own-by helper|top                which window claims (helper)\n"
    "  claim [TIME], clear [TIME]       TIME: current, fresh (default), last, each with +N or -N, or a number\n"
    "  repeat N MS, flap N MS           N claims; N claims with a clear after each\n"
    "  fight N                          claim again on the next N SelectionClear\n"
    "  after-loss serve|refuse|silent   requests that come when the selection is lost\n"
    "  exit-after N                     leave after N content answers\n"
    "  save [exit] [TARGET]...          SAVE_TARGETS to CLIPBOARD_MANAGER, then leave\n"
    "  incremental-above SIZE, chunk-size SIZE   256K each\n"
    "  report yes|no                    a line for each request, transfer, loss and claim of a series or fight\n"
    "  status                           counts of all selections\n";

/* Selections need atoms, and those the connection: the first one is made with the first command. */
static bool command_on_selection(char **words, int count) {
    if (!current) current = selection_named(atom("CLIPBOARD"));
    return command(words, count);
}

int main(int argc, char **argv) {
    const Program program = {command_on_selection, event, deadline, due, NULL, help};
    return program_run(&program, argc, argv);
}
