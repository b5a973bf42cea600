/* tests/bench/rival_conf.c: proxies that want a file to tell them what to do.
 * May touch: child, files. On trouble: see rival_conf.h.
 */
#include "tests/bench/rival_conf.h"

#include "common/clock.h"
#include "tests/bench/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ATTEMPTS    3 /* another may take the port that was free just now */
#define PATIENCE_MS 5000
#define REST_MS     5

/* --- what they are told ------------------------------------------------------------------------
 */

static void write_haproxy(FILE *to, unsigned port, const char *upstream, uint32_t clients,
                          const char *dir)
{
    (void)dir;
    fprintf(to,
            "global\n"
            "    nbthread 1\n"
            "    maxconn %u\n"
            "defaults\n"
            "    mode tcp\n"
            "    maxconn %u\n"
            "    timeout connect 10s\n"
            "    timeout client 10m\n"
            "    timeout server 10m\n"
            "listen bench\n"
            "    bind 127.0.0.1:%u backlog 4096\n"
            "    server upstream %s\n",
            clients + 100, clients + 100, port, upstream);
}

const struct rival_conf rival_conf_haproxy = {write_haproxy, {"-db", "-f", NULL}, NULL};

static void write_nginx(FILE *to, unsigned port, const char *upstream, uint32_t clients,
                        const char *dir)
{
    /* Where distributions put it; built in elsewhere. */
    static const char *const modules[] = {"/usr/lib/nginx/modules/ngx_stream_module.so",
                                          "/usr/lib64/nginx/modules/ngx_stream_module.so"};

    for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
        if (access(modules[i], R_OK) == 0)
            fprintf(to, "load_module %s;\n", modules[i]);
    }
    fprintf(to,
            "daemon off;\n"
            "master_process off;\n"
            "worker_processes 1;\n"
            "pid %s/pid;\n"
            "error_log stderr crit;\n"
            "events { worker_connections %u; }\n"
            "stream {\n"
            "    server {\n"
            "        listen 127.0.0.1:%u backlog=4096;\n"
            "        proxy_pass %s;\n"
            "        proxy_timeout 10m;\n"
            "    }\n"
            "}\n",
            dir, 2 * clients + 200, port, upstream);
}

const struct rival_conf rival_conf_nginx = {
    write_nginx, {"-e", "stderr", "-p", "%d", "-c", NULL}, "pid"};

/* --- starting ----------------------------------------------------------------------------------
 */

static unsigned free_port(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 ||
        getsockname(fd, (struct sockaddr *)&in, &len) != 0)
        pump_fail("no free port");
    close(fd);
    return ntohs(in.sin_port);
}

static bool listens(const struct child *c)
{
    int fd = crowd_dial(c->addr);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Wait until it listens, and has made its file. */
static bool is_up(struct child *c, const struct rival_conf *conf, const char *dir)
{
    const struct mono end = clock_add(clock_mono(), PATIENCE_MS * CLOCK_NS_PER_MS);
    char file[1100];

    snprintf(file, sizeof(file), "%s/%s", dir, conf->makes ? conf->makes : "");
    while (child_alive(c) && clock_since(end, clock_mono()) > 0) {
        if (access(file, F_OK) == 0 && listens(c))
            return true;
        poll(NULL, 0, REST_MS);
    }
    return false;
}

static bool attempt(struct child *c, const struct rival_conf *conf, const char *path,
                    const char *upstream, uint32_t clients, const char *dir)
{
    const char *argv[16] = {path};
    char file[1100];
    size_t n = 1;
    unsigned port = free_port();

    snprintf(file, sizeof(file), "%s/conf", dir);
    FILE *f = fopen(file, "we");
    if (!f)
        return false;
    conf->write(f, port, upstream, clients, dir);
    fclose(f);
    for (size_t i = 0; conf->flags[i]; i++)
        argv[n++] = strcmp(conf->flags[i], "%d") == 0 ? dir : conf->flags[i];
    argv[n++] = file;
    if (!child_start(c, argv, child_cores().measured))
        return false;
    snprintf(c->addr, sizeof(c->addr), "127.0.0.1:%u", port);
    if (is_up(c, conf, dir))
        return true;
    child_show_log(c);
    child_end(c);
    return false;
}

bool rival_conf_start(struct child *c, const struct rival_conf *conf, const char *path,
                      const char *upstream, uint32_t clients)
{
    const char *tmp = getenv("TMPDIR");
    char dir[1024], file[1100];
    bool ok = false;

    snprintf(dir, sizeof(dir), "%s/bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        perror("bench: no folder for a moment");
        return false;
    }
    for (int i = 0; i < ATTEMPTS && !ok; i++)
        ok = attempt(c, conf, path, upstream, clients, dir);
    for (const char *const *name = (const char *const[]){"conf", "pid", NULL}; *name; name++) {
        snprintf(file, sizeof(file), "%s/%s", dir, *name);
        unlink(file);
    }
    rmdir(dir);
    return ok;
}
