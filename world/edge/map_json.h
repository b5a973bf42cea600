/* world/edge/map_json.h: a JSON file of the editor, read with bounds, and what is in it, read with
 * words for what is wrong. jansson is the parser; what it may take of memory for a hostile file is
 * reckoned before, since numbers take twenty times the room that their text does.
 * May touch: files, jansson. On trouble: one line with the file and the place in it.
 */
#pragma once

#ifdef AEGIS_PART_JANSSON

#include "common/span.h"

#include <jansson.h>

#define MAP_JSON_BYTES_MAX  ((size_t)256 << 20) /* of a file */
#define MAP_JSON_MEMORY_MAX ((size_t)3 << 29)   /* bytes that parsing it may take */
#define MAP_JSON_PLACE_MAX  160                 /* bytes */
#define MAP_JSON_NAME_MAX   48                  /* bytes of a name in an error's line */

/* Who is told what is wrong, and where we are. */
struct map_json {
    const char *file;
    char place[MAP_JSON_PLACE_MAX]; /* "layer \"walls\""; "": the file as a whole */
    char *why;                      /* [why_cap] one line without newline */
    size_t why_cap;
};

/* Say where we are from now on. */
void map_json_at(struct map_json *j, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "FILE: PLACE: what is wrong" without control bytes; gives `err` back. */
int map_json_fail(struct map_json *j, int err, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A text of the file as it may stand in an error's line. */
const char *map_json_shown(const char *text, char out[MAP_JSON_NAME_MAX]);

/* Parse a text that needs at most `memory_max` bytes for that. The owner of `out` calls
 * json_decref. E_BAD, E_FULL, E_NOMEM. */
int map_json_parse(struct map_json *j, struct span text, size_t memory_max,
                   json_t **out) MUST_CHECK;
/* Read and parse the file `path`, which must be an ordinary one. Also E_IO. */
int map_json_read(struct map_json *j, const char *path, json_t **out) MUST_CHECK;

/* `key` of the object, a whole number in [min, max]. E_BAD, E_RANGE. */
int map_json_int(struct map_json *j, const json_t *of, const char *key, int64_t min, int64_t max,
                 int64_t *out) MUST_CHECK;
/* `key` of the object, a number no further than 1e9 from 0; `def` where it is not there. */
int map_json_real(struct map_json *j, const json_t *of, const char *key, double def,
                  double *out) MUST_CHECK;
/* `key` of the object, or "" where it is not there; borrowed. E_BAD: no text. */
int map_json_text(struct map_json *j, const json_t *of, const char *key,
                  const char **out) MUST_CHECK;
/* `key` of the object, a list; NULL where it is not there. */
int map_json_list(struct map_json *j, const json_t *of, const char *key,
                  const json_t **out) MUST_CHECK;

/* The value of a custom property, NULL where the object has none of this name. */
int map_json_property(struct map_json *j, const json_t *of, const char *name,
                      const json_t **out) MUST_CHECK;
/* The same, a switch: 1, 0, or -1 where it is not there. */
int map_json_switch(struct map_json *j, const json_t *of, const char *name, int *out) MUST_CHECK;

#endif
