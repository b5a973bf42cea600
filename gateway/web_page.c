/* gateway/web_page.c: see the header. The files are taken in by common/embed.h.
 * May touch: gateway/web, proto/js. On trouble: a file that is not there ends the build.
 */
#include "gateway/web_page.h"

#include "common/embed.h"

#define FILES(X)                                        \
    X(index, "/index.html", "gateway/web/index.html")   \
    X(style, "/style.css", "gateway/web/style.css")     \
    X(icon, "/icon.svg", "gateway/web/icon.svg")        \
    X(aegis, "/aegis.js", "proto/js/aegis.js")          \
    X(camera, "/camera.js", "gateway/web/camera.js")    \
    X(ground, "/ground.js", "gateway/web/ground.js")    \
    X(input, "/input.js", "gateway/web/input.js")       \
    X(main, "/main.js", "gateway/web/main.js")          \
    X(msgpack, "/msgpack.js", "gateway/web/msgpack.js") \
    X(paint, "/paint.js", "gateway/web/paint.js")       \
    X(panel, "/panel.js", "gateway/web/panel.js")       \
    X(people, "/people.js", "gateway/web/people.js")    \
    X(radar, "/radar.js", "gateway/web/radar.js")       \
    X(session, "/session.js", "gateway/web/session.js") \
    X(stamps, "/stamps.js", "gateway/web/stamps.js")    \
    X(steer, "/steer.js", "gateway/web/steer.js")       \
    X(words, "/words.js", "gateway/web/words.js")

#define TAKE(id, path, file) EMBED(web_page_##id, file);

FILES(TAKE)

#define ROW(id, path, file) {path, web_page_##id, web_page_##id##_end},

const struct web_page_file web_page[] = {FILES(ROW)};

const size_t web_page_n = ARRAY_LEN(web_page);
