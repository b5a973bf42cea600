/* world/edge/watch_page.h: the page of the live map, a part of the program.
 * Its files are world/edge/page/, as they are: nothing is built or minified. May touch: common,
 * common/io/http. On trouble: a path that is no file is our bug and asserts: routes come from here.
 */
#pragma once

#include "common/io/http.h"

/* Rows for each path, as row(path, type). */
#define WATCH_PAGE_ROUTES(row)                                                               \
    row("/map", "text/html; charset=utf-8"), row("/map/map.css", "text/css; charset=utf-8"), \
        row("/map/map.js", "text/javascript; charset=utf-8"),                                \
        row("/map/view.js", "text/javascript; charset=utf-8"),                               \
        row("/map/feed.js", "text/javascript; charset=utf-8"),                               \
        row("/map/chart.js", "text/javascript; charset=utf-8"),                              \
        row("/map/panel.js", "text/javascript; charset=utf-8")

/* The page asks this address alone, and runs nothing that stands in it. */
#define WATCH_PAGE_FIELDS                                                                \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " \
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "           \
    "frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n"

/* The file of the path that was asked for. */
http_order_fn watch_page;
