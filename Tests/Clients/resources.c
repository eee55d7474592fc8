/* What an X client holds on the server, by the X-Resource extension. */
#include "requestor.h"
#include <X11/extensions/XRes.h>

/* The client is the one that made the window, however long that window has been gone. */
bool resources_command(XID window) {
    int event, error, count = 0;
    XResType *types = NULL;
    unsigned long pixmap_bytes = 0;
    if (!XResQueryExtension(display, &event, &error)) return complain("resources: expected a server with X-Resource, found none");
    unsigned before = x_errors;
    XResQueryClientResources(display, window, &count, &types);
    XResQueryClientPixmapBytes(display, window, &pixmap_bytes);
    if (x_errors != before) return complain("resources: expected a window of a client, found %#lx", (unsigned long)window);
    event_begin("resources");
    event_number("window", (long long)window);
    event_number("pixmap-bytes", (long long)pixmap_bytes);
    event_list("types");
    for (int i = 0; i < count; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s %u", atom_name(types[i].resource_type), types[i].count);
        event_item(text);
    }
    event_list_end();
    event_end();
    if (types) XFree(types);
    return true;
}
