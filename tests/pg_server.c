/* tests/pg_server.c: see the header. */
#include "tests/pg_server.h"

#include "common/parts.h"

#ifdef AEGIS_PART_LIBPQ
#include <libpq-fe.h>
#endif

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT    "tests/pg.sh"
#define MAKE_MS   60000 /* initialising; the machine may be busy */
#define NOT_THERE 77

/* Does it take connections? */
static bool listens(const struct pg_server *s)
{
#ifdef AEGIS_PART_LIBPQ
    return PQping(s->url) == PQPING_OK;
#else
    (void)s;
    return true;
#endif
}

void pg_server_start(struct pg_server *s)
{
    struct mono deadline = process_deadline(MAKE_MS);

    do {
        s->process = process_start("/bin/sh", PROCESS_ARGS(SCRIPT, "run", s->folder));
        while (!listens(s) && !process_ended(s->process, 10))
            process_rest(deadline, "PostgreSQL to listen");
        /* Children of one that was killed may hold its memory for a moment. */
    } while (s->process->pid == 0);
}

bool pg_server_begin(struct pg_server *s)
{
    struct process *p;

    *s = (struct pg_server){.folder = "/tmp/aegis-pg-XXXXXX"};
    if (strcmp(PARTS_LIBPQ, PARTS_NONE) == 0) {
        fprintf(stderr, "skipped: this program was built without libpq\n");
        return false;
    }
    if (!mkdtemp(s->folder))
        process_fail("no folder: %s", strerror(errno));
    p = process_start("/bin/sh", PROCESS_ARGS(SCRIPT, "make", s->folder));
    if (!process_ended(p, MAKE_MS))
        process_fail("PostgreSQL cannot be made");
    if (WIFEXITED(p->status) && WEXITSTATUS(p->status) == NOT_THERE) {
        fprintf(stderr, "skipped: PostgreSQL is not installed\n");
        pg_server_end(s);
        return false;
    }
    if (p->status != 0)
        process_fail("PostgreSQL cannot be made");
    snprintf(s->url, sizeof(s->url), "postgres://aegis:" PG_SERVER_SECRET "@%%2Ftmp%%2F%s/postgres",
             s->folder + strlen("/tmp/"));
    pg_server_start(s);
    return true;
}

/* The parent of a process; 0: it is gone. */
static pid_t parent_of(const char *pid)
{
    char path[64], line[512], *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(line, 1, sizeof(line) - 1, f);
    fclose(f);
    line[n] = '\0';
    end = strrchr(line, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

void pg_server_signal(const struct pg_server *s, int signo)
{
    pid_t main_pid = s->process->pid;
    DIR *d = opendir("/proc");

    if (signo != SIGCONT && main_pid > 0) /* first, so that it starts no more of them */
        kill(main_pid, signo);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == main_pid)
            kill((pid_t)strtol(e->d_name, NULL, 10), signo);
    }
    if (d)
        closedir(d);
    if (signo == SIGCONT && main_pid > 0)
        kill(main_pid, signo);
}

void pg_server_kill(struct pg_server *s)
{
    if (!s->process || s->process->pid == 0)
        return;
    kill(s->process->pid, SIGSTOP); /* so that its children are still its own */
    pg_server_signal(s, SIGKILL);
    process_kill(s->process);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

void pg_server_end(struct pg_server *s)
{
    pg_server_kill(s);
    nftw(s->folder, drop, 16, FTW_DEPTH | FTW_PHYS);
}
