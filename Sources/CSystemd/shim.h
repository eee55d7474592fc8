#ifndef XPB_CSYSTEMD_SHIM_H
#define XPB_CSYSTEMD_SHIM_H
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

/* Hidden by the Glibc module behind _GNU_SOURCE. */
extern int memfd_create(const char *name, unsigned flags);

/* The address of a symbol cannot be written in Swift. */
static inline const unsigned *xpb_bus_vtable_format(void) { return &sd_bus_object_vtable_format; }
#endif
