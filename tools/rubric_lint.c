/* SPDX-License-Identifier: MIT
 * rubric_lint FILE... - reads rubric documents as the program does and prints the first mistake of each; without a file,
 * the one that is compiled in. Exit code 0 when there is none, 1 for a mistake, 2 when a file cannot be read. */
#include <stdio.h>
#include <string.h>

#include "rubric.h"

#include "poison.h"

static int check(struct ap_gate *gate, const char *name, const char *text, size_t bytes)
{
    struct ap_error error;
    struct ap_rubric *rubric;
    if (ap_rubric_parse(gate, text, bytes, name, &rubric, &error) != AP_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%s: %zu rules\n", name, ap_rubric_rule_count(rubric));
    ap_rubric_free(rubric);
    return 0;
}

static int check_open_file(struct ap_gate *gate, const char *name, FILE *file)
{
    size_t room = AP_RUBRIC_MAX_BYTES + 1; /* one more than is read, to see that a file is too long */
    char *text = ap_mem_resize(gate, NULL, 0, room);
    if (!text) {
        fprintf(stderr, "%s: out of memory\n", name);
        return 2;
    }
    size_t bytes = fread(text, 1, room, file);
    int code = 2;
    if (ferror(file))
        fprintf(stderr, "%s: cannot be read\n", name);
    else
        code = check(gate, name, text, bytes);
    ap_mem_free(gate, text, room);
    return code;
}

static int check_file(struct ap_gate *gate, const char *name)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        return 2;
    }
    int code = check_open_file(gate, name, file);
    (void)fclose(file);
    return code;
}

int main(int argc, char **argv)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    int worst = 0;
    if (argc < 2) {
        struct ap_text builtin = ap_rubric_builtin();
        worst = check(&gate, "references/interpretation.md", builtin.data, builtin.bytes);
    }
    for (int i = 1; i < argc; i++) {
        int code = check_file(&gate, argv[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}
