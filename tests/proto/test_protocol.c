/* tests/proto/test_protocol.c: the tables of commands and errors. PROTOCOL.md, Commands, Errors. */
#include "proto/protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(protocol, commands_have_their_names_and_numbers)
{
    cr_assert_str_eq(protocol_cmd_name(1), "LoginReq");
    cr_assert_str_eq(protocol_cmd_name(14), "SayResp");
    cr_assert_str_eq(protocol_cmd_name(32), "AoiAdd");
    cr_assert_str_eq(protocol_cmd_name(49), "Bye");
    cr_assert_eq(CMD_LOGIN_REQ, 1);
    cr_assert_eq(CMD_AOI_MOVE, 34);
    cr_assert_eq(CMD_ERROR_NOTIFY, 48);
    const uint32_t none[] = {0, 15, 31, 37, 47, 50, 99, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_assert_null(protocol_cmd_name(none[i]));
        cr_assert_not(protocol_is_request(none[i]));
    }
}

Test(protocol, requests_are_those_from_client_to_server)
{
    for (uint32_t cmd = 0; cmd < 64; cmd++)
        cr_assert_eq(protocol_is_request(cmd), cmd < 14 && cmd % 2 == 1, "cmd %u", cmd);
}

Test(protocol, errors_have_their_names_and_a_sentence)
{
    cr_assert_str_eq(protocol_error_name(1), "bad_frame");
    cr_assert_str_eq(protocol_error_name(20), "bad_version");
    cr_assert_str_eq(protocol_error_text(PE_MOVE_SPEED), "move rejected: speed");
    cr_assert_str_eq(protocol_error_text(PE_NOT_IN_WORLD), "move before enter world");
    for (uint32_t code = 1; code <= 20; code++) {
        cr_assert_str_neq(protocol_error_name(code), "unknown");
        cr_assert_str_neq(protocol_error_text(code), "unknown");
    }
    cr_assert_str_eq(protocol_error_name(0), "unknown");
    cr_assert_str_eq(protocol_error_name(21), "unknown");
    cr_assert_str_eq(protocol_error_text(UINT32_MAX), "unknown");
}

/* The text between the first and second, or second and third, bar of a table's row. */
static bool row_says(const char *line, unsigned number, const char *name)
{
    char want[64];
    snprintf(want, sizeof want, "| %u | %s |", number, name);
    return strncmp(line, want, strlen(want)) == 0;
}

Test(protocol, tables_are_those_of_the_contract)
{
    FILE *f = fopen("proto/PROTOCOL.md", "r");
    cr_assert_not_null(f);
    char line[1024];
    int cmds = 0, errors = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        for (uint32_t n = 1; n < 64; n++) {
            const char *cmd = protocol_cmd_name(n);
            if (cmd != NULL && row_says(line, n, cmd)) {
                cmds++;
                cr_assert_eq(protocol_is_request(n), strstr(line, "| c→s |") != NULL, "%s", cmd);
            }
            if (row_says(line, n, protocol_error_name(n)))
                errors++;
        }
    }
    fclose(f);
    cr_assert_eq(cmds, 21);
    cr_assert_eq(errors, 20);
}
