/* SPDX-License-Identifier: MIT
 * peer_simdjson.cpp - the trace summary as a good user of simdjson On-Demand would write it.
 * A yardstick for the benchmark only; nothing of the product may depend on it.
 *
 * Per event: ph, cat, name, pid, tid, ts, dur.  Per ph = X: count, total and max by name, sum by
 * (pid, tid), one row; rows sorted by thread; self time among the cpu_op rows of each thread.
 * With --correlation also args.correlation, which joins launches and kernels.
 * The control sums on stdout show that the work was done, and done right. */

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ondemand = simdjson::ondemand;

namespace {

/* Texts to small numbers: open addressing, eight bytes hashed at a time. */
class Interner {
public:
    uint32_t intern(std::string_view text)
    {
        const uint64_t hash = hash_of(text);
        size_t at = hash & mask_;
        while (slots_[at].id != EMPTY) {
            if (slots_[at].hash == hash && texts_[slots_[at].id] == text)
                return slots_[at].id;
            at = (at + 1) & mask_;
        }
        const auto id = static_cast<uint32_t>(texts_.size());
        texts_.emplace_back(text);
        slots_[at] = { hash, id };
        if (texts_.size() * 2 > slots_.size())
            grow();
        return id;
    }
    size_t size() const { return texts_.size(); }
    const std::string &text(uint32_t id) const { return texts_[id]; }

private:
    static constexpr uint32_t EMPTY = UINT32_MAX;
    struct Slot {
        uint64_t hash = 0;
        uint32_t id = EMPTY;
    };

    static uint64_t hash_of(std::string_view text)
    {
        uint64_t hash = text.size() * 0x9e3779b97f4a7c15u;
        size_t at = 0;
        for (; at + 8 <= text.size(); at += 8) {
            uint64_t word;
            std::memcpy(&word, text.data() + at, 8);
            hash = mix(hash ^ word);
        }
        uint64_t rest = 0;
        std::memcpy(&rest, text.data() + at, text.size() - at);
        return mix(hash ^ rest);
    }
    static uint64_t mix(uint64_t value)
    {
        value *= 0xff51afd7ed558ccdu;
        return value ^ (value >> 32);
    }
    void grow()
    {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot &slot : old) {
            if (slot.id == EMPTY)
                continue;
            size_t at = slot.hash & mask_;
            while (slots_[at].id != EMPTY)
                at = (at + 1) & mask_;
            slots_[at] = slot;
        }
    }

    std::deque<std::string> texts_;
    std::vector<Slot> slots_ = std::vector<Slot>(1024);
    size_t mask_ = 1023;
};

struct Row {
    int64_t start_ns;
    int64_t end_ns;
    int64_t correlation; /* 0: none */
    uint32_t name;
    uint32_t thread : 31;
    uint32_t is_cpu_op : 1;
};

struct NameSums {
    uint64_t count = 0;
    int64_t total_ns = 0;
    int64_t max_ns = INT64_MIN;
    int64_t self_ns = 0;
};

struct ThreadSums {
    uint64_t count = 0;
    int64_t total_ns = 0;
};

struct Event {
    std::string_view name, pid, tid, ts, dur;
    int64_t correlation = 0;
    bool is_x = false;
    bool is_cpu_op = false;
    bool has_name = false;
};

struct Summary {
    Interner names, threads;
    std::vector<NameSums> by_name;
    std::vector<ThreadSums> by_thread;
    std::vector<Row> rows;
    uint64_t event_count = 0;
    uint64_t x_count = 0;
    uint64_t cpu_op_count = 0;
    uint64_t unusable_count = 0;
    uint64_t correlated_count = 0;
    int64_t total_ns = 0;
    int64_t cpu_op_total_ns = 0;
    std::string last_pid, last_tid;
    uint32_t last_thread = UINT32_MAX;
};

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Decimal microseconds to whole nanoseconds, without a double; digits past the third are dropped. */
bool read_ns(std::string_view text, int64_t *ret_ns)
{
    const char *at = text.data();
    const char *end = at + text.size();
    const bool negative = at < end && *at == '-';
    at += negative;
    if (at == end || !is_digit(*at))
        return false;
    int64_t ns = 0;
    while (at < end && is_digit(*at))
        ns = ns * 10 + (*at++ - '0');
    int places = 0;
    if (at < end && *at == '.')
        for (at++; at < end && is_digit(*at); at++)
            if (places < 3) {
                ns = ns * 10 + (*at - '0');
                places++;
            }
    for (; places < 3; places++)
        ns *= 10;
    if (at < end && (*at == 'e' || *at == 'E'))
        ns = static_cast<int64_t>(std::strtod(std::string(text).c_str(), nullptr) * 1000);
    else if (negative)
        ns = -ns;
    *ret_ns = ns;
    return true;
}

/* A number or string as it stands in the file, without the white space behind it or quotes. */
std::string_view plain_token(std::string_view token)
{
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
        token.remove_suffix(1);
    if (token.size() >= 2 && token.front() == '"')
        token = token.substr(1, token.size() - 2);
    return token;
}

bool is_cpu_op_category(ondemand::raw_json_string text)
{
    return text == "cpu_op" || text == "Operator" || text == "operator";
}

void read_correlation(ondemand::value value, Event *event)
{
    ondemand::object args;
    if (value.get_object().get(args))
        return;
    for (ondemand::field field : args)
        if (field.key() == "correlation") {
            if (field.value().get_int64().get(event->correlation))
                event->correlation = 0;
            return;
        }
}

void read_field(ondemand::field field, bool with_correlation, Event *event)
{
    const ondemand::raw_json_string key = field.key();
    ondemand::value value = field.value();
    ondemand::raw_json_string text;
    if (key == "ph") {
        if (!value.get_raw_json_string().get(text))
            event->is_x = text == "X";
    } else if (key == "cat") {
        if (!value.get_raw_json_string().get(text))
            event->is_cpu_op = is_cpu_op_category(text);
    } else if (key == "name") {
        event->has_name = !value.get_string().get(event->name);
    } else if (key == "pid") {
        event->pid = plain_token(value.raw_json_token());
    } else if (key == "tid") {
        event->tid = plain_token(value.raw_json_token());
    } else if (key == "ts") {
        event->ts = value.raw_json_token();
    } else if (key == "dur") {
        event->dur = value.raw_json_token();
    } else if (with_correlation && key == "args") {
        read_correlation(value, event);
    }
}

/* Neighboring events mostly belong to one thread, so the last one is tried first. */
uint32_t thread_of(Summary *sum, const Event &event)
{
    if (sum->last_thread != UINT32_MAX && sum->last_pid == event.pid && sum->last_tid == event.tid)
        return sum->last_thread;
    sum->last_pid = event.pid;
    sum->last_tid = event.tid;
    sum->last_thread = sum->threads.intern(sum->last_pid + '\0' + sum->last_tid);
    if (sum->last_thread == sum->by_thread.size())
        sum->by_thread.emplace_back();
    return sum->last_thread;
}

uint32_t name_of(Summary *sum, const Event &event)
{
    const uint32_t name = sum->names.intern(event.has_name ? event.name : "unknown");
    if (name == sum->by_name.size())
        sum->by_name.emplace_back();
    return name;
}

void add_event(Summary *sum, const Event &event)
{
    sum->event_count++;
    if (!event.is_x)
        return;
    sum->x_count++;
    int64_t ts_ns, dur_ns;
    if (!read_ns(event.ts, &ts_ns) || !read_ns(event.dur, &dur_ns) || dur_ns < 0) {
        sum->unusable_count++;
        return;
    }
    const uint32_t name = name_of(sum, event);
    const uint32_t thread = thread_of(sum, event);
    NameSums &by_name = sum->by_name[name];
    by_name.count++;
    by_name.total_ns += dur_ns;
    by_name.max_ns = std::max(by_name.max_ns, dur_ns);
    sum->by_thread[thread].count++;
    sum->by_thread[thread].total_ns += dur_ns;
    sum->total_ns += dur_ns;
    if (event.is_cpu_op) {
        sum->cpu_op_count++;
        sum->cpu_op_total_ns += dur_ns;
    }
    sum->correlated_count += event.correlation != 0;
    sum->rows.push_back({ ts_ns, ts_ns + dur_ns, event.correlation, name, thread, event.is_cpu_op });
}

void read_events(ondemand::array events, bool with_correlation, Summary *sum)
{
    for (ondemand::object object : events) {
        Event event;
        for (ondemand::field field : object)
            read_field(field, with_correlation, &event);
        add_event(sum, event);
    }
}

void read_trace(ondemand::document &document, bool with_correlation, Summary *sum)
{
    if (document.type() == ondemand::json_type::array) {
        read_events(document.get_array(), with_correlation, sum);
        return;
    }
    for (ondemand::field field : document.get_object())
        if (field.key() == "traceEvents")
            read_events(field.value().get_array(), with_correlation, sum);
}

/* Equal rows keep the order of the file: they are gathered in it and sorted stably. */
bool starts_before(const Row &a, const Row &b)
{
    if (a.start_ns != b.start_ns)
        return a.start_ns < b.start_ns;
    return a.end_ns > b.end_ns;
}

/* The rows gathered by thread; thread t stands at ret_begin[t] .. ret_begin[t + 1]. */
std::vector<Row> gather_by_thread(const Summary &sum, std::vector<size_t> *ret_begin)
{
    std::vector<size_t> next(1, 0);
    for (const ThreadSums &thread : sum.by_thread)
        next.push_back(next.back() + thread.count);
    *ret_begin = next;
    std::vector<Row> gathered(sum.rows.size());
    for (const Row &row : sum.rows)
        gathered[next[row.thread]++] = row;
    return gathered;
}

/* Time from *cur_ns to to_ns goes to the innermost open row, the one that was opened last. */
void advance(std::vector<const Row *> *open, int64_t *cur_ns, int64_t to_ns, Summary *sum)
{
    while (*cur_ns < to_ns) {
        while (!open->empty() && open->back()->end_ns <= *cur_ns)
            open->pop_back();
        if (open->empty()) {
            *cur_ns = to_ns;
            return;
        }
        const int64_t next_ns = std::min(open->back()->end_ns, to_ns);
        sum->by_name[open->back()->name].self_ns += next_ns - *cur_ns;
        *cur_ns = next_ns;
    }
}

void add_self_times(const Row *row, const Row *end, Summary *sum)
{
    std::vector<const Row *> open;
    int64_t cur_ns = INT64_MIN;
    for (; row < end; row++) {
        if (!row->is_cpu_op)
            continue;
        if (open.empty())
            cur_ns = row->start_ns;
        advance(&open, &cur_ns, row->start_ns, sum);
        while (!open.empty() && open.back()->end_ns <= row->start_ns)
            open.pop_back();
        open.push_back(row);
    }
    int64_t last_ns = cur_ns;
    for (const Row *left : open)
        last_ns = std::max(last_ns, left->end_ns);
    advance(&open, &cur_ns, last_ns, sum);
}

void sort_and_nest(Summary *sum)
{
    std::vector<size_t> begin;
    std::vector<Row> rows = gather_by_thread(*sum, &begin);
    for (size_t thread = 0; thread + 1 < begin.size(); thread++) {
        Row *first = rows.data() + begin[thread];
        Row *last = rows.data() + begin[thread + 1];
        if (!std::is_sorted(first, last, starts_before))
            std::stable_sort(first, last, starts_before); /* rows come in sorted runs: merging beats quicksort */
        add_self_times(first, last, sum);
    }
}

double now_s()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void print_control_sums(const Summary &sum, const double *seconds)
{
    int64_t self_ns = 0;
    uint64_t name_bytes = 0;
    for (const NameSums &name : sum.by_name)
        self_ns += name.self_ns;
    for (uint32_t id = 0; id < sum.names.size(); id++)
        name_bytes += sum.names.text(id).size();
    std::printf("events %llu\nx_rows %llu\ncpu_op_rows %llu\nunusable_x %llu\nnames %zu\nname_bytes %llu\nthreads %zu\n",
                static_cast<unsigned long long>(sum.event_count), static_cast<unsigned long long>(sum.x_count),
                static_cast<unsigned long long>(sum.cpu_op_count), static_cast<unsigned long long>(sum.unusable_count),
                sum.names.size(), static_cast<unsigned long long>(name_bytes), sum.threads.size());
    std::printf("correlated_rows %llu\n", static_cast<unsigned long long>(sum.correlated_count));
    std::printf("total_dur_ns %lld\ncpu_op_dur_ns %lld\ntotal_self_ns %lld\n", static_cast<long long>(sum.total_ns),
                static_cast<long long>(sum.cpu_op_total_ns), static_cast<long long>(self_ns));
    std::printf("load_s %.3f\nparse_s %.3f\nsort_s %.3f\n", seconds[0], seconds[1], seconds[2]);
}

int run(const char *path, bool with_sort, bool with_correlation)
{
    double seconds[3];
    double began_s = now_s();
    simdjson::padded_string text;
    const auto failure = simdjson::padded_string::load(path).get(text);
    if (failure) {
        std::fprintf(stderr, "peer_simdjson: %s: %s\n", path, simdjson::error_message(failure));
        return 3;
    }
    seconds[0] = now_s() - began_s;

    began_s = now_s();
    Summary sum;
    ondemand::parser parser;
    ondemand::document document = parser.iterate(text);
    read_trace(document, with_correlation, &sum);
    seconds[1] = now_s() - began_s;

    began_s = now_s();
    if (with_sort)
        sort_and_nest(&sum);
    seconds[2] = now_s() - began_s;
    print_control_sums(sum, seconds);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const char *path = nullptr;
    bool with_sort = true;
    bool with_correlation = false;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--no-sort") == 0)
            with_sort = false;
        else if (std::strcmp(argv[i], "--correlation") == 0)
            with_correlation = true;
        else
            path = argv[i];
    }
    if (!path) {
        std::fprintf(stderr, "usage: peer_simdjson FILE [--no-sort] [--correlation]\n");
        return 2;
    }
    try {
        return run(path, with_sort, with_correlation);
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "peer_simdjson: %s: %s\n", path, problem.what());
        return 3;
    }
}
