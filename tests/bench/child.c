/* tests/bench/child.c: a program that is measured, as a child of the benchmark.
 * May touch: processes, /proc. On trouble: see child.h.
 */
#include "tests/bench/child.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000 /* for a program to say where it listens */
#define REST_MS     2
#define LOG_READ    8192 /* bytes of a log that are looked at */
#define LOG_SHOWN   1200

/* --- cores ------------------------------------------------------------------------------------ */

struct child_cores child_cores(void)
{
    struct child_cores cores = {-1, -1};
    static cpu_set_t ours; /* as it was before anything was pinned */
    static bool known;
    int found = 0;

    if (!known && sched_getaffinity(0, sizeof(ours), &ours) != 0)
        return cores;
    known = true;
    if (CPU_COUNT(&ours) < 2)
        return cores;
    for (size_t i = 0; i < CPU_SETSIZE && found < 2; i++) {
        if (!CPU_ISSET(i, &ours))
            continue;
        if (found++ == 0)
            cores.measured = (int)i;
        else
            cores.others = (int)i;
    }
    return cores;
}

void child_pin(int core)
{
    cpu_set_t set;

    if (core < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

/* --- finding ---------------------------------------------------------------------------------- */

bool child_find(const char *path, char *out, size_t cap)
{
    char places[4096];
    const char *from_env = getenv("PATH");

    if (strchr(path, '/')) {
        snprintf(out, cap, "%s", path);
        return access(out, X_OK) == 0;
    }
    snprintf(places, sizeof(places), "%s:/usr/local/sbin:/usr/sbin:/sbin",
             from_env ? from_env : "");
    char *rest = places;
    for (const char *place; (place = strsep(&rest, ":"));) {
        snprintf(out, cap, "%s/%s", place, path);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}

void child_beside(const char *name, char *out, size_t cap)
{
    char self[1024];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    snprintf(out, cap, "%s/%s", self, name);
}

/* --- life ------------------------------------------------------------------------------------- */

static _Noreturn void become(const char *const *argv, pid_t parent, int in, int log, int core)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    child_pin(core);
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(in, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

bool child_start(struct child *c, const char *const *argv, int core)
{
    int in[2];
    pid_t self = getpid();

    *c = (struct child){.log = memfd_create("log", MFD_CLOEXEC)};
    if (c->log < 0 || pipe2(in, O_CLOEXEC) != 0) {
        fprintf(stderr, "bench: %s: %s\n", argv[0], strerror(errno));
        if (c->log >= 0)
            close(c->log);
        return false;
    }
    c->pid = fork();
    if (c->pid == 0)
        become(argv, self, in[0], c->log, core);
    close(in[0]);
    c->in = in[1];
    if (c->pid > 0)
        return true;
    fprintf(stderr, "bench: %s: %s\n", argv[0], strerror(errno));
    c->pid = 0;
    close(c->in);
    close(c->log);
    return false;
}

bool child_alive(struct child *c)
{
    siginfo_t info = {0};

    return c->pid != 0 && waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == 0;
}

void child_end(struct child *c)
{
    if (c->pid == 0)
        return;
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(c->in);
    close(c->log);
    c->pid = 0;
}

unsigned child_logged(const struct child *c, const char *text)
{
    char log[LOG_READ + 1];
    ssize_t n = pread(c->log, log, LOG_READ, 0);
    unsigned times = 0;

    log[n > 0 ? n : 0] = '\0';
    for (const char *at = log; (at = strstr(at, text)); at += strlen(text))
        times++;
    return times;
}

bool child_await_addr(struct child *c, const char *mark)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_MS * CLOCK_NS_PER_MS);
    char text[LOG_READ + 1];

    for (;;) {
        bool alive = child_alive(c);
        ssize_t n = pread(c->log, text, LOG_READ, 0);
        text[n > 0 ? n : 0] = '\0';
        const char *at = strstr(text, mark);
        /* The whole line must be there. */
        if (at && strchr(at, '\n')) {
            at += strlen(mark);
            at += strspn(at, " ");
            snprintf(c->addr, sizeof(c->addr), "%.*s", (int)strcspn(at, " \n"), at);
            return true;
        }
        if (!alive || clock_since(end, clock_mono()) <= 0) {
            fprintf(stderr, "bench: a program did not say where it listens\n");
            child_show_log(c);
            return false;
        }
        poll(NULL, 0, REST_MS);
    }
}

/* --- what it used ----------------------------------------------------------------------------- */

int64_t child_cpu_ns(const struct child *c)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(c->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

uint64_t child_private_bytes(const struct child *c)
{
    char path[64], line[256];
    unsigned long long kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)c->pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Private_Dirty: %llu kB", &kib) == 1)
            break;
    }
    fclose(f);
    return kib * 1024;
}

void child_show_log(const struct child *c)
{
    char text[LOG_SHOWN];
    struct stat st = {0};
    fstat(c->log, &st);
    ssize_t n =
        pread(c->log, text, sizeof(text), st.st_size > LOG_SHOWN ? st.st_size - LOG_SHOWN : 0);

    if (n > 0)
        fprintf(stderr, "%.*s", (int)n, text);
}
