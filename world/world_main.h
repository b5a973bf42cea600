/* world/world_main.h: the world as a program. May touch: everything in world. */
#pragma once

/* Runs until a signal; returns the exit status: 0 clean, 1 trouble at start, 2 a bad flag. */
int world_main(int argc, char **argv);
