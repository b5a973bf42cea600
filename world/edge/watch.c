/* world/edge/watch.c: see the header. */
#include "world/edge/watch.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/cluster.h"
#include "world/edge/json_put.h"
#include "world/edge/watch_copy.h"
#include "world/edge/watch_share.h"
#include "world/world.h"

#include <inttypes.h>
#include <stdlib.h>

#define FRAME_HEAD  "event: f\ndata: "
#define STATS_HEAD  "event: s\ndata: "
#define FRAME_BYTES (sizeof(FRAME_HEAD) - 1 + JSON_PUT_BASE64(WATCH_COPY_BYTES))
#define STATS_NS    CLOCK_NS_PER_S

static const char END[] = "\n\n";

struct viewer {
    struct http_feed *feed;
    uint32_t scene;
    uint32_t stats;    /* number of the last numbers it got */
    bool behind;       /* it has not taken all */
    struct mono since; /* where behind */
};

/* One scene's memory, from its first map on. */
struct shown {
    struct watch_copy copy;
    uint8_t *bytes;   /* [WATCH_COPY_BYTES] */
    char *text;       /* [FRAME_BYTES] */
    size_t n;         /* bytes of it */
    uint32_t written; /* number of the frame in it */
    uint32_t viewers;
};

struct watch {
    struct loop *loop;
    struct world *world;
    const struct watch_stats *stats;
    struct edge_metrics *metrics;
    struct watch_share *share; /* NULL: the world is alone */
    struct loop_timer *timer;
    int64_t every_ns, stall_ns;
    struct shown *scenes[SCENES_MAX]; /* NULL: never watched */
    struct viewer *viewers;           /* [cap] */
    uint32_t n, cap;
    uint32_t frame;         /* number of the last copy */
    uint32_t next;          /* viewer that is sent it next; n: all were */
    struct mono copied;     /* when that was */
    char *stats_text;       /* the last numbers; NULL: none yet */
    size_t stats_n;         /* bytes */
    uint32_t stats_number;  /* of them */
    struct mono stats_made; /* when that was */
};

/* --- a frame ---------------------------------------------------------------------------------- */

/* The scene's frame as text, written once. */
static struct span frame_of(struct watch *k, struct shown *s)
{
    if (s->written != k->frame) {
        size_t n = watch_copy_write(&s->copy, s->bytes);

        s->n = sizeof(FRAME_HEAD) - 1;
        s->n += json_put_base64(s->bytes, n, s->text + s->n);
        s->written = k->frame;
    }
    return span_of(s->text, s->n);
}

/* Make the numbers anew, if they are old. */
static void refresh_stats(struct watch *k)
{
    struct mono now = clock_mono();
    char *text = NULL;
    size_t n = 0;
    FILE *to;

    if (k->stats_text && clock_since(now, k->stats_made) < STATS_NS)
        return;
    to = open_memstream(&text, &n);
    if (!to)
        return;
    fputs(STATS_HEAD, to);
    watch_stats_write(k->stats, k->world, to);
    if (fclose(to) != 0) {
        free(text);
        return;
    }
    free(k->stats_text);
    k->stats_text = text;
    k->stats_n = n;
    k->stats_number++;
    k->stats_made = now;
}

/* False: it took nothing for so long that it is ended. */
static bool keep_behind(struct watch *k, struct viewer *v)
{
    struct mono now = loop_now(k->loop);

    if (!v->behind) {
        v->behind = true;
        v->since = now;
    }
    return clock_since(now, v->since) < k->stall_ns;
}

static void drop(struct watch *k, uint32_t i)
{
    k->scenes[k->viewers[i].scene]->viewers--;
    k->viewers[i] = k->viewers[--k->n];
    k->metrics->map_viewers = k->n;
    k->next = k->next > k->n ? k->n : k->next;
}

/* Send viewer i what is new, if it has taken what was before. */
static void tell(struct watch *k, uint32_t i)
{
    struct viewer *v = &k->viewers[i];
    int err;

    if (http_feed_queued(v->feed) > 0) {
        k->metrics->map_skipped++;
        if (keep_behind(k, v))
            return;
        k->metrics->map_stalled++;
        log_often(LOG_INFO, "map ended: it takes nothing maps=%" PRIu32, k->n - 1);
        http_feed_end(v->feed);
        drop(k, i);
        return;
    }
    v->behind = false;
    if (k->scenes[v->scene]->copy.tick == 0)
        return; /* it opened after the scenes were copied */
    err = http_feed_send(v->feed, frame_of(k, k->scenes[v->scene]), span_text(END));
    if (err == 0 && k->stats_text && v->stats != k->stats_number) {
        err = http_feed_send(v->feed, span_of(k->stats_text, k->stats_n), span_text(END));
        v->stats = k->stats_number;
    }
    k->metrics->map_frames += err == 0;
    k->metrics->map_skipped += err != 0; /* it is over, or there is no memory */
}

static void on_turn(void *arg)
{
    struct watch *k = arg;

    if (k->next == k->n)
        return;
    refresh_stats(k);
    for (int i = 0; i < WATCH_BATCH && k->next < k->n; i++) {
        uint32_t at = k->next, n = k->n;

        tell(k, at);
        k->next += k->n == n; /* else the last one stands there now */
    }
    if (k->next < k->n)
        loop_timer_arm(k->timer, WATCH_GAP_NS);
}

/* The scenes that are watched, here or by another world; false: none. */
static bool watched(struct watch *k, struct watch_copy *copies[SCENES_MAX], struct mono now)
{
    bool any = false;

    for (uint32_t i = 0; i < k->world->scenes.n; i++) {
        struct shown *s = k->scenes[i];

        if (!s || (s->viewers == 0 && !(k->share && watch_share_is_asked(k->share, i, now))))
            continue;
        copies[i] = &s->copy;
        any = true;
    }
    return any;
}

/* Ours to those who ask, and theirs to ours. */
static void share(struct watch *k, struct watch_copy *const copies[SCENES_MAX], struct mono now)
{
    for (uint32_t i = 0; i < k->world->scenes.n; i++) {
        if (!copies[i])
            continue;
        if (watch_share_is_asked(k->share, i, now))
            watch_share_show(k->share, i, copies[i], now);
        if (k->scenes[i]->viewers == 0)
            continue;
        watch_share_ask(k->share, i, now);
        watch_share_add(k->share, i, copies[i], now);
    }
}

void watch_tick(struct watch *k, struct mono now)
{
    struct watch_copy *copies[SCENES_MAX] = {0};

    if ((k->n == 0 && !k->share) || clock_since(now, k->copied) < k->every_ns ||
        !watched(k, copies, now))
        return;
    k->metrics->map_skipped += k->n - k->next; /* their turn has not come */
    watch_copy_take(copies, k->world);
    if (k->share)
        share(k, copies, now);
    k->frame++;
    k->copied = now;
    k->next = 0;
    loop_timer_arm(k->timer, 0);
}

/* --- maps come and go ------------------------------------------------------------------------- */

static void shown_destroy(struct shown *s)
{
    if (!s)
        return;
    watch_copy_fini(&s->copy);
    free(s->bytes);
    free(s->text);
    free(s);
}

static int shown_create(struct shown **out)
{
    struct shown *s = calloc(1, sizeof(*s));

    if (!s)
        return E_NOMEM;
    s->bytes = malloc(WATCH_COPY_BYTES);
    s->text = malloc(FRAME_BYTES);
    if (!s->bytes || !s->text || watch_copy_init(&s->copy) != 0) {
        shown_destroy(s);
        return E_NOMEM;
    }
    memcpy(s->text, FRAME_HEAD, sizeof(FRAME_HEAD) - 1);
    *out = s;
    return 0;
}

int watch_open(struct watch *k, struct http_feed *f, uint32_t scene)
{
    ASSERT(scene < k->world->scenes.n);
    if (k->n == k->cap) {
        k->metrics->map_full++;
        return E_FULL;
    }
    if (!k->scenes[scene] && shown_create(&k->scenes[scene]) != 0)
        return E_NOMEM;
    if (k->next == k->n) /* it waits for the next copy, as all do */
        k->next++;
    k->viewers[k->n++] = (struct viewer){.feed = f, .scene = scene};
    k->scenes[scene]->viewers++;
    k->metrics->map_viewers = k->n;
    return 0;
}

void watch_closed(struct watch *k, struct http_feed *f)
{
    for (uint32_t i = 0; i < k->n; i++) {
        if (k->viewers[i].feed == f) {
            drop(k, i);
            return;
        }
    }
}

/* What another world says of maps. */
static void on_heard(void *arg, const struct cluster_message *m, struct mono now)
{
    struct watch *k = arg;

    if (m->scene >= k->world->scenes.n) {
        k->world->metrics.messages_bad++;
        return;
    }
    if (!k->scenes[m->scene] && shown_create(&k->scenes[m->scene]) != 0)
        return; /* it asks again */
    watch_share_hear(k->share, m, now);
}

int watch_create(struct loop *l, struct world *w, const struct watch_stats *stats,
                 struct edge_metrics *metrics, const struct watch_rules *rules, struct watch **out)
{
    struct watch *k = calloc(1, sizeof(*k));
    uint32_t rate = rules->rate > 0 ? rules->rate : WATCH_RATE;

    if (!k)
        return E_NOMEM;
    k->loop = l;
    k->world = w;
    k->stats = stats;
    k->metrics = metrics;
    k->cap = rules->viewers;
    k->stall_ns = rules->stall_ns > 0 ? rules->stall_ns : WATCH_STALL_NS;
    /* Ticks come a little early or late: a frame is due with the tick nearest to it. */
    k->every_ns = CLOCK_NS_PER_S / rate - w->config.tick_ns / 2;
    k->viewers = calloc((size_t)k->cap + 1, sizeof(*k->viewers)); /* none is a number, too */
    if (!k->viewers || loop_timer_create(l, on_turn, k, &k->timer) != 0 ||
        (w->cluster && watch_share_create(w, &k->share) != 0)) {
        watch_destroy(k);
        return E_NOMEM;
    }
    if (k->share)
        w->ear = (struct world_ear){on_heard, k};
    *out = k;
    return 0;
}

void watch_destroy(struct watch *k)
{
    if (!k)
        return;
    if (k->share)
        k->world->ear = (struct world_ear){0};
    watch_share_destroy(k->share);
    for (uint32_t i = 0; i < SCENES_MAX; i++)
        shown_destroy(k->scenes[i]);
    loop_timer_destroy(k->timer);
    free(k->stats_text);
    free(k->viewers);
    free(k);
}
