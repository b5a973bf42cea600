/* world/command/cmd_say.c: SayReq: a line to everyone who knows the speaker.
 * May touch: the whole core, proto.
 */
#include "world/cluster/border.h"
#include "world/command/router.h"
#include "world/interest/notice.h"

int cmd_say(struct world *w, struct session_ref who, const struct message *m, struct mono now)
{
    const struct session *s = &w->sessions.list[who.slot];
    struct message answer = {.cmd = CMD_SAY_RESP, .seq = m->seq};
    uint8_t bytes[NOTICE_TEXT_MAX];
    uint32_t speaker = s->entity.slot;

    (void)now;
    router_answer(w, s, &answer);
    w->metrics.says++;
    if (w->cluster)
        border_say(w, speaker, m->say_req.text);
    w->metrics.say_notifies += notice_tell_knowing(
        w, speaker, notice_text(bytes, w->entities.id[speaker], m->say_req.text));
    return 0;
}
