/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include "option_names.h"

#include "poison.h"

static const char *const settings[AP_SETTING_COUNT][AP_WORDS_COUNT] = {
    [AP_SETTING_NONE] = { "", "", "" },
#define AP_SETTING(id, library, program, server) [AP_SETTING_##id] = { library, program, server },
#define AP_ADVICE(id, library, program, server)
#include "words.def"
#undef AP_ADVICE
#undef AP_SETTING
};

static const char *const advices[AP_ADVICE_COUNT][AP_WORDS_COUNT] = {
    [AP_ADVICE_NONE] = { "", "", "" },
#define AP_SETTING(id, library, program, server)
#define AP_ADVICE(id, library, program, server) [AP_ADVICE_##id] = { library, program, server },
#include "words.def"
#undef AP_ADVICE
#undef AP_SETTING
};

const char *ap_setting_name(enum ap_setting setting, enum ap_words words)
{
    return settings[setting][words];
}

const char *ap_advice_text(enum ap_advice advice, enum ap_words words)
{
    return advices[advice][words];
}

const char *ap_error_text(const struct ap_error *error, enum ap_words words, char *to, size_t to_bytes)
{
    const char *setting = ap_setting_name(error->setting, words), *advice = ap_advice_text(error->advice, words);
    size_t bytes = strlen(error->message);
    const char *between = !*advice ? "" : bytes && error->message[bytes - 1] == '?' ? " " : "; ";
    (void)snprintf(to, to_bytes, "%s%s%s%s%s", setting, *setting ? ": " : "", error->message, between, advice);
    return to;
}
