/* proto/limits.h: the protocol's numbers, once. Source: PROTOCOL.md. */
#pragma once

#define PROTO_VERSION          1       /* of LoginReq */
#define PROTO_DEPTH_MAX        8       /* nested arrays and maps, the outer array is level 1 */
#define PROTO_FRAME_MAX        16384   /* bytes of a body, client to server, by default */
#define PROTO_BATCH_MAX        1048576 /* bytes of a body, server to client */
#define PROTO_NAME_MAX         32      /* bytes of a name */
#define PROTO_SCENE_MAX        64      /* bytes of a scene's name; a longer one is not ours */
#define PROTO_SAY_MAX          512     /* bytes of a SayReq's text */
#define PROTO_ENTITY_BYTES_MAX 96      /* one entity in an AoiAdd, at most */
#define PROTO_AUTH_FAILURES    3       /* the third closes */
#define PROTO_ID_REST_S        60      /* seconds an ended entity's id rests */

#define PROTO_CREDIT_START_S   0.02 /* speed credit on entering, seconds */
#define PROTO_CREDIT_OVERDRAFT 0.02 /* allowed below zero, seconds */
#define PROTO_CREDIT_RELATIVE  1e-9 /* for rounding */

#define PROTO_WRAP_QUANTA   16384 /* a place told from this far on goes as remove and add */
#define PROTO_RADIUS_QUANTA 16384 /* R + H stays below this */

#define LINK_VERSION   3                            /* of the hello between gateway and world */
#define LINK_FRAME_MAX (PROTO_BATCH_MAX * 4 + 4096) /* bytes of a link frame's body */
#define LINK_ID_MAX    64                           /* bytes of a gateway's id */
#define LINK_KEY_MAX   256                          /* bytes of a hello's key, or of a proof */
#define LINK_TEXT_MAX  128                          /* bytes of a reason or a peer address */
#define LINK_NOTE_MAX  80                           /* bytes of a note */
#define LINK_WORLD_MAX 64                           /* bytes of a world's id */
#define LINK_MANY_MAX  4096                         /* sessions in one data-to-many */
