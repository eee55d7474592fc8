/* Every X header in one module, so that their types are one set for all importers. */
#ifndef XPB_CX11_SHIM_H
#define XPB_CX11_SHIM_H
#include <malloc.h>
#include <X11/Xlib.h>
#include <X11/Xatom.h>
#include <X11/XKBlib.h>
#include <X11/Xutil.h>
#include <X11/Xlib-xcb.h>
#include <X11/extensions/XRes.h>
#include <X11/extensions/Xfixes.h>
#include <X11/extensions/sync.h>
#include <xcb/res.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <sys/uio.h>

/* The SelectionNotify event of XFixes as it is on the wire ("The XFIXES Extension", section 5): libxcb-xfixes has it
   too, but nothing else of that library is needed. */
typedef struct {
  uint8_t response_type;
  uint8_t subtype;
  uint16_t sequence;
  uint32_t window;
  uint32_t owner;
  uint32_t selection;
  uint32_t timestamp;
  uint32_t selection_timestamp;
  uint8_t pad[8];
} cx_xfixes_selection_notify_t;

/* XKBlib's accessors are macros, which no other language sees. */
static inline unsigned cx_xkb_group_count(XkbDescPtr keyboard, unsigned key) { return XkbKeyNumGroups(keyboard, key); }
static inline XkbKeyTypePtr cx_xkb_type(XkbDescPtr keyboard, unsigned key, unsigned group) {
  return XkbKeyKeyType(keyboard, key, group);
}
static inline KeySym cx_xkb_symbol(XkbDescPtr keyboard, unsigned key, unsigned group, unsigned level) {
  return XkbKeySymEntry(keyboard, key, level, group);
}

/* A request of the X Input Extension 2, of which only two are needed: words in the machine's order, the first one the
   header, whose length xcb fills in. */
static inline unsigned cx_send_words(xcb_connection_t *connection, uint8_t opcode, uint32_t *words, unsigned count,
                                     int has_reply) {
  struct iovec parts[3]; /* xcb wants two free ones in front */
  parts[2].iov_base = words;
  parts[2].iov_len = 4u * count;
  xcb_protocol_request_t request = {.count = 1, .ext = 0, .opcode = opcode, .isvoid = (uint8_t)!has_reply};
  return xcb_send_request(connection, XCB_REQUEST_CHECKED, parts + 2, &request);
}
#endif
