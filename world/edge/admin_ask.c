/* world/edge/admin_ask.c: see the header. */
#include "world/edge/admin_ask.h"

#include "common/http_query.h"
#include "common/log.h"
#include "common/trace.h"

#include <math.h>
#include <string.h>

/* One parameter: NULL, or what is wrong with it. */
typedef const char *take_fn(struct admin_ask *a, const char *value);

static const char *take_any(struct admin_ask_who *who, const char *value)
{
    uint64_t id;

    if (value[0] != '@') {
        if (!http_query_count(value, UINT32_MAX, &id) || id == 0)
            return "who is an id, or @ and a name";
        who->id = (uint32_t)id;
        return NULL;
    }
    if (value[1] == '\0' || strlen(value + 1) > PROTO_NAME_MAX)
        return "a name has 1 to 32 bytes";
    memcpy(who->name, value + 1, strlen(value));
    return NULL;
}

static const char *take_who(struct admin_ask *a, const char *value)
{
    return take_any(&a->who, value);
}

static const char *take_viewer(struct admin_ask *a, const char *value)
{
    return take_any(&a->viewer, value);
}

static const char *take_subject(struct admin_ask *a, const char *value)
{
    return take_any(&a->subject, value);
}

static const char *take_scene(struct admin_ask *a, const char *value)
{
    if (value[0] == '\0' || strlen(value) > PROTO_SCENE_MAX)
        return "scene must be a scene's name";
    memcpy(a->scene, value, strlen(value) + 1);
    return NULL;
}

static const char *take_kind(struct admin_ask *a, const char *value)
{
    a->kind = strcmp(value, "npc") == 0;
    return a->kind == 1 || strcmp(value, "player") == 0 ? NULL : "kind must be player or npc";
}

static const char *take_prefix(struct admin_ask *a, const char *value)
{
    if (value[0] == '\0' || strlen(value) > PROTO_NAME_MAX)
        return "prefix must have 1 to 32 bytes";
    memcpy(a->prefix, value, strlen(value) + 1);
    return NULL;
}

static bool near_enough(const double *numbers, int n)
{
    for (int i = 0; i < n; i++) {
        if (fabs(numbers[i]) > ADMIN_ASK_FAR)
            return false;
    }
    return true;
}

static const char *take_box(struct admin_ask *a, const char *value)
{
    if (!http_query_numbers(value, a->box, 4) || !near_enough(a->box, 4) || a->box[0] > a->box[2] ||
        a->box[1] > a->box[3])
        return "box must be x0,y0,x1,y1, x0 <= x1 and y0 <= y1";
    return NULL;
}

static const char *take_after(struct admin_ask *a, const char *value)
{
    uint64_t id;

    if (!http_query_count(value, UINT32_MAX, &id))
        return "after must be an id";
    a->after = (uint32_t)id;
    return NULL;
}

static const char *take_limit(struct admin_ask *a, const char *value)
{
    uint64_t n;

    if (!http_query_count(value, ADMIN_ASK_LIMIT_MAX, &n) || n == 0)
        return "limit must be 1 to 1000";
    a->limit = (uint32_t)n;
    return NULL;
}

static const char *take_to(struct admin_ask *a, const char *value)
{
    return http_query_numbers(value, a->to, 2) && near_enough(a->to, 2) ? NULL : "to must be x,y";
}

static const char *take_level(struct admin_ask *a, const char *value)
{
    a->level = log_level_find(value);
    return a->level >= 0 ? NULL : "level must be debug, info, warn, error or off";
}

static const char *take_lines(struct admin_ask *a, const char *value)
{
    return trace_count(value, TRACE_LINES_MAX, &a->lines) ? NULL : "lines must be 1 to 10000";
}

static const char *take_seconds(struct admin_ask *a, const char *value)
{
    return trace_count(value, TRACE_S_MAX, &a->seconds) ? NULL : "seconds must be 1 to 600";
}

static const struct {
    const char *name;
    enum admin_ask_part part;
    take_fn *take;
} table[] = {
    {"who", ADMIN_ASK_WHO, take_who},
    {"viewer", ADMIN_ASK_VIEWER, take_viewer},
    {"subject", ADMIN_ASK_SUBJECT, take_subject},
    {"scene", ADMIN_ASK_SCENE, take_scene},
    {"kind", ADMIN_ASK_KIND, take_kind},
    {"prefix", ADMIN_ASK_PREFIX, take_prefix},
    {"box", ADMIN_ASK_BOX, take_box},
    {"after", ADMIN_ASK_AFTER, take_after},
    {"limit", ADMIN_ASK_ROWS, take_limit},
    {"to", ADMIN_ASK_TO, take_to},
    {"level", ADMIN_ASK_LEVEL, take_level},
    {"lines", ADMIN_ASK_LINES, take_lines},
    {"seconds", ADMIN_ASK_SECONDS, take_seconds},
};

static const char *take(struct admin_ask *a, unsigned may, const struct http_query *q)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!(may & table[i].part) || !span_equal(q->name, span_text(table[i].name)))
            continue;
        if (a->has & table[i].part)
            return "a parameter is given twice";
        a->has |= table[i].part;
        return table[i].take(a, q->value);
    }
    return "there is no such parameter here";
}

int admin_ask_read(struct span query, unsigned may, unsigned must, struct admin_ask *out,
                   const char **why)
{
    *out = (struct admin_ask){.limit = ADMIN_ASK_LIMIT, .lines = TRACE_LINES, .seconds = TRACE_S};
    while (query.n > 0) {
        struct http_query q;

        *why = http_query_next(&query, &q) != 0 ? q.why : take(out, may, &q);
        if (*why)
            return E_BAD;
    }
    *why = (out->has & must) == must ? NULL : "a parameter is missing";
    return *why ? E_BAD : 0;
}
