/* proto/take.c: see the header. */
#include "proto/take.h"

#include "common/err.h"
#include "proto/walk.h"

#include <math.h>

int take_bytes(struct span *rest, uint64_t n, struct span *out)
{
    if (n > rest->n)
        return E_BAD;
    *out = span_of(rest->p, (size_t)n);
    rest->p += n;
    rest->n -= (size_t)n;
    return 0;
}

/* Take a head: `fix` in its high bits and a count up to `fix_max` in the low ones, or one of the
 * long forms, whose first byte is `long8` (none where 0), `long16` or `long32`. */
struct head_form {
    uint8_t fix, fix_max;
    uint8_t long8, long16, long32;
};

static const struct head_form FORM_ARRAY = {0x90, 15, 0, 0xdc, 0xdd};
static const struct head_form FORM_STR = {0xa0, 31, 0xd9, 0xda, 0xdb};
static const struct head_form FORM_BIN = {0, 0, 0xc4, 0xc5, 0xc6};

static int take_head(struct span *rest, const struct head_form *form, uint64_t *count)
{
    if (rest->n == 0)
        return E_BAD;
    uint8_t head = rest->p[0];
    size_t bytes;
    if (form->fix != 0 && head >= form->fix && head <= form->fix + form->fix_max) {
        *count = (uint64_t)(head - form->fix);
        rest->p++;
        rest->n--;
        return 0;
    }
    if (form->long8 != 0 && head == form->long8)
        bytes = 1;
    else if (head == form->long16)
        bytes = 2;
    else if (head == form->long32)
        bytes = 4;
    else
        return E_BAD;
    if (rest->n < 1 + bytes)
        return E_BAD;
    *count = 0;
    for (size_t i = 1; i <= bytes; i++)
        *count = *count << 8 | rest->p[i];
    rest->p += 1 + bytes;
    rest->n -= 1 + bytes;
    return 0;
}

int take_text(struct span *rest, uint64_t max, struct span *out)
{
    uint64_t n;
    int err = take_head(rest, &FORM_STR, &n);
    if (err != 0)
        return err;
    if (n > max)
        return E_BAD;
    err = take_bytes(rest, n, out);
    if (err != 0)
        return err;
    return walk_utf8(*out) ? 0 : E_BAD;
}

int take_bin(struct span *rest, uint64_t max, struct span *out)
{
    uint64_t n;
    int err = take_head(rest, &FORM_BIN, &n);
    if (err != 0)
        return err;
    return n <= max ? take_bytes(rest, n, out) : E_BAD;
}

int take_u32(struct span *rest, uint32_t *out)
{
    uint64_t v;
    int err = walk_uint(rest, UINT32_MAX, &v);
    if (err == 0)
        *out = (uint32_t)v;
    return err;
}

int take_bool(struct span *rest, bool *out)
{
    if (rest->n == 0 || (rest->p[0] != 0xc2 && rest->p[0] != 0xc3))
        return E_BAD;
    *out = rest->p[0] == 0xc3;
    rest->p++;
    rest->n--;
    return 0;
}

int take_array(struct span *rest, uint64_t *n)
{
    return take_head(rest, &FORM_ARRAY, n);
}

int take_real(struct span *rest, double *out)
{
    uint64_t bits = 0;

    if (rest->n < 9 || rest->p[0] != 0xcb)
        return E_BAD;
    for (size_t i = 1; i < 9; i++)
        bits = bits << 8 | rest->p[i];
    memcpy(out, &bits, sizeof(bits));
    if (!isfinite(*out))
        return E_BAD;
    rest->p += 9;
    rest->n -= 9;
    return 0;
}
