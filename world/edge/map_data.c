/* world/edge/map_data.c: see the header.
 *
 *   text ─► base64 ─► packed bytes ─► zlib or zstd, into a block of the right size ─► tiles
 */
#include "world/edge/map_data.h"

#include "common/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_ZLIB
#include <zlib.h>
#endif
#ifdef AEGIS_PART_LIBZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#define NO_DIGIT 64

static PRINTF_LIKE(3, 4) int refuse(char reason[MAP_DATA_REASON_MAX], int err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, MAP_DATA_REASON_MAX, fmt, ap);
    va_end(ap);
    return err;
}

static int wrong_size(char reason[MAP_DATA_REASON_MAX], const char *is, size_t want)
{
    return refuse(reason, E_BAD, "data: %s than the %zu bytes of the layer's tiles", is, want);
}

/* --- base64 ----------------------------------------------------------------------------------- */

static uint32_t digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : NO_DIGIT;
}

/* Bytes in `n` digits with `pad` signs behind them; 0 with n > 0: there is no such text. */
static size_t base64_bytes(size_t n, size_t pad)
{
    if ((n + pad) % 4 != 0 || pad > 2)
        return 0;
    return n / 4 * 3 + (n % 4 > 0 ? n % 4 - 1 : 0);
}

/* Into `out` [base64_bytes]. False: a byte that is no digit, or bits that no byte has. */
static bool base64_read(const char *text, size_t n, uint8_t *out)
{
    uint32_t bits = 0;
    unsigned held = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t d = digit(text[i]);
        if (d == NO_DIGIT)
            return false;
        bits = (bits << 6 | d) & 0xffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *out++ = (uint8_t)(bits >> held);
        }
    }
    return (bits & ((1u << held) - 1)) == 0;
}

/* A new block. */
static int base64_block(const char *text, uint8_t **out, size_t *bytes,
                        char reason[MAP_DATA_REASON_MAX])
{
    size_t all = strlen(text), n = strcspn(text, "=");

    *bytes = base64_bytes(n, all - n);
    *out = malloc(*bytes + 1);
    if (!*out)
        return refuse(reason, E_NOMEM, "%s", err_text(E_NOMEM));
    if ((all > 0 && *bytes == 0) || strspn(text + n, "=") != all - n ||
        !base64_read(text, n, *out)) {
        free(*out);
        *out = NULL;
        return refuse(reason, E_BAD, "data: not base64");
    }
    return 0;
}

/* --- unpacking -------------------------------------------------------------------------------- */

#ifdef AEGIS_PART_ZLIB
static int unpack_zlib(const uint8_t *in, size_t n, bool gzip, uint8_t *out, size_t want,
                       char reason[MAP_DATA_REASON_MAX])
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)want};
    int err;

    if (inflateInit2(&z, gzip ? 16 + MAX_WBITS : MAX_WBITS) != Z_OK)
        return refuse(reason, E_NOMEM, "%s", err_text(E_NOMEM));
    err = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (err == Z_MEM_ERROR)
        return refuse(reason, E_NOMEM, "%s", err_text(E_NOMEM));
    if (err == Z_BUF_ERROR && z.avail_out == 0 && z.avail_in > 0)
        return wrong_size(reason, "more", want);
    if (err == Z_STREAM_END && z.avail_out > 0)
        return wrong_size(reason, "less", want);
    if (err != Z_STREAM_END)
        return refuse(reason, E_BAD, "data: broken %s", gzip ? "gzip" : "zlib");
    return z.avail_in > 0 ? refuse(reason, E_BAD, "data: bytes behind its end") : 0;
}
#endif

#ifdef AEGIS_PART_LIBZSTD
static int unpack_zstd(const uint8_t *in, size_t n, uint8_t *out, size_t want,
                       char reason[MAP_DATA_REASON_MAX])
{
    /* Straight into its block: it needs no window, whatever its head asks for. */
    size_t got = ZSTD_decompress(out, want, in, n);

    if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall)
        return wrong_size(reason, "more", want);
    if (ZSTD_isError(got))
        return refuse(reason, E_BAD, "data: broken zstd: %s", ZSTD_getErrorName(got));
    return got < want ? wrong_size(reason, "less", want) : 0;
}
#endif

static int unpack(const uint8_t *in, size_t n, const char *compression, uint8_t *out, size_t want,
                  char reason[MAP_DATA_REASON_MAX])
{
    bool gzip = strcmp(compression, "gzip") == 0;

    if (compression[0] == '\0') {
        if (n != want)
            return wrong_size(reason, n < want ? "less" : "more", want);
        memcpy(out, in, n);
        return 0;
    }
    if (gzip || strcmp(compression, "zlib") == 0) {
#ifdef AEGIS_PART_ZLIB
        return unpack_zlib(in, n, gzip, out, want, reason);
#else
        return refuse(reason, E_MISSING, "compression: this build has no zlib");
#endif
    }
    if (strcmp(compression, "zstd") == 0) {
#ifdef AEGIS_PART_LIBZSTD
        return unpack_zstd(in, n, out, want, reason);
#else
        return refuse(reason, E_MISSING, "compression: this build has no zstd");
#endif
    }
    return refuse(reason, E_BAD, "compression: must be gzip, zlib, zstd or none");
}

int map_data_unpack(const char *text, const char *compression, uint32_t *tiles, size_t n,
                    char reason[MAP_DATA_REASON_MAX])
{
    uint8_t *packed, *bytes = (uint8_t *)tiles;
    size_t packed_n;
    int err = base64_block(text, &packed, &packed_n, reason);

    if (err != 0)
        return err;
    err = unpack(packed, packed_n, compression, bytes, 4 * n, reason);
    free(packed);
    for (size_t i = 0; err == 0 && i < n; i++) {
        const uint8_t *b = bytes + 4 * i;
        tiles[i] = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    }
    return err;
}
