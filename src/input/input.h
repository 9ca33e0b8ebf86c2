/* SPDX-License-Identifier: MIT
 * input.h - the bytes of one artifact: opens a file or standard input, refuses what is not JSON, undoes gzip.
 * Knows containers and nothing of JSON beyond its first character; gzip always, zstd and xz where their libraries are.
 * Reading and decompression run ahead of the caller on a thread of their own, at most a few blocks of memory far. */
#ifndef AP_INPUT_H
#define AP_INPUT_H

#include "analyze_profile/opener.h"
#include "byte_source.h"
#include "mem.h"
#include "notes.h"

/** What the caller expects to find: decides which export a refusal recommends. */
enum ap_input_role { AP_ROLE_ANY, AP_ROLE_TRACE, AP_ROLE_SNAPSHOT };

struct ap_input_options {
    bool salvage;      /* go on after a wrong checksum; end at a broken place as if the file were cut there */
    bool accepts_logs; /* a text log of torch.compile is content too: ap_input_is_log() */
    enum ap_input_role role;
    size_t block_bytes; /* bytes handed on at a time; 0 = 1 MiB, or 256 KiB for many threads; tests use tiny ones */
    const struct ap_opener *opener; /* NULL = the file system, "-" being standard input */
    const uint8_t *head;            /* of standard input alone: bytes that were taken before; borrowed */
    size_t head_bytes;
    unsigned threads; /* that use what is read: 0 = the caller's alone does everything, else one more fetches the bytes */
};

struct ap_input;

/** Open @path, "-" being standard input unless there is an opener. Other than on standard input only regular files are read;
 * a directory, device, socket or FIFO is refused by name without blocking. Starts the reading thread, but judges no content
 * yet: that happens in ap_input_probe or, failing that, in the first read. Nothing is opened and no thread is started later.
 *  @notes is borrowed until ap_input_free and written only by calls of the caller's thread. Messages do not name the
 *  path. On failure nothing is left behind. A pipe on standard input is waited for with poll(), which a sandbox has to
 *  allow, so that ap_input_free need not wait for its writer. */
AP_MUST_CHECK enum ap_status ap_input_open(struct ap_gate *gate, const char *path, const struct ap_input_options *options,
                                           struct ap_notes *notes, struct ap_input **ret_input, struct ap_error *reterr);

/** The same over raw (perhaps compressed) bytes from elsewhere. With options->threads the source is called on another
 *  thread, never on two at once. It must not fail with AP_END. */
AP_MUST_CHECK enum ap_status ap_input_open_source(struct ap_gate *gate, struct ap_byte_source raw,
                                                  const struct ap_input_options *options, struct ap_notes *notes,
                                                  struct ap_input **ret_input, struct ap_error *reterr);

/** Stop reading, wait for the thread, free everything; fine at any moment, and NULL is fine. */
void ap_input_free(struct ap_input *input);

/** Wait for the first bytes and judge them: AP_ERROR_INPUT names what the content is and what to do instead. An input
 *  that is cut before its first byte of content passes; reading it gives AP_ERROR_CUT. */
AP_MUST_CHECK enum ap_status ap_input_probe(struct ap_input *input, struct ap_error *reterr);

/** The decompressed bytes. Contract in byte_source.h; besides AP_ERROR_CUT it fails with AP_ERROR_INPUT (refused
 *  content, broken stream, wrong checksum, read error) and AP_ERROR_MEMORY or AP_ERROR_LIMIT. */
struct ap_byte_source ap_input_source(struct ap_input *input);

/** Is it gzip, zstd or xz? Known once ap_input_probe or the first read has returned. */
bool ap_input_is_compressed(const struct ap_input *input);

/** Is it a text log of torch.compile? Known likewise; always false without accepts_logs. */
bool ap_input_is_log(const struct ap_input *input);

/** Bytes taken from the file so far, for progress; may be called at any moment. */
uint64_t ap_input_raw_bytes(const struct ap_input *input);

/** Size of the file as it was opened; 0 where that is unknown (pipes). */
uint64_t ap_input_size_bytes(const struct ap_input *input);

/** How to have JSON in the place of a pickled snapshot, and behind that, with a warning, how to convert one; for the refusal
 * of
 *  --memory-pickle, which needs no look at the file. */
const char *ap_input_pickle_advice(void);

/** "zlib 1.2.13" or "ISA-L 2.30.0": what was built in for gzip. */
const char *ap_input_inflate_name(void);
/** The name of the other formats of compressed files that are read, one after the other from @i 0 on; NULL behind the last.
 */
const char *ap_input_codec_name(size_t i);

#endif
