// What Swift's Glibc module lacks (pidfd_open, prctl, eventfd, addclosefrom_np) and what it cannot import (variadic calls).
// _GNU_SOURCE is defined in the .c file and not here: here it would change what every importer of Glibc sees.
#ifndef NODEBUS_CLINUX_H
#define NODEBUS_CLINUX_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/// pidfd_open(2). Returns the descriptor (close-on-exec), or -1 with errno.
int nb_pidfd_open(pid_t pid);
/// pidfd_send_signal(2). Returns 0, or -1 with errno.
int nb_pidfd_send_signal(int pidfd, int signal);
/// eventfd(2), non-blocking and close-on-exec.
int nb_eventfd(void);
/// memfd_create(2), close-on-exec.
int nb_memfd(const char *name);
/// signalfd(2) for the given set, non-blocking and close-on-exec.
int nb_signalfd(const sigset_t *set);
/// prctl(PR_SET_PDEATHSIG): the signal this process gets when the *thread* that spawned it ends.
int nb_set_parent_death_signal(int signal);
/// prctl(PR_SET_DUMPABLE, 0): no core dumps, no ptrace by others of the same user.
int nb_set_not_dumpable(void);
/// prctl(PR_SET_NAME) for the calling thread (at most 15 bytes).
int nb_set_thread_name(const char *name);
/// open(2) and openat(2) with a mode (variadic in C).
int nb_openat(int directory, const char *path, int flags, mode_t mode);
/// fcntl(F_DUPFD_CLOEXEC, lowest).
int nb_duplicate_above(int descriptor, int lowest);
/// fcntl O_NONBLOCK on.
int nb_set_nonblocking(int descriptor);

/// One descriptor to hand to a child: `source` here becomes `target` there.
struct nb_inherited {
    int source;
    int target;
};

/// posix_spawn with what a supervised child needs: a process group of its own, no blocked signals, default dispositions, and every
/// descriptor above those named closed. `stdout_fd` and `stderr_fd` become 1 and 2; 0 is /dev/null. Targets must be 3, 4, 5, … in order and
/// sources above them all. Returns 0 and sets *pid, or an errno value.
int nb_spawn(const char *path, char *const *argv, char *const *envp, int stdout_fd, int stderr_fd,
             const struct nb_inherited *inherited, size_t inherited_count, pid_t *pid);

/// waitid(P_PIDFD, WEXITED | WNOHANG). Returns 1 and fills *exited (1: exit status, 0: signal) and *value when the child is gone, 0 when it
/// still runs, -1 with errno.
int nb_reap(int pidfd, int *exited, int *value);

/// The pid on the other end of a Unix socket (SO_PEERCRED), or -1.
pid_t nb_peer_pid(int socket);

#ifdef __cplusplus
}
#endif
#endif
