/* world/edge/json_put.h: JSON written piece by piece, where a document in memory would be waste.
 * May touch: common, stdio. On trouble: the file's own error flag says it.
 */
#pragma once

#include "common/span.h"

#include <stdio.h>

/* A string with its quotes. What is no UTF-8 becomes U+FFFD; control characters, and what a page
 * might take for markup, are escaped. */
void json_put_text(FILE *to, struct span text);
/* A number that JSON has: finite, as short as it can be with 12 digits. */
void json_put_number(FILE *to, double v);
/* Bytes as base64, with quotes. */
void json_put_bytes(FILE *to, const uint8_t *bytes, size_t n);

/* Bytes of `n` bytes as base64, without quotes or a NUL. */
#define JSON_PUT_BASE64(n) (((size_t)(n) + 2) / 3 * 4)
/* Returns how many were written: JSON_PUT_BASE64(n). */
size_t json_put_base64(const uint8_t *bytes, size_t n, char *out);
