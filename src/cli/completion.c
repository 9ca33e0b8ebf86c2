/* SPDX-License-Identifier: MIT
 * completion.c - the options as the shells complete them, from the table that parsing has. */
#include <string.h>

#include "serve.h"

static const struct {
    const char *name, *argument, *help; /* argument NULL = none */
} options[] = {
#define AP_SECTION(title)
#define AP_OPTION(id, name, argument, help) { name, argument, help },
#include "options.def"
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

/* Options that take one of a few words. */
static const struct {
    const char *name, *words;
} choices[] = {
    { "focus", "cpu gpu memory io" },
    { "fail-on", "low medium high critical new:medium new:high new:critical" },
    { "format", "md json text csv" },
    { "table", "operators kernels launches copies synchronisations collectives steps allocations findings tables" },
    { "threads", "1 2 4 8 16" },
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

static bool takes(size_t i, const char *argument)
{
    return options[i].argument && strcmp(options[i].argument, argument) == 0;
}

static bool is_for_server(size_t i)
{
    return ap_serve_takes(options[i].name, strlen(options[i].name));
}

/* What makes no sense without mcp before it. */
static bool is_for_server_alone(size_t i)
{
    return strcmp(options[i].name, "root") == 0;
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

/* The options whose argument is a place of this kind: "--a|--b)". */
static void print_bash_case(FILE *to, bool (*fits)(size_t i))
{
    const char *before = "    ";
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (fits(i)) {
            char letter = ap_cli_letter_of(options[i].name);
            (void)fprintf(to, "%s--%s%s%.1s", before, options[i].name, letter ? "|-" : "", &letter);
            before = "|";
        }
    (void)fputs(")\n", to);
}

static bool takes_file(size_t i)
{
    return takes(i, "FILE");
}

static bool takes_folder(size_t i)
{
    return takes(i, "DIR");
}

static bool takes_free_text(size_t i)
{
    return options[i].argument && !takes_file(i) && !takes_folder(i) && !words_of(options[i].name);
}

static void print_bash_cases(FILE *to)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *words = words_of(options[i].name);
        if (!words)
            continue;
        (void)fprintf(to, "    --%s)\n        mapfile -t COMPREPLY < <(compgen -W \"", options[i].name);
        print_words(to, words);
        (void)fputs("\" -- \"$word\")\n        return ;;\n", to);
    }
    print_bash_case(to, takes_file);
    (void)fputs("        compopt -o filenames 2>/dev/null\n"
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                "        return ;;\n",
                to);
    print_bash_case(to, takes_folder);
    (void)fputs("        compopt -o filenames 2>/dev/null\n"
                "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
                "        return ;;\n",
                to);
    print_bash_case(to, takes_free_text);
    (void)fputs("        return ;;\n", to);
}

static void print_bash_words(FILE *to, bool for_server)
{
    const char *before = "";
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (for_server ? is_for_server(i) : !is_for_server_alone(i)) {
            (void)fprintf(to, "%s--%s", before, options[i].name);
            before = " ";
        }
}

static void print_bash(FILE *to)
{
    (void)fputs("# bash completion of analyze_profile\n"
                "_analyze_profile()\n"
                "{\n"
                "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" options serves=\n"
                "    COMPREPLY=()\n"
                "    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == mcp ]] && serves=1\n"
                "    if [[ $word == = ]]; then\n"
                "        word=\n"
                "    elif [[ $before == = && $COMP_CWORD -ge 2 ]]; then\n"
                "        before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
                "    fi\n"
                "    case \"$before\" in\n",
                to);
    print_bash_cases(to);
    (void)fputs("    esac\n"
                "    options=\"",
                to);
    print_bash_words(to, false);
    (void)fputs("\"\n"
                "    [[ $serves ]] && options=\"",
                to);
    print_bash_words(to, true);
    (void)fputs(
        "\"\n"
        "    if [[ $word == -* || $serves ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
        "    else\n"
        "        compopt -o filenames 2>/dev/null\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"; [[ $COMP_CWORD -eq 1 ]] && compgen -W mcp -- \"$word\")\n"
        "    fi\n"
        "}\n"
        "complete -F _analyze_profile analyze_profile\n",
        to);
}

/* ---- zsh ---- */

static void print_zsh_option(FILE *to, size_t i)
{
    const char *words = words_of(options[i].name);
    char letter = ap_cli_letter_of(options[i].name);
    if (letter) /* either of the two spellings */
        (void)fprintf(to, " \\\n  '*'{-%c%s,--%s%s}'[", letter, options[i].argument ? "+" : "", options[i].name,
                      options[i].argument ? "=" : "");
    else
        (void)fprintf(to, " \\\n  '*--%s%s[", options[i].name, options[i].argument ? "=" : "");
    print_help_line(to, options[i].help, "[]'\\`$:");
    (void)fputc(']', to);
    if (words) {
        (void)fprintf(to, ":%s:(", options[i].argument);
        print_words(to, words);
        (void)fputc(')', to);
    } else if (options[i].argument) {
        (void)fprintf(to, ":%s:%s", options[i].argument, takes_file(i) ? "_files" : takes_folder(i) ? "_files -/" : " ");
    }
    (void)fputc('\'', to);
}

static void print_zsh(FILE *to)
{
    (void)fputs("#compdef analyze_profile\n"
                "_analyze_profile_first() { _alternative 'commands:command:(mcp)' 'files:FILE:_files' }\n"
                "if (( CURRENT > 2 )) && [[ $words[2] == mcp ]]; then\n"
                "_arguments '1:command:(mcp)'",
                to);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (is_for_server(i))
            print_zsh_option(to, i);
    (void)fputs("\nelse\n_arguments", to);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (!is_for_server_alone(i))
            print_zsh_option(to, i);
    (void)fputs(" \\\n  '1:FILE:_analyze_profile_first' \\\n  '*:FILE:_files'\nfi\n", to);
}

/* ---- fish ---- */

static const char *fish_condition(size_t i)
{
    if (is_for_server_alone(i))
        return " -n '__fish_seen_subcommand_from mcp'";
    return is_for_server(i) ? "" : " -n 'not __fish_seen_subcommand_from mcp'";
}

static void print_fish(FILE *to)
{
    (void)fputs("# fish completion of analyze_profile\n"
                "complete -c analyze_profile -n '__fish_seen_subcommand_from mcp' -f\n"
                "complete -c analyze_profile -n '__fish_is_first_arg' -a mcp -d 'serve agents'\n",
                to);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *words = words_of(options[i].name);
        char letter = ap_cli_letter_of(options[i].name);
        (void)fprintf(to, "complete -c analyze_profile%s -l %s%s%.1s", fish_condition(i), options[i].name,
                      letter ? " -s " : "", &letter);
        if (options[i].argument)
            (void)fputs(takes_file(i) ? " -r -F" : " -x", to);
        if (takes_folder(i))
            (void)fputs(" -a '(__fish_complete_directories)'", to);
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
