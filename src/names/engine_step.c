/* SPDX-License-Identifier: MIT
 * engine_step.c - each engine writes its steps in a form of its own, and several through its versions; each form is read by
 * a function of its own, none of which takes half of a name. */
#include "engine_step.h"

#include <string.h>

#include "poison.h"

#define MOST 1000000000000000 /* no count is larger; squares of it are read as they are */

struct reader {
    const char *at, *end;
};

static bool take(struct reader *reader, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, word, bytes) != 0)
        return false;
    reader->at += bytes;
    return true;
}

static bool take_number(struct reader *reader, double *ret_number)
{
    const char *start = reader->at;
    double number = 0;
    while (reader->at < reader->end && ap_is_digit(*reader->at))
        number = number * 10 + (*reader->at++ - '0');
    *ret_number = number;
    return reader->at > start;
}

static bool take_count(struct reader *reader, int64_t *ret_count)
{
    double number;
    if (!take_number(reader, &number) || number > MOST)
        return false;
    *ret_count = (int64_t)number;
    return true;
}

static bool at_end(const struct reader *reader)
{
    return reader->at == reader->end;
}

/* Sums over the requests of one kind: new tokens, tokens that they look at, and their products. */
struct lengths {
    int64_t tokens;
    double keys;              /* tokens that are looked at; negative = not told */
    double squares, products; /* new by new; new by looked at; likewise */
};

/* "sq8155sk8430sqsq7475785sqsk7671310": in this order, as the longer name is no beginning of the shorter. */
static bool take_named_sums(struct reader *reader, struct lengths *lengths)
{
    if (!take(reader, "sq") || !take_count(reader, &lengths->tokens))
        return false;
    if (take(reader, "sk") && !take_number(reader, &lengths->keys))
        return false;
    if (take(reader, "sqsq") && !take_number(reader, &lengths->squares))
        return false;
    return !take(reader, "sqsk") || take_number(reader, &lengths->products);
}

/* Behind the number of requests: "(30)", "(30_900)" with the sum of squares, the sums by name, or nothing. */
static bool take_lengths(struct reader *reader, struct lengths *lengths)
{
    *lengths = (struct lengths){ -1, -1, -1, -1 };
    if (!take(reader, "("))
        return true;
    struct reader before = *reader;
    if (take_count(reader, &lengths->tokens)) {
        if (take(reader, "_") && !take_number(reader, &lengths->squares))
            return false;
    } else {
        *reader = before;
        if (!take_named_sums(reader, lengths))
            return false;
    }
    return take(reader, ")");
}

/* A prompt's token looks at those before it in the same part of the prompt and at all that came earlier. Of the older form,
 * which tells squares alone, nothing came earlier. */
static double context_pairs(const struct lengths *context)
{
    if (!context->tokens)
        return 0;
    if (context->squares < 0)
        return -1;
    return context->products < 0 ? context->squares / 2 : context->products - context->squares / 2;
}

static double generation_pairs(const struct lengths *generation)
{
    return generation->tokens ? generation->products : 0;
}

/* The older form tells prompts that nothing came before: they look at themselves. */
static double keys_of(const struct lengths *lengths)
{
    if (!lengths->tokens)
        return 0;
    return lengths->keys < 0 && lengths->squares >= 0 ? (double)lengths->tokens : lengths->keys;
}

static enum ap_engine_phase phase_of(int64_t context, int64_t generation)
{
    if (context > 0)
        return generation > 0 ? AP_ENGINE_mixed : AP_ENGINE_prefill;
    return generation > 0 ? AP_ENGINE_decode : AP_ENGINE_empty;
}

static void set_requests(struct ap_engine_step_name *name, int64_t context, int64_t generation)
{
    name->context_requests = context;
    name->generation_requests = generation;
    name->requests = context + generation;
    name->phase = phase_of(context, generation);
}

static void set_tokens(struct ap_engine_step_name *name, int64_t context, int64_t generation)
{
    name->context_tokens = context;
    name->generation_tokens = generation;
    name->tokens = context >= 0 && generation >= 0 ? context + generation : -1;
}

/* "execute_context_1(888)_generation_0(0)", with the tokens of both in front: "execute_32_context_...". */
static bool read_vllm(struct reader reader, struct ap_engine_step_name *name)
{
    int64_t context, generation, all;
    struct lengths context_lengths, generation_lengths;
    if (!take(&reader, "execute_"))
        return false;
    if (!take(&reader, "context_") && !(take_count(&reader, &all) && take(&reader, "_context_")))
        return false;
    if (!take_count(&reader, &context) || !take_lengths(&reader, &context_lengths) || !take(&reader, "_generation_") ||
        !take_count(&reader, &generation) || !take_lengths(&reader, &generation_lengths) || !at_end(&reader))
        return false;
    name->engine = "vLLM";
    set_requests(name, context, generation);
    set_tokens(name, context_lengths.tokens, generation_lengths.tokens);
    double pairs[] = { context_pairs(&context_lengths), generation_pairs(&generation_lengths) };
    name->attention_pairs = pairs[0] >= 0 && pairs[1] >= 0 ? pairs[0] + pairs[1] : -1;
    double keys[] = { keys_of(&context_lengths), keys_of(&generation_lengths) };
    name->attention_keys = keys[0] >= 0 && keys[1] >= 0 ? keys[0] + keys[1] : -1;
    return true;
}

/* "execute_new_1_cached_31": requests that come in, and those that go on, which mostly decode. */
static bool read_older_vllm(struct reader reader, struct ap_engine_step_name *name)
{
    int64_t context, generation;
    if (!take(&reader, "execute_new_") || !take_count(&reader, &context) || !take(&reader, "_cached_") ||
        !take_count(&reader, &generation) || !at_end(&reader))
        return false;
    name->engine = "vLLM";
    set_requests(name, context, generation);
    return true;
}

static enum ap_engine_phase phase_of_mode(struct ap_text mode)
{
    if (ap_text_is(mode, "DECODE") || ap_text_is(mode, "TARGET_VERIFY"))
        return AP_ENGINE_decode;
    if (ap_text_is(mode, "EXTEND") || ap_text_is(mode, "SPLIT_PREFILL"))
        return AP_ENGINE_prefill;
    if (ap_text_is(mode, "MIXED"))
        return AP_ENGINE_mixed;
    return ap_text_is(mode, "IDLE") ? AP_ENGINE_empty : AP_ENGINE_other;
}

/* "step[EXTEND bs=15 toks=15360]": a word in capitals, then what it tells. Only of a plain decode is each request a token.
 */
static bool read_sglang(struct reader reader, struct ap_engine_step_name *name)
{
    if (!take(&reader, "step["))
        return false;
    struct ap_text mode = { reader.at, 0 };
    while (reader.at < reader.end &&
           ((*reader.at >= 'A' && *reader.at <= 'Z') || *reader.at == '_' || ap_is_digit(*reader.at)))
        reader.at++, mode.bytes++;
    if (!mode.bytes)
        return false;
    name->engine = "SGLang";
    name->phase = phase_of_mode(mode);
    if (take(&reader, " bs=") && !take_count(&reader, &name->requests))
        return false;
    if (take(&reader, " toks=") && !take_count(&reader, &name->tokens))
        return false;
    if (!take(&reader, "]") || !at_end(&reader))
        return false;
    if (ap_text_is(mode, "DECODE")) {
        set_requests(name, 0, name->requests);
        name->phase = AP_ENGINE_decode;
        set_tokens(name, 0, name->tokens >= 0 ? name->tokens : name->requests);
    } else if (name->phase == AP_ENGINE_prefill) {
        set_tokens(name, name->tokens, 0);
        name->context_requests = name->requests;
    }
    return true;
}

/* "[Executor] _forward_step 7: 1 ctx reqs, 40 ctx tokens, 0 gen reqs"; number and tokens came later, the C++ runtime calls
 * it "executeStep". */
static bool read_tensorrt_llm(struct reader reader, struct ap_engine_step_name *name)
{
    int64_t number, context, generation, tokens = -1;
    (void)take(&reader, "[Executor] ");
    if (take(&reader, "_forward_step")) {
        if (take(&reader, " ") && !take_count(&reader, &number))
            return false;
    } else if (!take(&reader, "executeStep"))
        return false;
    if (!take(&reader, ": ") || !take_count(&reader, &context) || !take(&reader, " ctx reqs, ") ||
        !take_count(&reader, &generation))
        return false;
    if (take(&reader, " ctx tokens, ")) {
        tokens = generation;
        if (!take_count(&reader, &generation))
            return false;
    }
    if (!take(&reader, " gen reqs") || !at_end(&reader))
        return false;
    name->engine = "TensorRT-LLM";
    set_requests(name, context, generation);
    set_tokens(name, context ? tokens : 0, generation ? -1 : 0); /* how many are guessed at once is not told */
    return true;
}

/* "execute_diffusion_1_256x256": images, and their size. */
static bool read_xdit(struct reader reader, struct ap_engine_step_name *name)
{
    int64_t images, side;
    if (!take(&reader, "execute_diffusion_") || !take_count(&reader, &images) || !take(&reader, "_") ||
        !take_count(&reader, &side))
        return false;
    while (take(&reader, "x"))
        if (!take_count(&reader, &side))
            return false;
    if (!at_end(&reader))
        return false;
    name->engine = "xDiT";
    name->phase = AP_ENGINE_diffusion;
    name->requests = images;
    return true;
}

bool ap_engine_step_name_read(struct ap_text name, struct ap_engine_step_name *ret_name)
{
    static bool (*const forms[])(struct reader, struct ap_engine_step_name *) = { read_vllm, read_older_vllm, read_sglang,
                                                                                  read_tensorrt_llm, read_xdit };
    if (name.bytes < 8 || !memchr("es[_", *name.data, 4))
        return false;
    for (size_t i = 0; i < AP_COUNT_OF(forms); i++) {
        *ret_name = (struct ap_engine_step_name){ NULL, AP_ENGINE_other, -1, -1, -1, -1, -1, -1, -1, -1 };
        if (forms[i]((struct reader){ name.data, name.data + name.bytes }, ret_name))
            return true;
    }
    return false;
}

const char *ap_engine_phase_name(enum ap_engine_phase phase)
{
    static const char *const names[] = { "prefill", "decode", "mixed", "diffusion", "empty", "other" };
    return names[phase];
}
