/* SPDX-License-Identifier: MIT
 * What is not JSON is refused by name, plain and inside a compressed file, with what to do. */
#include <stdio.h>

#include "gzip_build.h"
#include "input_run.h"
#include "tap.h"

#define CASE(text, want)             \
    {                                \
        text, sizeof(text) - 1, want \
    }

struct magic_case {
    const char *data;
    size_t bytes;
    const char *want; /* in the message */
};

static struct gz gz;

static void refused(const struct magic_case *magic, enum ap_input_role role, const char *advice)
{
    char text[160];
    const struct ap_input_options options = { .role = role };
    struct input_run run = run_input(magic->data, magic->bytes, &options);
    (void)snprintf(text, sizeof(text), "refused: %s", magic->want);
    bool named = run.status == AP_ERROR_INPUT && run.bytes == 0 && strstr(run.error.message, magic->want);
    named = named && (!advice || strstr(run.error.message, advice)) && strlen(run.error.message) < 767;
    if (!ok(named, text))
        printf("# status %d: %s\n", (int)run.status, run.error.message);
    input_run_release(&run);
}

static void refused_inside_gzip(const struct magic_case *magic)
{
    char text[160];
    gz_of(&gz, magic->data, magic->bytes);
    struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .block_bytes = 7 });
    (void)snprintf(text, sizeof(text), "refused inside a compressed file: %s", magic->want);
    bool named = run.status == AP_ERROR_INPUT && run.bytes == 0 && strstr(run.error.message, magic->want) &&
                 strstr(run.error.message, "inside a compressed file");
    if (!ok(named && strlen(run.error.message) < 767, text))
        printf("# status %d: %s\n", (int)run.status, run.error.message);
    input_run_release(&run);
}

/* What Python 3.11's pickle.dumps(x, protocol) begins with; the last lines are Python 2's and pickletools.optimize's. */
static const struct magic_case pickles[] = {
    CASE("\x80\x02}q\0(X\x08\0\0\0segmentsq\x01]q\x02}q\x03X\7\0\0\0addressq\4K\1saX\1\0\0\0", "pickle (protocol 2)"),
    CASE("\x80\x03}q\0(X\x08\0\0\0segments", "pickle (protocol 3)"),
    CASE("\x80\x04\x95/\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94", "pickle (protocol 4)"),
    CASE("\x80\x05\x95/\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]\x94", "pickle (protocol 5)"),
    CASE("\x80\x04}\x94.", "pickle (protocol 4)"),
    CASE("(dp0\nVsegments\np1\n(lp2\n(dp3\nVaddress\np4\nI1\nsas", "pickle (protocol 0)"),
    CASE("(dp0\n.", "pickle (protocol 0)"),
    CASE("(lp0\n(dp1\nVa\np2\nI1\nsa.", "pickle (protocol 0)"),
    CASE("(lp0\nI1\naI2\na.", "pickle (protocol 0)"),
    CASE("(I1\nI2\ntp0\n.", "pickle (protocol 0)"),
    CASE("(t.", "pickle (protocol 0)"),
    CASE("((lp0\n(dp1\n", "pickle (protocol 0)"),
    CASE("(dp1\nS'segments'\np2\n(lp3\n", "pickle (protocol 0)"),
    CASE("(dS'segments'\n(lS'a'\n", "pickle (protocol 0)"),
    CASE("(S\"rank 0's\"\np0\nI1\ntp1\n.", "pickle (protocol 0)"),
    CASE("}q\0(X\x08\0\0\0segmentsq\x01]q\x02", "pickle (protocol 1)"),
    CASE("}q\0.", "pickle (protocol 1)"),
    CASE("]q\0}q\x01X\1\0\0\0aq\x02K\1sa.", "pickle (protocol 1)"),
    CASE("]q\0(K\1K\2e.", "pickle (protocol 1)"),
    CASE("(K\1K\2tq\0.", "pickle (protocol 1)"),
    CASE(").", "pickle (protocol 1)"),
    CASE("}(X\x08\0\0\0segments]", "pickle (protocol 1)"),
    CASE("]}X\1\0\0\0aK\1sa.", "pickle (protocol 1)"),
    CASE("ccollections\nOrderedDict\np0\n(tRp1\nVa\n", "pickle (protocol 0 or 1)"),
    CASE("ccollections\nOrderedDict\nq\0)Rq\1X\1\0\0\0a", "pickle (protocol 0 or 1)"),
    CASE("ccollections\ndefaultdict\np0\n(c__builtin__\nlist\np1\n", "pickle (protocol 0 or 1)"),
    CASE("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03", "old torch.save file"),
};

/* Refused, too, where their library is not built in; always within gzip. */
static const struct magic_case packed[] = {
    CASE("\xfd"
         "7zXZ\0\0\4",
         "xz"),
    CASE("\x28\xb5\x2f\xfd\x24\x05", "zstd"),
    CASE("\x50\x2a\x4d\x18\x04", "zstd"),
};

static const struct magic_case others[] = {
    CASE("PK\3\4\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x0a\0archive/data.pkl", "torch.save archive"),
    CASE("PK\3\4\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.npy\x93NUMPY", "numpy archive"),
    CASE("PK\3\4\x14\0\0\0\x08\0trace.json", "zip archive"),
    CASE("PK\5\6\0\0\0\0\0\0", "empty zip"),
    CASE("\x93NUMPY\1\0v\0{'descr': '<i8'", "numpy array"),
    CASE("SQLite format 3\0\x10\0\1\1", "SQLite"),
    CASE("NVIDIA Tegra Profiler Report\0\1\2", "Nsight Systems"),
    CASE("\n\x1d\xb2\x01\x1a\n\x18\x08\x80\xf8\x8a\x12\x0a\x0b", "protobuf trace"),
    CASE("\x0a\x7b\x08\x01\x10\xac\x02\x1a\x04test\0\0\0", "protobuf trace"),
    CASE("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\x80\x14\xd0\x5c\xd9\x41\x1a\x0d"
         "brain.Event:2",
         "TensorBoard"),
    CASE("BZh91AY&SY\x12\x34", "bzip2"),
    CASE("\x04\x22\x4d\x18\x64\x40", "lz4"),
    CASE("\x1f\x9d\x90{", "compress"),
    CASE("7z\xbc\xaf\x27\x1c\0\4", "7z archive"),
    CASE("\x89HDF\r\n\x1a\n\0", "HDF5"),
    CASE("PAR1\x15\4", "Parquet"),
    CASE("\x0a\xe5\x19\x12\x0e/host:metadata\"\xad\x0e", "planes of XLA"),
    CASE("\x0a\4\x08\1\x10\2\x0a\4\x08\3\x10\4\x12 \0", "pprof"),
    CASE("\x08\x0a\x12\x07pytorch:\x93\x8e", "ONNX model"),
    CASE("ftrt\xf8\0\0\0", "engine of TensorRT"),
    CASE("\x04\x22\x4d\x18@@\xc0\x31=\0\0\xfa\x04memray\0\x0d\0", "memray"),
    CASE("# austin: 3.6.0\n# interval: 100\n", "austin"),
    CASE("AUS\3\0", "austin"),
    CASE("python3 27975  1387.331501:     250000 cpu-clock:pppH: \n\t  14f38 main+0x158 (/usr/bin/x)\n", "perf script"),
    CASE("version: 1\ncreator: yappi\npid: 1\n", "callgrind"),
    CASE("main (a.py:1);step (a.py:7) 15\nmain (a.py:1) 3\n", "folded stacks"),
    CASE("-------------------------------  ------------\n   Name    Self CPU %      Self CPU\n", "key_averages"),
    CASE("<?xml version=\"1.0\"?><!DOCTYPE svg><svg width=\"9\">", "picture (SVG)"),
    CASE("PERFILE2h\0\0\0\0\0\0\0", "perf.data"),
    CASE("\xfb\x29\3\xfa\1~", "cProfile"),
    CASE("\x7f"
         "ELF\2\1\1",
         "ELF"),
    CASE("%PDF-1.7\n", "PDF"),
    CASE("\x89PNG\r\n", "PNG"),
    CASE("\xff\xfe{\0\"\0", "UTF-16"),
    CASE("\xfe\xff\0{\0\"", "UTF-16"),
    CASE("{\0\"\0a\0\"\0", "UTF-16LE"),
    CASE("\0{\0\"", "UTF-16BE"),
    CASE("\xff\xfe\0\0{\0\0\0", "UTF-32"),
    CASE("\0\0\xfe\xff\0\0\0{", "UTF-32"),
    CASE("{\0\0\0\"\0\0\0", "UTF-32LE"),
    CASE("\0\0\0[\0\0\0\"", "UTF-32BE"),
    CASE("<!DOCTYPE html>\n<html>", "HTML page"),
    CASE("\xef\xbb\xbf \n<HTML lang=en>", "HTML page"),
    CASE("<?xml version=\"1.0\"?>", "XML"),
    CASE("version https://git-lfs.github.com/spec/v1\noid sha256:", "Git LFS pointer"),
    CASE("name,count,total\naten::add,1,2\n", "CSV"),
    CASE("[TensorRT-LLM] TensorRT-LLM version: 1.0.0\n", "log of TensorRT-LLM"),
    CASE("[11/27/2026-08:00:00] [TRT-LLM] [I] Starting\n", "log of TensorRT-LLM"),
    CASE("[2026-11-27 08:00:00] INFO ready\n", "a text log"),
    CASE("hello\n", "plain text"),
    CASE("\"traceEvents\"", "plain text"),
    CASE("'a'", "plain text"),
    CASE("cat\nkernel\n1\n", "plain text"),
    CASE("NaN", "plain text"),
    CASE("}", "plain text"),
    CASE("\1\2\3\4\5", "first bytes 01 02 03 04"),
    CASE("\x80", "first bytes 80"),
};

static void pickles_are_named_with_the_conversion(void)
{
    static const struct magic_case dump =
        CASE("\x80\x02}q\0(X\x09\0\0\0pg_configq\1}q\2", "a pickled dump of PyTorch's flight recorder");
    refused(&dump, AP_ROLE_ANY, "json.dump(pickle.load(open(");
    refused(&dump, AP_ROLE_TRACE, "_dump_nccl_trace_json()");
    for (size_t i = 0; i < sizeof(pickles) / sizeof(pickles[0]); i++) {
        refused(&pickles[i], AP_ROLE_SNAPSHOT, "json.dump(snapshot, open(");
        refused(&pickles[i], AP_ROLE_TRACE, "export_chrome_trace");
        refused(&pickles[i], AP_ROLE_ANY, "pickle.load(open(");
        refused(&pickles[i], AP_ROLE_SNAPSHOT, "Only for a snapshot that you made yourself");
        refused_inside_gzip(&pickles[i]);
    }
}

/* Whoever reads on stops at what is safe. */
static void export_comes_before_conversion(void)
{
    const char *advice = ap_input_pickle_advice();
    const char *export = strstr(advice, "torch.cuda.memory._snapshot()"),
               *warning = strstr(advice, "this runs the code in it");
    const char *load = strstr(advice, "pickle.load(");
    ok(export && warning && load && export < warning && warning < load, "export first, then the warning, then pickle.load");
}

static void other_formats_are_named(void)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        refused(&others[i], AP_ROLE_ANY, NULL);
        refused(&others[i], AP_ROLE_SNAPSHOT, NULL);
        refused(&others[i], AP_ROLE_TRACE, NULL);
        refused_inside_gzip(&others[i]);
    }
}

static bool is_built_in(const char *name)
{
    for (size_t i = 0; ap_input_codec_name(i); i++)
        if (strcmp(ap_input_codec_name(i), name) == 0)
            return true;
    return false;
}

static void packed_files_are_read_or_named(void)
{
    for (size_t i = 0; i < AP_COUNT_OF(packed); i++) {
        refused_inside_gzip(&packed[i]);
        if (!is_built_in(packed[i].want)) {
            refused(&packed[i], AP_ROLE_TRACE, "unpack it first");
            continue;
        }
        for (size_t threads = 0; threads < 2; threads++) {
            struct input_run run =
                run_input(packed[i].data, packed[i].bytes, &(struct ap_input_options){ .threads = (unsigned)threads });
            ok(run.status == AP_ERROR_CUT && run.bytes == 0 && strstr(run.error.message, packed[i].want),
               "a head alone is cut");
            is_int((long)run.leaked_bytes, 0, "and its decoder gave back all memory");
            input_run_release(&run);
        }
    }
}

static void tar_archives_are_known_by_their_checksum(void)
{
    char block[1536] = "trace.json";
    unsigned sum = 0;
    memcpy(block + 100, "0000644", 8);
    memcpy(block + 124, "00000000012", 12);
    memcpy(block + 148, "        ", 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)block[i];
    (void)snprintf(block + 148, 8, "%06o", sum);
    struct magic_case tar = { block, sizeof(block), "tar archive" };
    refused(&tar, AP_ROLE_ANY, "tar xf");
    refused_inside_gzip(&tar);
    block[149] ^= 1;
    tar.want = "of an unknown kind";
    refused(&tar, AP_ROLE_ANY, NULL);
}

static void gzip_inside_gzip_is_refused(void)
{
    static struct gz inner;
    gz_of(&inner, "{}", 2);
    const struct magic_case twice = { (const char *)inner.data, inner.bytes, "gzip inside a compressed file" };
    refused_inside_gzip(&twice);
}

static void json_passes(void)
{
    static const struct magic_case accepted[] = {
        CASE("{}", ""),
        CASE("[]", ""),
        CASE("\xef\xbb\xbf{}", ""),
        CASE(" \t\r\n[1]", ""),
        CASE("\n\n{\"a\": 1}", ""),
        CASE("\n{\"traceEvents\": []}", ""),
        CASE("\xef\xbb\xbf\n\n{", ""),
        CASE("[\"ustar\"]", ""),
        CASE("{", ""),
        CASE("\n[\"\xc3\xa4\"]", ""),
        CASE("[\n{\"ph\": \"X\"}", ""),
    };
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        struct input_run run = run_input(accepted[i].data, accepted[i].bytes, &(struct ap_input_options){ 0 });
        ok(run.status == AP_OK && input_run_gave(&run, accepted[i].data, accepted[i].bytes), "JSON passes unchanged");
        ok(!run.compressed && run.raw_bytes == accepted[i].bytes, "and is not called compressed");
        input_run_release(&run);
    }
}

static void nothing_and_white_space_have_their_own_messages(void)
{
    static const struct magic_case blanks[] = {
        CASE("", "is empty"),
        CASE(" ", "nothing but white space"),
        CASE("\n\n\t \r\n", "nothing but white space"),
        CASE("\xef\xbb\xbf", "nothing but white space"),
    };
    for (size_t i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++) {
        struct input_run run = run_input(blanks[i].data, blanks[i].bytes, &(struct ap_input_options){ 0 });
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, blanks[i].want), blanks[i].want);
        input_run_release(&run);
        gz_of(&gz, blanks[i].data, blanks[i].bytes);
        run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .block_bytes = 3 });
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, blanks[i].want) &&
               strstr(run.error.message, "the content of the compressed file"),
           "and inside a compressed file");
        input_run_release(&run);
    }
}

static void content_behind_much_white_space_is_judged(void)
{
    static char text[20000];
    memset(text, ' ', sizeof(text));
    for (int threads = 0; threads < 2; threads++) {
        const struct ap_input_options options = { .block_bytes = 100, .threads = (unsigned)threads };
        struct input_run run = run_input(text, sizeof(text), &options);
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "nothing but white space"), "nothing but blanks");
        input_run_release(&run);
        memcpy(text + 15000, "hello,", 6);
        run = run_input(text, sizeof(text), &options);
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "15000 bytes of white"), "text behind 15000 blanks");
        input_run_release(&run);
        memcpy(text + 15000, "{\"a\":1", 6);
        run = run_input(text, sizeof(text), &options);
        ok(run.status == AP_OK && run.bytes == sizeof(text), "JSON behind 15000 blanks");
        input_run_release(&run);
        memset(text, ' ', sizeof(text));
    }
}

int main(void)
{
    pickles_are_named_with_the_conversion();
    export_comes_before_conversion();
    other_formats_are_named();
    packed_files_are_read_or_named();
    tar_archives_are_known_by_their_checksum();
    gzip_inside_gzip_is_refused();
    json_passes();
    nothing_and_white_space_have_their_own_messages();
    content_behind_much_white_space_is_judged();
    return done();
}
