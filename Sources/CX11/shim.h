/* Every X header in one module, so that their types are one set for all importers. */
#ifndef XPB_CX11_SHIM_H
#define XPB_CX11_SHIM_H
#include <malloc.h>
#include <X11/Xlib.h>
#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/Xlib-xcb.h>
#include <X11/extensions/XRes.h>
#include <X11/extensions/Xfixes.h>
#include <X11/extensions/sync.h>
#include <xcb/res.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

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
#endif
