/* SPDX-License-Identifier: MIT
 * recorded_run.c - a real run on the CPU that records itself: a small network trained on images in a file, with one cause
 * of slowness or growth planted, or without it.
 *
 *     recorded_run CAUSE|none-CAUSE OUT    with a CAUSE of the table at the end; none-CAUSE is its twin
 *
 * Writes OUT/trace.json, and where memory is the matter OUT/snapshot.json; prints nanoseconds of the recorded steps and the
 * bytes in use behind them. tools/scenarios/recorded.py makes the fixtures with it. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze_profile/record.h"

#define BATCH 48
#define INPUTS 3072 /* an image of 32 x 32 in three colors */
#define HIDDEN 384
#define CLASSES 10
#define WARM_UP 2

static struct ap_recorder *recorder;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *allocate(size_t bytes, const char *tag)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        die("out of memory");
    ap_record_allocation(recorder, AP_DEVICE_HOST, memory, bytes, tag);
    return memory;
}

static void release(void *memory)
{
    ap_record_release(recorder, AP_DEVICE_HOST, memory);
    free(memory);
}

/* ------------------------------------------------------------------------------------------------------- the network */

static struct {
    float first[INPUTS * HIDDEN], second[HIDDEN * CLASSES];
    float first_gradient[INPUTS * HIDDEN], second_gradient[HIDDEN * CLASSES];
} net;

static float random_unit(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(state >> 40) / (float)(1 << 24) - 0.5f;
}

/* c (rows x columns) = a (rows x depth) * b (depth x columns); with a transposed, a is depth x rows. */
static void matmul(float *c, const float *a, const float *b, size_t rows, size_t depth, size_t columns, bool transposed)
{
    AP_NAMED_SCOPE(scope, recorder, AP_RECORD_COMPUTE, "matmul");
    ap_scope_add_flops(&scope, 2.0 * (double)rows * (double)depth * (double)columns);
    memset(c, 0, rows * columns * sizeof(*c));
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < depth; k++) {
            float factor = transposed ? a[k * rows + i] : a[i * depth + k];
            for (size_t j = 0; j < columns; j++)
                c[i * columns + j] += factor * b[k * columns + j];
        }
}

static void relu(float *values, size_t count)
{
    AP_SCOPE(recorder, AP_RECORD_COMPUTE, "relu");
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > 0 ? values[i] : 0;
}

/* Scores become their gradient; returns the loss. */
static float softmax_loss(float *scores, const uint8_t *labels)
{
    AP_SCOPE(recorder, AP_RECORD_COMPUTE, "softmax_cross_entropy");
    float loss = 0;
    for (size_t row = 0; row < BATCH; row++) {
        float *s = scores + row * CLASSES, sum = 0, most = s[0];
        for (size_t i = 1; i < CLASSES; i++)
            most = s[i] > most ? s[i] : most;
        for (size_t i = 0; i < CLASSES; i++)
            sum += s[i] = expf(s[i] - most);
        for (size_t i = 0; i < CLASSES; i++)
            s[i] = (s[i] / sum - (labels[row] == i)) / BATCH;
        loss -= logf(s[labels[row]] * BATCH + 1 + 1e-6f);
    }
    return loss;
}

static void sgd(float *weights, const float *gradients, size_t count)
{
    AP_SCOPE(recorder, AP_RECORD_COMPUTE, "sgd");
    for (size_t i = 0; i < count; i++)
        weights[i] -= 0.01f * gradients[i];
}

struct batch {
    float images[BATCH * INPUTS];
    uint8_t labels[BATCH];
};

/* @ret_scores: a buffer of the caller's, which may want to keep it. */
static float find_gradients(const struct batch *batch, float *ret_scores)
{
    float *hidden = allocate(BATCH * HIDDEN * sizeof(float), "hidden");
    {
        AP_SCOPE(recorder, AP_RECORD_CUSTOM, "forward");
        matmul(hidden, batch->images, net.first, BATCH, INPUTS, HIDDEN, false);
        relu(hidden, BATCH * HIDDEN);
        matmul(ret_scores, hidden, net.second, BATCH, HIDDEN, CLASSES, false);
    }
    float loss = softmax_loss(ret_scores, batch->labels);
    float *hidden_gradient = allocate(BATCH * HIDDEN * sizeof(float), "hidden gradient");
    float *second_transposed = allocate(CLASSES * HIDDEN * sizeof(float), "transposed weights");
    {
        AP_SCOPE(recorder, AP_RECORD_CUSTOM, "backward");
        matmul(net.second_gradient, hidden, ret_scores, HIDDEN, BATCH, CLASSES, true);
        for (size_t i = 0; i < HIDDEN * CLASSES; i++)
            second_transposed[i % CLASSES * HIDDEN + i / CLASSES] = net.second[i];
        matmul(hidden_gradient, ret_scores, second_transposed, BATCH, CLASSES, HIDDEN, false);
        for (size_t i = 0; i < BATCH * HIDDEN; i++)
            hidden_gradient[i] = hidden[i] > 0 ? hidden_gradient[i] : 0;
        matmul(net.first_gradient, batch->images, hidden_gradient, INPUTS, BATCH, HIDDEN, true);
    }
    release(second_transposed);
    release(hidden_gradient);
    release(hidden);
    return loss;
}

static void update(void)
{
    AP_SCOPE(recorder, AP_RECORD_CUSTOM, "Optimizer.step#SGD.step");
    sgd(net.first, net.first_gradient, INPUTS * HIDDEN);
    sgd(net.second, net.second_gradient, HIDDEN * CLASSES);
}

static float train(const struct batch *batch, float *ret_scores)
{
    float loss = find_gradients(batch, ret_scores);
    update();
    return loss;
}

/* ------------------------------------------------------------------------------------------------ images in a file */

#define IMAGE_SCALE 32 /* stored that much larger in area than the network takes them */
#define IMAGE_BYTES ((size_t)INPUTS * IMAGE_SCALE)

static int image_file = -1;

/* On the disk, and not in the page cache: a data set is larger than memory. */
static void store_images(size_t batch_count)
{
    char path[] = "recorded_run_XXXXXX";
    uint8_t *pixels = malloc(IMAGE_BYTES);
    image_file = mkstemp(path);
    if (image_file < 0 || !pixels)
        die("cannot store the images");
    (void)unlink(path);
    for (size_t i = 0; i < batch_count * BATCH; i++) {
        for (size_t j = 0; j < IMAGE_BYTES; j++)
            pixels[j] = (uint8_t)(128 + 60 * random_unit() + (float)(j % 64));
        if (write(image_file, pixels, IMAGE_BYTES) != (ssize_t)IMAGE_BYTES)
            die("cannot store the images");
    }
    free(pixels);
    if (fsync(image_file) != 0 || posix_fadvise(image_file, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
        posix_fadvise(image_file, 0, 0, POSIX_FADV_RANDOM) != 0)
        die("cannot store the images");
}

/* Read, scale down, normalize, image by image: what a loader does. */
static void load_batch(struct batch *batch, size_t number)
{
    uint8_t *pixels = allocate(IMAGE_BYTES, "image");
    for (size_t image = 0; image < BATCH; image++) {
        size_t index = number * BATCH + image;
        if (pread(image_file, pixels, IMAGE_BYTES, (off_t)(index * IMAGE_BYTES)) != (ssize_t)IMAGE_BYTES)
            die("cannot read the images");
        for (size_t i = 0; i < INPUTS; i++) {
            int sum = 0;
            for (size_t j = 0; j < IMAGE_SCALE; j++)
                sum += pixels[i * IMAGE_SCALE + j];
            batch->images[image * INPUTS + i] = ((float)sum / IMAGE_SCALE - 128) / 64;
        }
        batch->labels[image] = (uint8_t)(index % CLASSES);
    }
    release(pixels);
}

/* ---------------------------------------------------------------------------- one slot that two threads hand over */

struct hand_over {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t ready, taken; /* counts */
};

static struct hand_over slots = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

static void advance(size_t *count)
{
    pthread_mutex_lock(&slots.mutex);
    (*count)++;
    pthread_cond_broadcast(&slots.changed);
    pthread_mutex_unlock(&slots.mutex);
}

static void wait_for(const size_t *count, size_t least)
{
    pthread_mutex_lock(&slots.mutex);
    while (*count < least)
        pthread_cond_wait(&slots.changed, &slots.mutex);
    pthread_mutex_unlock(&slots.mutex);
}

/* ------------------------------------------------------------------------------------- slow-input: loading in the loop */

#define INPUT_STEPS 8
#define AHEAD 2

static struct batch batches[AHEAD];

static void *prefetch(void *unused)
{
    (void)unused;
    ap_recorder_name_thread(recorder, "loader");
    for (size_t i = 0; i < INPUT_STEPS + WARM_UP; i++) {
        wait_for(&slots.taken, i < AHEAD ? 0 : i + 1 - AHEAD);
        {
            AP_SCOPE(recorder, AP_RECORD_CUSTOM, "load batch");
            load_batch(&batches[i % AHEAD], i);
        }
        advance(&slots.ready);
    }
    return NULL;
}

static void next_batch(size_t number, bool planted)
{
    AP_SCOPE(recorder, AP_RECORD_DATA_LOADING, "images");
    if (planted)
        load_batch(&batches[number % AHEAD], number);
    else
        wait_for(&slots.ready, number + 1);
}

static int64_t slow_input(bool planted)
{
    pthread_t loader;
    float scores[BATCH * CLASSES];
    int64_t begun_ns = 0;
    if (!planted && pthread_create(&loader, NULL, prefetch, NULL) != 0)
        die("no thread");
    for (size_t i = 0; i < INPUT_STEPS + WARM_UP; i++) {
        if (i == WARM_UP) {
            ap_recorder_start(recorder);
            begun_ns = ap_recorder_now_ns(recorder);
        }
        ap_record_step(recorder);
        next_batch(i, planted);
        train(&batches[i % AHEAD], scores);
        if (!planted)
            advance(&slots.taken);
    }
    ap_record_step_end(recorder);
    int64_t dur_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ap_recorder_stop(recorder);
    if (!planted)
        pthread_join(loader, NULL);
    return dur_ns;
}

/* ------------------------------------------------------ sync-per-item: waiting for a worker behind each thing given to it
 */

#define SYNC_STEPS 6
#define ITEMS 24

static float columns[64 * 1024];

static float busy(size_t rounds)
{
    float sum = 0;
    for (size_t i = 0; i < rounds; i++)
        for (size_t j = 0; j < 4096; j++)
            sum += columns[(i * 64 + j) & 65535] * 1.0001f;
    return sum;
}

static _Thread_local volatile float sink;

static void *work(void *unused)
{
    (void)unused;
    ap_recorder_name_thread(recorder, "worker");
    for (size_t i = 0; i < (SYNC_STEPS + WARM_UP) * ITEMS; i++) {
        wait_for(&slots.ready, i + 1);
        {
            AP_SCOPE(recorder, AP_RECORD_COMPUTE, "reduce");
            sink = busy(20);
        }
        advance(&slots.taken);
    }
    return NULL;
}

static int64_t sync_per_item(bool planted)
{
    pthread_t worker;
    int64_t begun_ns = 0;
    if (pthread_create(&worker, NULL, work, NULL) != 0)
        die("no thread");
    for (size_t step = 0; step < SYNC_STEPS + WARM_UP; step++) {
        if (step == WARM_UP) {
            ap_recorder_start(recorder);
            begun_ns = ap_recorder_now_ns(recorder);
        }
        ap_record_step(recorder);
        for (size_t i = 0; i < ITEMS; i++) {
            {
                AP_SCOPE(recorder, AP_RECORD_COMPUTE, "prepare");
                sink = busy(35);
            }
            advance(&slots.ready);
            if (planted || i + 1 == ITEMS) {
                AP_SCOPE(recorder, AP_RECORD_SYNCHRONISATION, "worker");
                wait_for(&slots.taken, step * ITEMS + i + 1);
            }
        }
    }
    ap_record_step_end(recorder);
    int64_t dur_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ap_recorder_stop(recorder);
    pthread_join(worker, NULL);
    return dur_ns;
}

/* ----------------------------------------------------------------- results-leak: every step's results are kept in a list */

#define LEAK_STEPS 24
#define KEPT_BYTES ((size_t)BATCH * INPUTS * sizeof(float))

static int64_t results_leak(bool planted)
{
    static void *kept[LEAK_STEPS];
    float warm_up[BATCH * CLASSES];
    load_batch(&batches[0], 0);
    train(&batches[0], warm_up);
    ap_recorder_start(recorder);
    int64_t begun_ns = ap_recorder_now_ns(recorder);
    for (size_t i = 0; i < LEAK_STEPS; i++) {
        ap_record_step(recorder);
        float *scores = allocate(BATCH * CLASSES * sizeof(float), "scores");
        train(&batches[0], scores);
        {
            AP_SCOPE(recorder, AP_RECORD_CUSTOM, "log results");
            float *result = allocate(KEPT_BYTES, "result with its images");
            memcpy(result, batches[0].images, KEPT_BYTES);
            release(scores);
            if (planted)
                kept[i] = result;
            else
                release(result);
        }
    }
    ap_record_step_end(recorder);
    int64_t dur_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ap_recorder_stop(recorder);
    for (size_t i = 0; i < LEAK_STEPS; i++)
        free(kept[i]);
    return dur_ns;
}

/* ------------------------------------------------------------------- write-each-step: a checkpoint goes to the disk each
 * step */

#define WRITE_STEPS 8

/* What a checkpoint of Adam has: weights and two moments of each, here as many bytes of the network. */
static void write_checkpoint(int file)
{
    AP_SCOPE(recorder, AP_RECORD_CUSTOM, "write checkpoint");
    for (off_t i = 0; i < 2; i++)
        if (pwrite(file, &net, sizeof(net), i * (off_t)sizeof(net)) != (ssize_t)sizeof(net))
            die("cannot write the checkpoint");
    if (fsync(file) != 0)
        die("cannot write the checkpoint");
}

static int64_t write_each_step(bool planted)
{
    char path[] = "recorded_run_XXXXXX";
    float scores[BATCH * CLASSES];
    int64_t begun_ns = 0;
    int file = mkstemp(path);
    if (file < 0)
        die("cannot write the checkpoint");
    (void)unlink(path);
    write_checkpoint(file);
    load_batch(&batches[0], 0);
    for (size_t i = 0; i < WRITE_STEPS + WARM_UP; i++) {
        if (i == WARM_UP) {
            ap_recorder_start(recorder);
            begun_ns = ap_recorder_now_ns(recorder);
        }
        ap_record_step(recorder);
        train(&batches[0], scores);
        if (planted)
            write_checkpoint(file);
    }
    ap_record_step_end(recorder);
    int64_t dur_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ap_recorder_stop(recorder);
    return dur_ns;
}

/* -------------------------------------------------------------- uneven-threads: two threads, of which one has all the work
 */

#define THREAD_STEPS 6
#define PIECES 16

static pthread_barrier_t barrier;
static bool uneven;

/* The pieces of a step are shared out by number; planted, the other thread gets the last one only. */
static void do_pieces(size_t thread)
{
    for (size_t i = 0; i < PIECES; i++) {
        size_t owner = uneven ? i + 1 == PIECES : i % 2;
        if (owner != thread)
            continue;
        AP_SCOPE(recorder, AP_RECORD_COMPUTE, "reduce");
        sink = busy(60);
    }
}

static void *second_thread(void *unused)
{
    (void)unused;
    ap_recorder_name_thread(recorder, "second");
    for (size_t i = 0; i < THREAD_STEPS + WARM_UP; i++) {
        (void)pthread_barrier_wait(&barrier);
        do_pieces(1);
        (void)pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static int64_t uneven_threads(bool planted)
{
    pthread_t second;
    int64_t begun_ns = 0;
    uneven = planted;
    if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&second, NULL, second_thread, NULL) != 0)
        die("no thread");
    for (size_t i = 0; i < THREAD_STEPS + WARM_UP; i++) {
        if (i == WARM_UP) {
            ap_recorder_start(recorder);
            begun_ns = ap_recorder_now_ns(recorder);
        }
        ap_record_step(recorder);
        (void)pthread_barrier_wait(&barrier);
        do_pieces(0);
        AP_SCOPE(recorder, AP_RECORD_SYNCHRONISATION, "second thread");
        (void)pthread_barrier_wait(&barrier);
    }
    ap_record_step_end(recorder);
    int64_t dur_ns = ap_recorder_now_ns(recorder) - begun_ns;
    ap_recorder_stop(recorder);
    pthread_join(second, NULL);
    return dur_ns;
}

/* --------------------------------------------------- slow-rank: two processes sum up gradients; the other one is slower */

#define RANK_STEPS 8

static void exchange(int socket, void *data, size_t bytes, bool send)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t part =
            send ? write(socket, (char *)data + done, bytes - done) : read(socket, (char *)data + done, bytes - done);
        if (part <= 0)
            die("the other rank is gone");
        done += (size_t)part;
    }
}

/* Rank 1 sends its gradients of the last layer, rank 0 adds them to its own and sends back the sum. */
static void all_reduce(int socket, int rank)
{
    float theirs[HIDDEN * CLASSES];
    AP_SCOPE(recorder, AP_RECORD_COMMUNICATION, "all_reduce");
    if (rank == 1) {
        exchange(socket, net.second_gradient, sizeof(theirs), true);
        exchange(socket, net.second_gradient, sizeof(theirs), false);
        return;
    }
    exchange(socket, theirs, sizeof(theirs), false);
    for (size_t i = 0; i < HIDDEN * CLASSES; i++)
        net.second_gradient[i] += theirs[i];
    exchange(socket, net.second_gradient, sizeof(theirs), true);
}

static int64_t run_rank(int socket, int rank, bool planted)
{
    float scores[BATCH * CLASSES];
    int64_t begun_ns = 0;
    for (size_t i = 0; i < RANK_STEPS + WARM_UP; i++) {
        if (i == WARM_UP && rank == 0) {
            ap_recorder_start(recorder);
            begun_ns = ap_recorder_now_ns(recorder);
        }
        ap_record_step(recorder);
        find_gradients(&batches[0], scores);
        if (planted && rank == 1) /* it has twice as much data */
            find_gradients(&batches[0], scores);
        all_reduce(socket, rank);
        update();
    }
    ap_record_step_end(recorder);
    return ap_recorder_now_ns(recorder) - begun_ns;
}

static int64_t slow_rank(bool planted)
{
    struct ap_error error;
    int sockets[2];
    load_batch(&batches[0], 0);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        die("no socket");
    pid_t other = fork();
    if (other < 0)
        die("no process");
    if (other == 0) {
        run_rank(sockets[1], 1, planted);
        _exit(0);
    }
    if (ap_recorder_set_rank(recorder, 0, 2, "sockets", &error) != AP_OK)
        die(error.message);
    int64_t dur_ns = run_rank(sockets[0], 0, planted);
    ap_recorder_stop(recorder);
    (void)waitpid(other, NULL, 0);
    return dur_ns;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int64_t (*run)(bool planted);
    size_t batch_count; /* that it reads, each once */
    bool with_snapshot;
} causes[] = {
    { "slow-input", slow_input, INPUT_STEPS + WARM_UP, false },
    { "sync-per-item", sync_per_item, 0, false },
    { "results-leak", results_leak, 1, true },
    { "write-each-step", write_each_step, 1, false },
    { "uneven-threads", uneven_threads, 0, false },
    { "slow-rank", slow_rank, 1, false },
};

static void save(const char *folder, bool with_snapshot)
{
    char path[1024];
    struct ap_error error;
    (void)snprintf(path, sizeof(path), "%s/trace.json", folder);
    enum ap_status status = ap_recorder_save_trace(recorder, path, &error);
    (void)snprintf(path, sizeof(path), "%s/snapshot.json", folder);
    if (status == AP_OK && with_snapshot)
        status = ap_recorder_save_snapshot(recorder, path, &error);
    if (status != AP_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct ap_error error;
    struct ap_memory_use use;
    if (argc != 3 || ap_recorder_new(&(struct ap_recorder_options){ .process_name = "recorded_run", .start_off = true },
                                     &recorder, &error) != AP_OK) {
        fprintf(stderr, "usage: recorded_run CAUSE|none-CAUSE OUT\n");
        return 2;
    }
    bool planted = strncmp(argv[1], "none-", 5) != 0;
    const char *name = argv[1] + (planted ? 0 : 5);
    ap_recorder_name_thread(recorder, "main");
    for (size_t i = 0; i < INPUTS * HIDDEN; i++)
        net.first[i] = random_unit() * 0.03f;
    for (size_t i = 0; i < HIDDEN * CLASSES; i++)
        net.second[i] = random_unit() * 0.2f;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        columns[i] = random_unit();
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (strcmp(causes[i].name, name) != 0)
            continue;
        store_images(causes[i].batch_count);
        int64_t dur_ns = causes[i].run(planted);
        ap_recorder_memory(recorder, AP_DEVICE_HOST, &use);
        printf("%lld %lld\n", (long long)dur_ns, (long long)use.current_bytes);
        save(argv[2], causes[i].with_snapshot);
        ap_recorder_free(recorder);
        return 0;
    }
    fprintf(stderr, "recorded_run: no cause is called %s\n", name);
    return 2;
}
