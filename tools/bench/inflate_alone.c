/* SPDX-License-Identifier: MIT
 * inflate_alone.c - how long decompression takes when nothing is done with what comes out.
 * The floor under the .json.gz figures of the benchmark: same libraries, checksums verified,
 * one thread, one buffer of input and one of output. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>
#ifdef WITH_ISAL
#include <isa-l/igzip_lib.h>
#endif

struct job {
    FILE *file;
    uint8_t *in;
    uint8_t *out;
    size_t buffer_bytes;
    uint64_t out_bytes;
};

static size_t refill(struct job *job)
{
    return fread(job->in, 1, job->buffer_bytes, job->file);
}

/* Several gzip members may follow each other; the next one starts where the last one ended. */
static bool run_zlib(struct job *job)
{
    z_stream stream = { 0 };
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return false;
    int status = Z_OK;
    for (;;) {
        if (stream.avail_in == 0) {
            stream.next_in = job->in;
            stream.avail_in = (uInt)refill(job);
            if (stream.avail_in == 0)
                break;
        }
        if (status == Z_STREAM_END && inflateReset(&stream) != Z_OK)
            break;
        stream.next_out = job->out;
        stream.avail_out = (uInt)job->buffer_bytes;
        status = inflate(&stream, Z_NO_FLUSH);
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            break;
        job->out_bytes += job->buffer_bytes - stream.avail_out;
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END;
}

#ifdef WITH_ISAL
static bool run_isal(struct job *job)
{
    struct inflate_state *stream = calloc(1, sizeof *stream);
    if (!stream)
        return false;
    isal_inflate_init(stream);
    stream->crc_flag = ISAL_GZIP;
    int status = ISAL_DECOMP_OK;
    for (;;) {
        if (stream->avail_in == 0) {
            stream->next_in = job->in;
            stream->avail_in = (uint32_t)refill(job);
        }
        if (stream->block_state == ISAL_BLOCK_FINISH) {
            if (stream->avail_in == 0)
                break;
            isal_inflate_reset(stream);
            stream->crc_flag = ISAL_GZIP;
        }
        stream->next_out = job->out;
        stream->avail_out = (uint32_t)job->buffer_bytes;
        const uint32_t given_bytes = stream->avail_in;
        status = isal_inflate(stream);
        const size_t made_bytes = job->buffer_bytes - stream->avail_out;
        job->out_bytes += made_bytes;
        if (status != ISAL_DECOMP_OK || (given_bytes == 0 && made_bytes == 0))
            break;
    }
    const bool complete = status == ISAL_DECOMP_OK && stream->block_state == ISAL_BLOCK_FINISH;
    free(stream);
    return complete;
}
#endif

static double now_s(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool (*find_library(const char *name))(struct job *)
{
    if (strcmp(name, "zlib") == 0)
        return run_zlib;
#ifdef WITH_ISAL
    if (strcmp(name, "isal") == 0)
        return run_isal;
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    bool (*inflate_with)(struct job *) = argc >= 3 ? find_library(argv[1]) : NULL;
    const long buffer_kib = argc == 4 ? strtol(argv[3], NULL, 10) : 256;
    if (!inflate_with || argc > 4 || buffer_kib < 1 || buffer_kib > 65536) {
        fputs("usage: inflate_alone zlib|isal FILE.gz [BUFFER_KIB]   (isal only where it was found)\n", stderr);
        return 2;
    }
    struct job job = { .buffer_bytes = (size_t)buffer_kib * 1024 };
    job.file = fopen(argv[2], "rb");
    job.in = malloc(job.buffer_bytes);
    job.out = malloc(job.buffer_bytes);
    if (!job.file || !job.in || !job.out) {
        fprintf(stderr, "inflate_alone: cannot open %s\n", argv[2]);
        return 3;
    }
    setvbuf(job.file, NULL, _IONBF, 0);
    const double began_s = now_s();
    const bool complete = inflate_with(&job);
    printf("bytes %llu\nseconds %.3f\n", (unsigned long long)job.out_bytes, now_s() - began_s);
    fclose(job.file);
    free(job.in);
    free(job.out);
    if (!complete)
        fprintf(stderr, "inflate_alone: %s: damaged or cut\n", argv[2]);
    return complete ? 0 : 3;
}
