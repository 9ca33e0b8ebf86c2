/* SPDX-License-Identifier: MIT
 * completion.c - the options as the shells complete them, from the table that parsing has. */
#include <string.h>

#include "options.h"

static const struct {
    const char *name, *argument, *help; /* argument NULL = none */
} options[] = {
#define AP_SECTION(title)
#define AP_OPTION(id, name, argument, help) { name, argument, help },
#include "options.def"
#undef AP_OPTION
#undef AP_SECTION
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

/* Options that take one of a few words. */
static const struct {
    const char *name, *words;
} choices[] = {
    { "focus", "cpu gpu memory io" },
    { "fail-on", "low medium high critical" },
    { "threads", "1 2" },
    { "completion", "bash zsh fish" },
};

/* "forward, backward" without the commas. */
static void print_words(FILE *to, const char *words)
{
    for (; *words; words++)
        if (*words != ',')
            (void)fputc(*words, to);
}

static const char *words_of(const char *name)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (strcmp(choices[i].name, name) == 0)
            return choices[i].words;
    return strcmp(name, "phase") == 0 ? ap_phase_names() : NULL;
}

static bool takes_file(size_t i)
{
    return options[i].argument && strcmp(options[i].argument, "FILE") == 0;
}

/* The lines of the help as one, without what @hostile names. */
static void print_help_line(FILE *to, const char *help, const char *hostile)
{
    for (; *help; help++) {
        if (*help == '\n')
            (void)fputc(' ', to);
        else if (!strchr(hostile, *help))
            (void)fputc(*help, to);
    }
}

/* ---- bash ---- */

static void print_bash_cases(FILE *to)
{
    const char *bar = "";
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *words = words_of(options[i].name);
        if (!words)
            continue;
        (void)fprintf(to, "    --%s)\n        mapfile -t COMPREPLY < <(compgen -W \"", options[i].name);
        print_words(to, words);
        (void)fputs("\" -- \"$word\")\n        return ;;\n", to);
    }
    (void)fputs("    ", to);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (takes_file(i)) {
            (void)fprintf(to, "%s--%s", bar, options[i].name);
            bar = "|";
        }
    (void)fputs(")\n"
                "        compopt -o filenames 2>/dev/null\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                "        return ;;\n    ", to);
    bar = "";
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (options[i].argument && !takes_file(i) && !words_of(options[i].name)) {
            (void)fprintf(to, "%s--%s", bar, options[i].name);
            bar = "|";
        }
    (void)fputs(")\n        return ;;\n", to);
}

static void print_bash(FILE *to)
{
    (void)fputs("# bash completion of analyze_profile\n"
                "_analyze_profile()\n"
                "{\n"
                "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                "    COMPREPLY=()\n"
                "    if [[ $word == = ]]; then\n"
                "        word=\n"
                "    elif [[ $before == = && $COMP_CWORD -ge 2 ]]; then\n"
                "        before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
                "    fi\n"
                "    case \"$before\" in\n", to);
    print_bash_cases(to);
    (void)fputs("    esac\n"
                "    if [[ $word == -* ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"", to);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        (void)fprintf(to, "%s--%s", i ? " " : "", options[i].name);
    (void)fputs("\" -- \"$word\")\n"
                "    else\n"
                "        compopt -o filenames 2>/dev/null\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                "    fi\n"
                "}\n"
                "complete -F _analyze_profile analyze_profile\n", to);
}

/* ---- zsh and fish ---- */

static void print_zsh(FILE *to)
{
    (void)fputs("#compdef analyze_profile\n_arguments", to);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *words = words_of(options[i].name);
        (void)fprintf(to, " \\\n  '*--%s%s[", options[i].name, options[i].argument ? "=" : "");
        print_help_line(to, options[i].help, "[]'\\`$:");
        (void)fputc(']', to);
        if (words) {
            (void)fprintf(to, ":%s:(", options[i].argument);
            print_words(to, words);
            (void)fputc(')', to);
        } else if (options[i].argument) {
            (void)fprintf(to, ":%s:%s", options[i].argument, takes_file(i) ? "_files" : " ");
        }
        (void)fputc('\'', to);
    }
    (void)fputs(" \\\n  '*:FILE:_files'\n", to);
}

static void print_fish(FILE *to)
{
    (void)fputs("# fish completion of analyze_profile\n", to);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *words = words_of(options[i].name);
        (void)fprintf(to, "complete -c analyze_profile -l %s", options[i].name);
        if (options[i].argument)
            (void)fputs(takes_file(i) ? " -r -F" : " -x", to);
        if (words) {
            (void)fputs(" -a '", to);
            print_words(to, words);
            (void)fputc('\'', to);
        }
        (void)fputs(" -d '", to);
        print_help_line(to, options[i].help, "'\\");
        (void)fputs("'\n", to);
    }
}

bool ap_cli_print_completion(FILE *to, const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *to);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print(to);
            return true;
        }
    return false;
}
