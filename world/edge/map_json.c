/* world/edge/map_json.c: see the header. */
#include "world/edge/map_json.h"

#ifdef AEGIS_PART_JANSSON

#include "common/err.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_MAX 1e9
#define REASON_MAX 512

void map_json_at(struct map_json *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->place, sizeof(j->place), fmt, ap);
    va_end(ap);
}

int map_json_fail(struct map_json *j, int err, const char *fmt, ...)
{
    char reason[REASON_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    snprintf(j->why, j->why_cap, "%.200s: %s%s%s", j->file, j->place, j->place[0] ? ": " : "",
             reason);
    for (char *c = j->why; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    return err;
}

const char *map_json_shown(const char *text, char out[MAP_JSON_NAME_MAX])
{
    size_t n = 0;

    for (; text[n] && n < MAP_JSON_NAME_MAX - 4; n++) {
        unsigned char c = (unsigned char)text[n];
        out[n] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    strcpy(out + n, text[n] ? "..." : "");
    return out;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* What parsing this text takes at most, by what begins or parts its values. jansson itself cannot
 * be held to a budget: where memory is refused in the middle of a text it writes past its buffer.
 */
static size_t memory_needed(struct span text)
{
    static const uint16_t weights[256] = {
        ['{'] = 256, /* an object with its first table */
        ['['] = 160, /* a list with its first places */
        [':'] = 128, /* a field in the tables, grown */
        [','] = 56,  /* a number and its place in a list, grown */
        ['"'] = 40,  /* half a text */
    };
    size_t sum = 4 * text.n; /* the longest text in a buffer that doubles, and a copy */

    for (size_t i = 0; i < text.n; i++)
        sum += weights[text.p[i]];
    return sum;
}

int map_json_parse(struct map_json *j, struct span text, size_t memory_max, json_t **out)
{
    size_t needed = memory_needed(text);
    json_error_t error;

    *out = NULL;
    if (needed > memory_max)
        return map_json_fail(j, E_FULL,
                             "%zu MiB of memory may be needed to read it, at most %zu are given; "
                             "save its layers as base64, compressed",
                             needed >> 20, memory_max >> 20);
    *out = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    return *out ? 0 : map_json_fail(j, E_BAD, "line %d: %s", error.line, error.text);
}

/* --- files ------------------------------------------------------------------------------------ */

/* All of an open file, with room for a byte more so as to see that it did not grow. */
static int read_all(struct map_json *j, int fd, size_t size, uint8_t **out)
{
    uint8_t *bytes = malloc(size + 1);
    size_t n = 0;

    if (!bytes)
        return map_json_fail(j, E_NOMEM, "%s", err_text(E_NOMEM));
    for (;;) {
        ssize_t got = read(fd, bytes + n, size + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || (n += (size_t)got) > size)
            break;
    }
    if (n != size) {
        free(bytes);
        return map_json_fail(j, E_IO, "cannot be read as a whole");
    }
    *out = bytes;
    return 0;
}

int map_json_read(struct map_json *j, const char *path, json_t **out)
{
    /* A pipe would block the start, and a device may never end. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    uint8_t *bytes = NULL;
    int err;

    *out = NULL;
    if (fd < 0)
        return map_json_fail(j, E_IO, "%s", strerror(errno));
    if (fstat(fd, &st) != 0)
        err = map_json_fail(j, E_IO, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        err = map_json_fail(j, E_IO, "not an ordinary file");
    else if ((uint64_t)st.st_size > MAP_JSON_BYTES_MAX)
        err = map_json_fail(j, E_FULL, "larger than %zu MiB", MAP_JSON_BYTES_MAX >> 20);
    else
        err = read_all(j, fd, (size_t)st.st_size, &bytes);
    close(fd);
    if (err == 0)
        err = map_json_parse(j, span_of(bytes, (size_t)st.st_size), MAP_JSON_MEMORY_MAX, out);
    free(bytes);
    return err;
}

/* --- fields ----------------------------------------------------------------------------------- */

int map_json_int(struct map_json *j, const json_t *of, const char *key, int64_t min, int64_t max,
                 int64_t *out)
{
    const json_t *v = json_object_get(of, key);

    if (!json_is_integer(v))
        return map_json_fail(j, E_BAD, "%s: %s", key, v ? "not a whole number" : "missing");
    *out = json_integer_value(v);
    if (min == max && *out != min)
        return map_json_fail(j, E_RANGE, "%s: %lld: must be %lld", key, (long long)*out,
                             (long long)min);
    if (*out < min || *out > max)
        return map_json_fail(j, E_RANGE, "%s: %lld: must be from %lld to %lld", key,
                             (long long)*out, (long long)min, (long long)max);
    return 0;
}

int map_json_real(struct map_json *j, const json_t *of, const char *key, double def, double *out)
{
    const json_t *v = json_object_get(of, key);

    *out = v ? json_number_value(v) : def;
    if (v && !json_is_number(v))
        return map_json_fail(j, E_BAD, "%s: not a number", key);
    if (!(fabs(*out) <= NUMBER_MAX))
        return map_json_fail(j, E_RANGE, "%s: %g: too large", key, *out);
    return 0;
}

int map_json_text(struct map_json *j, const json_t *of, const char *key, const char **out)
{
    const json_t *v = json_object_get(of, key);

    *out = v ? json_string_value(v) : "";
    if (!*out)
        return map_json_fail(j, E_BAD, "%s: not a text", key);
    return 0;
}

int map_json_list(struct map_json *j, const json_t *of, const char *key, const json_t **out)
{
    *out = json_object_get(of, key);
    if (*out && !json_is_array(*out))
        return map_json_fail(j, E_BAD, "%s: not a list", key);
    return 0;
}

int map_json_property(struct map_json *j, const json_t *of, const char *name, const json_t **out)
{
    const json_t *list;
    int err = map_json_list(j, of, "properties", &list);

    *out = NULL;
    for (size_t i = 0; err == 0 && i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        const char *its = json_string_value(json_object_get(p, "name"));

        if (!its)
            return map_json_fail(j, E_BAD, "properties: number %zu has no name", i + 1);
        if (strcmp(its, name) == 0) {
            *out = json_object_get(p, "value");
            if (!*out)
                return map_json_fail(j, E_BAD, "property %s: no value", name);
        }
    }
    return err;
}

int map_json_switch(struct map_json *j, const json_t *of, const char *name, int *out)
{
    const json_t *v;
    int err = map_json_property(j, of, name, &v);

    *out = v ? json_is_true(v) : -1;
    if (err == 0 && v && !json_is_boolean(v))
        return map_json_fail(j, E_BAD, "property %s: must be true or false", name);
    return err;
}

#endif
