/* common/embed.h: files that are a part of the program, as they are.
 * The assembler reads them: no tool, no copy in C. Paths start at the root, where make runs; the
 * Makefile says which objects depend on which files. May touch: nothing.
 *
 *   EMBED(page_css, "gateway/web/page.css");      page_css [page_css_end - page_css] bytes
 */
#pragma once

#include <stdint.h>

#define EMBED(name, path)                                           \
    __asm__(".pushsection .rodata\n"                                \
            ".balign 16\n"                                          \
            ".hidden " #name "\n.hidden " #name "_end\n"            \
            ".global " #name "\n" #name ":\n.incbin \"" path "\"\n" \
            ".global " #name "_end\n" #name "_end:\n.byte 0\n"      \
            ".popsection\n");                                       \
    extern const uint8_t name[], name##_end[]
