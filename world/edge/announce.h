/* world/edge/announce.h: an operator's announcement, as it is asked for.
 * Takes a POST's query and body apart; knows nothing of who may ask. Pure. May touch: common,
 * proto, world. On trouble: E_BAD with a sentence for the operator.
 *
 *   POST /announce                          everybody who is logged in
 *   POST /announce?scene=open               all in a scene
 *   POST /announce?rect=0,0,100,50          all in a rectangle of the default scene
 *   POST /announce?scene=open&rect=0,0,100,50
 *   POST /announce?at=10,20                 all in the cell of sight around a place
 *
 * The body is the text: 1 to 512 bytes of UTF-8 without control characters.
 */
#pragma once

#include "common/err.h"
#include "common/span.h"
#include "world/interest/notice.h"

#define ANNOUNCE_SCENE_MAX 64 /* bytes of a scene's name */

struct announce {
    bool has_scene, has_rect, has_at;   /* not both of the last two */
    char scene[ANNOUNCE_SCENE_MAX + 1]; /* "": the default one */
    double rect[4];                     /* x0, y0, x1, y1, units */
    double at[2];                       /* x, y, units */
    struct span text;                   /* in the body */
};

/* `why`: static text. 0 or E_BAD. */
int announce_read(struct span query, struct span body, struct announce *out,
                  const char **why) MUST_CHECK;
