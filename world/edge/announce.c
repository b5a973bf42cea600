/* world/edge/announce.c: see the header. */
#include "world/edge/announce.h"

#include "common/http_query.h"

#include <string.h>

static const char *take_rect(struct announce *a, const char *value)
{
    if (a->has_rect)
        return "rect is given twice";
    if (!http_query_numbers(value, a->rect, 4) || a->rect[0] > a->rect[2] ||
        a->rect[1] > a->rect[3])
        return "rect must be x0,y0,x1,y1, finite, x0 <= x1 and y0 <= y1";
    a->has_rect = true;
    return NULL;
}

static const char *take_at(struct announce *a, const char *value)
{
    if (a->has_at)
        return "at is given twice";
    if (!http_query_numbers(value, a->at, 2))
        return "at must be x,y, finite";
    a->has_at = true;
    return NULL;
}

static const char *take_scene(struct announce *a, const char *value)
{
    if (a->has_scene)
        return "scene is given twice";
    if (strlen(value) == 0 || strlen(value) > ANNOUNCE_SCENE_MAX)
        return "scene must be a scene's name";
    a->has_scene = true;
    memcpy(a->scene, value, strlen(value) + 1);
    return NULL;
}

/* One `name=value`. */
static const char *take_parameter(struct announce *a, struct span name, const char *value)
{
    if (span_equal(name, span_text("scene")))
        return take_scene(a, value);
    if (span_equal(name, span_text("rect")))
        return take_rect(a, value);
    if (span_equal(name, span_text("at")))
        return take_at(a, value);
    return "only scene, rect and at may stand in the query";
}

static const char *read_query(struct announce *a, struct span query)
{
    while (query.n > 0) {
        struct http_query q;
        const char *why;

        if (http_query_next(&query, &q) != 0)
            return q.why;
        why = take_parameter(a, q.name, q.value);
        if (why)
            return why;
    }
    return NULL;
}

int announce_read(struct span query, struct span body, struct announce *out, const char **why)
{
    *out = (struct announce){.text = body};
    *why = read_query(out, query);
    if (!*why && out->has_rect && out->has_at)
        *why = "rect and at cannot both be given";
    if (!*why && !message_plain_ok(body))
        *why = "the body must be 1 to 512 bytes of UTF-8 without control characters";
    return *why ? E_BAD : 0;
}
