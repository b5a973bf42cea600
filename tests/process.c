/* tests/process.c: a program under test as a real process.
 *
 *   test ──fork──► program: dies with the test (PR_SET_PDEATHSIG), leads a process group,
 *     │              reads a pipe that ends with the test (for what it may have started itself),
 *     └── mmap ◄──   writes into files in memory which cannot grow: nobody has to drain them
 *
 * May touch: processes, signals, files in memory, /proc. On trouble: see process.h.
 */
#include "tests/process.h"

#include "common/err.h"
#include "tests/leak.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REST_MS 2
/* Bytes of each log that a failure shows. */
#define TAIL_BYTES 1500
#define FAIL_BYTES (2048 + PROCESS_MAX * (TAIL_BYTES + 128))
/* Words that no healthy program prints. */
static const char *const bad_words[] = {"Sanitizer", "runtime error:", "assertion failed",
                                        "Assertion", " error world ",  " error gateway "};

/* What this test started: a test has a process of its own, and fixtures get no argument. */
static struct process processes[PROCESS_MAX];
static unsigned started;

/* --- failing ---------------------------------------------------------------------------------- */

void process_fail(const char *fmt, ...)
{
    static char text[FAIL_BYTES];
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(text, 2048, fmt, ap);
    va_end(ap);
    size_t at = (size_t)(len < 2047 ? len : 2047);
    for (unsigned i = 0; i < started; i++) {
        const struct process *p = &processes[i];
        struct span log = process_log(p);
        size_t tail = log.n < TAIL_BYTES ? log.n : TAIL_BYTES;
        int n = snprintf(text + at, sizeof(text) - at, "\n--- %s pid=%d status=%d\n%.*s",
                         p->argv[1] ? p->argv[1] : p->argv[0], (int)p->pid, p->status, (int)tail,
                         (const char *)log.p + (log.n - tail));
        at += (size_t)n;
    }
    cr_assert_fail("%s", text);
    abort();
}

struct mono process_deadline(int64_t ms)
{
    return clock_add(clock_mono(), ms * CLOCK_NS_PER_MS);
}

void process_rest(struct mono deadline, const char *what)
{
    if (clock_since(deadline, clock_mono()) <= 0)
        process_fail("waited in vain for: %s", what);
    poll(NULL, 0, REST_MS);
}

bool process_sanitized(void)
{
#ifdef TEST_LEAKS
    return true;
#else
    return false;
#endif
}

/* --- starting --------------------------------------------------------------------------------- */

/* A file in memory of fixed size; its view in `view`. */
static int memory_file(struct span *view)
{
    int fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, PROCESS_TEXT_MAX) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)
        process_fail("no memory file: %s", strerror(errno));
    void *p = mmap(NULL, PROCESS_TEXT_MAX, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        process_fail("no view of a memory file: %s", strerror(errno));
    *view = span_of(p, PROCESS_TEXT_MAX);
    return fd;
}

static void forget_output(struct span *view)
{
    if (view->p)
        munmap((void *)view->p, PROCESS_TEXT_MAX);
    *view = (struct span){0};
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static _Noreturn void become(const struct process *p, pid_t parent, int in, int out, int err)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    setpgid(0, 0);
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(p->argv[0], p->argv);
    _exit(127);
}

static void spawn(struct process *p)
{
    int pipe_fd[2];
    pid_t self = getpid();

    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        process_fail("no pipe: %s", strerror(errno));
    int out = memory_file(&p->out);
    int err = memory_file(&p->err);
    p->addr[0] = '\0';
    p->status = 0;
    p->pid = fork();
    if (p->pid == 0)
        become(p, self, pipe_fd[0], out, err);
    if (p->pid < 0)
        process_fail("no fork: %s", strerror(errno));
    setpgid(p->pid, p->pid);
    p->lifeline = pipe_fd[1];
    close(pipe_fd[0]);
    close(out);
    close(err);
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        process_fail("%s", err_text(E_NOMEM));
    return copy;
}

const char *process_path(const char *program)
{
    static char path[512];
    const char *bin = getenv("AEGIS_BIN");

    if (program[0] == '/')
        return program;
    snprintf(path, sizeof(path), "%s/%s", bin ? bin : "bin", program);
    return path;
}

struct process *process_start(const char *program, const char *const *args)
{
    if (started == PROCESS_MAX)
        process_fail("more than %d processes", PROCESS_MAX);
    struct process *p = &processes[started++];
    *p = (struct process){.program = program};
    p->argv[0] = copy_text(process_path(program));
    for (size_t i = 0; args[i]; i++) {
        if (i + 2 == PROCESS_ARGS_MAX)
            process_fail("more than %d arguments", PROCESS_ARGS_MAX);
        p->argv[i + 1] = copy_text(args[i]);
    }
    spawn(p);
    return p;
}

/* Put the address it had in place of the one that was asked for. */
static void keep_addr(struct process *p)
{
    for (size_t i = 1; p->argv[i] && p->argv[i + 1]; i++) {
        if (strcmp(p->argv[i], "-listen") != 0)
            continue;
        free(p->argv[i + 1]);
        p->argv[i + 1] = copy_text(p->addr);
    }
}

static void check_log(const struct process *p);

void process_restart(struct process *p)
{
    if (p->pid != 0)
        process_fail("%s runs still", p->argv[0]);
    check_log(p);
    if (p->addr[0] != '\0')
        keep_addr(p);
    forget_output(&p->out);
    forget_output(&p->err);
    spawn(p);
}

const char *process_await_addr(struct process *p)
{
    static const char mark[] = "listening on ";

    process_await_log(p, mark, 1);
    struct span log = process_log(p);
    const char *at = memmem(log.p, log.n, mark, sizeof(mark) - 1);
    size_t left = log.n - (size_t)(at - (const char *)log.p);
    at += sizeof(mark) - 1;
    size_t n = 0;
    while (n < left - (sizeof(mark) - 1) && n < sizeof(p->addr) - 1 && at[n] != '\n')
        n++;
    memcpy(p->addr, at, n);
    p->addr[n] = '\0';
    return p->addr;
}

/* --- ending ----------------------------------------------------------------------------------- */

void process_signal(struct process *p, int signo)
{
    if (p->pid == 0 || kill(p->pid, signo) != 0)
        process_fail("%s: no process for signal %d", p->argv[0], signo);
}

static bool reap(struct process *p, int flags)
{
    if (p->pid == 0)
        return true;
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT | flags) != 0 || info.si_pid == 0)
        return false;
    /* What it started and left behind; before the wait, while the group is surely its own. */
    kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
        ;
    close(p->lifeline);
    p->pid = 0;
    return true;
}

bool process_ended(struct process *p, int64_t ms)
{
    struct mono deadline = process_deadline(ms);

    while (!reap(p, WNOHANG)) {
        if (clock_since(deadline, clock_mono()) <= 0)
            return false;
        poll(NULL, 0, REST_MS);
    }
    return true;
}

void process_await_exit(struct process *p, int64_t ms, int status)
{
    if (!process_ended(p, ms))
        process_fail("%s did not end within %lld ms", p->argv[1], (long long)ms);
    if (!WIFEXITED(p->status))
        process_fail("%s ended by signal %d", p->argv[1], WTERMSIG(p->status));
    if (WEXITSTATUS(p->status) != status)
        process_fail("%s exited with %d, not %d", p->argv[1], WEXITSTATUS(p->status), status);
}

void process_kill(struct process *p)
{
    process_signal(p, SIGKILL);
    while (!reap(p, 0))
        ;
    /* Else it crashed before. */
    if (!WIFSIGNALED(p->status) || WTERMSIG(p->status) != SIGKILL)
        process_fail("%s had ended before it was killed", p->argv[1]);
}

static void check_log(const struct process *p)
{
    struct span log = process_log(p);

    if (log.n == PROCESS_TEXT_MAX)
        process_fail("%s: the log is full", p->argv[0]);
    for (size_t i = 0; i < ARRAY_LEN(bad_words); i++) {
        if (memmem(log.p, log.n, bad_words[i], strlen(bad_words[i])))
            process_fail("%s: \"%s\" in the log", p->argv[0], bad_words[i]);
    }
}

void process_forget(struct process *p)
{
    ASSERT(p == &processes[started - 1]);
    if (p->pid != 0)
        process_fail("%s was left running", p->argv[0]);
    check_log(p);
    forget_output(&p->out);
    forget_output(&p->err);
    for (size_t i = 0; p->argv[i]; i++)
        free(p->argv[i]);
    *p = (struct process){0};
    started--;
}

void process_check_all(void)
{
    for (unsigned i = 0; i < started; i++) {
        if (processes[i].pid != 0)
            process_fail("%s was left running", processes[i].argv[0]);
    }
    while (started > 0)
        process_forget(&processes[started - 1]);
}

#ifdef TEST_LEAKS
static int leaks_are_known;

/* Asked at exit. */
int __lsan_is_turned_off(void)
{
    return leaks_are_known;
}
#endif

/* A test that passed has looked for leaks; one that failed left everything as it was, and a list of
 * that would only bury its message. */
static void expect_no_leak_report(void)
{
#ifdef TEST_LEAKS
    leaks_are_known = 1;
#endif
}

void process_end_all(void)
{
    expect_no_leak_report();
    for (unsigned i = 0; i < started; i++) {
        if (processes[i].pid == 0)
            continue;
        kill(-processes[i].pid, SIGKILL);
        while (!reap(&processes[i], 0))
            ;
    }
}

/* --- what it prints --------------------------------------------------------------------------- */

/* Without the zeros that nothing was written over yet. */
static struct span written(struct span view)
{
    const uint8_t *end = view.p ? memchr(view.p, '\0', view.n) : NULL;
    return end ? span_of(view.p, (size_t)(end - view.p)) : view;
}

struct span process_log(const struct process *p)
{
    return written(p->err);
}

struct span process_out(const struct process *p)
{
    return written(p->out);
}

unsigned process_logged(const struct process *p, const char *text)
{
    struct span log = process_log(p);
    size_t n = strlen(text);
    unsigned times = 0;

    for (const uint8_t *at; (at = memmem(log.p, log.n, text, n)); times++) {
        log.n -= (size_t)(at - log.p) + n;
        log.p = at + n;
    }
    return times;
}

void process_await_log(struct process *p, const char *text, unsigned times)
{
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);

    while (process_logged(p, text) < times) {
        if (reap(p, WNOHANG))
            process_fail("%s ended before it logged \"%s\"", p->argv[1], text);
        process_rest(deadline, text);
    }
}

void process_measure_memory(void)
{
    const char *options = getenv("ASAN_OPTIONS");
    char text[1024];

    snprintf(text, sizeof(text), "%s:quarantine_size_mb=0:thread_local_quarantine_size_kb=0",
             options ? options : "");
    setenv("ASAN_OPTIONS", text, 1);
}

uint64_t process_memory(const struct process *p)
{
    char path[64];
    unsigned long long pages = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)p->pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%*u %llu", &pages) != 1)
        process_fail("%s cannot be read", path);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* By process id, which no other test has at the same time: 22 bits at most. */
static void own_host(char *out, size_t cap)
{
    unsigned id = (unsigned)getpid();
    snprintf(out, cap, "127.%u.%u.%u", 64 + (id >> 16 & 63), id >> 8 & 255, id & 255);
}

const char *process_any_port(void)
{
    static char addr[PROCESS_ADDR_MAX];
    char host[32];

    own_host(host, sizeof(host));
    snprintf(addr, sizeof(addr), "%s:0", host);
    return addr;
}

const char *process_free_port(void)
{
    static char addr[PROCESS_ADDR_MAX];
    char host[32];
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    own_host(host, sizeof(host));
    inet_pton(AF_INET, host, &in.sin_addr);
    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &len) != 0)
        process_fail("no free port: %s", strerror(errno));
    close(fd);
    snprintf(addr, sizeof(addr), "%s:%u", host, ntohs(in.sin_port));
    return addr;
}
