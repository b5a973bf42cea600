/* bot/report.c: what a load run found, as text for people and as JSON for machines.
 * May touch: common, proto, bot/swarm's counts.
 * On trouble: what cannot be written is lost; the exit status tells of the run, not of this.
 */
#include "bot/report.h"

#include "proto/protocol.h"

#include <inttypes.h>

static const struct {
    double q;
    const char *text, *key;
} quantiles[] = {{0.50, "p50", "p50"}, {0.99, "p99", "p99"}, {0.999, "p99.9", "p99_9"}};

static uint64_t breaches(const struct report *r)
{
    return r->count.breaches + r->rests.wrong + (r->witness ? r->witness->breaches : 0);
}

bool report_is_bad(const struct report *r)
{
    return breaches(r) > 0;
}

static double per(double n, double of)
{
    return of > 0 ? n / of : 0;
}

static uint64_t updates(const struct report *r)
{
    return r->told.adds + r->told.removes + r->told.moves;
}

static uint32_t all_bots(const struct report *r)
{
    uint32_t n = 0;

    for (int i = 0; i < SWARM_KINDS; i++)
        n += r->bots[i];
    return n;
}

static double neighbours(const struct report *r)
{
    return per((double)r->rests.seen, (double)r->rests.views);
}

static double bytes_per_player_second(const struct report *r)
{
    return per((double)r->told.bytes_in, r->seconds * r->entered);
}

static double quantile_ms(const struct report *r, double q)
{
    return (double)hist_quantile(r->latency, q) / 1e6;
}

static const char *code_name(uint32_t code)
{
    return code < SWARM_CODE_MAX ? protocol_error_name(code) : "others";
}

static void text_errors(const struct report *r, FILE *to)
{
    fprintf(to, "errors      %" PRIu64, r->count.errors);
    for (uint32_t code = 0; code <= SWARM_CODE_MAX; code++) {
        if (r->count.error[code] > 0)
            fprintf(to, " %s=%" PRIu64, code_name(code), r->count.error[code]);
    }
    fprintf(to, "; connections lost %" PRIu64 ", byes %" PRIu64 "\n", r->count.lost, r->count.byes);
}

static void text_rests(const struct report *r, FILE *to)
{
    fprintf(to,
            "rests       %" PRIu64 " compared, %" PRIu64 " unsettled; %" PRIu64
            " views exact but %" PRIu64 " late and %" PRIu64 " wrong; %.1f neighbours each\n",
            r->rests.done, r->rests.unsettled, r->rests.views, r->rests.late, r->rests.wrong,
            neighbours(r));
}

/* Up to the last lateness that there was. */
static uint32_t latest(const struct witness_count *n)
{
    uint32_t last = WITNESS_LATE_MAX;

    while (last > 0 && n->late[last] == 0)
        last--;
    return last;
}

static void text_witness(const struct report *r, FILE *to)
{
    const struct witness_count *n = r->witness;

    fprintf(to,
            "walking     %" PRIu64 " views of %" PRIu64 " pairs judged, %" PRIu64
            " pairs unsure, %" PRIu64 " views left out; by ticks late:",
            n->views, n->pairs, n->unsure, n->left_out);
    for (uint32_t i = 0; i <= latest(n); i++)
        fprintf(to, " %u: %" PRIu64, i, n->late[i]);
    fprintf(to, "; %" PRIu64 " breaches; nothing new for %u ticks at most\n", n->breaches,
            n->silence);
}

/* What became of lost connections, where there was anything to it. */
static void text_cuts(const struct report *r, FILE *to)
{
    const struct swarm_count *n = &r->count;

    if (n->resumed + n->keys_refused + n->placed + n->expelled + n->dropped_fin + n->dropped_rst +
            n->dropped_silent ==
        0)
        return;
    fprintf(to,
            "cuts        %" PRIu64 " by FIN, %" PRIu64 " by RST, %" PRIu64 " by silence; %" PRIu64
            " resumed, %" PRIu64 " keys refused, %" PRIu64 " put into the world unasked, %" PRIu64
            " expelled; at most %.1f units from where it stood\n",
            n->dropped_fin, n->dropped_rst, n->dropped_silent, n->resumed, n->keys_refused,
            n->placed, n->expelled, n->farthest);
}

void report_text(const struct report *r, FILE *to)
{
    fprintf(to, "bots        %u, %u in the world; %.1f s, %.1f s of it walking\n", all_bots(r),
            r->entered, r->seconds, r->walked_seconds);
    fprintf(to, "moves       %" PRIu64 " (%.0f/s), %" PRIu64 " left out\n", r->count.moves,
            per((double)r->count.moves, r->walked_seconds), r->count.moves_late);
    fprintf(to,
            "updates     %" PRIu64 " (%.0f/s): %" PRIu64 " adds, %" PRIu64 " removes, %" PRIu64
            " moves\n",
            updates(r), per((double)updates(r), r->seconds), r->told.adds, r->told.removes,
            r->told.moves);
    fprintf(to,
            "bytes       %" PRIu64 " in (%.0f a player and second), %" PRIu64 " out, %" PRIu64
            " frames in\n",
            r->told.bytes_in, bytes_per_player_second(r), r->told.bytes_out, r->told.frames);
    fprintf(to, "latency    ");
    for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
        fprintf(to, " %s=%.1fms", quantiles[i].text, quantile_ms(r, quantiles[i].q));
    fprintf(to, " max=%.1fms of %" PRIu64 " notices\n", (double)r->latency->max / 1e6,
            r->latency->count);
    text_errors(r, to);
    text_rests(r, to);
    if (r->witness)
        text_witness(r, to);
    if (r->bots[SWARM_DEAF])
        fprintf(to, "deaf        %u, %" PRIu64 " cut, %" PRIu64 " of them told so by Bye 16\n",
                r->bots[SWARM_DEAF], r->count.deaf_cut, r->count.deaf_slow);
    text_cuts(r, to);
    if (r->bots[SWARM_CHURN])
        fprintf(to, "churn       %u went %" PRIu64 " times\n", r->bots[SWARM_CHURN],
                r->count.churned);
    fprintf(to, "breaches    %" PRIu64 "\n", breaches(r));
}

static void json_errors(const struct report *r, FILE *to)
{
    const char *comma = "";

    fprintf(to, "\"errors\":{");
    for (uint32_t code = 0; code <= SWARM_CODE_MAX; code++) {
        if (r->count.error[code] == 0)
            continue;
        fprintf(to, "%s\"%s\":%" PRIu64, comma, code_name(code), r->count.error[code]);
        comma = ",";
    }
    fprintf(to, "}");
}

static void json_latency(const struct report *r, FILE *to)
{
    fprintf(to, "\"latency_ms\":{\"count\":%" PRIu64, r->latency->count);
    for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
        fprintf(to, ",\"%s\":%.3f", quantiles[i].key, quantile_ms(r, quantiles[i].q));
    fprintf(to, ",\"max\":%.3f}", (double)r->latency->max / 1e6);
}

static void json_rests(const struct report *r, FILE *to)
{
    fprintf(to,
            "\"rests\":{\"compared\":%" PRIu64 ",\"unsettled\":%" PRIu64 ",\"views\":%" PRIu64
            ",\"late\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"neighbours\":%.2f}",
            r->rests.done, r->rests.unsettled, r->rests.views, r->rests.late, r->rests.wrong,
            neighbours(r));
}

static void json_witness(const struct report *r, FILE *to)
{
    const struct witness_count *n = r->witness;

    fprintf(to,
            ",\"walking\":{\"views\":%" PRIu64 ",\"pairs\":%" PRIu64 ",\"unsure\":%" PRIu64
            ",\"left_out\":%" PRIu64 ",\"breaches\":%" PRIu64 ",\"silence\":%u,\"late\":[",
            n->views, n->pairs, n->unsure, n->left_out, n->breaches, n->silence);
    for (uint32_t i = 0; i <= latest(n); i++)
        fprintf(to, i > 0 ? ",%" PRIu64 : "%" PRIu64, n->late[i]);
    fprintf(to, "]}");
}

static void json_cuts(const struct report *r, FILE *to)
{
    const struct swarm_count *n = &r->count;

    fprintf(to,
            ",\"cuts\":{\"fin\":%" PRIu64 ",\"rst\":%" PRIu64 ",\"silent\":%" PRIu64
            ",\"resumed\":%" PRIu64 ",\"keys_refused\":%" PRIu64 ",\"placed\":%" PRIu64
            ",\"expelled\":%" PRIu64 ",\"farthest\":%.3f}",
            n->dropped_fin, n->dropped_rst, n->dropped_silent, n->resumed, n->keys_refused,
            n->placed, n->expelled, n->farthest);
}

void report_json(const struct report *r, FILE *to)
{
    fprintf(to, "{\"bots\":%u,\"entered\":%u,\"seconds\":%.3f,\"walked_seconds\":%.3f,",
            all_bots(r), r->entered, r->seconds, r->walked_seconds);
    fprintf(to, "\"moves\":%" PRIu64 ",\"moves_per_s\":%.1f,\"moves_left_out\":%" PRIu64 ",",
            r->count.moves, per((double)r->count.moves, r->walked_seconds), r->count.moves_late);
    fprintf(to,
            "\"updates\":%" PRIu64 ",\"updates_per_s\":%.1f,\"adds\":%" PRIu64
            ",\"removes\":%" PRIu64 ",\"move_records\":%" PRIu64 ",",
            updates(r), per((double)updates(r), r->seconds), r->told.adds, r->told.removes,
            r->told.moves);
    fprintf(to,
            "\"frames_in\":%" PRIu64 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
            ",\"bytes_per_player_s\":%.1f,",
            r->told.frames, r->told.bytes_in, r->told.bytes_out, bytes_per_player_second(r));
    json_latency(r, to);
    fprintf(to, ",");
    json_errors(r, to);
    fprintf(to, ",\"lost\":%" PRIu64 ",\"byes\":%" PRIu64 ",\"errors_all\":%" PRIu64 ",",
            r->count.lost, r->count.byes, r->count.errors);
    json_rests(r, to);
    if (r->witness)
        json_witness(r, to);
    json_cuts(r, to);
    fprintf(to,
            ",\"deaf\":{\"bots\":%u,\"cut\":%" PRIu64 ",\"told_slow\":%" PRIu64
            "},\"churned\":%" PRIu64 ",\"breaches\":%" PRIu64 "}\n",
            r->bots[SWARM_DEAF], r->count.deaf_cut, r->count.deaf_slow, r->count.churned,
            breaches(r));
}
