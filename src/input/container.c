/* SPDX-License-Identifier: MIT */
#include "container.h"

#include <stdio.h>
#include <string.h>

#include "log_line.h"

#include "poison.h"

/* A pickle has to be named within this many first bytes, wherever they come from. */
#define PICKLE_HEAD_BYTES 64

#define NEVER_LOADED "pickle is never loaded, because loading one runs code that it holds"
/* Last, and with its danger: who has a choice writes JSON. */
#define CONVERT_PICKLE                                                                                      \
    "Only for a snapshot that you made yourself and cannot take again, because this runs the code in it:\n" \
    "    import json, pickle\n"                                                                             \
    "    snapshot = pickle.load(open(\"snapshot.pickle\", \"rb\"))\n"                                       \
    "    json.dump(snapshot, open(\"snapshot.json\", \"w\"))"
#define EXPORT_SNAPSHOT                              \
    "    import json, torch\n"                       \
    "    snapshot = torch.cuda.memory._snapshot()\n" \
    "    json.dump(snapshot, open(\"snapshot.json\", \"w\"))"
#define EXPORT_TRACE "prof.export_chrome_trace(\"trace.json\")"

struct ap_container {
    const char *name; /* completes "this is ..." */
    const char *magic;
    uint16_t magic_bytes, magic_offset;
    bool (*probe)(const struct ap_container_head *head); /* where the magic alone does not decide */
    const char *advice;                                  /* NULL: how to export JSON, by role */
};

const char *ap_input_pickle_advice(void)
{
    return NEVER_LOADED ". Let the job write JSON:\n" EXPORT_SNAPSHOT "\n" CONVERT_PICKLE;
}

/* Byte @at of the head, 256 where there is none. */
static unsigned byte_at(const struct ap_container_head *head, size_t at)
{
    return at < head->bytes ? head->data[at] : 256;
}

static bool holds(const struct ap_container_head *head, size_t within, const char *text)
{
    size_t text_bytes = strlen(text), bytes = head->bytes < within ? head->bytes : within;
    for (size_t at = 0; at + text_bytes <= bytes; at++)
        if (head->data[at] == (uint8_t)*text && memcmp(head->data + at, text, text_bytes) == 0)
            return true;
    return false;
}

static bool is_json_space(unsigned byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

size_t ap_container_blank_bytes(const struct ap_container_head *head)
{
    size_t at = 0;
    if (byte_at(head, 0) == 0xef && byte_at(head, 1) == 0xbb && byte_at(head, 2) == 0xbf)
        at = 3;
    while (at < head->bytes && is_json_space(head->data[at]))
        at++;
    return at;
}

bool ap_container_is_gzip(const struct ap_container_head *head)
{
    if (byte_at(head, 0) != 0x1f)
        return false;
    return byte_at(head, 1) == 0x8b || (head->bytes == 1 && head->whole);
}

/* --- pickle. Protocols 0 and 1 have no magic; what pickle.dumps(x, 0) and (x, 1) begin with for containers is: ------ */

static bool is_digit(unsigned byte)
{
    return byte >= '0' && byte <= '9';
}

/* Protocol 0: "(dp0\n" and "(lp0\n" (mark, dict or list, memo number), "(V", "(I", ... for tuples, "(t." for the empty
 * one. Python 2 numbers memos from 1. */
static bool is_pickle_0(const struct ap_container_head *head)
{
    unsigned second = byte_at(head, 1), third = byte_at(head, 2);
    if (byte_at(head, 0) != '(')
        return false;
    if (second == 'd' || second == 'l')
        return (third == 'p' && is_digit(byte_at(head, 3))) || third == '.' || third == '(' || third == 'V' || third == 'S';
    if (second == 't')
        return third == 'p' || third == '.';
    if (second == 'I' || second == 'L' || second == 'F')
        return is_digit(third) || third == '-';
    if (second == 'S')
        return third == '\'' || third == '"';
    return second == '(' || (second == 'V' && holds(head, PICKLE_HEAD_BYTES, "\np"));
}

/* Protocol 1: "}q\0", "]q\0" (empty dict or list, memo), "}(X" and the like when optimized, "(K\1", "(X....". */
static bool is_pickle_1(const struct ap_container_head *head)
{
    unsigned second = byte_at(head, 1), third = byte_at(head, 2);
    switch (byte_at(head, 0)) {
    case '}':
    case ']': return second == 'q' || second == '(' || second == '.' || second == ']' || second == '}';
    case ')': return second == '.' || second == 'q';
    case '(':
        return (second == 'K' && third < ' ') || (second == ']' && third == 'q') || (second == '}' && third == 'q') ||
               (second == 'X' && byte_at(head, 5) == 0);
    default: return false;
    }
}

static size_t identifier_line(const struct ap_container_head *head, size_t at)
{
    size_t from = at;
    for (;; at++) {
        unsigned byte = byte_at(head, at);
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        if (!letter && !(at > from && (is_digit(byte) || byte == '.')))
            return byte == '\n' && at > from ? at + 1 : 0;
    }
}

/* "ccollections\nOrderedDict\n" and then a memo or arguments: an object of a named class, in protocols 0 and 1. */
static bool is_pickled_object(const struct ap_container_head *head)
{
    size_t name_at = identifier_line(head, 1);
    size_t next_at = name_at ? identifier_line(head, name_at) : 0;
    unsigned next = next_at ? byte_at(head, next_at) : 256;
    return next == '(' || next == ')' || next == 'q' || (next == 'p' && is_digit(byte_at(head, next_at + 1)));
}

/* What a dump of the flight recorder has in its first bytes, and a snapshot nowhere. */
static bool is_pickled_dump(const struct ap_container_head *head)
{
    static const char *const keys[] = { "pg_config", "pg_status", "nccl_comm_state", "profiling_name", "collective_seq_id" };
    bool found = false;
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        found = found || holds(head, head->bytes, keys[i]);
    return found && byte_at(head, 1) >= 2 && byte_at(head, 1) <= 5;
}

/* --- other formats ------------------------------------------------------------------------------------------------ */

static bool is_torch_archive(const struct ap_container_head *head)
{
    return holds(head, 512, "data.pkl");
}

static bool is_numpy_archive(const struct ap_container_head *head)
{
    return holds(head, 512, ".npy");
}

/* The checksum of a tar header is the sum of its bytes with the checksum itself taken as eight blanks. */
static bool is_tar(const struct ap_container_head *head)
{
    enum { BLOCK = 512, SUM_AT = 148, SUM_END = 156 };
    if (head->bytes < BLOCK || head->data[0] == 0)
        return false;
    unsigned sum = 8 * ' ', stated = 0;
    for (size_t i = 0; i < BLOCK; i++)
        if (i < SUM_AT || i >= SUM_END)
            sum += head->data[i];
    size_t at = SUM_AT;
    while (at < SUM_END && head->data[at] == ' ')
        at++;
    for (; at < SUM_END && head->data[at] >= '0' && head->data[at] <= '7'; at++)
        stated = stated * 8 + (head->data[at] - '0');
    return sum == stated;
}

static bool has_control_bytes(const struct ap_container_head *head, size_t within)
{
    for (size_t i = 0; i < head->bytes && i < within; i++)
        if (head->data[i] < ' ' && !is_json_space(head->data[i]) && head->data[i] != '\f')
            return true;
    return false;
}

static bool read_varint(const struct ap_container_head *head, size_t *at, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        unsigned byte = byte_at(head, (*at)++);
        if (byte > 255)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* A Perfetto trace is `repeated TracePacket packet = 1`: 0x0a, a length, a packet that begins with a field of its own
 * (google/perfetto:protos/perfetto/trace/trace.proto). 0x0a is also a newline, with which JSON may begin: so there must
 * be bytes that no JSON text begins with as well. Other protobuf files (XPlane of XLA) look the same. */
static bool is_protobuf_packets(const struct ap_container_head *head)
{
    size_t at = 1;
    uint64_t length, tag;
    if (!has_control_bytes(head, 256) || !read_varint(head, &at, &length) || length == 0)
        return false;
    if (!read_varint(head, &at, &tag))
        return false;
    unsigned wire_type = tag & 7;
    return tag >> 3 >= 1 && tag >> 3 < 1 << 15 && (wire_type <= 2 || wire_type == 5);
}

/* XLA's planes are named by what they are of, in the first bytes of the first one. */
static bool is_xplane(const struct ap_container_head *head)
{
    return is_protobuf_packets(head) && (holds(head, 64, "/host:") || holds(head, 64, "/device:"));
}

/* `repeated ValueType sample_type = 1`, a type and a unit, each of one byte (google/pprof:proto/profile.proto). */
static bool is_pprof(const struct ap_container_head *head)
{
    return byte_at(head, 1) == 4 && byte_at(head, 2) == 0x08 && byte_at(head, 4) == 0x10 && byte_at(head, 6) == '\n';
}

/* ir_version, then producer_name or graph: onnx/onnx:onnx/onnx.proto. */
static bool is_onnx_model(const struct ap_container_head *head)
{
    return byte_at(head, 1) < 32 && (byte_at(head, 2) == 0x12 || byte_at(head, 2) == 0x3a);
}

/* Its header stands in the first block, which LZ4 keeps as it is. */
static bool is_memray(const struct ap_container_head *head)
{
    return holds(head, 64, "memray");
}

/* TensorBoard's event files: a record of which the length (8 bytes), its checksum (4) and then, after the time stamp of
 * field 1, the version as field 3 come first. */
static bool is_tensorboard(const struct ap_container_head *head)
{
    return byte_at(head, 12) == 0x09 && holds(head, 64, "brain.Event:");
}

static bool has_text_at_start(const struct ap_container_head *head, const char *lower_text)
{
    size_t at = ap_container_blank_bytes(head);
    for (; *lower_text; lower_text++, at++) {
        unsigned byte = byte_at(head, at);
        if ((byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte) != (unsigned char)*lower_text)
            return false;
    }
    return true;
}

static bool is_html(const struct ap_container_head *head)
{
    return has_text_at_start(head, "<!doctype html") || has_text_at_start(head, "<html");
}

static bool is_svg(const struct ap_container_head *head)
{
    return has_text_at_start(head, "<") && holds(head, 512, "<svg");
}

static bool is_xml(const struct ap_container_head *head)
{
    return has_text_at_start(head, "<?xml") || has_text_at_start(head, "<svg") || has_text_at_start(head, "<!doctype");
}

/* Without a byte order mark: every other byte of ASCII is zero. */
static bool is_utf16_unmarked(const struct ap_container_head *head)
{
    unsigned first = byte_at(head, 0), second = byte_at(head, 1);
    return (first == 0 && (second == '{' || second == '[')) || (second == 0 && (first == '{' || first == '['));
}

static bool is_utf32_unmarked(const struct ap_container_head *head)
{
    unsigned last = byte_at(head, 3);
    return byte_at(head, 0) == 0 && byte_at(head, 1) == 0 && byte_at(head, 2) == 0 && (last == '{' || last == '[');
}

#define MAGIC(text) text, sizeof(text) - 1, 0
#define MAGIC_AT(offset, text) text, sizeof(text) - 1, offset
#define PROBE_ONLY "", 0, 0
#define PIPE(command) "unpack it first, or pipe it: " command " FILE | analyze_profile -"
#define TO_UTF8(from) "JSON is UTF-8; convert it: iconv -f " from " -t UTF-8 FILE > FILE.utf8"

static bool is_log(const struct ap_container_head *head)
{
    return ap_is_compile_log(head->data, head->bytes);
}

/* "[11/27/2026-08:00:00] [TRT-LLM] [I] Starting": what stands behind the bracket is no JSON. */
static bool is_bracketed_log(const struct ap_container_head *head)
{
    size_t at = 1;
    while (at < head->bytes && !strchr("[]{\"\n", head->data[at]))
        at++;
    if (at == 1 || at + 2 >= head->bytes || head->data[at] != ']' || head->data[at + 1] != ' ')
        return false;
    return head->data[at + 2] == '[' || ap_is_letter((char)head->data[at + 2]);
}

static bool is_trtllm_log(const struct ap_container_head *head)
{
    struct ap_text text = { (const char *)head->data, head->bytes };
    return is_bracketed_log(head) &&
           (ap_text_contains_folded(text, "[trt-llm]") || ap_text_contains_folded(text, "tensorrt-llm"));
}

/* A dict whose keys are tuples of file, line and function, as marshal writes it from Python 3.4 on. */
static bool is_profile_statistics(const struct ap_container_head *head)
{
    return head->bytes > 2 && (head->data[1] & 0x7f) == ')' && head->data[2] == 3;
}

/* What `perf script` prints: a sample, and below it its stack. */
static bool is_perf_script(const struct ap_container_head *head)
{
    const uint8_t *line_end = memchr(head->data, '\n', head->bytes);
    size_t at = line_end ? (size_t)(line_end - head->data) : 0, end = at;
    while (at > 0 && head->data[at - 1] == ' ')
        at--;
    return at > 1 && head->data[at - 1] == ':' && byte_at(head, end + 1) == '\t' && !has_control_bytes(head, end);
}

/* "main;run;step 12": a stack and how often it was seen. */
static bool is_folded_stacks(const struct ap_container_head *head)
{
    const uint8_t *line_end = memchr(head->data, '\n', head->bytes);
    size_t end = line_end ? (size_t)(line_end - head->data) : 0, at = end;
    while (at > 0 && is_digit(head->data[at - 1]))
        at--;
    return at < end && at > 1 && head->data[at - 1] == ' ' && memchr(head->data, ';', at) && !has_control_bytes(head, end);
}

/* What print(prof.key_averages().table()) shows. */
static bool is_averages_table(const struct ap_container_head *head)
{
    return holds(head, head->bytes, "Self CPU") && holds(head, head->bytes, "---  -");
}

static bool is_callgrind(const struct ap_container_head *head)
{
    return has_text_at_start(head, "# callgrind format") || holds(head, 64, "\ncreator:");
}

#define SAMPLED "give what `py-spy record -f speedscope` writes, or a trace of VizTracer"
#define SUMS "it holds sums by function, and no times of day; " SAMPLED
#define CONVERT_XPLANE                                                                                       \
    "give the .trace.json.gz that JAX writes beside it; where there is none, xprof (from PyPI) makes one:\n" \
    "    from xprof.convert import raw_to_tool_data as to\n"                                                 \
    "    open(\"trace.json\", \"w\").write(to.xspace_to_tool_data([\"FILE\"], \"trace_viewer\", {})[0])"
#define RECORD_MEMORY                                                                                                 \
    "they are those of the host, and are not read; give a trace recorded with profile_memory=True, or a CUDA memory " \
    "snapshot as JSON"
#define PROFILE_ENGINE "it is run, not read; give what exportTimes, exportProfile and exportLayerInfo of trtexec write"

/* How each is refused; the first that fits wins. Only what cannot begin a JSON text may stand here. */
static const char pickle_advice[] = "pickle";

#define CONVERT_DUMP                                                                                                   \
    NEVER_LOADED ". Let the job write JSON, with torch._C._distributed_c10d._dump_nccl_trace_json(). Only for a dump " \
                 "that you made yourself, because this runs the code in it:\n"                                         \
                 "    import json, pickle\n"                                                                           \
                 "    json.dump(pickle.load(open(\"FILE\", \"rb\")), open(\"FILE.json\", \"w\"))"

static const struct ap_container containers[] = {
    { "a pickled dump of PyTorch's flight recorder", MAGIC("\x80"), is_pickled_dump, CONVERT_DUMP },
    { "an old torch.save file (a Python pickle)", MAGIC("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"), NULL,
      pickle_advice },
    { "a Python pickle (protocol 2)", MAGIC("\x80\x02"), NULL, pickle_advice },
    { "a Python pickle (protocol 3)", MAGIC("\x80\x03"), NULL, pickle_advice },
    { "a Python pickle (protocol 4)", MAGIC("\x80\x04"), NULL, pickle_advice },
    { "a Python pickle (protocol 5)", MAGIC("\x80\x05"), NULL, pickle_advice },
    { "a Python pickle (protocol 0)", MAGIC("("), is_pickle_0, pickle_advice },
    { "a Python pickle (protocol 1)", PROBE_ONLY, is_pickle_1, pickle_advice },
    { "a Python pickle (protocol 0 or 1)", MAGIC("c"), is_pickled_object, pickle_advice },
    { "a torch.save archive (zip with pickle in it)", MAGIC("PK\3\4"), is_torch_archive, pickle_advice },
    { "a numpy archive (.npz)", MAGIC("PK\3\4"), is_numpy_archive, NULL },
    { "a zip archive", MAGIC("PK\3\4"), NULL, "unpack it first: unzip FILE" },
    { "an empty zip archive", MAGIC("PK\5\6"), NULL, NULL },
    { "one part of a split zip archive", MAGIC("PK\7\10"), NULL, "unpack it first: unzip FILE" },
    { "a numpy array (.npy)", MAGIC("\x93NUMPY"), NULL, NULL },
    { "a tar archive", PROBE_ONLY, is_tar, "unpack it first: tar xf FILE" },
    { "an SQLite database", MAGIC("SQLite format 3"), NULL, "unpack it first: gzip -d FILE" }, /* else it is an export */
    /* As the tool itself calls it when it is missing ("Invalid version prefix"): ray-project/ray issue 46240. */
    { "an Nsight Systems report (.nsys-rep)", MAGIC("NVIDIA Tegra Profiler Report"), NULL,
      "export it: nsys export -t sqlite -o run.sqlite FILE, and give run.sqlite" },
    { "a TensorBoard event file", PROBE_ONLY, is_tensorboard, NULL },
    { "a profile in pprof's form (JAX's device memory, Go)", MAGIC("\n"), is_pprof,
      "it holds sums by stack, and no times of day; give the .trace.json.gz that jax.profiler.trace() writes" },
    { "planes of XLA's profiler (.xplane.pb of JAX or TensorFlow)", MAGIC("\n"), is_xplane, CONVERT_XPLANE },
    { "a protobuf trace, as it seems Perfetto's own form", MAGIC("\n"), is_protobuf_packets,
      "convert it with Perfetto's tool: traceconv json FILE trace.json" },
    { "an ONNX model", MAGIC("\x08"), is_onnx_model,
      "it is run, not read; set enable_profiling of its SessionOptions, and give the file that end_profiling() names" },
    { "an engine of TensorRT", MAGIC("ftrt"), NULL, PROFILE_ENGINE },
    { "an engine of TensorRT", MAGIC("ptrt"), NULL, PROFILE_ENGINE },
    { "gzip", MAGIC("\x1f\x8b"), NULL, "unpack it once: gzip -dc FILE | analyze_profile -" },
    { "bzip2", MAGIC("BZh"), NULL, PIPE("bzip2 -dc") },
    { "xz",
      MAGIC("\xfd"
            "7zXZ"),
      NULL, PIPE("xz -dc") },
    { "zstd", MAGIC("\x28\xb5\x2f\xfd"), NULL, PIPE("zstd -dc") },
    { "zstd", MAGIC("\x50\x2a\x4d\x18"), NULL, PIPE("zstd -dc") }, /* of pzstd */
    { "allocations that memray recorded", MAGIC("\x04\x22\x4d\x18"), is_memray, RECORD_MEMORY },
    { "allocations that memray recorded", MAGIC("memray"), NULL, RECORD_MEMORY },
    { "lz4", MAGIC("\x04\x22\x4d\x18"), NULL, PIPE("lz4 -dc") },
    { "compress (.Z)", MAGIC("\x1f\x9d"), NULL, PIPE("gzip -dc") },
    { "a 7z archive", MAGIC("7z\xbc\xaf\x27\x1c"), NULL, "unpack it first: 7z x FILE" },
    { "samples of Linux perf (perf.data)", MAGIC("PERFILE2"), NULL, SAMPLED },
    { "statistics of cProfile", MAGIC("\xfb"), is_profile_statistics, SUMS },
    { "samples of austin", MAGIC("AUS"), NULL, "convert it: austin2speedscope FILE FILE.json" },
    { "samples of austin", MAGIC("# austin:"), NULL, "convert it: austin2speedscope FILE FILE.json" },
    { "samples of Linux perf (perf script)", PROBE_ONLY, is_perf_script, SAMPLED },
    { "a callgrind profile", PROBE_ONLY, is_callgrind, SUMS },
    { "a table of PyTorch's profiler (key_averages)", PROBE_ONLY, is_averages_table,
      "it holds sums by name; give the trace of the same run: " EXPORT_TRACE },
    { "HDF5", MAGIC("\x89HDF\r\n\x1a\n"), NULL, NULL },
    { "Parquet", MAGIC("PAR1"), NULL, NULL },
    { "a program or library (ELF)",
      MAGIC("\x7f"
            "ELF"),
      NULL, NULL },
    { "a PDF document", MAGIC("%PDF-"), NULL, NULL },
    { "a PNG image", MAGIC("\x89PNG"), NULL, NULL },
    { "UTF-32 text", MAGIC("\xff\xfe\0\0"), NULL, TO_UTF8("UTF-32") },
    { "UTF-32 text", MAGIC("\0\0\xfe\xff"), NULL, TO_UTF8("UTF-32") },
    { "UTF-32 text", MAGIC("\0\0\0"), is_utf32_unmarked, TO_UTF8("UTF-32BE") },
    { "UTF-32 text", MAGIC_AT(1, "\0\0\0"), is_utf16_unmarked, TO_UTF8("UTF-32LE") },
    { "UTF-16 text", MAGIC("\xff\xfe"), NULL, TO_UTF8("UTF-16") },
    { "UTF-16 text", MAGIC("\xfe\xff"), NULL, TO_UTF8("UTF-16") },
    { "UTF-16 text", MAGIC("\0"), is_utf16_unmarked, TO_UTF8("UTF-16BE") },
    { "UTF-16 text", MAGIC_AT(1, "\0"), is_utf16_unmarked, TO_UTF8("UTF-16LE") },
    { "an HTML page (a memory timeline, a saved memory_viz or viewer page)", PROBE_ONLY, is_html,
      "give the trace or snapshot that the page was made from" },
    { "a log of torch.compile", PROBE_ONLY, is_log, "give it as a file of its own, with the trace of the run or alone" },
    { "a log of TensorRT-LLM", MAGIC("["), is_trtllm_log,
      "it holds no times of kernels; record a few iterations as a trace: TLLM_PROFILE_START_STOP=A-B with nsys profile -c "
      "cudaProfilerApi, and nsys export -t sqlite, or TLLM_TORCH_PROFILE_TRACE=FILE.json with its PyTorch backend" },
    { "a text log", MAGIC("["), is_bracketed_log, NULL },
    { "a picture (SVG), such as a flame graph", PROBE_ONLY, is_svg, "a picture has no times to read; " SAMPLED },
    { "XML", PROBE_ONLY, is_xml, NULL },
    { "folded stacks (py-spy -f raw, austin, export_stacks)", PROBE_ONLY, is_folded_stacks, SUMS },
    { "a Git LFS pointer and not the file itself", MAGIC("version https://git-lfs"), NULL, "fetch it: git lfs pull" },
};

static const struct ap_container *find_container(const struct ap_container_head *head)
{
    for (size_t i = 0; i < AP_COUNT_OF(containers); i++) {
        const struct ap_container *container = &containers[i];
        size_t end = (size_t)container->magic_offset + container->magic_bytes;
        if (head->bytes < end || memcmp(head->data + container->magic_offset, container->magic, container->magic_bytes) != 0)
            continue;
        if (!container->probe || container->probe(head))
            return container;
    }
    return NULL;
}

static enum ap_status refuse_lines(const char *name, const char *advice, enum ap_input_role role, bool is_inside,
                                   struct ap_error *reterr)
{
    const char *where = is_inside ? " inside a compressed file" : "";
    if (advice == pickle_advice && role != AP_ROLE_TRACE)
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this is %s%s, not JSON: " NEVER_LOADED ". Let the job write JSON%s:\n" EXPORT_SNAPSHOT
                       "\n" CONVERT_PICKLE,
                       name, where, role == AP_ROLE_ANY ? ", a trace with " EXPORT_TRACE ", a snapshot with" : "");
    if (advice == pickle_advice)
        advice = NEVER_LOADED ". Export the trace as JSON with PyTorch's profiler: " EXPORT_TRACE;
    if (advice)
        return ap_fail(reterr, AP_ERROR_INPUT, "this is %s%s, not JSON: %s", name, where, advice);
    switch (role) {
    case AP_ROLE_TRACE: advice = "expected a trace that PyTorch's profiler wrote with " EXPORT_TRACE; break;
    case AP_ROLE_SNAPSHOT: advice = "expected a CUDA memory snapshot as JSON, written with\n" EXPORT_SNAPSHOT; break;
    case AP_ROLE_ANY:
        advice = "expected a trace that PyTorch's profiler wrote with " EXPORT_TRACE
                 ", or a CUDA memory snapshot as JSON, written with\n" EXPORT_SNAPSHOT;
        break;
    }
    return ap_fail(reterr, AP_ERROR_INPUT, "this is %s%s, not JSON: %s", name, where, advice);
}

/* Names of containers are from the table, or bytes as hexadecimal digits. */
static enum ap_status refuse(const char *name, const char *advice, enum ap_input_role role, bool is_inside,
                             struct ap_error *reterr)
{
    enum ap_status status = refuse_lines(name, advice, role, is_inside, reterr);
    if (reterr)
        reterr->has_lines = true;
    return status;
}

static enum ap_status refuse_unknown(const struct ap_container_head *head, enum ap_input_role role, bool is_inside,
                                     struct ap_error *reterr)
{
    char name[96] = "binary data of an unknown kind, first bytes";
    if (!has_control_bytes(head, head->bytes) && head->data[0] != 0x80) {
        const uint8_t *line_end = memchr(head->data, '\n', head->bytes);
        size_t line_bytes = line_end ? (size_t)(line_end - head->data) : head->bytes;
        bool table = memchr(head->data, ',', line_bytes) || memchr(head->data, '\t', line_bytes);
        return refuse(table ? "text, perhaps CSV" : "plain text", NULL, role, is_inside, reterr);
    }
    for (size_t i = 0; i < 4 && i < head->bytes; i++) {
        size_t used = strlen(name);
        (void)snprintf(name + used, sizeof(name) - used, " %02x", head->data[i]);
    }
    return refuse(name, NULL, role, is_inside, reterr);
}

enum ap_status ap_container_refuse_blank(bool empty, bool is_inside, struct ap_error *reterr)
{
    const char *what = is_inside ? "the content of the compressed file" : "the file";
    if (empty)
        return ap_fail(reterr, AP_ERROR_INPUT, "%s is empty: nothing was written to it (a killed job, a full disk)", what);
    return ap_fail(reterr, AP_ERROR_INPUT, "%s is nothing but white space, expected JSON", what);
}

enum ap_status ap_container_refuse_late(uint64_t blank_bytes, uint8_t byte, bool is_inside, struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_INPUT,
                   "%s is not JSON: behind %llu bytes of white space stands the byte %02x, expected { or [",
                   is_inside ? "the content of the compressed file" : "the file", (unsigned long long)blank_bytes, byte);
}

enum ap_status ap_container_check(const struct ap_container_head *head, enum ap_input_role role, bool is_inside,
                                  struct ap_error *reterr)
{
    const struct ap_container *container = find_container(head);
    if (container)
        return refuse(container->name, container->advice, role, is_inside, reterr);
    size_t at = ap_container_blank_bytes(head);
    if (at < head->bytes)
        return head->data[at] == '{' || head->data[at] == '[' ? AP_OK : refuse_unknown(head, role, is_inside, reterr);
    return head->whole ? ap_container_refuse_blank(head->bytes == 0, is_inside, reterr) : AP_OK;
}
