/* tests/world/test_sight_oracle.c: no difference between the world's sight and brute force.
 * Each test is one kind of trouble in many seeded rounds; see tests/world/oracle.h.
 * AEGIS_ORACLE_ROUNDS says how many rounds all of them run together (10,000).
 * May touch: tests/world/oracle.
 */
#include "tests/leak.h"
#include "tests/world/oracle.h"

Test(sight_oracle, a_mix_of_everything)
{
    struct oracle_rules rules = oracle_rules();
    oracle_run(&rules, 1, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, with_hysteresis)
{
    struct oracle_rules rules = oracle_rules();
    rules.hysteresis = 5;
    rules.area = 45;
    rules.weight[ORACLE_EDGE] = 20;
    oracle_run(&rules, 2, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, at_the_exact_edge_of_thirty)
{
    struct oracle_rules rules = oracle_rules();
    rules.lattice = 1.0 / 64;
    rules.weight[ORACLE_EDGE] = 80;
    oracle_run(&rules, 3, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, at_the_exact_edge_of_seven_and_of_thirty_two)
{
    struct oracle_rules rules = oracle_rules();
    rules.lattice = 1.0 / 64;
    rules.weight[ORACLE_EDGE] = 80;
    rules.radius = 7;
    rules.area = 14;
    oracle_run(&rules, 4, oracle_rounds(2));
    rules.radius = 32;
    rules.area = 64;
    rules.hysteresis = 8;
    oracle_run(&rules, 5, oracle_rounds(2));
    TEST_NO_LEAKS();
}

Test(sight_oracle, on_the_borders_of_cells)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_BORDER] = 60;
    rules.weight[ORACLE_RIM] = 10;
    memcpy(rules.bounds, (double[4]){-300, -300, 300, 300}, sizeof rules.bounds);
    rules.area = 90;
    oracle_run(&rules, 6, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, on_negative_ground_with_odd_bounds)
{
    struct oracle_rules rules = oracle_rules();
    memcpy(rules.bounds, (double[4]){-5003.7, -917.3, -4711.1, -800.9}, sizeof rules.bounds);
    rules.area = 160;
    rules.weight[ORACLE_RIM] = 10;
    oracle_run(&rules, 7, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_some_jump_far_together)
{
    struct oracle_rules rules = oracle_rules();
    rules.quantum = 1.0 / 256;
    memcpy(rules.bounds, (double[4]){-2000, -2000, 2000, 2000}, sizeof rules.bounds);
    rules.weight[ORACLE_JOINT] = 40;
    oracle_run(&rules, 8, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_all_creep)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_TINY] = 200;
    rules.weight[ORACLE_FACE] = 30;
    rules.turns = 1;
    rules.ticks = 40;
    rules.n_max = 20;
    rules.area = 20;
    oracle_run(&rules, 9, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_all_creep_under_wide_thresholds)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_TINY] = 200;
    rules.weight[ORACLE_FACE] = 30;
    rules.turns = 2;
    rules.ticks = 40;
    rules.n_max = 20;
    rules.area = 20;
    rules.move_epsilon = 1;
    rules.dir_epsilon = 20;
    rules.update_interval = 5;
    oracle_run(&rules, 10, oracle_rounds(2));
    rules.update_interval = 0;
    oracle_run(&rules, 11, oracle_rounds(2));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_they_come_and_go)
{
    struct oracle_rules rules = oracle_rules();
    rules.weight[ORACLE_LEAVE] = 15;
    rules.weight[ORACLE_CLOSE] = 15;
    rules.links = 4;
    rules.hysteresis = 3;
    oracle_run(&rules, 12, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, in_crowds_of_hundreds)
{
    struct oracle_rules rules = oracle_rules();
    rules.n_min = 200;
    rules.n_max = ORACLE_PLAYERS_MAX;
    rules.area = 75;
    rules.ticks = 6;
    oracle_run(&rules, 13, oracle_rounds(40));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_the_scratch_is_short)
{
    struct oracle_rules rules = oracle_rules();
    rules.tight = true;
    oracle_run(&rules, 19, oracle_rounds(2));
    TEST_NO_LEAKS();
}

Test(sight_oracle, at_a_walkers_speed)
{
    struct oracle_rules rules = oracle_rules();
    rules.max_speed = 12;
    memcpy(rules.bounds, (double[4]){-50, -50, 50, 50}, sizeof rules.bounds);
    rules.ticks = 30;
    oracle_run(&rules, 17, oracle_rounds(2));
    rules.radius = 7;
    oracle_run(&rules, 18, oracle_rounds(2));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_they_hop_between_scenes)
{
    struct oracle_rules rules = oracle_rules();
    rules.maps = 3;
    rules.weight[ORACLE_HOP] = 10;
    oracle_run(&rules, 20, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_they_hop_with_hysteresis)
{
    struct oracle_rules rules = oracle_rules();
    rules.maps = 3;
    rules.hysteresis = 5;
    rules.weight[ORACLE_HOP] = 10;
    rules.weight[ORACLE_PAUSE] = 3;
    oracle_run(&rules, 21, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, when_they_hop_and_pause)
{
    struct oracle_rules rules = oracle_rules();
    rules.maps = 2;
    rules.area = 40;
    rules.quantum = 1.0 / 256;
    rules.weight[ORACLE_HOP] = 15;
    rules.weight[ORACLE_PAUSE] = 15;
    rules.weight[ORACLE_LEAVE] = 3;
    rules.weight[ORACLE_DROP] = 5;
    rules.window = 6;
    oracle_run(&rules, 22, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, under_rules_of_chance)
{
    oracle_run(NULL, 14, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, under_other_rules_of_chance)
{
    oracle_run(NULL, 15, oracle_rounds(1));
    TEST_NO_LEAKS();
}

Test(sight_oracle, under_yet_other_rules_of_chance)
{
    oracle_run(NULL, 16, oracle_rounds(1));
    TEST_NO_LEAKS();
}
