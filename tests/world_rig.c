/* tests/world_rig.c: a world driven as its edge drives it, without sockets.
 * May touch: the world's core, proto, criterion. On trouble: the test at hand fails.
 */
#include "tests/world_rig.h"

#include "common/err.h"
#include "common/log.h"
#include "proto/frame.h"
#include "world/command/inbox.h"
#include "world/command/teleport.h"
#include "world/tick.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FNV_START 14695981039346656037u
#define FNV_PRIME 1099511628211u
#define RUN_HEAD  (2 * sizeof(uint32_t))

void rig_fail(const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    cr_assert_fail("%s", line);
    abort();
}

/* --- what the world sends -------------------------------------------------------------------- */

static uint32_t link_of(const struct rig *r, struct link_ref ref)
{
    for (uint32_t i = 0; i < r->n_links; i++)
        if (link_ref_equal(r->links[i].ref, ref))
            return i;
    rig_fail("frames for link %u/%u, which was never up", ref.slot, ref.gen);
}

/* Only copies and hashes: it runs inside of the world, where nothing may be allocated. */
static void drain(void *arg, struct link_ref ref, struct span frames)
{
    struct rig *r = arg;
    uint32_t head[2] = {link_of(r, ref), (uint32_t)frames.n};
    struct rig_link *link = &r->links[head[0]];
    if (!link->up)
        rig_fail("frames for link %u, which is down", head[0]);
    uint64_t h = link->hash;
    for (size_t i = 0; i < frames.n; i++)
        h = (h ^ frames.p[i]) * FNV_PRIME;
    link->hash = h;
    r->bytes += frames.n;
    if (r->deaf)
        return;
    if (frames.n + RUN_HEAD > RIG_RAW_BYTES - r->raw_len)
        rig_fail("the rig is full of mail that nobody drops");
    memcpy(r->raw + r->raw_len, head, RUN_HEAD);
    memcpy(r->raw + r->raw_len + RUN_HEAD, frames.p, frames.n);
    r->raw_len += RUN_HEAD + frames.n;
}

static struct rig_session *session_of(struct rig *r, uint32_t link, const struct link_frame *f,
                                      uint64_t sid)
{
    if (sid >= 1 && sid <= r->n_sessions) {
        struct rig_session *s = &r->sessions[sid - 1];
        if (s->link == link && s->open)
            return s;
    }
    r->strays++;
    r->stray = *f;
    r->stray.session = sid;
    return NULL;
}

/* Note what an answer says of its session. */
static void learn(struct rig *r, struct rig_session *s, const struct message *m)
{
    if (m->cmd == CMD_LOGIN_RESP) {
        if (m->login_resp.resume.n != 0 && m->login_resp.resume.n != RIG_KEY_BYTES)
            rig_fail("%sa resume key of %zu bytes", r->context, m->login_resp.resume.n);
        s->id = m->login_resp.id;
        memcpy(s->key, m->login_resp.resume.p, m->login_resp.resume.n);
        s->key[m->login_resp.resume.n] = '\0';
    }
    if (m->cmd == CMD_ENTER_RESP) {
        s->id = m->enter_resp.id;
        s->x = m->enter_resp.x;
        s->y = m->enter_resp.y;
        memcpy(s->scene, m->enter_resp.scene.p, m->enter_resp.scene.n);
        s->scene[m->enter_resp.scene.n] = '\0';
        s->puts += m->seq == 0;
    }
    if (m->cmd == CMD_MOVE_RESP) {
        s->x = m->move_resp.x;
        s->y = m->move_resp.y;
    }
    if (m->cmd == CMD_MOVE_FAIL) {
        s->x = m->move_fail.x;
        s->y = m->move_fail.y;
    }
    if (r->lax || m->seq == 0)
        return;
    if (m->seq != s->answered + 1 || m->seq > s->sent)
        rig_fail("%ssession %llu: answer %u after %u, %u requests sent", r->context,
                 (unsigned long long)s->sid, m->seq, s->answered, s->sent);
    s->answered = m->seq;
}

static void post(struct rig *r, struct rig_session *s, struct span body)
{
    struct message m;
    int err = message_read(r->reader, body, &m);
    if (err != 0)
        rig_fail("the world sent a body that cannot be read (%d)", err);
    learn(r, s, &m);
    if (!rig_view_take(&s->view, &m, body.n, r->world->tick) && !r->lax)
        rig_fail("%s%s", r->context, s->view.breach);
    if (r->n_mail == RIG_MAIL_MAX)
        rig_fail("the rig is full of mail that nobody drops");
    uint32_t at = r->n_mail++;
    r->mail[at] =
        (struct rig_mail){RIG_NONE, r->frames, (uint32_t)body.n, (size_t)(body.p - r->raw)};
    if (s->first == RIG_NONE)
        s->first = at;
    else
        r->mail[s->last].next = at;
    s->last = at;
    s->count++;
}

static void take_frame(struct rig *r, uint32_t link, struct span body)
{
    struct link_frame f;
    if (link_read(body, &f) != 0)
        rig_fail("the world sent a link frame that cannot be read");
    r->frames++;
    struct rig_session *s;
    uint64_t sid;
    switch (f.kind) {
    case LINK_DATA:
        s = session_of(r, link, &f, f.session);
        for (uint32_t i = 0; s && i < f.n_bodies; i++)
            post(r, s, f.bodies[i]);
        break;
    case LINK_DATA_MANY:
        while (link_session_take(&f.sessions, &sid) == 0)
            if ((s = session_of(r, link, &f, sid)))
                post(r, s, f.bodies[0]);
        break;
    case LINK_CLOSE:
        s = session_of(r, link, &f, f.session);
        if (!s)
            break;
        s->open = false;
        s->closed = true;
        s->close_code = f.code;
        memcpy(s->close_reason, f.text.p, f.text.n);
        break;
    case LINK_NOTE:
        s = session_of(r, link, &f, f.session);
        if (!s)
            break;
        memcpy(s->note, f.note.p, f.note.n);
        s->note_bytes = (uint32_t)f.note.n;
        break;
    default:
        rig_fail("the world sent a link frame of kind %d", (int)f.kind);
    }
}

/* Take apart what has come since the last time. */
static void sort_mail(struct rig *r)
{
    while (r->raw_read < r->raw_len) {
        uint32_t head[2];
        memcpy(head, r->raw + r->raw_read, RUN_HEAD);
        struct span rest = span_of(r->raw + r->raw_read + RUN_HEAD, head[1]);
        while (rest.n > 0) {
            struct span body;
            size_t used;
            if (frame_split(rest, LINK_FRAME_MAX, &body, &used) != 0)
                rig_fail("a run that is not whole link frames");
            take_frame(r, head[0], body);
            rest = span_of(rest.p + used, rest.n - used);
        }
        r->raw_read += RUN_HEAD + head[1];
    }
}

static void core_in(struct rig *r)
{
    if (r->core)
        r->core(r->arg, true);
}

static void core_out(struct rig *r)
{
    outbox_flush(&r->world->outbox);
    if (r->core)
        r->core(r->arg, false);
    sort_mail(r);
}

static void tap(struct rig *r, enum rig_input what, uint32_t link, struct span bytes)
{
    if (r->tap)
        r->tap(r->arg, what, link, bytes, r->now);
}

/* --- as a gateway ---------------------------------------------------------------------------- */

static void secret(void *arg, void *out, size_t n)
{
    struct rig *r = arg;
    uint8_t *p = out;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)rng_next(&r->secrets);
}

struct rig *rig_create_with(const struct world_config *c, const struct map *maps, uint32_t n,
                            struct store_door store, struct auth_door auth)
{
    log_init("world", LOG_OFF, LOG_TEXT);
    struct rig *r = calloc(1, sizeof *r);
    r->sessions = calloc(RIG_SESSIONS_MAX, sizeof *r->sessions);
    r->raw = malloc(RIG_RAW_BYTES);
    r->mail = malloc(RIG_MAIL_MAX * sizeof *r->mail);
    r->frame = malloc(LINK_FRAME_MAX);
    rng_init(&r->secrets, c->seed);
    r->now = (struct mono){1000 * CLOCK_NS_PER_S};
    if (message_reader_create(PROTO_BATCH_MAX, &r->reader) != 0)
        rig_fail("no memory for a reader");
    struct world_ops ops = {.drain = drain,
                            .secret = secret,
                            .arg = r,
                            .maps = maps,
                            .n_maps = n,
                            .store = store,
                            .auth = auth};
    char why[256] = "";
    int err = world_create(c, &ops, &r->world, why, sizeof why);
    if (err != 0)
        rig_fail("world_create: %s (%s)", err_text(err), why);
    rig_link_up(r, "gw-0");
    return r;
}

void rig_destroy(struct rig *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n_sessions; i++)
        rig_view_fini(&r->sessions[i].view);
    world_destroy(r->world);
    message_reader_destroy(r->reader);
    free(r->sessions);
    free(r->raw);
    free(r->mail);
    free(r->frame);
    free(r);
}

static void link_lost(struct rig *r, uint32_t link)
{
    r->links[link].up = false;
    for (uint32_t i = 0; i < r->n_sessions; i++)
        if (r->sessions[i].link == link)
            r->sessions[i].open = false;
}

uint32_t rig_link_up(struct rig *r, const char *id)
{
    if (r->n_links == RIG_LINKS_MAX)
        rig_fail("too many links for the rig");
    uint32_t at = r->n_links;
    struct link_ref replaced;
    tap(r, RIG_INPUT_LINK_UP, at, span_text(id));
    core_in(r);
    int err = inbox_link_up(r->world, span_text(id), r->now, &r->links[at].ref, &replaced);
    if (err != 0)
        rig_fail("inbox_link_up: %s", err_text(err));
    r->n_links++;
    r->links[at].up = true;
    r->links[at].hash = FNV_START;
    core_out(r);
    if (replaced.gen != 0)
        link_lost(r, link_of(r, replaced));
    return at;
}

void rig_link_down(struct rig *r, uint32_t link)
{
    tap(r, RIG_INPUT_LINK_DOWN, link, span_of(NULL, 0));
    link_lost(r, link);
    core_in(r);
    inbox_link_down(r->world, r->links[link].ref, r->now);
    core_out(r);
}

int rig_link_frame(struct rig *r, uint32_t link, struct span body)
{
    tap(r, RIG_INPUT_FRAME, link, body);
    core_in(r);
    int err = inbox_frame(r->world, r->links[link].ref, body, r->now);
    core_out(r);
    return err;
}

static int frame_written(struct rig *r, uint32_t link, const struct span_writer *w)
{
    if (w->full)
        rig_fail("the rig's link frame is too large");
    return rig_link_frame(r, link, span_of(w->p + FRAME_HEAD, w->len - FRAME_HEAD));
}

static void frame_must(struct rig *r, uint32_t link, const struct span_writer *w)
{
    int err = frame_written(r, link, w);
    if (err != 0)
        rig_fail("inbox_frame: %s", err_text(err));
}

/* A place for a session that is about to be opened. */
static uint32_t session_next(struct rig *r, uint32_t link)
{
    uint32_t at = 0; /* a session that is over, and whose mail was dropped, is used again */
    while (at < r->n_sessions && (r->sessions[at].open || r->sessions[at].first != RIG_NONE))
        at++;
    if (at == RIG_SESSIONS_MAX)
        rig_fail("too many sessions for the rig");
    struct rig_session *s = &r->sessions[at];
    rig_view_fini(&s->view);
    memset(s, 0, sizeof *s);
    s->open = true;
    s->link = link;
    s->sid = at + 1;
    s->first = s->last = RIG_NONE;
    s->view.capped = r->world->config.aoi_max > 0;
    if (at == r->n_sessions)
        r->n_sessions++;
    return at;
}

uint32_t rig_open(struct rig *r, uint32_t link)
{
    uint32_t at = session_next(r, link);
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_open(&w, r->sessions[at].sid, span_text("192.0.2.1:40000"));
    frame_must(r, link, &w);
    return at;
}

uint32_t rig_bind(struct rig *r, uint32_t link, struct span note)
{
    uint8_t copy[LINK_NOTE_MAX]; /* it may be of the session whose place is used again */
    memcpy(copy, note.p, note.n);
    uint32_t at = session_next(r, link);
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_bind(&w, r->sessions[at].sid, span_text("192.0.2.1:40000"), span_of(copy, note.n));
    frame_must(r, link, &w);
    return at;
}

void rig_close(struct rig *r, uint32_t s)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_close(&w, r->sessions[s].sid, 0, span_text("gone"));
    r->sessions[s].open = false;
    frame_must(r, r->sessions[s].link, &w);
}

void rig_congestion(struct rig *r, uint32_t s, bool on)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_congestion(&w, r->sessions[s].sid, on);
    frame_must(r, r->sessions[s].link, &w);
}

void rig_drain(struct rig *r, uint32_t s, uint64_t bytes_per_s)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_drain(&w, r->sessions[s].sid, bytes_per_s);
    frame_must(r, r->sessions[s].link, &w);
}

uint32_t rig_announce(struct rig *r, const struct notice_area *to, const char *text)
{
    uint32_t told;

    core_in(r);
    told = inbox_announce(r->world, to, span_text(text), r->now);
    core_out(r);
    return told;
}

/* --- as a client ----------------------------------------------------------------------------- */

int rig_send_body(struct rig *r, uint32_t s, struct span body)
{
    struct span_writer w = span_writer_of(r->frame, LINK_FRAME_MAX);
    link_write_data(&w, r->sessions[s].sid, &body, 1);
    return frame_written(r, r->sessions[s].link, &w);
}

/* A request is answered at once. */
static void send_must(struct rig *r, uint32_t s, struct span body)
{
    int err = rig_send_body(r, s, body);
    const struct rig_session *x = &r->sessions[s];
    if (err != 0)
        rig_fail("inbox_frame: %s", err_text(err));
    if (x->open && x->answered != x->sent && !r->lax && !r->deaf && !r->patient)
        rig_fail("%srequest %u has no answer", r->context, x->sent);
}

uint32_t rig_send(struct rig *r, uint32_t s, const struct message *m)
{
    uint8_t body[2048];
    struct message with = *m;
    with.seq = ++r->sessions[s].sent;
    struct span_writer w = span_writer_of(body, sizeof body);
    message_write(&w, &with);
    send_must(r, s, span_written(&w));
    return with.seq;
}

uint32_t rig_send_payload(struct rig *r, uint32_t s, uint32_t cmd, struct span payload)
{
    uint8_t body[PROTO_FRAME_MAX];
    uint32_t seq = ++r->sessions[s].sent;
    struct span_writer w = span_writer_of(body, sizeof body);
    span_put_u8(&w, 0x93);
    span_put_u8(&w, 0xce);
    span_put_be32(&w, cmd);
    span_put_u8(&w, 0xce);
    span_put_be32(&w, seq);
    span_put(&w, payload.p, payload.n);
    send_must(r, s, span_written(&w));
    return seq;
}

int rig_teleport(struct rig *r, uint32_t s, uint32_t scene, double x, double y)
{
    struct world *w = r->world;
    core_in(r);
    struct session_ref who;
    struct session *session;
    int err = PE_NOT_IN_WORLD;
    if (sessions_by_sid(&w->sessions, r->links[r->sessions[s].link].ref, r->sessions[s].sid,
                        &who) &&
        sessions_find(&w->sessions, who, &session))
        err = teleport_entity(w, session->entity, scene, x, y);
    core_out(r);
    return err;
}

/* --- time ------------------------------------------------------------------------------------ */

void rig_tick(struct rig *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rig_pass(r, r->world->config.tick_ns);
        tap(r, RIG_INPUT_TICK, 0, span_of(NULL, 0));
        core_in(r);
        tick_run(r->world, r->now);
        core_out(r);
    }
}

void rig_pass(struct rig *r, int64_t ns)
{
    r->now = clock_add(r->now, ns);
}

/* --- what came ------------------------------------------------------------------------------- */

static const struct message *read_mail(struct rig *r, uint32_t at)
{
    struct span body = span_of(r->raw + r->mail[at].at, r->mail[at].bytes);
    int err = message_read(r->reader, body, &r->message);
    if (err != 0)
        rig_fail("mail that cannot be read twice (%d)", err);
    return &r->message;
}

/* Take `at` out of the session's list; `before` is the one in front, or RIG_NONE. */
static void unlink_mail(struct rig *r, struct rig_session *s, uint32_t at, uint32_t before)
{
    if (before == RIG_NONE)
        s->first = r->mail[at].next;
    else
        r->mail[before].next = r->mail[at].next;
    if (s->last == at)
        s->last = before;
    s->count--;
}

const struct message *rig_take(struct rig *r, uint32_t s)
{
    uint32_t at = r->sessions[s].first;
    if (at == RIG_NONE)
        return NULL;
    unlink_mail(r, &r->sessions[s], at, RIG_NONE);
    return read_mail(r, at);
}

const struct message *rig_answer(struct rig *r, uint32_t s, uint32_t seq)
{
    uint32_t before = RIG_NONE;
    for (uint32_t at = r->sessions[s].first; at != RIG_NONE; at = r->mail[at].next) {
        const struct message *m = read_mail(r, at);
        if (m->seq == seq) {
            unlink_mail(r, &r->sessions[s], at, before);
            return m;
        }
        before = at;
    }
    return NULL;
}

const struct message *rig_next(struct rig *r, uint32_t s, uint32_t cmd)
{
    const struct message *m;
    while ((m = rig_take(r, s)) && m->cmd != cmd)
        continue;
    return m;
}

void rig_drop(struct rig *r)
{
    for (uint32_t i = 0; i < r->n_sessions; i++) {
        r->sessions[i].first = r->sessions[i].last = RIG_NONE;
        r->sessions[i].count = 0;
    }
    r->n_mail = 0;
    r->raw_len = r->raw_read = 0;
}

uint64_t rig_hash(const struct rig *r)
{
    uint64_t h = FNV_START;
    for (uint32_t i = 0; i < r->n_links; i++)
        for (uint32_t byte = 0; byte < 8; byte++)
            h = (h ^ (r->links[i].hash >> (8 * byte) & 0xff)) * FNV_PRIME;
    return h;
}

void rig_loaded(struct rig *r, const struct store_answer *a)
{
    core_in(r);
    inbox_loaded(r->world, a, r->now);
    core_out(r);
}

void rig_stored(struct rig *r, const struct store_settle *what)
{
    core_in(r);
    inbox_stored(r->world, what, r->now);
    core_out(r);
}
