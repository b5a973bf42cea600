/* common/io/notify.c: tell a service manager how we are.
 * May touch: the loop, the environment, one socket.
 * On trouble: a manager that cannot be told is a warning in the log; the process runs on.
 */
#include "common/io/notify.h"

#include "common/err.h"
#include "common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Alive is said this often in the time that the manager waits for it. */
#define NOTIFY_BEATS 2

struct notify {
    int fd;
    int64_t beat_ns; /* 0: nobody watches */
    struct loop_timer *beat;
    socklen_t to_len;
    struct sockaddr_un to;
};

/* False: not a path and not the name of an abstract socket, or too long. */
static bool address_of(const char *name, struct sockaddr_un *to, socklen_t *to_len)
{
    const size_t len = strlen(name);

    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(to->sun_path))
        return false;
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(to->sun_path, name, len);
    if (name[0] == '@')
        to->sun_path[0] = '\0';
    /* The name of an abstract socket is as long as the address says; a path ends with a NUL. */
    *to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
    return true;
}

/* A whole number above 0; 0 where it is none. */
static uint64_t number_of(const char *text)
{
    char *end;

    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' ? value : 0;
}

/* How often to say that we are alive; 0: not at all. WATCHDOG_PID names whom the manager watches,
 * which is not us where we only inherited the environment. */
static int64_t beat_of_environment(void)
{
    const uint64_t usec = number_of(getenv("WATCHDOG_USEC"));
    const char *pid = getenv("WATCHDOG_PID");

    if (usec == 0 || usec > INT64_MAX / CLOCK_NS_PER_MS)
        return 0;
    if (pid && number_of(pid) != (uint64_t)getpid())
        return 0;
    return (int64_t)usec * (CLOCK_NS_PER_MS / 1000) / NOTIFY_BEATS;
}

/* The address is given each time: a manager that is started anew has another socket there. */
static void say(struct notify *n, const char *word)
{
    const struct sockaddr *to = (const struct sockaddr *)&n->to;

    if (sendto(n->fd, word, strlen(word), MSG_NOSIGNAL, to, n->to_len) < 0)
        log_often(LOG_WARN, "service manager not told word=%s why=%s", word,
                  strerrorname_np(errno));
}

static void on_beat(void *arg)
{
    struct notify *n = arg;

    say(n, "WATCHDOG=1");
    loop_timer_arm(n->beat, n->beat_ns);
}

static int watch(struct notify *n, struct loop *l)
{
    n->beat_ns = beat_of_environment();
    if (n->beat_ns == 0)
        return 0;
    const int err = loop_timer_create(l, on_beat, n, &n->beat);
    if (err == 0)
        loop_timer_arm(n->beat, n->beat_ns);
    return err;
}

int notify_create(struct loop *l, struct notify **out)
{
    const char *name = getenv("NOTIFY_SOCKET");

    *out = NULL;
    if (!name || name[0] == '\0')
        return 0;
    struct notify *n = calloc(1, sizeof(*n));
    if (!n)
        return E_NOMEM;
    n->fd = -1;
    if (!address_of(name, &n->to, &n->to_len)) {
        log_line(LOG_WARN, "NOTIFY_SOCKET is not the name of a socket: %s", name);
        notify_destroy(n);
        return 0;
    }
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0) {
        log_line(LOG_WARN, "service manager not told why=%s", strerrorname_np(errno));
        notify_destroy(n);
        return 0;
    }
    const int err = watch(n, l);
    if (err != 0)
        notify_destroy(n);
    else
        *out = n;
    return err;
}

void notify_destroy(struct notify *n)
{
    if (!n)
        return;
    loop_timer_destroy(n->beat);
    if (n->fd >= 0)
        close(n->fd);
    free(n);
}

void notify_ready(struct notify *n)
{
    if (n)
        say(n, "READY=1");
}

void notify_stopping(struct notify *n)
{
    if (n)
        say(n, "STOPPING=1");
}
