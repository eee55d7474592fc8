#ifndef XPB_CSYSTEMD_SHIM_H
#define XPB_CSYSTEMD_SHIM_H
#include <errno.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

/* Hidden by the Glibc module behind _GNU_SOURCE. */
extern int memfd_create(const char *name, unsigned flags);
/* That may be executed: MFD_CLOEXEC, MFD_ALLOW_SEALING, and MFD_EXEC where the kernel knows that. */
static inline int xpb_memfd_executable(const char *name) {
  int made = memfd_create(name, 1 | 2 | 0x10);
  return made < 0 && errno == EINVAL ? memfd_create(name, 1 | 2) : made;
}
extern int pthread_setname_np(pthread_t thread, const char *name);
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

static inline int xpb_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/* The kernel's keyrings have no functions in the C library, and syscall is variadic. */
extern long syscall(long number, ...);
static inline long xpb_keyring_search(const char *name) {
  return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
}
static inline long xpb_keyring_read(long key, void *bytes, unsigned long count) {
  return syscall(SYS_keyctl, KEYCTL_READ, key, bytes, count);
}
static inline long xpb_keyring_add(const char *name, const void *bytes, unsigned long count) {
  return syscall(SYS_add_key, "user", name, bytes, count, KEY_SPEC_USER_KEYRING);
}
static inline long xpb_keyring_unlink(long key) {
  return syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}

/* Hidden behind _GNU_SOURCE. */
static inline int xpb_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

/* Holds the folder that a link of /proc stands for, without asking it anything (O_PATH, which _GNU_SOURCE hides). */
extern int openat(int folder, const char *path, int flags, ...);
static inline int xpb_hold_folder(int base, const char *link) { return openat(base, link, 010000000 | 02000000); }

/* Finds a file below `base` without reading it or waiting for it (openat2(2), RESOLVE_CACHED); with `is_root` as if `base`
   were the root directory (RESOLVE_IN_ROOT). The number of the call is the same on every architecture. */
static inline int xpb_find_cached(int base, const char *path, int is_root) {
  unsigned long long how[3] = {010000000 | 02000000, 0, is_root ? 0x20 | 0x10 : 0x20};
  return (int)syscall(437, base, path, how, sizeof how);
}

/* The version of the kernel's Landlock interface (landlock_create_ruleset(2)); the same number on every architecture. */
static inline int xpb_landlock_version(void) { return (int)syscall(444, 0, 0, 1); }

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
