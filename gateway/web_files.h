/* gateway/web_files.h: the files that the WebSocket port serves, in memory.
 * Read once at the start, so that the loop never waits for a disk and a path is looked up, not
 * opened: what is not in the table does not exist, whatever the path says. Plain files in folders
 * only; names of letters, digits, '-', '_' and '.' that do not begin with a dot; links are passed
 * over. Without a folder there is the page that is built in. May touch: common, web_page, files.
 * On trouble: a folder that cannot be read, or holds too much, is refused with the reason.
 */
#pragma once

#include "common/span.h"

#define WEB_FILE_MAX  1048576  /* bytes of one file */
#define WEB_FILES_MAX 1024     /* files */
#define WEB_TOTAL_MAX 67108864 /* bytes of all */
#define WEB_DEPTH_MAX 8        /* folders below each other */
#define WEB_PATH_MAX  256      /* bytes of a path */

#define WEB_MAPS       "/maps"
#define WEB_MAPS_INDEX "/maps/index.json"

struct web_files;

struct web_file {
    const char *type;  /* Content-Type */
    struct span bytes; /* borrowed from the table */
};

/* `dir`: "" for the page that is built in. E_NOMEM; E_IO, E_FULL: `why` has the line. */
int web_files_create(const char *dir, struct web_files **out, char *why, size_t why_cap) MUST_CHECK;
/* Maps for the page to draw: of `dir`, not of folders in it, what ends in .json or .png, below
 * WEB_MAPS; and WEB_MAPS_INDEX, a list of the names of the .json files without their ending, so
 * that a page knows what it can ask for. `dir`: "" for none. A file that the table has already
 * stays; one that is too large is passed over with a line in the log. Errors as above. */
int web_files_add_maps(struct web_files *w, const char *dir, char *why, size_t why_cap) MUST_CHECK;
void web_files_destroy(struct web_files *w); /* NULL is fine */

/* The file of this path, which begins with '/' and is compared as it is; a path that ends in '/' is
 * its index.html. */
bool web_files_find(const struct web_files *w, struct span path, struct web_file *out);

uint32_t web_files_count(const struct web_files *w);
