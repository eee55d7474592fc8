/* xpb-requestor: asks any selection for anything, in good and in bad manners, and tells exactly what came. */
#define _GNU_SOURCE
#include "requestor.h"
#include <stdlib.h>
#include <string.h>

static Group *groups[64];
static int group_count;
static Atom selection;

/* ---- groups ---- */

static int compare(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return x < y ? -1 : x > y;
}

static void tell_group(Group *g) {
    qsort(g->latencies, (size_t)g->latency_count, sizeof *g->latencies, compare);
    long long n = g->latency_count;
    event_begin("summary");
    event_text("command", g->name);
    event_text("target", atom_name(g->like.target));
    event_number("answered", g->answered);
    event_number("refused", g->refused);
    event_number("unanswered", g->unanswered);
    event_number("other", g->other);
    event_number("bad_echo", g->bad_echo);
    event_number("stray", stray_notifies);
    event_number("bytes", g->bytes);
    event_text("sha256", g->answered ? g->first_sha : NULL);
    event_number("different", g->different);
    event_number("min_us", n ? g->latencies[0] : 0);
    event_number("median_us", n ? g->latencies[n / 2] : 0);
    event_number("max_us", n ? g->latencies[n - 1] : 0);
    event_number("wall_us", (now() - g->begun) / 1000);
    event_end();
}

static void end_group(Group *g) {
    for (int i = 0; i < group_count; i++)
        if (groups[i] == g) groups[i] = groups[--group_count];
    tell_group(g);
    if (g->like.waits) pending_waits--;
    free(g->latencies);
    free(g);
}

void group_finished(Group *g, Conversion *c) {
    char digits[65];
    if (g->latency_count == g->room) g->latencies = realloc(g->latencies, (size_t)(g->room = g->room * 2 + 64) * sizeof *g->latencies);
    if (c->notified) g->latencies[g->latency_count++] = (c->finished - c->asked) / 1000, g->bad_echo += !c->echo;
    g->answered += c->state == ANSWERED, g->refused += c->state == REFUSED, g->unanswered += c->state == UNANSWERED;
    g->other += c->state != ANSWERED && c->state != REFUSED && c->state != UNANSWERED;
    if (c->state == ANSWERED) {
        Sha256 sha = c->sha;
        sha256_end(&sha, digits);
        if (!g->first_sha[0]) strcpy(g->first_sha, digits);
        g->different += strcmp(g->first_sha, digits) != 0;
        g->bytes += (long long)c->count;
    }
    g->pending--;
    if (g->sequential) g->due = now() + g->interval * MILLISECONDS;
    if (!g->left && !g->pending) end_group(g);
}

static void start_one(Group *g) {
    Conversion like = g->like;
    like.waits = false, like.group = g;
    g->left--, g->pending++;
    Conversion *c = conversion_start(&like, g->fresh_windows);
    if (!g->destroys_at_once) return;
    XDestroyWindow(display, c->window);
    c->window_gone = true;
}

void group_step(Group *g) {
    if (g->sequential) {
        if (!g->pending && g->left) start_one(g);
        return;
    }
    while (g->left) start_one(g);
}

/* ---- commands ---- */

static bool option_parse(Group *g, const char *word) {
    Conversion *c = &g->like;
    const char *v;
    long long n;
    if ((v = word_value(word, "selection"))) return c->selection = atom(v), true;
    if ((v = word_value(word, "property"))) return c->missing_property = !strcmp(v, "none"), c->property = atom(v), true;
    if ((v = word_value(word, "time"))) return time_parse(v, last_time, &c->time);
    if ((v = word_value(word, "wait"))) return word_flag(v, "wait", &c->waits);
    if ((v = word_value(word, "hex"))) return word_flag(v, "hex", &c->hex);
    if ((v = word_value(word, "keep"))) return word_flag(v, "keep", &c->keeps_property);
    if ((v = word_value(word, "out"))) return c->path = strdup(v), true;
    if ((v = word_value(word, "slow"))) return word_number(v, "slow", &c->slow);
    if ((v = word_value(word, "interval"))) return word_number(v, "interval", &g->interval);
    if ((v = word_value(word, "each"))) {
        bool each;
        return word_flag(v, "each", &each) && (c->quiet = !each, true);
    }
    if ((v = word_value(word, "from"))) {
        g->fresh_windows = !strcmp(v, "fresh");
        c->window = !strcmp(v, "top") ? top : helper;
        if (!g->fresh_windows && !c->window) return complain("from: expected a window that exists, found `%s`", v);
        return true;
    }
    if (!strcmp(word, "destroy=ask")) return g->destroys_at_once = g->fresh_windows = true;
    int *into = word_value(word, "stall-after") ? &c->stall_after : word_value(word, "destroy-after") ? &c->destroy_after
                : word_value(word, "exit-after") ? &c->exit_after : NULL;
    v = strchr(word, '=');
    if (into) return word_number(v + 1, word, &n) && (*into = (int)n, true);
    if (!(v = word_value(word, "deadline")))
        return complain("option: expected selection=, property=, time=, wait=, hex=, keep=, out=, slow=, interval=, each=, from=, "
                        "destroy=ask, stall-after=, destroy-after=, exit-after= or deadline=, found `%s`", word);
    return word_number(v, "deadline", &n) && (c->deadline = n * MILLISECONDS, true);
}

static Group *group_new(const char *name) {
    Group *g = calloc(1, sizeof *g);
    snprintf(g->name, sizeof g->name, "%s", name);
    g->like = (Conversion){.window = helper, .selection = selection, .stall_after = NEVER, .destroy_after = NEVER, .exit_after = NEVER,
                           .waits = true, .hint = NEVER, .deadline = 10000 * MILLISECONDS};
    return g;
}

/* A target's name with `\_` where it has a blank. */
static const char *with_blanks(char *word) {
    char *to = word;
    for (const char *from = word; *from; from++) {
        bool blank = from[0] == '\\' && from[1] == '_';
        *to++ = blank ? ' ' : *from;
        from += blank;
    }
    *to = 0;
    return word;
}

/* convert TARGET, targets */
static bool convert_command(char **words, int count) {
    bool lists = !strcmp(words[0], "targets");
    if (count < 2 && !lists) return complain("convert: expected a target, found none");
    Group *g = group_new(words[0]);
    g->like.target = atom(lists ? "TARGETS" : with_blanks(words[1]));
    bool good = true;
    for (int i = lists ? 1 : 2; good && i < count; i++) good = option_parse(g, words[i]);
    if (good) {
        Conversion *c = conversion_start(&g->like, g->fresh_windows);
        if (g->destroys_at_once) XDestroyWindow(display, c->window), c->window_gone = true;
    }
    free(g);
    return good;
}

/* multiple TARGET=PROPERTY... */
static bool multiple_command(char **words, int count) {
    Group *g = group_new(words[0]);
    Conversion *c = &g->like;
    c->target = atom("MULTIPLE"), c->keeps_property = false;
    c->pairs = malloc((size_t)(count * 2 + 2) * sizeof *c->pairs);
    bool good = true;
    for (int i = 1; good && i < count; i++) {
        /* The last `=` divides: targets such as text/plain;charset=utf-8 hold one themselves. */
        char *divider = strrchr(words[i], '=');
        if (!divider || !strncmp(words[i], "selection=", 10) || !strncmp(words[i], "time=", 5) || !strncmp(words[i], "from=", 5) ||
            !strncmp(words[i], "deadline=", 9) || !strncmp(words[i], "hex=", 4) || !strncmp(words[i], "wait=", 5) ||
            !strncmp(words[i], "property=", 9)) {
            good = divider ? option_parse(g, words[i]) : complain("multiple: expected TARGET=PROPERTY, found `%s`", words[i]);
            continue;
        }
        *divider = 0;
        c->pairs[2 * c->pair_count] = atom(words[i]);
        c->pairs[2 * c->pair_count + 1] = atom(divider + 1);
        c->pair_count++;
    }
    if (good && !c->pair_count) good = complain("multiple: expected a pair, found none");
    if (good) conversion_start(c, g->fresh_windows);
    else free(c->pairs);
    free(g);
    return good;
}

/* many N TARGET: at once; loop N TARGET: one after another */
static bool group_command(char **words, int count) {
    if (count < 3) return complain("%s: expected N TARGET, found %d words", words[0], count - 1);
    if (group_count == 64) return complain("%s: expected at most 64 groups at once, found another", words[0]);
    Group *g = group_new(words[0]);
    g->like.target = atom(words[2]), g->like.quiet = true;
    bool good = word_number(words[1], words[0], &g->left) && g->left > 0;
    for (int i = 3; good && i < count; i++) good = option_parse(g, words[i]);
    if (!good) return free(g), false;
    g->sequential = !strcmp(words[0], "loop");
    if (!g->sequential && !g->like.property) g->like.property = None;
    groups[group_count++] = g;
    g->begun = now();
    if (g->like.waits) pending_waits++;
    group_step(g);
    return true;
}

static bool command(char **words, int count) {
    const char *name = words[0];
    if (!selection) selection = atom("CLIPBOARD");
    if (!strcmp(name, "convert") || !strcmp(name, "targets")) return convert_command(words, count);
    if (!strcmp(name, "multiple")) return multiple_command(words, count);
    if (!strcmp(name, "many") || !strcmp(name, "loop")) return group_command(words, count);
    if (!strcmp(name, "forge")) return forge_command(words, count, selection);
    if (!strcmp(name, "resources") && count == 2) {
        long long window;
        return word_number(words[1], "resources", &window) && resources_command((XID)window);
    }
    if (!strcmp(name, "selection") && count == 2) return selection = atom(words[1]), true;
    if (!strcmp(name, "status")) {
        event_begin("status");
        event_number("open", conversions_open());
        event_number("stray", stray_notifies);
        event_number("xerrors", x_errors);
        event_end();
        return true;
    }
    return complain("command: expected one that --help lists, found `%s`", name);
}

static Nanoseconds deadline(void) {
    Nanoseconds at = conversions_deadline();
    for (int i = 0; i < group_count; i++)
        if (groups[i]->sequential && !groups[i]->pending && groups[i]->left && (at == NEVER || groups[i]->due < at)) at = groups[i]->due;
    return at;
}

static void due(void) {
    conversions_due();
    for (int i = group_count - 1; i >= 0; i--)
        if (i < group_count && groups[i]->sequential && groups[i]->due <= now()) group_step(groups[i]);
}

static bool busy(void) { return pending_waits > 0; }

static const char help[] =
    "xpb-requestor [--display D] [COMMAND]... : a scriptable requestor. Each COMMAND argument, then each line of standard\n"
    "input, is one command; every command is answered by a `done` or `error` line as soon as it is sent, every conversion\n"
    "by an `answer` line. The next command waits for the answer unless wait=no.\n\n"
    "  selection NAME                   ask this selection from now on (CLIPBOARD)\n"
    "  convert TARGET [OPTION]...       one conversion, `\\_` is a blank in the name\n"
    "  targets [OPTION]...              the same for TARGETS\n"
    "  multiple TARGET=PROPERTY... [OPTION]...   MULTIPLE; each stored pair is told in a `part` line\n"
    "  many N TARGET [OPTION]...        N conversions at once, told in one `summary` line\n"
    "  loop N TARGET [OPTION]...        N one after another\n"
    "      from=helper|top|fresh        which window asks; fresh: a new one each time\n"
    "      selection= property=         property=none: an obsolete request without one\n"
    "      time=TIME                    current (default), fresh, last, each with +N or -N, or a number\n"
    "      deadline=MS                  10000; then the state is unanswered or incomplete\n"
    "      hex=yes out=FILE             show the bytes, write them to a file\n"
    "      keep=yes                     read without deleting the property\n"
    "      slow=MS                      before each read\n"
    "      stall-after=N                read no further after N chunks (0: not even INCR)\n"
    "      destroy-after=N exit-after=N destroy the window, exit, after N chunks (0: after INCR)\n"
    "      destroy=ask                  destroy the fresh window right after asking\n"
    "      interval=MS each=yes         between the conversions of loop; an `answer` line for each\n"
    "      wait=no\n"
    "  forge end [OPTION]               ends the connection of the selection's owner, or of window=\n"
    "  forge KIND [OPTION]...           an event by SendEvent, to the selection's owner where no window is given\n"
    "      KIND  request notify property clear destroy owner\n"
    "      window= requestor=           numbers, or `owner` for the selection's\n"
    "      target= property= time= times=N\n"
    "  resources WINDOW                 what its client holds on the server, by type\n"
    "  status                           open conversions, notifies that nobody asked for, X errors\n";

int main(int argc, char **argv) {
    const Program program = {command, conversions_event, deadline, due, busy, help};
    return program_run(&program, argc, argv);
}
