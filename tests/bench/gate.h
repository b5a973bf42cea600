/* tests/bench/gate.h: the gateway's benchmarks, each beside other programs in the same run.
 * They share flags, programs (rival.h) and the form of their results (tally.h).
 *
 *   this process, core 2                      core 1
 *   crowd: the clients   ◄──────────────►  the program that is measured, a child
 *   upstream: the world  ◄──────────────►
 *
 * Processor time is that of the measured process, user and system, as the kernel counts it in ns.
 * May touch: common/opts, rival, tally. On trouble: one line on standard error and exit 1.
 */
#pragma once

#include "tests/bench/rival.h"
#include "tests/bench/tally.h"

/* Each takes the command's flags, argv[0] being its name, and returns the exit status. */
int gate_fanout(int argc, char **argv);
int gate_forward(int argc, char **argv);
int gate_idle(int argc, char **argv);
/* All of them in some seconds. */
int gate_short(void);

/* The three, once the flags are read. */
int bench_fanout(const struct gate_args *a);
int bench_forward(const struct gate_args *a);
int bench_idle(const struct gate_args *a);

/* What is measured, of two programs side by side: slot 0 has the limit, slot 1 another. */
struct gate_job {
    const char *bench; /* its name */
    void *arg;
    void (*open)(void *arg, unsigned slot, const struct rival *rival);
    /* Part `k` of the measurement, from 0; what happens in here alone is measured. */
    void (*slice)(void *arg, unsigned slot, uint64_t k);
    /* End it, and return what was measured. */
    double (*close)(void *arg, unsigned slot);
    uint64_t slices;
    uint64_t files; /* descriptors of ours for one slot */
    bool alone;     /* never both at once */
};

/* Rounds of all programs that are there, each beside the limit, which is the first of `rivals` [n]:
 * both run at once and take turns slice by slice, so that what disturbs one disturbs the other; one
 * after the other where descriptors do not allow that. Fills `rows` [n]. Alone the limit
 * runs beside itself, which shows the noise. Says which programs are not here; false where there
 * are too few descriptors, which it says too. */
bool gate_measure(const struct gate_args *a, const struct gate_job *job,
                  const struct rival *const *rivals, size_t n, struct tally *rows);
