/* tests/fuzz/fuzz_walk.c: the walk over any bytes; what it takes, msgpack-c takes.
 * May touch: common, proto.
 */
#include "tests/fuzz/fuzz_target.h"

#include "tests/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message_reader *reader;
    if (reader == NULL && message_reader_create(PROTO_FRAME_MAX, &reader) != 0)
        abort();
    struct span in = span_of(data, size);
    fuzz_target_must(round_trip_walk(in));
    (void)walk_utf8(in);

    /* An unknown key is ignored only where the decoder could read past it. */
    static const char head[] = "\x93\x07\x01\x83\xa1z";
    static const char tail[] = "\xa1x\x01\xa1y\x02";
    size_t used;
    if (walk_value(in, 2, &used) != 0 || used != size)
        return 0;
    uint8_t *body = malloc(sizeof head + size + sizeof tail);
    ASSERT(body != NULL);
    struct span_writer w = span_writer_of(body, sizeof head + size + sizeof tail);
    struct message m;
    span_put(&w, head, sizeof head - 1);
    span_put(&w, data, size);
    span_put(&w, tail, sizeof tail - 1);
    if (message_read(reader, span_written(&w), &m) != 0)
        fuzz_target_must("what was walked is decoded");
    if (m.move_req.x != 1.0 || m.move_req.y != 2.0)
        fuzz_target_must("an unknown key is ignored");
    free(body);
    return 0;
}
