/* SPDX-License-Identifier: MIT
 * engine_step.c - each engine writes its steps in a form of its own, and several through its versions; each form is read by
 * a function of its own, none of which takes half of a name. */
#include "engine_step.h"

#include <math.h>
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

static void set_attention(struct ap_engine_step_name *name, const struct lengths *context, const struct lengths *generation)
{
    double pairs[] = { context_pairs(context), generation_pairs(generation) };
    name->attention_pairs = pairs[0] >= 0 && pairs[1] >= 0 ? pairs[0] + pairs[1] : -1;
    double keys[] = { keys_of(context), keys_of(generation) };
    name->attention_keys = keys[0] >= 0 && keys[1] >= 0 ? keys[0] + keys[1] : -1;
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
    set_attention(name, &context_lengths, &generation_lengths);
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

/* What stands in brackets by name: sums of lengths are in the order of struct lengths. */
enum member {
    BATCH,
    TOKENS,
    CONTEXT_REQUESTS,
    GENERATION_REQUESTS,
    CONTEXT_LENGTHS,
    GENERATION_LENGTHS = CONTEXT_LENGTHS + 4,
    LENGTHS = GENERATION_LENGTHS + 4,
    MEMBER_COUNT = LENGTHS + 4
};

static double *member_of(struct ap_text key, double values[MEMBER_COUNT])
{
    static const struct {
        const char *key;
        enum member member;
    } members[] = {
        { "bs", BATCH },
        { "toks", TOKENS },
        { "tok", TOKENS },
        { "c", CONTEXT_REQUESTS },
        { "g", GENERATION_REQUESTS },
        { "p", CONTEXT_REQUESTS },
        { "d", GENERATION_REQUESTS },
    };
    static const char *const sums[] = { "c_sq",   "c_sk",   "c_sqsq", "c_sqsk", "g_sq", "g_sk",
                                        "g_sqsq", "g_sqsk", "sq",     "sk",     "sqsq", "sqsk" };
    for (size_t i = 0; i < AP_COUNT_OF(members); i++)
        if (ap_text_is(key, members[i].key))
            return &values[members[i].member];
    for (size_t i = 0; i < AP_COUNT_OF(sums); i++)
        if (ap_text_is(key, sums[i]))
            return &values[CONTEXT_LENGTHS + i];
    return NULL;
}

/* "bs=117/128 tok=117 ctx=[7803, 6918]...+3]": of those that are known the first number counts. */
static bool take_members(struct reader *reader, double values[MEMBER_COUNT])
{
    for (int i = 0; i < MEMBER_COUNT; i++)
        values[i] = -1;
    while (!take(reader, "]")) {
        (void)take(reader, " ");
        struct ap_text key = { reader->at, 0 };
        while (reader->at < reader->end && ((*reader->at >= 'a' && *reader->at <= 'z') || *reader->at == '_'))
            reader->at++, key.bytes++;
        double *value = member_of(key, values);
        if (!key.bytes || !take(reader, "=") || (value && !take_number(reader, value)))
            return false;
        for (int depth = 0; reader->at < reader->end && (depth || (*reader->at != ' ' && *reader->at != ']')); reader->at++)
            depth += *reader->at == '[' ? 1 : *reader->at == ']' ? -1 : 0;
    }
    for (int i = 0; i < CONTEXT_LENGTHS; i++) /* counts */
        if (values[i] > MOST)
            return false;
    return at_end(reader);
}

static struct lengths lengths_in(const double values[4])
{
    return (struct lengths){ (int64_t)fmin(values[0], MOST), values[1], values[2], values[3] };
}

/* "step[EXTEND bs=15 toks=15360]": a word in capitals, then what it tells, with detailed annotations the sums of lengths
 * too. Only of a plain decode is each request a token. */
static bool read_sglang(struct reader reader, struct ap_engine_step_name *name)
{
    double values[MEMBER_COUNT];
    if (!take(&reader, "step["))
        return false;
    struct ap_text mode = { reader.at, 0 };
    while (reader.at < reader.end &&
           ((*reader.at >= 'A' && *reader.at <= 'Z') || *reader.at == '_' || ap_is_digit(*reader.at)))
        reader.at++, mode.bytes++;
    if (!mode.bytes || !take_members(&reader, values))
        return false;
    struct lengths context = lengths_in(&values[CONTEXT_LENGTHS]), generation = lengths_in(&values[GENERATION_LENGTHS]);
    name->engine = "SGLang";
    name->phase = phase_of_mode(mode);
    name->requests = (int64_t)values[BATCH];
    name->tokens = (int64_t)values[TOKENS];
    if (values[CONTEXT_REQUESTS] >= 0 && values[GENERATION_REQUESTS] >= 0)
        set_requests(name, (int64_t)values[CONTEXT_REQUESTS], (int64_t)values[GENERATION_REQUESTS]);
    if (name->phase == AP_ENGINE_mixed && context.tokens >= 0 && generation.tokens >= 0)
        set_tokens(name, context.tokens, generation.tokens);
    if (name->phase == AP_ENGINE_decode) {
        bool plain = ap_text_is(mode, "DECODE") && generation.tokens < 0;
        int64_t tokens = plain && name->tokens < 0 ? name->requests
                         : generation.tokens >= 0  ? generation.tokens
                                                   : name->tokens;
        set_requests(name, 0, name->requests);
        name->phase = AP_ENGINE_decode;
        set_tokens(name, 0, tokens);
        context = (struct lengths){ 0, 0, 0, 0 };
    } else if (name->phase == AP_ENGINE_prefill) {
        set_tokens(name, name->tokens >= 0 ? name->tokens : context.tokens, 0);
        name->context_requests = name->requests;
        generation = (struct lengths){ 0, 0, 0, 0 };
    }
    if (context.products >= 0 && generation.products >= 0)
        set_attention(name, &context, &generation);
    return true;
}

/* Of ATOM "decode[bs=64 tok=64 d=64]" and "prefill[bs=2 tok=14721 ctx=[7803, 6918] sqsq=... sqsk=... sk=...]"; prompts among
 * answers are p of them. */
static bool read_atom(struct reader reader, struct ap_engine_step_name *name)
{
    double values[MEMBER_COUNT];
    bool decodes = take(&reader, "decode[");
    if ((!decodes && !take(&reader, "prefill[")) || !take_members(&reader, values) || values[BATCH] < 0 ||
        values[TOKENS] < 0)
        return false;
    int64_t batch = (int64_t)values[BATCH], tokens = (int64_t)values[TOKENS];
    struct lengths lengths = lengths_in(&values[LENGTHS]), none = { 0, 0, 0, 0 };
    lengths.tokens = tokens;
    name->engine = "ATOM";
    if (decodes && values[CONTEXT_REQUESTS] > 0) {
        set_requests(name, (int64_t)fmin(values[CONTEXT_REQUESTS], values[BATCH]),
                     batch - (int64_t)fmin(values[CONTEXT_REQUESTS], values[BATCH]));
        name->tokens = tokens;
        return true;
    }
    set_requests(name, decodes ? 0 : batch, decodes ? batch : 0);
    set_tokens(name, decodes ? 0 : tokens, decodes ? tokens : 0);
    if (lengths.products >= 0)
        set_attention(name, decodes ? &none : &lengths, decodes ? &lengths : &none);
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
    static bool (*const forms[])(struct reader, struct ap_engine_step_name *) = { read_vllm, read_older_vllm,   read_sglang,
                                                                                  read_atom, read_tensorrt_llm, read_xdit };
    if (name.bytes < 8 || !memchr("esdp[_", *name.data, 6))
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
