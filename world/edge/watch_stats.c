/* world/edge/watch_stats.c: see the header. */
#include "world/edge/watch_stats.h"

#include "world/edge/json_put.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000

static const char *const phases[PHASE_COUNT + 1] = {
    [PHASE_WALK] = "walk",     [PHASE_GRID] = "grid",     [PHASE_SIGHT] = "sight",
    [PHASE_EVENTS] = "events", [PHASE_FANOUT] = "fanout", [PHASE_COUNT] = "tick",
};

static uint32_t us_of(uint64_t ns)
{
    uint64_t us = ns / NS_PER_US;

    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void watch_stats_tick(struct watch_stats *s, const struct world *w, uint64_t took_ns)
{
    for (size_t i = 0; i < PHASE_COUNT; i++)
        s->us[i][s->at] = us_of(w->phase_last_ns[i]);
    s->us[PHASE_COUNT][s->at] = us_of(took_ns);
    s->at = (s->at + 1) % WATCH_STATS_TICKS;
    s->n += s->n < WATCH_STATS_TICKS;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void write_times(const struct watch_stats *s, FILE *to)
{
    uint32_t sorted[WATCH_STATS_TICKS];
    const char *comma = "";

    fprintf(to, "\"window\":%" PRIu32 ",\"phases\":{", s->n);
    for (size_t i = 0; i <= PHASE_COUNT && s->n > 0; i++) {
        uint32_t last = (s->at + WATCH_STATS_TICKS - 1) % WATCH_STATS_TICKS;

        memcpy(sorted, s->us[i], s->n * sizeof(*sorted));
        qsort(sorted, s->n, sizeof(*sorted), ascending);
        fprintf(to, "%s\"%s\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", comma, phases[i],
                s->us[i][last], sorted[s->n / 2], sorted[(s->n * 99 - 1) / 100]);
        comma = ",";
    }
    fputs("},", to);
}

static void write_counts(const struct watch_stats *s, const struct world *w, FILE *to)
{
    const struct world_metrics *m = &w->metrics;
    const struct {
        const char *name;
        uint64_t v;
    } now[] = {
        {"players", m->entities - w->npcs.n_there},
        {"ghosts", w->entities.ghost_count},
        {"npcs", m->npcs},
        {"npcs_awake", m->npcs_awake},
        {"waiting", m->sessions_waiting},
        {"sessions", m->sessions},
        {"links", m->links},
        {"known", world_known(w)},
        {"paused", m->viewers_paused},
        {"drained", w->drains.n},
        {"capped", m->viewers_capped},
        {"limited", m->viewers_limited},
        {"maps", s->metrics->map_viewers},
    };
    const struct {
        const char *name;
        uint64_t v;
    } since[] = {
        {"enter", m->events_enter},
        {"leave", m->events_leave},
        {"update", m->events_update},
        {"moves", m->moves_ok},
        {"requests", m->requests},
        {"adds", m->aoi_adds},
        {"removes", m->aoi_removes},
        {"records", m->aoi_moves},
        {"says", m->says},
        {"teleports", m->teleports},
        {"overruns", s->metrics->tick_overruns},
        {"skipped", s->metrics->ticks_skipped},
    };

    for (size_t i = 0; i < ARRAY_LEN(now); i++)
        fprintf(to, "\"%s\":%" PRIu64 ",", now[i].name, now[i].v);
    fputs("\"counts\":{", to);
    for (size_t i = 0; i < ARRAY_LEN(since); i++)
        fprintf(to, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", since[i].name, since[i].v);
    fputs("},", to);
}

static void write_slow(const struct world *w, const struct session *s, FILE *to)
{
    const struct session_link *l = &w->sessions.links[s->link.slot];
    const char *why = s->congested ? "client" : s->paused ? "link" : "drains";

    fprintf(to, "{\"id\":%" PRIu32 ",\"name\":",
            s->state == SESSION_INSIDE ? w->entities.id[s->entity.slot] : 0);
    json_put_text(to, span_of(s->name, s->name_len));
    fputs(",\"peer\":", to);
    json_put_text(to, span_text(s->peer));
    fputs(",\"gateway\":", to);
    json_put_text(to, span_text(s->state == SESSION_WAITING ? "" : l->id));
    fprintf(to, ",\"why\":\"%s\",\"bytes_per_s\":%" PRIu32 "}", why, s->drain);
}

/* Those whose batches wait, or who are told less since they take less; the first of them. */
static void write_slow_list(const struct world *w, FILE *to)
{
    const struct sessions *all = &w->sessions;
    uint32_t left = w->n_paused + w->drains.n, written = 0;

    fputs("\"slow\":[", to);
    for (uint32_t i = 0; i < all->slots.fresh && left > 0 && written < WATCH_STATS_SLOW; i++) {
        const struct session *s = &all->list[i];

        if (!(all->slots.gen[i] & 1) || (!s->paused && s->drain == 0))
            continue;
        fputs(written++ > 0 ? "," : "", to);
        write_slow(w, s, to);
        left--;
    }
    fputs("]", to);
}

void watch_stats_write(const struct watch_stats *s, struct world *w, FILE *to)
{
    world_gauges(w);
    fprintf(to, "{\"tick\":%" PRIu32 ",", w->tick);
    write_times(s, to);
    write_counts(s, w, to);
    write_slow_list(w, to);
    fputs("}", to);
}
