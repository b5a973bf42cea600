/* tests/fuzz/fuzz_token.c: a token of any bytes, as the header and claims of a good one, and as a
 * line of a file of keys. What must hold: only what the secret signed is sound, nothing is read
 * past its end, and a line that is taken is in its bounds. The first byte says which. May touch:
 * common/token, common/keyring, a file in memory.
 */
#include "tests/fuzz/fuzz_target.h"

#include "common/keyring.h"
#include "common/token.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEY      "h HS256 text:0123456789abcdef0123456789abcdef\n"
#define LINE_MAX 2048

static const struct keyring *keys(void)
{
    static struct keyring k;
    char path[64], why[256];
    int fd;

    if (k.n > 0)
        return &k;
    fd = memfd_create("keys", 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, KEY, strlen(KEY)) < 0 || keyring_read(path, &k, why, sizeof(why)) != 0)
        fuzz_target_must("no keys");
    close(fd);
    return &k;
}

static const char *check_line(struct span line)
{
    struct keyring_line l;
    const char *why;
    int err = keyring_line_read(line, &l, &why);

    if (err == E_BAD)
        return why ? NULL : "refused without a reason";
    if (err != 0)
        return err == E_MISSING ? NULL : "an error that is none of its";
    if (l.kid.n == 0 || l.kid.n > KEYRING_KID_MAX || l.alg >= SIGN_COUNT)
        return "a key that is none";
    if (l.alg == SIGN_HS256)
        return l.secret_n <= KEYRING_SECRET_MAX ? NULL : "a secret out of bounds";
    return l.file.n > 0 ? NULL : "a file without a name";
}

/* Whatever it is, nobody signed it. */
static const char *check_token(struct span token)
{
    struct token_claims c;
    enum token_flaw flaw = token_read(keys(), token, &c);

    if (flaw == TOKEN_SOUND)
        return "a token that nobody signed is sound";
    return token_form_ok(token) || flaw == TOKEN_MALFORMED || !token_possible()
               ? NULL
               : "no form, and yet read";
}

/* The bytes in base64, so that they come further in. */
static size_t put64(char *to, const uint8_t *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    unsigned held = 0;
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | p[i];
        for (held += 8; held >= 6; held -= 6)
            to[len++] = digits[bits >> (held - 6) & 63];
    }
    if (held > 0)
        to[len++] = digits[bits << (6 - held) & 63];
    return len;
}

static const char *check_parts(const uint8_t *data, size_t size)
{
    static const char header[] = "{\"alg\":\"HS256\",\"kid\":\"h\"}";
    char token[LINE_MAX * 4];
    size_t cut = size > 1 ? data[0] % size : 0, len = 0;

    if (size > LINE_MAX)
        return NULL;
    len +=
        put64(token, cut % 2 ? (const uint8_t *)header : data, cut % 2 ? sizeof(header) - 1 : cut);
    token[len++] = '.';
    len += put64(token + len, data + cut, size - cut);
    token[len++] = '.';
    len += put64(token + len, (const uint8_t *)"0123456789abcdef0123456789abcdef", 32);
    return check_token(span_of(token, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        fuzz_target_must(check_token(span_of(data + 1, size - 1)));
        break;
    case 1:
        fuzz_target_must(check_parts(data + 1, size - 1));
        break;
    default:
        fuzz_target_must(check_line(span_of(data + 1, size - 1)));
    }
    return 0;
}
