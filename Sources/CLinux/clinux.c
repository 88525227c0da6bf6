#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int nb_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int nb_pidfd_send_signal(int pidfd, int signal) { return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0); }

int nb_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int nb_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int nb_signalfd(const sigset_t *set) { return signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC); }

int nb_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }

int nb_set_not_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0); }

int nb_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name); }

int nb_openat(int directory, const char *path, int flags, mode_t mode) { return openat(directory, path, flags, mode); }

int nb_duplicate_above(int descriptor, int lowest) { return fcntl(descriptor, F_DUPFD_CLOEXEC, lowest); }

int nb_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

int nb_spawn(const char *path, char *const *argv, char *const *envp, int stdout_fd, int stderr_fd,
             const struct nb_inherited *inherited, size_t inherited_count, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    error = posix_spawnattr_setflags(&attributes,
                                     POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, stderr_fd, 2);
    for (size_t i = 0; !error && i < inherited_count; i++)
        error = posix_spawn_file_actions_adddup2(&actions, inherited[i].source, inherited[i].target);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3 + (int)inherited_count);
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int nb_reap(int pidfd, int *exited, int *value) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) != 0) return -1;
    if (info.si_pid == 0) return 0;
    *exited = info.si_code == CLD_EXITED;
    *value = info.si_status;
    return 1;
}

pid_t nb_peer_pid(int socket) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    return credentials.pid;
}
