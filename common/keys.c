/* common/keys.c: secrets that two programs share. May touch: libc, the file, the log.
 * On trouble: see the header.
 */
#include "common/keys.h"

#include "common/err.h"
#include "common/file.h"
#include "common/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The longest key, the blanks behind it, its end, a NUL. */
#define LINE_MAX (KEY_BYTES_MAX + 64)

void keys_init(struct keys *k, const char *path)
{
    *k = (struct keys){.path = path};
    pthread_mutex_init(&k->lock, NULL);
}

void keys_fini(struct keys *k)
{
    if (!k->path)
        return;
    keys_wipe(k->list, k->n);
    pthread_mutex_destroy(&k->lock);
    k->path = NULL;
    k->n = 0;
}

void keys_wipe(struct key *list, uint32_t n)
{
    explicit_bzero(list, n * sizeof(*list));
}

static int say(const struct keys *k, char *why, size_t why_cap, int err, const char *what)
{
    snprintf(why, why_cap, "\"%.200s\": %s", k->path, what);
    return err;
}

static size_t without_blanks(const char *line, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", line[n - 1]))
        n--;
    return n;
}

/* One line more of the file. */
static int add_line(const struct keys *k, const char *line, size_t n, uint32_t number,
                    struct key *list, uint32_t *count, char *why, size_t why_cap)
{
    /* Of such a line only a part is here: that it is no comment, who knows. */
    const bool whole = n < LINE_MAX - 1 || line[n - 1] == '\n';
    char what[96];

    n = whole ? without_blanks(line, n) : n;
    if (n == 0 || (line[0] == '#' && whole))
        return 0;
    snprintf(what, sizeof(what), "line %u: a key has %d to %d bytes", number, KEY_BYTES_MIN,
             KEY_BYTES_MAX);
    if (n < KEY_BYTES_MIN || n > KEY_BYTES_MAX)
        return say(k, why, why_cap, E_RANGE, what);
    if (*count == KEYS_MAX) {
        snprintf(what, sizeof(what), "line %u: at most %d keys", number, KEYS_MAX);
        return say(k, why, why_cap, E_RANGE, what);
    }
    memcpy(list[*count].bytes, line, n);
    list[*count].n = n;
    (*count)++;
    return 0;
}

static int read_lines(const struct keys *k, FILE *f, struct key *list, uint32_t *count, char *why,
                      size_t why_cap)
{
    char line[LINE_MAX];
    uint32_t number = 0;
    int err = 0;

    while (err == 0 && fgets(line, sizeof(line), f)) {
        number++;
        err = add_line(k, line, strlen(line), number, list, count, why, why_cap);
    }
    explicit_bzero(line, sizeof(line));
    if (err == 0 && ferror(f))
        return say(k, why, why_cap, E_IO, strerror(errno));
    if (err == 0 && *count == 0)
        return say(k, why, why_cap, E_RANGE, "there is no key in it");
    return err;
}

int keys_read(struct keys *k, char *why, size_t why_cap)
{
    struct key list[KEYS_MAX];
    uint32_t n = 0;
    struct stat st;
    FILE *f = file_open(k->path);

    if (!f)
        return say(k, why, why_cap, E_IO, strerror(errno));
    int err = read_lines(k, f, list, &n, why, why_cap);
    if (err == 0 && fstat(fileno(f), &st) == 0 && (st.st_mode & S_IROTH))
        log_line(LOG_WARN, "everybody may read a file of secrets path=%s", k->path);
    fclose(f);
    if (err == 0) {
        pthread_mutex_lock(&k->lock);
        memcpy(k->list, list, n * sizeof(*list));
        k->n = n;
        pthread_mutex_unlock(&k->lock);
    }
    keys_wipe(list, KEYS_MAX);
    return err;
}

uint32_t keys_copy(struct keys *k, struct key out[KEYS_MAX])
{
    pthread_mutex_lock(&k->lock);
    const uint32_t n = k->n;
    memcpy(out, k->list, n * sizeof(*out));
    pthread_mutex_unlock(&k->lock);
    return n;
}
