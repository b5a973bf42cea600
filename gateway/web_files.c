/* gateway/web_files.c: a folder, read into a table. May touch: common, web_page, files.
 * On trouble: see the header.
 */
#include "gateway/web_files.h"

#include "common/err.h"
#include "common/log.h"
#include "gateway/web_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX "index.html"

struct row {
    char *path; /* owned */
    const char *type;
    const uint8_t *bytes; /* [n] */
    uint8_t *owned;       /* the same; NULL: a part of the program */
    size_t n;
};

struct web_files {
    struct row rows[WEB_FILES_MAX]; /* ascending by path */
    uint32_t n;
    size_t total; /* bytes */
};

/* A folder being read, and where to complain. */
struct reading {
    struct web_files *files;
    char path[WEB_PATH_MAX]; /* of what is at hand, from the folder's root on */
    const char *dir;
    bool maps; /* of these, only what a page draws */
    char *why;
    size_t why_cap;
};

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".txt", "text/plain; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".ogg", "audio/ogg"},
    {".mp3", "audio/mpeg"},
};

static const char *type_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < ARRAY_LEN(types); i++) {
        if (strcmp(dot, types[i].ending) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* --- reading ---------------------------------------------------------------------------------- */

static int complain(const struct reading *r, const char *what, int err)
{
    snprintf(r->why, r->why_cap, "\"%.200s%.200s\": %s", r->dir, r->path, what);
    return err;
}

/* Takes `owned`, which holds `bytes`; NULL: they last for ever. */
static int add(struct web_files *w, const char *path, struct span bytes, uint8_t *owned)
{
    char *copy = strdup(path);

    if (!copy) {
        free(owned);
        return E_NOMEM;
    }
    w->rows[w->n++] = (struct row){copy, type_of(path), bytes.p, owned, bytes.n};
    w->total += bytes.n;
    return 0;
}

static bool has(const struct web_files *w, const char *path)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (strcmp(w->rows[i].path, path) == 0)
            return true;
    }
    return false;
}

static int read_file(struct reading *r, int fd, size_t n)
{
    struct web_files *w = r->files;

    if (n > WEB_FILE_MAX && r->maps) {
        log_line(LOG_WARN, "web file passed over reason=large path=%s bytes=%zu", r->path, n);
        return 0;
    }
    if (n > WEB_FILE_MAX)
        return complain(r, "larger than 1 MiB", E_FULL);
    if (w->n == WEB_FILES_MAX || w->total + n > WEB_TOTAL_MAX)
        return complain(r, "too many files: at most 1,024 and 64 MiB", E_FULL);
    uint8_t *bytes = malloc(n + 1);
    size_t got = 0;
    if (!bytes)
        return complain(r, err_text(E_NOMEM), E_NOMEM);
    while (got < n) {
        const ssize_t more = read(fd, bytes + got, n - got);
        if (more <= 0) {
            free(bytes);
            return complain(r, more < 0 ? strerror(errno) : "it shrank while it was read", E_IO);
        }
        got += (size_t)more;
    }
    return add(w, r->path, span_of(bytes, n), bytes);
}

static bool name_good(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    return name[0] != '.' && name[strspn(name, allowed)] == '\0';
}

static bool ends_in(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

/* Of maps: is this one that a page draws, and that is not there yet? The index is made here. */
static bool wanted(const struct reading *r)
{
    if (!r->maps)
        return true;
    return strcmp(r->path, WEB_MAPS_INDEX) != 0 &&
           (ends_in(r->path, ".json") || ends_in(r->path, ".png")) && !has(r->files, r->path);
}

static int read_folder(struct reading *r, int fd, uint32_t depth);

/* What this name is, below the folder `parent`. */
static int read_entry(struct reading *r, int parent, const char *name, uint32_t depth)
{
    struct stat st;
    const int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ELOOP) {
        log_line(LOG_WARN, "web file passed over reason=link path=%s", r->path);
        return 0;
    }
    if (fd < 0)
        return complain(r, strerror(errno), E_IO);
    int err = 0;
    if (fstat(fd, &st) != 0)
        err = complain(r, strerror(errno), E_IO);
    else if (S_ISDIR(st.st_mode) && !r->maps)
        return read_folder(r, fd, depth + 1);
    else if (S_ISREG(st.st_mode) && wanted(r))
        err = read_file(r, fd, (size_t)st.st_size);
    close(fd);
    return err;
}

/* Takes `fd`. The path is the folder's before and after. */
static int read_folder(struct reading *r, int fd, uint32_t depth)
{
    const size_t len = strlen(r->path);
    DIR *dir = depth < WEB_DEPTH_MAX ? fdopendir(fd) : NULL;
    const struct dirent *e;
    int err = 0;

    if (!dir) {
        close(fd);
        return complain(r, depth < WEB_DEPTH_MAX ? strerror(errno) : "folders are too deep", E_IO);
    }
    while (err == 0 && (e = readdir(dir)) != NULL) {
        if (!name_good(e->d_name)) {
            if (e->d_name[0] != '.')
                log_line(LOG_WARN, "web file passed over reason=name folder=%s/", r->path);
            continue;
        }
        if (len + 1 + strlen(e->d_name) >= sizeof(r->path)) {
            err = complain(r, "its paths are too long", E_FULL);
            break;
        }
        r->path[len] = '/';
        memcpy(r->path + len + 1, e->d_name, strlen(e->d_name) + 1);
        err = read_entry(r, dirfd(dir), e->d_name, depth);
        if (err == 0)
            r->path[len] = '\0';
    }
    closedir(dir);
    return err;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

static int read_all(struct reading *r)
{
    struct web_files *w = r->files;
    const int fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        r->path[0] = '\0';
        return complain(r, strerror(errno), E_IO);
    }
    const int err = read_folder(r, fd, 0);
    qsort(w->rows, w->n, sizeof(w->rows[0]), by_path);
    return err;
}

static int built_in(struct web_files *w)
{
    int err = 0;

    for (size_t i = 0; i < web_page_n && err == 0; i++)
        err = add(w, web_page[i].path,
                  span_of(web_page[i].bytes, (size_t)(web_page[i].end - web_page[i].bytes)), NULL);
    qsort(w->rows, w->n, sizeof(w->rows[0]), by_path);
    return err;
}

int web_files_create(const char *dir, struct web_files **out, char *why, size_t why_cap)
{
    struct web_files *w = calloc(1, sizeof(*w));
    struct reading r = {.files = w, .dir = dir, .why = why, .why_cap = why_cap};
    int err = E_NOMEM;

    snprintf(why, why_cap, "%s", err_text(E_NOMEM));
    if (w)
        err = dir[0] == '\0' ? built_in(w) : read_all(&r);
    if (err != 0) {
        web_files_destroy(w);
        return err;
    }
    *out = w;
    return 0;
}

/* The names of the maps as a list in JSON; they hold nothing that would have to be escaped. */
static int add_index(struct web_files *w)
{
    const size_t head = sizeof(WEB_MAPS); /* with the '/' behind it */
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    const char *between = "";

    if (!out)
        return E_NOMEM;
    fputc('[', out);
    for (uint32_t i = 0; i < w->n; i++) {
        const char *path = w->rows[i].path;
        if (strncmp(path, WEB_MAPS "/", head) != 0 || !ends_in(path, ".json"))
            continue;
        fprintf(out, "%s\"%.*s\"", between, (int)(strlen(path + head) - strlen(".json")),
                path + head);
        between = ",";
    }
    fputs("]\n", out);
    if (fclose(out) != 0) {
        free(text);
        return E_NOMEM;
    }
    return add(w, WEB_MAPS_INDEX, span_of(text, n), (uint8_t *)text);
}

int web_files_add_maps(struct web_files *w, const char *dir, char *why, size_t why_cap)
{
    struct reading r = {
        .files = w, .path = WEB_MAPS, .dir = dir, .maps = true, .why = why, .why_cap = why_cap};
    int err = 0;

    snprintf(why, why_cap, "%s", err_text(E_NOMEM));
    if (dir[0] != '\0')
        err = read_all(&r);
    if (err == 0 && !has(w, WEB_MAPS_INDEX) && w->n < WEB_FILES_MAX)
        err = add_index(w);
    qsort(w->rows, w->n, sizeof(w->rows[0]), by_path);
    return err;
}

void web_files_destroy(struct web_files *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->n; i++) {
        free(w->rows[i].path);
        free(w->rows[i].owned);
    }
    free(w);
}

bool web_files_find(const struct web_files *w, struct span path, struct web_file *out)
{
    char text[WEB_PATH_MAX + sizeof(INDEX)];

    if (path.n == 0 || path.n >= WEB_PATH_MAX || memchr(path.p, '\0', path.n))
        return false;
    memcpy(text, path.p, path.n);
    text[path.n] = '\0';
    if (text[path.n - 1] == '/')
        memcpy(text + path.n, INDEX, sizeof(INDEX));
    const struct row key = {.path = text};
    const struct row *row = bsearch(&key, w->rows, w->n, sizeof(w->rows[0]), by_path);
    if (!row)
        return false;
    *out = (struct web_file){row->type, span_of(row->bytes, row->n)};
    return true;
}

uint32_t web_files_count(const struct web_files *w)
{
    return w->n;
}
