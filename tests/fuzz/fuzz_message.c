/* tests/fuzz/fuzz_message.c: every message's reader, and the writer behind it.
 * Any bytes as a body; and where they hold one, its payload read as that of every command.
 * May touch: common, proto.
 */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message_reader *reader;
    if (reader == NULL && message_reader_create(PROTO_FRAME_MAX, &reader) != 0)
        abort();
    struct span body = span_of(data, size);
    fuzz_target_must(round_trip_message(reader, body));

    struct walk_head head;
    if (walk_body(body, &head) != 0)
        return 0;
    uint8_t *other = malloc(head.payload.n + 3);
    ASSERT(other != NULL);
    memcpy(other, "\x93\x00\x01", 3);
    memcpy(other + 3, head.payload.p, head.payload.n);
    for (uint8_t cmd = 0; cmd < 64; cmd++) {
        other[1] = cmd;
        if (protocol_cmd_name(cmd) != NULL)
            fuzz_target_must(round_trip_message(reader, span_of(other, head.payload.n + 3)));
    }
    free(other);
    return 0;
}
