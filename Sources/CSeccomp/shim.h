#ifndef XPB_CSECCOMP_SHIM_H
#define XPB_CSECCOMP_SHIM_H
#include <fcntl.h>
#include <errno.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Variadic functions cannot be called from Swift. */
static inline int xpb_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }

/* The actions of seccomp.h are macros with a parameter. */
static inline unsigned xpb_seccomp_errno(unsigned code) { return SCMP_ACT_ERRNO(code); }
static inline unsigned xpb_seccomp_allow(void) { return SCMP_ACT_ALLOW; }
static inline unsigned xpb_seccomp_kill(void) { return SCMP_ACT_KILL_PROCESS; }

/* Glibc hides these behind _GNU_SOURCE; the kernel's numbers are the same on every architecture. */
static const int xpb_f_setsig = 10;
static const int xpb_f_setown_ex = 15;
static const int xpb_f_ofd_setlk = 37;
static const int xpb_f_ofd_setlkw = 38;
static const int xpb_f_setlease = 1024;
static const int xpb_f_notify = 1026;
/* Macros that compute their numbers. */
static const unsigned xpb_fs_ioc_setflags = FS_IOC_SETFLAGS;
static const unsigned xpb_fs_ioc32_setflags = FS_IOC32_SETFLAGS;
static const unsigned xpb_fs_ioc_fssetxattr = FS_IOC_FSSETXATTR;
static const unsigned xpb_fs_ioc_enable_verity = FS_IOC_ENABLE_VERITY;

/* RLIMIT_* are of an enumerated type in C's glibc only. */
static inline int xpb_setrlimit(int resource, unsigned long value, unsigned long most)
{
  struct rlimit limit = {value, most};
  return setrlimit(resource, &limit);
}

/* Landlock: the kernel's interface as of its sixth version; older headers lack the later parts, and glibc has no wrappers. */
struct xpb_landlock_ruleset {
  unsigned long long handled_access_fs;
  unsigned long long handled_access_net;
  unsigned long long scoped;
};
struct xpb_landlock_beneath {
  unsigned long long allowed_access;
  int parent_fd;
} __attribute__((packed));
/* The same numbers on every architecture. */
static inline int xpb_landlock_version(void) { return (int)syscall(444, 0, 0, 1); }
static inline int xpb_landlock_create(const struct xpb_landlock_ruleset *rules, unsigned long size)
{
  return (int)syscall(444, rules, size, 0);
}
static inline int xpb_landlock_add_beneath(int ruleset, const struct xpb_landlock_beneath *rule)
{
  return (int)syscall(445, ruleset, 1, rule, 0);
}
static inline int xpb_landlock_restrict_self(int ruleset) { return (int)syscall(446, ruleset, 0); }
/* Glibc's own are hidden behind _GNU_SOURCE. */
static inline int xpb_close_range(unsigned first, unsigned last) { return (int)syscall(436, first, last, 0); }

/* An empty file in memory that may be sealed and executed. MFD_EXEC is as new as the setting that asks for it. */
static inline int xpb_memfd_executable(const char *name)
{
  int made = (int)syscall(SYS_memfd_create, name, 1 | 2 | 0x10);
  return made < 0 && errno == EINVAL ? (int)syscall(SYS_memfd_create, name, 1 | 2) : made;
}
static inline long xpb_sendfile(int to, int from, long count) { return sendfile(to, from, 0, count); }
static inline int xpb_seal(int file) { return fcntl(file, 1033, 1 | 2 | 4 | 8); }
static const int xpb_o_path = 010000000;
/* Executes what `file` is a descriptor of (AT_EMPTY_PATH). */
static const int xpb_at_empty_path = 0x1000;
static inline int xpb_execute(int file, char *const words[], char *const variables[])
{
  return (int)syscall(SYS_execveat, file, "", words, variables, xpb_at_empty_path);
}
#endif
