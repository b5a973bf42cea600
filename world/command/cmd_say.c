/* world/command/cmd_say.c: SayReq: a line to everyone who knows the speaker.
 * May touch: the whole core, proto.
 */
#include "world/cluster/border.h"
#include "world/command/router.h"
#include "world/command/shout.h"
#include "world/interest/notice.h"

int cmd_say(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_SAY_RESP, .seq = m->seq};
    uint8_t bytes[NOTICE_TEXT_MAX];
    uint32_t speaker = s->entity.slot;
    struct span body = notice_text(bytes, w->entities.id[speaker], m->say_req.text);

    router_answer(w, s, &answer);
    w->metrics.says++;
    if (w->cluster)
        border_say(w, speaker, m->say_req.text);
    uint32_t told = notice_tell_knowing(w, speaker, body);
    shout_charge(w, s, body.n, told, now);
    w->metrics.say_notifies += told;
    return 0;
}
