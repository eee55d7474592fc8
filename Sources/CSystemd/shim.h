#ifndef XPB_CSYSTEMD_SHIM_H
#define XPB_CSYSTEMD_SHIM_H
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <malloc.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

/* Hidden by the Glibc module behind _GNU_SOURCE. */
extern int memfd_create(const char *name, unsigned flags);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/* The address of a symbol cannot be written in Swift. */
static inline const unsigned *xpb_bus_vtable_format(void) { return &sd_bus_object_vtable_format; }

/* prctl is variadic, which Swift cannot call. */
static inline int xpb_prctl_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); }
static inline int xpb_prctl_set_pdeathsig(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }
static inline int xpb_prctl_set_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

/* One word of memory that two processes share; everything that was stored before it is seen with it. */
static inline unsigned long xpb_load_word(const unsigned long *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static inline void xpb_store_word(unsigned long *word, unsigned long value) {
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* What is sent to ask about Unix sockets: the header and the question, with no padding between (both are whole words). */
struct xpb_unix_question {
  struct nlmsghdr header;
  struct unix_diag_req question;
};

/* struct ucred is hidden behind _GNU_SOURCE; its layout is the kernel's ABI. */
struct xpb_peer {
  int pid;
  unsigned uid;
  unsigned gid;
};
#endif
