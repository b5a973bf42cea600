/* tests/e2e/shop.c: see the header. */
#include "tests/e2e/shop.h"

#include "common/parts.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* In a name space of our own, which goes with the last process of this test. */
static bool mount_small(const char *folder)
{
    char options[32];

    snprintf(options, sizeof(options), "size=%dk", SHOP_DISK_KIB);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, options) == 0;
}

bool shop_open(struct shop *s, bool small)
{
    if (strcmp(PARTS_SQLITE3, PARTS_NONE) == 0)
        return false;
    *s = (struct shop){.folder = "/tmp/aegis-shop-XXXXXX"};
    if (!mkdtemp(s->folder))
        process_fail("no folder: %s", strerror(errno));
    s->small = small && mount_small(s->folder);
    snprintf(s->store, sizeof(s->store), "sqlite:%s/world.db", s->folder);
    return true;
}

void shop_close(struct shop *s)
{
    DIR *d = opendir(s->folder);

    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    if (s->small)
        umount(s->folder);
    rmdir(s->folder);
}

static void filler(const struct shop *s, char path[96])
{
    snprintf(path, 96, "%s/filler", s->folder);
}

void shop_fill(const struct shop *s, uint32_t left_kib)
{
    static const uint8_t block[4096];
    off_t size = 0;
    char path[96];

    if (!s->small)
        return;
    filler(s, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0);
    for (ssize_t n; (n = write(fd, block, sizeof(block))) > 0;)
        size += n;
    size -= (off_t)left_kib * 1024;
    cr_assert_eq(ftruncate(fd, size > 0 ? size : 0), 0);
    close(fd);
}

void shop_free(const struct shop *s)
{
    char path[96];

    filler(s, path);
    unlink(path);
}

uint32_t shop_check(const struct shop *s)
{
    struct process *p =
        process_start("aegis", PROCESS_ARGS("-role=world", "-store", s->store, "-store-check"));
    static const char mark[] = "characters ";

    if (!process_ended(p, PROCESS_PATIENCE_MS))
        process_fail("-store-check does not end");
    struct span err = process_log(p), out = process_out(p);
    if (p->status != 0)
        process_fail("-store-check: %.*s", (int)err.n, (const char *)err.p);
    const char *at = memmem(out.p, out.n, mark, sizeof(mark) - 1);
    uint32_t n = at ? (uint32_t)strtoul(at + sizeof(mark) - 1, NULL, 10) : 0;
    process_forget(p);
    return n;
}

struct shop_place shop_join(struct raw_client *c, const char *addr, const char *name)
{
    struct mono deadline = process_deadline(PROCESS_PATIENCE_MS);
    const struct message *m;

    raw_connect(c, addr);
    /* The gateway may still be without its world, or the name with an older connection. */
    while ((m = raw_answer(c, raw_login(c, name))) && m->cmd != CMD_LOGIN_RESP)
        process_rest(deadline, "a login");
    m = raw_must(c, raw_nil(c, CMD_ENTER_REQ), CMD_ENTER_RESP);
    return (struct shop_place){m->enter_resp.x, m->enter_resp.y};
}

void shop_move(struct raw_client *c, double x, double y)
{
    raw_must(c, raw_move(c, x, y), CMD_MOVE_RESP);
}
