/* tests/fuzz/fuzz_admin_ask.c: an operator's parameters of any bytes; and as edits (place, byte) of
 * a good query, since seeds know nothing of those. May touch: common, proto, world/edge/admin_ask.
 * What must hold: what is taken is in its bounds.
 */
#include "tests/fuzz/fuzz_target.h"

#include "world/edge/admin_ask.h"

#include <math.h>
#include <string.h>

#define ALL 0x7ffu

static const char GOOD[] = "who=@a%20b&viewer=12&subject=@c&scene=open&kind=npc&prefix=p&"
                           "box=-1,-2.5,3e2,4&after=7&limit=20&to=1,2&level=info";

static const char *check_who(const struct admin_ask_who *who, bool has)
{
    if (strlen(who->name) > PROTO_NAME_MAX)
        return "a name that is none";
    return !has || (who->id != 0) != (who->name[0] != '\0') ? NULL : "nobody, or two";
}

static const char *check(struct span query)
{
    struct admin_ask a;
    const char *why = NULL;

    if (admin_ask_read(query, ALL, 0, &a, &why) != 0)
        return why ? NULL : "refused without a reason";
    if (why)
        return "taken with a reason";
    why = check_who(&a.who, a.has & ADMIN_ASK_WHO);
    why = why ? why : check_who(&a.viewer, a.has & ADMIN_ASK_VIEWER);
    why = why ? why : check_who(&a.subject, a.has & ADMIN_ASK_SUBJECT);
    if (why)
        return why;
    if (strlen(a.scene) > PROTO_SCENE_MAX || strlen(a.prefix) > PROTO_NAME_MAX)
        return "a word that is too long";
    for (int i = 0; i < 4; i++) {
        if (!(fabs(a.box[i]) <= ADMIN_ASK_FAR) || !(fabs(a.to[i % 2]) <= ADMIN_ASK_FAR))
            return "a place without an end";
    }
    if (a.box[0] > a.box[2] || a.box[1] > a.box[3])
        return "a box inside out";
    if (a.limit == 0 || a.limit > ADMIN_ASK_LIMIT_MAX || a.kind > 1 || a.level < 0 || a.level > 4)
        return "a number out of its bounds";
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t edited[sizeof(GOOD) - 1];

    fuzz_target_must(check(span_of(data, size)));
    memcpy(edited, GOOD, sizeof(edited));
    for (size_t i = 0; i + 1 < size; i += 2) {
        edited[data[i] % sizeof(edited)] = data[i + 1];
        fuzz_target_must(check(span_of(edited, sizeof(edited))));
    }
    return 0;
}
