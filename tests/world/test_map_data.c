/* tests/world/test_map_data.c: a layer's tiles from base64, plain and packed.
 * May touch: world/edge/map_data, zlib and zstd to pack.
 */
#include "world/edge/map_data.h"

#include "common/err.h"
#include "common/rng.h"
#include "tests/leak.h"
#include "tests/world/map_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AEGIS_PART_ZLIB
#include <zlib.h>
#endif
#ifdef AEGIS_PART_LIBZSTD
#include <zstd.h>
#endif

static char *base64(const uint8_t *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = malloc(n / 3 * 4 + 5), *at = out;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);
        *at++ = digits[v >> 18];
        *at++ = digits[v >> 12 & 63];
        *at++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *at++ = i + 2 < n ? digits[v & 63] : '=';
    }
    *at = '\0';
    return out;
}

/* The `n` tiles are in the text, and neither fewer nor more. */
static void holds(const char *text, const char *compression, const uint32_t *want, size_t n)
{
    char reason[MAP_DATA_REASON_MAX] = "", line[MAP_DATA_REASON_MAX];
    uint32_t *tiles = malloc(4 * (n + 1));
    cr_assert_eq(map_data_unpack(text, compression, tiles, n, reason), 0, "%s", reason);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(tiles[i], want[i], "tile %zu", i);
    cr_assert_eq(map_data_unpack(text, compression, tiles, n - 1, reason), E_BAD);
    snprintf(line, sizeof line, "data: more than the %zu bytes of the layer's tiles", 4 * n - 4);
    cr_assert_str_eq(reason, line);
    cr_assert_eq(map_data_unpack(text, compression, tiles, n + 1, reason), E_BAD);
    snprintf(line, sizeof line, "data: less than the %zu bytes of the layer's tiles", 4 * n + 4);
    cr_assert_str_eq(reason, line);
    free(tiles);
}

static void refused(const char *text, const char *compression, size_t n, const char *want)
{
    char reason[MAP_DATA_REASON_MAX] = "";
    uint32_t *tiles = malloc(4 * n);
    cr_assert_lt(map_data_unpack(text, compression, tiles, n, reason), 0, "%s", text);
    cr_assert_not_null(strstr(reason, want), "\"%s\" is not in: %s", want, reason);
    free(tiles);
}

/* --- base64 ----------------------------------------------------------------------------------- */

Test(map_data, plain_base64_is_little_endian_numbers)
{
    holds("AQAAAAIAAAAEAwKB", "", (const uint32_t[]){1, 2, 0x81020304}, 3);
    holds("AQAAAP////8=", "", (const uint32_t[]){1, UINT32_MAX}, 2);
    holds("AQAAAP////8+/+8/AAAAAA==", "", (const uint32_t[]){1, UINT32_MAX, 0x3fefff3e, 0}, 4);
    TEST_NO_LEAKS();
}

Test(map_data, what_is_not_base64_is_refused)
{
    static const char *const bad[] = {
        "A",         "AQ",       "AQA",       "AQAAA",        "AQAAAA",   "AQAAAA=",
        "AQAAAA===", "=",        "====",      "AQAAAA==AQAA", "AQ=AAA==", "AQAAAB==",
        "AQAAA\n==", " QAAAA==", "AQAAAA== ", "AQ-AAA==",     "AQ_AAA==", "\xff\xff\xff\xff",
        "AQA%AA==",  "AQAAAA=A"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refused(bad[i], "", 1, "data: not base64");
    refused("", "", 1, "data: less than the 4 bytes");
    TEST_NO_LEAKS();
}

Test(map_data, an_unknown_compression_is_refused)
{
    refused("AQAAAA==", "lzma", 1, "compression: must be gzip, zlib, zstd or none");
    refused("AQAAAA==", "ZLIB", 1, "compression: must be gzip, zlib, zstd or none");
    TEST_NO_LEAKS();
}

/* --- packed ----------------------------------------------------------------------------------- */

/* Pack bytes; the caller frees. */
typedef uint8_t *pack_fn(const void *p, size_t n, size_t *out_n);

#ifdef AEGIS_PART_ZLIB
static uint8_t *deflate_to(const void *p, size_t n, int bits, size_t *out_n)
{
    z_stream z = {0};
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t cap = deflateBound(&z, n) + 64;
    uint8_t *out = malloc(cap);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)cap;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out_n = cap - z.avail_out;
    deflateEnd(&z);
    return out;
}

static uint8_t *pack_zlib(const void *p, size_t n, size_t *out_n)
{
    return deflate_to(p, n, MAX_WBITS, out_n);
}

static uint8_t *pack_gzip(const void *p, size_t n, size_t *out_n)
{
    return deflate_to(p, n, MAX_WBITS + 16, out_n);
}
#endif

#ifdef AEGIS_PART_LIBZSTD
static uint8_t *pack_zstd(const void *p, size_t n, size_t *out_n)
{
    size_t cap = ZSTD_compressBound(n);
    uint8_t *out = malloc(cap);
    *out_n = ZSTD_compress(out, cap, p, n, 3);
    cr_assert_not(ZSTD_isError(*out_n));
    return out;
}
#endif

static const struct {
    const char *name;
    pack_fn *pack;
    bool sealed; /* it ends in a sum that tells every change (zlib's own is weaker) */
} PACKS[] = {
#ifdef AEGIS_PART_ZLIB
    {"zlib", pack_zlib, false},
    {"gzip", pack_gzip, true},
#endif
#ifdef AEGIS_PART_LIBZSTD
    {"zstd", pack_zstd, false},
#endif
    {NULL, NULL, false},
};

#define TILES 3000

static void some_tiles(uint32_t *tiles)
{
    struct rng r;
    rng_init(&r, 3);
    for (size_t i = 0; i < TILES; i++)
        tiles[i] = (uint32_t)rng_below(&r, 9);
}

Test(map_data, packed_tiles_are_unpacked)
{
    uint32_t tiles[TILES];
    some_tiles(tiles);
    for (size_t i = 0; PACKS[i].name; i++) {
        size_t n;
        uint8_t *packed = PACKS[i].pack(tiles, sizeof tiles, &n);
        char *text = base64(packed, n);
        holds(text, PACKS[i].name, tiles, TILES);
        free(text);
        free(packed);
    }
    TEST_NO_LEAKS();
}

Test(map_data, packed_data_that_is_cut_anywhere_is_refused)
{
    uint32_t tiles[TILES];
    some_tiles(tiles);
    for (size_t i = 0; PACKS[i].name; i++) {
        size_t n;
        uint8_t *packed = PACKS[i].pack(tiles, sizeof tiles, &n);
        for (size_t cut = 0; cut < n; cut++) {
            char *text = base64(packed, cut);
            refused(text, PACKS[i].name, TILES, "data: ");
            free(text);
        }
        free(packed);
    }
    TEST_NO_LEAKS();
}

Test(map_data, a_flipped_bit_is_never_more_than_wrong_tiles)
{
    uint32_t tiles[TILES], got[TILES];
    char reason[MAP_DATA_REASON_MAX];
    some_tiles(tiles);
    for (size_t i = 0; PACKS[i].name; i++) {
        size_t n;
        uint8_t *packed = PACKS[i].pack(tiles, sizeof tiles, &n);
        for (size_t bit = 0; bit < 8 * n; bit += 7) {
            packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
            char *text = base64(packed, n);
            int err = map_data_unpack(text, PACKS[i].name, got, TILES, reason);
            cr_assert(!PACKS[i].sealed || err < 0 || memcmp(got, tiles, sizeof tiles) == 0);
            free(text);
            packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(packed);
    }
    TEST_NO_LEAKS();
}

Test(map_data, bytes_behind_the_end_are_refused)
{
    uint32_t tiles[TILES];
    some_tiles(tiles);
    for (size_t i = 0; PACKS[i].name; i++) {
        size_t n;
        uint8_t *packed = PACKS[i].pack(tiles, sizeof tiles, &n);
        packed = realloc(packed, n + 3);
        memset(packed + n, 'x', 3);
        char *text = base64(packed, n + 3);
        refused(text, PACKS[i].name, TILES, "data: b"); /* bytes behind its end; broken zstd */
        free(text);
        free(packed);
    }
    TEST_NO_LEAKS();
}

Test(map_data, a_bomb_is_not_unpacked_beyond_the_layers_tiles)
{
    size_t bytes = (size_t)64 << 20;
    uint8_t *zeros = calloc(1, bytes);
    for (size_t i = 0; PACKS[i].name; i++) {
        size_t n;
        uint8_t *packed = PACKS[i].pack(zeros, bytes, &n);
        cr_assert_lt(n, 80000, "a thousand times smaller than what it holds");
        char *text = base64(packed, n);
        /* The sanitizer guards the end of the six tiles. */
        refused(text, PACKS[i].name, 6, "data: more than the 24 bytes of the layer's tiles");
        free(text);
        free(packed);
    }
    free(zeros);
    TEST_NO_LEAKS();
}

#ifdef AEGIS_PART_LIBZSTD
Test(map_data, a_zstd_head_that_claims_gigabytes_costs_nothing)
{
    /* Magic, one segment with a size of 8 bytes: 4 GiB, 2^63; then an empty last block. */
    static const uint8_t four[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0};
    static const uint8_t most[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                   0,    0,    0,    0,    0x80, 1, 0, 0};
    /* A window of 2^41 bytes, and no size. */
    static const uint8_t window[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 1, 0, 0};
    const struct span heads[] = {span_of(four, sizeof four), span_of(most, sizeof most),
                                 span_of(window, sizeof window)};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        char *text = base64(heads[i].p, heads[i].n);
        refused(text, "zstd", 6, "data: ");
        free(text);
    }
    TEST_NO_LEAKS();
}
#endif

/* --- in a map --------------------------------------------------------------------------------- */

#ifdef AEGIS_PART_JANSSON
#define WITH(data)                                                                            \
    "{" MAP_RIG_HEAD(3, 2) MAP_RIG_SETS "'layers':[{'type':'tilelayer','name':'a','width':3," \
                                        "'height':2," data "}]}"

Test(map_data, a_map_may_have_each_form)
{
    static const char *const forms[] = {
        WITH("'encoding':'csv','data':[1,2,3,0,0,3]"),
        WITH("'data':[1,2,3,0,0,3]"),
        WITH("'encoding':'base64','data':'AQAAAAIAAAADAAAAAAAAAAAAAAADAAAA'"),
        WITH("'encoding':'base64','compression':'','data':"
             "'AQAAAAIAAAADAAAAAAAAAAAAAAADAAAA'"),
#ifdef AEGIS_PART_ZLIB
        WITH("'encoding':'base64','compression':'zlib','data':"
             "'eNpjZGBgYAJiZgYEALEBAJQACg=='"),
#endif
    };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct map m = map_rig_read(forms[i], 1);
        cr_assert_str_eq(map_rig_shown(&m), "..#\n..#\n", "form %zu", i);
        map_fini(&m);
    }
    TEST_NO_LEAKS();
}

Test(map_data, a_map_names_the_layer_whose_data_are_wrong)
{
    map_rig_refused(WITH("'encoding':'base64','data':'AQAA'"),
                    "layer \"a\": data: less than the 24 bytes of the layer's tiles");
    map_rig_refused(WITH("'encoding':'base64','data':'%%%%'"), "layer \"a\": data: not base64");
    map_rig_refused(WITH("'encoding':'base64','data':[1]"), "layer \"a\": data: not a text");
    map_rig_refused(WITH("'encoding':'base64'"), "layer \"a\": data: missing");
    map_rig_refused(WITH("'encoding':'base64','compression':7,'data':''"),
                    "layer \"a\": compression: not a text");
    map_rig_refused(WITH("'encoding':'xml','data':[]"), "encoding: must be csv or base64");
    map_rig_refused(WITH("'encoding':'csv','data':'1,2'"), "layer \"a\": data: not a list");
    TEST_NO_LEAKS();
}
#endif
