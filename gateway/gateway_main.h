/* gateway/gateway_main.h: the gateway as a program. May touch: everything in gateway. */
#pragma once

/* Runs until a signal; returns the exit status: 0 clean, 1 trouble at start, 2 a bad flag. */
int gateway_main(int argc, char **argv);
