/* common/keyring.c: see the header. */
#include "common/keyring.h"

#include "common/base64.h"
#include "common/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 1024

/* --- one line --------------------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of `rest`; n 0: there is none. */
static struct span next_word(struct span *rest)
{
    size_t from = 0, to;

    while (from < rest->n && is_blank(rest->p[from]))
        from++;
    for (to = from; to < rest->n && !is_blank(rest->p[to]);)
        to++;
    struct span word = span_of(rest->p + from, to - from);
    *rest = span_of(rest->p + to, rest->n - to);
    return word;
}

static bool is_visible(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    }
    return true;
}

/* Drops `prefix` from the front of `s`, if it stands there. */
static bool take_prefix(struct span *s, const char *prefix)
{
    size_t n = strlen(prefix);

    if (s->n < n || memcmp(s->p, prefix, n) != 0)
        return false;
    *s = span_of(s->p + n, s->n - n);
    return true;
}

static const char *read_secret(struct span word, struct keyring_line *out)
{
    if (take_prefix(&word, "text:")) {
        if (word.n > sizeof(out->secret))
            return "the secret is too long";
        memcpy(out->secret, word.p, word.n);
        out->secret_n = word.n;
    } else if (take_prefix(&word, "base64:")) {
        if (!base64_read(word, out->secret, sizeof(out->secret), &out->secret_n))
            return "not base64, or too long";
    } else {
        return "the key of HS256 is text:SECRET or base64:SECRET";
    }
    return NULL;
}

static const char *read_words(struct span kid, struct span line, struct keyring_line *out)
{
    struct span alg = next_word(&line), key = next_word(&line);
    const char *why = NULL;

    out->kid = kid;
    if (key.n == 0 || next_word(&line).n > 0)
        return "a line is: KID ALGORITHM KEY";
    if (kid.n > KEYRING_KID_MAX)
        return "the kid is longer than 64 bytes";
    if (!is_visible(kid) || !is_visible(key))
        return "only visible ASCII may stand here";
    if (!sign_alg_find(alg, &out->alg))
        return "the algorithm must be HS256, RS256 or ES256";
    if (out->alg == SIGN_HS256)
        why = read_secret(key, out);
    else if (!take_prefix(&key, "file:") || key.n == 0)
        why = "the key of RS256 or ES256 is file:PATH, in PEM";
    out->file = key;
    return why;
}

int keyring_line_read(struct span line, struct keyring_line *out, const char **why)
{
    struct span kid = next_word(&line);

    *why = NULL;
    *out = (struct keyring_line){0};
    if (kid.n == 0 || kid.p[0] == '#')
        return E_MISSING;
    *why = read_words(kid, line, out);
    return *why ? E_BAD : 0;
}

/* --- keys ------------------------------------------------------------------------------------- */

static void forget(struct span *text)
{
    if (text->p)
        explicit_bzero((void *)text->p, text->n);
    free((void *)text->p);
    *text = (struct span){0};
}

/* A whole file, to be forgotten; n 0 and errno where it cannot be had. */
static struct span read_file(const char *path)
{
    FILE *f = file_open(path);
    uint8_t *text = malloc(KEYRING_FILE_MAX + 1);
    size_t n = f && text ? fread(text, 1, KEYRING_FILE_MAX + 1, f) : 0;
    int err = !f || !text || ferror(f) ? errno : n == 0 ? ENODATA : 0;

    if (n > KEYRING_FILE_MAX)
        err = EFBIG;
    if (f)
        fclose(f);
    if (err != 0) {
        free(text);
        errno = err;
        return span_of(NULL, 0);
    }
    return span_of(text, n);
}

/* The PEM file of a line, seen from the folder of `path`. */
static int take_file(const char *path, const struct keyring_line *line, struct sign_key *key,
                     char *why, size_t why_cap)
{
    const char *slash = strrchr(path, '/');
    int folder = line->file.p[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
    char full[PATH_BYTES];
    const char *trouble;

    if (snprintf(full, sizeof(full), "%.*s%.*s", folder, path, (int)line->file.n,
                 (const char *)line->file.p) >= (int)sizeof(full)) {
        snprintf(why, why_cap, "the path of the key is too long");
        return E_BAD;
    }
    struct span pem = read_file(full);
    if (pem.n == 0) {
        snprintf(why, why_cap, "\"%.200s\": %s", full, strerror(errno));
        return E_IO;
    }
    trouble = sign_key_of_pem(pem, line->alg, key);
    forget(&pem);
    if (trouble)
        snprintf(why, why_cap, "\"%.200s\": %s", full, trouble);
    return trouble ? E_BAD : 0;
}

static int take_line(const char *path, const struct keyring_line *line, struct keyring *k,
                     char *why, size_t why_cap)
{
    struct keyring_key *key;
    const char *words;
    int err;

    for (uint32_t i = 0; i < k->n; i++) {
        if (span_equal(line->kid, span_text(k->keys[i].kid))) {
            snprintf(why, why_cap, "the kid \"%s\" stands on a line before, too", k->keys[i].kid);
            return E_BAD;
        }
    }
    if (k->n == KEYRING_MAX) {
        snprintf(why, why_cap, "more than %d keys", KEYRING_MAX);
        return E_BAD;
    }
    key = &k->keys[k->n];
    memcpy(key->kid, line->kid.p, line->kid.n);
    if (line->alg == SIGN_HS256) {
        words = sign_key_of_secret(span_of(line->secret, line->secret_n), &key->key);
        snprintf(why, why_cap, "%s", words ? words : "");
        err = words ? E_BAD : 0;
    } else {
        err = take_file(path, line, &key->key, why, why_cap);
    }
    k->n += err == 0;
    return err;
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_text(const char *path, struct span text, struct keyring *k, char *why,
                     size_t why_cap)
{
    struct keyring_line line;
    char reason[320];
    int err = 0;

    for (int number = 1; err == 0 && text.n > 0; number++) {
        const uint8_t *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        const char *words = NULL;

        err = keyring_line_read(span_of(text.p, n), &line, &words);
        if (err == 0)
            err = take_line(path, &line, k, reason, sizeof(reason));
        else if (err == E_BAD)
            snprintf(reason, sizeof(reason), "%s", words);
        if (err == E_MISSING)
            err = 0;
        if (err != 0)
            snprintf(why, why_cap, "\"%.200s\" line %d: %s", path, number, reason);
        n += end != NULL;
        text = span_of(text.p + n, text.n - n);
    }
    explicit_bzero(&line, sizeof(line));
    return err;
}

int keyring_read(const char *path, struct keyring *out, char *why, size_t why_cap)
{
    struct span text = read_file(path);
    int err;

    *out = (struct keyring){0};
    if (text.n == 0) {
        snprintf(why, why_cap, "\"%.200s\": %s", path, strerror(errno));
        return E_IO;
    }
    err = take_text(path, text, out, why, why_cap);
    if (err == 0 && out->n == 0) {
        snprintf(why, why_cap, "\"%.200s\": there is no key in it", path);
        err = E_BAD;
    }
    forget(&text);
    if (err != 0)
        keyring_fini(out);
    return err;
}

void keyring_fini(struct keyring *k)
{
    for (uint32_t i = 0; i < k->n; i++)
        sign_key_fini(&k->keys[i].key);
    *k = (struct keyring){0};
}

const struct keyring_key *keyring_find(const struct keyring *k, struct span kid)
{
    if (kid.n == 0)
        return k->n == 1 ? &k->keys[0] : NULL;
    for (uint32_t i = 0; i < k->n; i++) {
        if (span_equal(kid, span_text(k->keys[i].kid)))
            return &k->keys[i];
    }
    return NULL;
}
