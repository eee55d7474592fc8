#ifndef XPB_OWNER_H
#define XPB_OWNER_H
#include "client.h"

/* What an owner does when it is asked for a target. */
typedef enum {
    SERVE,    /* store and confirm, as the ICCCM says */
    REFUSE,   /* answer None */
    SILENT,   /* never answer */
    UNSTORED, /* confirm without storing anything */
    TWICE,    /* confirm twice */
    DIE,      /* end as a crash does, instead of answering */
    STOP,     /* stop the process (SIGSTOP) before answering */
    VANISH,   /* destroy the owner window instead of answering */
    EMPTY_ALL /* a side effect: answer NULL and drop all content, like DELETE */
} Conduct;

typedef enum { BYTES, LIST, STAMP, PAIRS } Kind;

typedef struct {
    Atom name, type;
    Kind kind;
    Conduct conduct;
    int format;
    Content *content;
    int listed;        /* how often TARGETS names it */
    long long delay;   /* before it is answered, ms */
    long long pause;   /* before each chunk, ms */
    size_t chunk;      /* forces an incremental transfer in such chunks; 0: by size */
    bool endless;      /* chunks without end */
    bool closes;       /* sends the zero-length end */
    long long hint;    /* what INCR announces; NEVER: the true size */
    Atom chunk_type;   /* a lie about the chunks; None: the true type */
    int chunk_format;  /* the same; 0: the true format */
    int die_after, stop_after; /* after that many chunks; 0: not */
    Atom answers_as;   /* the target that the answer names; None: the one asked for */
    bool once;         /* content is given only once, then refused */
    unsigned requests, completed;
} Offer;

typedef enum { AFTER_SERVE, AFTER_REFUSE, AFTER_SILENT } AfterLoss;

typedef struct {
    Atom name;
    Window window; /* that owned or owns it */
    Time time;     /* of the latest claim */
    bool owned;
    long long fights; /* claims left to be made on SelectionClear */
    AfterLoss after_loss;
    Offer *offers;
    int count, room;
    unsigned claims, losses, requests, unlisted;
} Selection;

extern Selection selections[16];
extern int selection_count;
extern size_t incremental_above, chunk_size;
extern bool claims_by_top;
extern bool reports; /* a line for each request, transfer, loss and claim that nobody ordered */
extern long long exit_after; /* completed answers until the owner leaves; 0: never */

Selection *selection_named(Atom);
Offer *offer_named(Selection *, Atom);
Offer *offer_add(Selection *, Atom);
void offers_reset(Selection *); /* to TARGETS, TIMESTAMP and MULTIPLE alone */
void selection_claim(Selection *, Time, bool tells);

void serve_event(XEvent *);
Nanoseconds serve_deadline(void);
void serve_due(void);
unsigned serve_transfers(void);
#endif
