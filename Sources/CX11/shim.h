/* Every X header in one module, so that their types are one set for all importers. */
#ifndef XPB_CX11_SHIM_H
#define XPB_CX11_SHIM_H
#include <X11/Xlib.h>
#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/Xlib-xcb.h>
#include <X11/extensions/XRes.h>
#include <X11/extensions/Xfixes.h>
#include <X11/extensions/sync.h>
#include <xcb/res.h>
#include <xcb/xcb.h>
#endif
