#ifndef XPB_REQUESTOR_H
#define XPB_REQUESTOR_H
#include "client.h"
#include "sha256.h"
#include <stdio.h>

/* Where a conversion stands. */
typedef enum {
    ASKED,     /* no notify yet */
    CHUNKS,    /* INCR was read, chunks are awaited */
    STALLED,   /* told not to read on; only the deadline ends it */
    ANSWERED,  /* content is there, whole */
    REFUSED,   /* property None */
    UNSTORED,  /* confirmed, but the property isn't there */
    UNANSWERED, /* no notify until the deadline */
    INCOMPLETE, /* an incremental transfer that didn't end until the deadline, or was left */
} State;

typedef struct Group Group;

typedef struct {
    int id, parent; /* parent: the MULTIPLE conversion it is a pair of, or 0 */
    Window window;
    bool own_window, window_gone;
    Atom selection, target, property;
    Time time;
    /* what to do */
    long long slow;                            /* ms before each read */
    int stall_after, destroy_after, exit_after; /* chunks; NEVER: not */
    bool waits, hex, quiet, keeps_property, missing_property;
    char *path;
    Atom *pairs; /* of MULTIPLE: target, property, … */
    int pair_count;
    Group *group;
    /* what came */
    State state;
    bool echo, incremental;
    XSelectionEvent notify;
    Atom type;
    int format, chunks;
    long long hint;
    unsigned char *bytes; /* kept only where somebody wants to see them */
    size_t count;
    Sha256 sha;
    FILE *file;
    Nanoseconds asked, notified, finished, deadline, read_due;
} Conversion;

/* Conversions that are told of together. */
struct Group {
    char name[16];
    Conversion like; /* the pattern of those still to come */
    bool fresh_windows, destroys_at_once, sequential;
    long long left, interval, pending;
    Nanoseconds due, begun;
    long long answered, refused, unanswered, other, bad_echo, bytes;
    long long *latencies;
    long long latency_count, room;
    char first_sha[65];
    long long different;
};

extern int pending_waits; /* conversions that the next command waits for */
extern long long stray_notifies;
extern Time last_time;

Conversion *conversion_start(const Conversion *like, bool fresh_window);
void conversions_event(XEvent *);
Nanoseconds conversions_deadline(void);
void conversions_due(void);
int conversions_open(void);

bool forge_command(char **words, int count, Atom selection);
bool resources_command(XID window);

void group_step(Group *); /* starts what is to be started now */
void group_finished(Group *, Conversion *);
#endif
