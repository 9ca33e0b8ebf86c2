/* SPDX-License-Identifier: MIT
 * Stacks are kept once: from the text of a list of frames to a stack's id. */
#include <stdio.h>
#include <string.h>

#include "frame_kind.h"
#include "json_cursor.h"
#include "tap.h"

struct bench {
    struct ap_gate gate;
    struct ap_error error;
    struct ap_snapshot *snapshot;
};

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    ap_gate_init(&bench->gate, 0);
    (void)!ok(ap_snapshot_new(&bench->gate, &bench->snapshot, &bench->error) == AP_OK, "a snapshot is made");
}

static void end(struct bench *bench)
{
    ap_snapshot_free(bench->snapshot);
    is_u64(atomic_load(&bench->gate.used_bytes), 0, "all memory is given back");
}

static uint32_t take(struct bench *bench, const char *json)
{
    uint32_t stack = UINT32_MAX;
    struct ap_text text = { json, strlen(json) };
    if (ap_stacks_take(&bench->snapshot->stacks, &bench->snapshot->strings, text, &stack, &bench->error) != AP_OK)
        return UINT32_MAX;
    return stack;
}

static const struct ap_frame *frame_at(const struct bench *bench, uint32_t stack, uint32_t index)
{
    static const struct ap_frame none = { .line = -77 };
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&bench->snapshot->stacks, stack, &count);
    return index < count ? &bench->snapshot->stacks.frames[frames[index]] : &none;
}

static bool text_is(const struct bench *bench, struct ap_str str, const char *text)
{
    return ap_text_is(ap_strpool_text(&bench->snapshot->strings, str), text);
}

#define A "{\"filename\": \"a.py\", \"line\": 1, \"name\": \"f\"}"
#define B "{\"filename\": \"b.py\", \"line\": 22, \"name\": \"g\"}"
#define B_REORDERED "{\"name\":\"g\",\"line\":22,\"filename\":\"b.py\",\"more\":[{\"line\":5}]}"

static void equal_stacks_are_one(void)
{
    struct bench bench;
    begin(&bench);
    uint32_t ab = take(&bench, "[" A ", " B "]"), ba = take(&bench, "[" B ", " A "]");
    is_int(ab, 1, "the first stack");
    is_int(ba, 2, "order counts");
    is_int(take(&bench, "[" A ", " B "]"), ab, "the same text is the same stack");
    is_int(take(&bench, "[ " A "," B_REORDERED " ]"), ab, "so are the same frames, written in another way");
    is_int(take(&bench, "[" A "]"), 3, "a part of it is another one");
    is_int(bench.snapshot->stacks.frame_count, 2, "there are two frames in all");
    ok(text_is(&bench, frame_at(&bench, ab, 1)->filename, "b.py"), "the file of the second one");
    ok(text_is(&bench, frame_at(&bench, ab, 1)->name, "g"), "its name");
    is_int(frame_at(&bench, ab, 1)->line, 22, "its line");
    end(&bench);
}

static void odd_lists(void)
{
    static const struct {
        const char *json;
        uint32_t frames;
    } lists[] = {
        { "[]", 0 },
        { "[ ]", 0 },
        { "null", 0 },
        { "\"[1]\"", 0 },
        { "{}", 0 },
        { "[1]", 1 },
        { "[null, {}]", 2 },
        { "[[1, [2]], 3]", 2 },
        { "[\"a b\"]", 1 },
        { "", 0 },
        { "[{\"line\": 1e99}]", 1 },
        { "[{\"filename\": {\"name\": \"x]\"}, \"name\": null}, true]", 2 },
    };
    struct bench bench;
    begin(&bench);
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        uint32_t count, stack = take(&bench, lists[i].json);
        (void)ap_stack_frames(&bench.snapshot->stacks, stack, &count);
        if (!is_int(count, lists[i].frames, "frames of an odd list"))
            note(lists[i].json);
    }
    uint32_t text_frame = take(&bench, "[\"at \\u0041 \\\"x\\\"\"]");
    ok(text_is(&bench, frame_at(&bench, text_frame, 0)->name, "at A \"x\""), "a frame that is a string is a name, decoded");
    is_int(frame_at(&bench, text_frame, 0)->line, -1, "without a line");
    end(&bench);
}

/* Texts that are not valid JSON do not come from the reader; they must end all the same. */
static void broken_texts_end(void)
{
    static const char whole[] = "[{\"filename\": \"a\\\\\", \"line\": 1, \"name\": [\"\\\"\", {}]}, \"b\", -1.5e3]";
    struct bench bench;
    char text[sizeof(whole)];
    begin(&bench);
    bool ended = true;
    for (size_t cut = 0; cut < sizeof(whole); cut++)
        for (size_t change = 0; change <= cut; change++) {
            uint32_t stack;
            memcpy(text, whole, cut);
            if (change < cut)
                text[change] = ",]}{[\":\\ "[cut % 9];
            ended = ended && ap_stacks_take(&bench.snapshot->stacks, &bench.snapshot->strings, (struct ap_text){ text, cut },
                                            &stack, &bench.error) == AP_OK;
        }
    ok(ended, "every broken text is survived");
    end(&bench);
}

static void many_stacks(void)
{
    struct bench bench;
    char text[600];
    uint32_t wrong = 0;
    begin(&bench);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            (void)snprintf(text, sizeof(text), "[%s, {\"filename\": \"c%d.py\", \"line\": %d, \"name\": \"h\"}, %s]", A,
                           i % 50, i, B);
            wrong += take(&bench, text) != (uint32_t)i + 1;
        }
    is_int(wrong, 0, "3000 stacks keep their ids when they are met again");
    is_int(bench.snapshot->stacks.stack_count, 3000, "there are no more");
    is_int(bench.snapshot->stacks.frame_count, 3002, "of as many frames and two");
    ap_snapshot_freeze(bench.snapshot);
    is_int(frame_at(&bench, 3000, 1)->line, 2999, "they can be read after the snapshot was frozen");
    end(&bench);
}

static void refused_memory(void)
{
    enum ap_status status = AP_ERROR_MEMORY;
    int64_t refused = 0;
    bool clean = true;
    for (; status == AP_ERROR_MEMORY && refused < 200; refused++) {
        struct ap_gate gate;
        struct ap_error error;
        struct ap_snapshot *snapshot = NULL;
        uint32_t stack;
        ap_gate_init(&gate, 0);
        atomic_store(&gate.fail_after, refused);
        status = ap_snapshot_new(&gate, &snapshot, &error);
        if (status == AP_OK)
            status = ap_stacks_take(&snapshot->stacks, &snapshot->strings, AP_TEXT("[" A ", " B_REORDERED ", \"\\n\"]"),
                                    &stack, &error);
        ap_snapshot_free(snapshot);
        clean = clean && atomic_load(&gate.used_bytes) == 0;
    }
    ok(clean && status == AP_OK && refused > 8, "each refused allocation is survived");
}

static void whose_frame(void)
{
    static const struct {
        const char *filename;
        bool library;
    } files[] = {
        { "/home/u/train.py", false },
        { "train.py", false },
        { "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", true },
        { "/venv/lib/python3.12/site-packages/transformers/trainer.py", false },
        { "/usr/lib/python3.12/contextlib.py", true },
        { "/usr/lib/python3/dist-packages/torch/functional.py", true },
        { "??", true },
        { "", true },
        { "<string>", true },
        { "python_variable.cpp", true },
        { "/lib/x86_64-linux-gnu/libc.so.6", true },
        { "/home/u/ops.cu", true },
        { "clone3.S", true },
        { "/usr/bin/python3.12", true },
        { "/usr/bin/python3.13t", true },
        { "C:/envs/train/python312.dll", true },
        { "C:/envs/train/_C.pyd", true },
        { "C:/envs/train/train.exe", true },
        { "/srv/python3.12/train.py", false },
        { "/srv/train/python", true },
        { "/srv/train/finetune", false },
    };
    for (size_t i = 0; i < AP_COUNT_OF(files); i++)
        if (!ok(ap_frame_is_library(ap_text_of(files[i].filename)) == files[i].library, "whose frame it is"))
            note(files[i].filename);
    ok(ap_frame_is_object(ap_text_of("/torch/lib/libtorch_cpu.so")) && ap_frame_is_object(ap_text_of("/bin/python3.12")),
       "of these a line is an address");
    ok(!ap_frame_is_object(ap_text_of("/home/u/ops.cu")) && !ap_frame_is_object(ap_text_of("??")),
       "of sources it is a line");
    struct bench bench;
    begin(&bench);
    uint32_t stack = take(&bench, "[{\"filename\": \"??\", \"line\": 0, \"name\": \"x\"}, " A ", " B "]");
    is_int(ap_stack_user_frame(bench.snapshot, stack), 1, "the innermost frame of the user");
    is_u64(ap_stack_user_frame(bench.snapshot, 0), UINT32_MAX, "no stack has none");
    is_int(ap_stack_main_frame(bench.snapshot, stack), 1, "which stands for the stack");
    stack = take(&bench, "[{\"filename\": \"??\", \"line\": 0, \"name\": \"torch::unwind::unwind()\"}, {\"filename\": "
                         "\"Functions.cpp\", \"line\": 7, \"name\": \"torch::autograd::generated::MmBackward0::apply\"}, "
                         "{\"filename\": \"clone3.S\", \"line\": 0, \"name\": \"clone\"}]");
    is_u64(ap_stack_user_frame(bench.snapshot, stack), UINT32_MAX, "a thread of autograd's has no line of the user's");
    is_int(ap_stack_main_frame(bench.snapshot, stack), 1, "but a node that asked");
    stack = take(&bench, "[{\"filename\": \"??\", \"line\": 0, \"name\": \"x\"}]");
    is_int(ap_stack_main_frame(bench.snapshot, stack), 0, "else the innermost one stands for it");
    stack = take(
        &bench, "[{\"filename\": \"??\", \"line\": 0, \"name\": \"torch::CapturedTraceback::gather(bool)\"}, {\"filename\": "
                "\"a.cpp\", \"line\": 0, \"name\": \"torch::cuda::(anonymous namespace)::gather_with_cpp()\"}, "
                "{\"filename\": \"b.cpp\", \"line\": 0, \"name\": \"c10::cuda::CUDACachingAllocator::malloc()\"}, "
                "{\"filename\": \"c.cpp\", \"line\": 0, \"name\": \"at::empty\"}]");
    is_int(ap_stack_main_frame(bench.snapshot, stack), 3, "behind the recorder and the allocator, which are in all stacks");
    end(&bench);
}

int main(void)
{
    equal_stacks_are_one();
    odd_lists();
    broken_texts_end();
    many_stacks();
    refused_memory();
    whose_frame();
    return done();
}
