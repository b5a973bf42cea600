/* gateway/web_page.h: the page that is built in: the files of gateway/web, and proto/js/aegis.js.
 * They are a part of the program, as they are; nothing is read at the start. May touch: nothing.
 */
#pragma once

#include "common/base.h"

/* The one inline script that the port's Content-Security-Policy allows, by its hash: the import
 * map by which a page's modules find MessagePack. A page of one's own may have the same. */
#define WEB_PAGE_IMPORTS      "{\"imports\":{\"@msgpack/msgpack\":\"/msgpack.js\"}}"
#define WEB_PAGE_IMPORTS_HASH "sha256-7kTOtPgenkSDKRqcN3vn3n3BXjzHbvGaoQ2XPwlGcAw="

struct web_page_file {
    const char *path;           /* from '/' on */
    const uint8_t *bytes, *end; /* for ever */
};

extern const struct web_page_file web_page[];
extern const size_t web_page_n;
