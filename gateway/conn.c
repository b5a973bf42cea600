/* gateway/conn.c: connections that are real sockets. May touch: common/io/stream. */
#include "gateway/conn.h"

const struct conn_ops conn_stream = {
    .write = stream_write,
    .write2 = stream_write2,
    .send = stream_send,
    .read_pause = stream_read_pause,
    .finish = stream_finish,
    .destroy = stream_destroy,
    .abort = stream_abort,
    .queued = stream_queued,
    .unsent = stream_unsent,
};
