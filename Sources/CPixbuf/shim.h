#ifndef XPB_CPIXBUF_SHIM_H
#define XPB_CPIXBUF_SHIM_H
#include <gdk-pixbuf/gdk-pixbuf.h>

/* The cast of a function to the type of all callbacks cannot be written in Swift. */
static inline void xpb_on_size_prepared(GdkPixbufLoader *loader, void (*prepared)(GdkPixbufLoader *, int, int, void *),
                                        void *context)
{
  g_signal_connect(loader, "size-prepared", G_CALLBACK(prepared), context);
}
#endif
