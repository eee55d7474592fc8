#ifndef XPB_CLIENT_H
#define XPB_CLIENT_H
#include "words.h"
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/Xfixes.h>
#include <stdint.h>

/* What both X clients of the tests share: the connection, two windows, time, output and the loop. */

extern Display *display;
extern Window root, helper, top; /* helper: unmapped, without class; top: mapped top-level or None */
extern int xfixes_event;
extern unsigned x_errors;

enum { NEVER = -1 };
typedef long long Nanoseconds;
Nanoseconds now(void); /* monotonic */
#define MILLISECONDS 1000000LL

void client_open(const char *display_name);
Atom atom(const char *name); /* `none` is None, `#N` the number N, known to the server or not */
const char *atom_name(Atom);
Time server_time(void);
/* current, fresh, fresh-1000, fresh+5, last…, or a number; `last` is what "last" stands for. */
bool time_parse(const char *word, Time last, Time *time);

/* Bytes of format 32 are 4 bytes an item in the machine's order here, as on the wire, unlike in Xlib. */
void property_put(Window, Atom property, Atom type, int format, const unsigned char *bytes, size_t count);
/* False when the window is gone. `*bytes` is malloc'd; `*type` None when the property isn't there. */
bool property_take(Window, Atom property, bool delete, Atom *type, int *format, unsigned char **bytes, size_t *count);

/* One JSON object a line on standard output. */
void event_begin(const char *name);
void event_text(const char *key, const char *value); /* NULL is null */
void event_bytes(const char *key, const unsigned char *bytes, size_t count); /* in hexadecimal */
void event_number(const char *key, long long value);
void event_flag(const char *key, bool value);
void event_list(const char *key);
void event_item(const char *value);
void event_list_end(void);
void event_end(void);

/* top, class, title, pid, focus, unmap, destroy, sync, owner, watch, stop, exit: commands of both programs. 1 done, 0 unknown, -1 wrong. */
int shared_command(char **words, int count);
extern const char *const shared_help;

typedef struct {
    bool (*command)(char **words, int count); /* false: `complaint` says why */
    void (*event)(XEvent *);
    Nanoseconds (*deadline)(void); /* NEVER when nothing waits */
    void (*due)(void);
    bool (*busy)(void); /* further commands wait while it is true; may be NULL */
    const char *help;
} Program;

/* Runs commands from the arguments, then from standard input until `quit` or its end. */
int program_run(const Program *, int argc, char **argv);
#endif
