/* world/edge/map_data.h: the tiles of a layer from the text that the editor put them into.
 * base64, then gzip, zlib, zstd or nothing. However much a hostile text claims to hold, no more is
 * ever unpacked than the layer has room for.
 * May touch: zlib, zstd. On trouble: one reason, without the place.
 */
#pragma once

#include "common/base.h"

#define MAP_DATA_REASON_MAX 160

/* Fill `tiles` with the `n` little-endian numbers in `text`; exactly so many must be in it.
 *   compression   "gzip", "zlib", "zstd" or ""
 *   tiles         [n]
 * E_BAD: something else is in it; E_MISSING: this build cannot unpack it; E_NOMEM. */
int map_data_unpack(const char *text, const char *compression, uint32_t *tiles, size_t n,
                    char reason[MAP_DATA_REASON_MAX]) MUST_CHECK;
