/* SPDX-License-Identifier: MIT
 * habit_items.h - what the parts of habits by rows share: each thread is a list of items - operators that the program
 * called, nodes of the backward pass, optimizer steps, waits for a batch - and habits are patterns in it. */
#ifndef AP_HABIT_ITEMS_H
#define AP_HABIT_ITEMS_H

#include "habits.h"
#include "tensor_dims.h"

/* What names stand for; one bit each. */
enum ap_habit_word {
#define AP_HABIT_WORD(word, patterns) AP_WORD_##word,
#include "habit_words.def"
#undef AP_HABIT_WORD
    AP_WORD_COUNT
};
#define AP_HAS(bits, word) ((bits) >> AP_WORD_##word & 1)
#define AP_BIT(word) (UINT64_C(1) << AP_WORD_##word)

#define AP_HABIT_NODE_NS INT64_C(2000)    /* that making a node takes on the host, measured with small Linear layers */
#define AP_HABIT_SHORT_NS INT64_C(100000) /* an operator with its children in which dispatch weighs */
#define AP_HABIT_CALL_NS INT64_C(15000)   /* likewise, a part of one that is made of several */
#define AP_HABIT_GAP_NS INT64_C(500000)   /* between operators: longer ones have another cause */
#define AP_HABIT_CONSTANTS_MAX 64

/* There may be one for each row of the thread: what the row tells is asked of it. */
struct ap_habit_item {
    uint32_t row;
    uint32_t inner;      /* operators that it calls, at all depths */
    uint32_t step : 30;  /* of more steps than that, those beyond are taken as one */
    uint32_t drops : 1;  /* calls dropout within */
    uint32_t begins : 1; /* an optimizer's step, with the state that it begins with */
};

struct ap_habit_loop {
    enum ap_habit_id id;
    int64_t end_ns;    /* of its own rows; those of the backward pass are behind */
    int64_t paused_ns; /* of its own time, in long gaps that are not its */
    int64_t total_ns;
    ap_link_key first, last; /* sequence numbers; 0 = none */
    double keeps;            /* of it, which the better form takes too */
    uint32_t row, period, names[AP_HABIT_NAMES];
    bool is_slow;       /* counts only beside one of the same operators that is not */
    bool is_part;       /* takes time, and is told by another one */
    uint32_t signature; /* of trace->signatures; 0 = not told */
};

/* Constants that are made by the same operators. */
struct ap_habit_constants {
    uint64_t key, count, step_count;
    int64_t total_ns, longest_ns;
    uint64_t words; /* of all its operators */
    uint64_t sizes; /* of the first: a key of its operators' sizes */
    bool is_fixed;  /* nothing else goes in, by the sizes, which are the same each time */
    uint32_t row, names[AP_HABIT_NAMES];
};

struct ap_habit_rows {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_name_patterns patterns;
    uint64_t *words_of; /* by name id */
    uint32_t *last_of;  /* likewise: an item of that name; of which thread is for the asker to find out */
    struct ap_name_patterns signs;
    uint8_t *sign_of;             /* by name id, of the forms: 0 = not asked */
    uint8_t *differs_of;          /* likewise, of what layers are handed: 1 = no, 2 = it may */
    struct ap_pair_map updated;   /* sizes of the tensors that optimizers work on */
    struct ap_pair_map looked_at; /* likewise, of what is called between a backward pass and the next forward pass */
    uint8_t *dropped;             /* by row: a gradient that is cleared before an optimizer works on it; NULL = none */
    struct ap_pair_map node_sequences;
    struct ap_pair_map nodes_run;    /* numbers and threads of the nodes so far */
    struct ap_pair_map weights_made; /* signatures of layers, and the first operators that made their weights */
    struct ap_pair_map summed; /* numbers of nodes that sum up gradients of what was spread out, and of how many tensors */
    struct ap_pair_map of_parameters; /* numbers of nodes that hand gradients to parameters, and to how many at least */
    struct ap_pair_map made_again;    /* numbers of operators that ran in nodes, and may have made nodes there */
    bool goes_again;                  /* some of these nodes ran */
    int64_t last_node_ns;
    int64_t loop_start_ns, loop_end_ns; /* what is before or behind the steps is no part of the loop */
    bool has_sequences, has_optimizer, has_collective, has_loader, has_tables;
    bool has_backward_graph, uses_backward_graph; /* backward passes make nodes; some of those run */
    struct ap_habit_item *items;                  /* of the thread */
    size_t item_count, item_capacity;
    size_t next_join, looks_left; /* of a search for what uses a result */
    struct ap_habit_loop *loops;
    size_t loop_count, loop_capacity;
    struct ap_habit_constants constants[AP_HABIT_CONSTANTS_MAX];
    size_t constant_count;
};

/** Looks at a name that nobody asked for yet. */
uint64_t ap_habit_find_words(struct ap_habit_rows *rows, uint32_t name);

/** The bits of enum ap_habit_word for the name. */
static inline uint64_t ap_habit_words_of_name(struct ap_habit_rows *rows, uint32_t name)
{
    return rows->words_of[name] ? rows->words_of[name] : ap_habit_find_words(rows, name);
}

/** Likewise, for the row's name. */
static inline uint64_t ap_habit_words_of(struct ap_habit_rows *rows, uint32_t row)
{
    return ap_habit_words_of_name(rows, rows->trace->events.name[row]);
}

/** A row of an operator, on the host. */
static inline bool ap_habit_is_operator(const struct ap_habit_rows *rows, uint32_t row)
{
    return ap_row_is_of(rows->trace, row, 1u << AP_KIND_operator);
}

/** Id of the name of its row. */
static inline uint32_t ap_habit_name_of(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return rows->trace->events.name[item->row];
}

/** Likewise, of the item at that place. */
static inline uint32_t ap_habit_name_at(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_name_of(rows, &rows->items[at]);
}

/** The bits of enum ap_habit_word for its name. */
static inline uint64_t ap_item_words(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return rows->words_of[ap_habit_name_of(rows, item)]; /* looked up when the thread was read */
}

static inline int64_t ap_item_start_ns(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return rows->trace->events.start_ns[item->row];
}

static inline int64_t ap_item_end_ns(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    return ap_row_end_ns(rows->trace, item->row);
}

/** Its sequence number, of an operator that is not of the backward pass; 0 = none. */
ap_link_key ap_item_sequence(const struct ap_habit_rows *rows, const struct ap_habit_item *item);

/** Its time, where dispatch weighs in it: of one that is short, or made of short parts as layers in one call are; else 0. */
static inline int64_t ap_item_dispatch_ns(const struct ap_habit_rows *rows, const struct ap_habit_item *item)
{
    int64_t dur_ns = ap_item_end_ns(rows, item) - ap_item_start_ns(rows, item);
    return dur_ns < AP_HABIT_SHORT_NS || dur_ns / ((int64_t)item->inner + 1) <= AP_HABIT_CALL_NS ? dur_ns : 0;
}

/** A literal, whose length is known then: most names differ in theirs. */
static inline bool ap_habit_is_named(const struct ap_habit_rows *rows, size_t at, struct ap_text name)
{
    return ap_text_equal(ap_trace_text(rows->trace, ap_habit_name_at(rows, at)), name);
}

/** Of the program itself: no node of the backward pass, no optimizer step, no wait for a batch. */
bool ap_habit_is_call(const struct ap_habit_rows *rows, const struct ap_habit_item *item);

/** The number of the next call that has one: this one made the nodes from its own number to before that. 0 = none. */
ap_link_key ap_habit_sequence_after(const struct ap_habit_rows *rows, size_t at);

/** Does it make a node of the backward pass? One that makes none has the number of the next one that does, or none. */
bool ap_habit_makes_node(const struct ap_habit_rows *rows, size_t at);

/** The number of the last node that the item made: an operator of several makes them from its own number on. Less than that
 *  where it made none; 0 = none has a number. */
ap_link_key ap_habit_last_sequence(const struct ap_habit_rows *rows, size_t at);

/** The same of the item alone: 0 where it made none. */
ap_link_key ap_habit_node_of(const struct ap_habit_rows *rows, size_t at);

/** The first names of the items that differ. */
void ap_habit_take_names(const struct ap_habit_rows *rows, const struct ap_habit_item *items, size_t count,
                         uint32_t names[AP_HABIT_NAMES]);

/** The tables of names, and the nodes of the whole trace, before any thread is read. */
AP_MUST_CHECK enum ap_status ap_habit_rows_init(struct ap_habit_rows *rows, struct ap_error *reterr);

/** The items of a thread. Adds what is found within them on the way: recomputation, orders of products, optimizer steps. */
AP_MUST_CHECK enum ap_status ap_habit_read_items(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);

/** The nodes among them that hand their gradients to parameters, right behind: no other use of these is left. */
AP_MUST_CHECK enum ap_status ap_habit_find_parameters(struct ap_habit_rows *rows, struct ap_error *reterr);

/** Instead of them the operators that a DataLoader calls in the loop's own process: what its data set does. */
AP_MUST_CHECK enum ap_status ap_habit_read_loading(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);

/* What looks at the items of a thread, one after the other. */

/** Activations, norms and losses that are written out, as loops; and checks of values. */
AP_MUST_CHECK enum ap_status ap_habit_find_forms(struct ap_habit_rows *rows, struct ap_error *reterr);
/** The signs that they are told by, before any thread is read. */
AP_MUST_CHECK enum ap_status ap_habit_signs_init(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Work on more elements than the result needs: all pairs, whole sorts. Pairs are told as loops. */
AP_MUST_CHECK enum ap_status ap_habit_find_sizes(struct ap_habit_rows *rows, struct ap_error *reterr);
/** The sizes of what optimizers work on, and of what is looked at behind backward passes; before any thread is read. */
AP_MUST_CHECK enum ap_status ap_habit_read_updates(struct ap_habit_rows *rows, struct ap_error *reterr);
/** The sizes of what the row is called with, as they are written; none where they were not recorded. */
struct ap_text ap_habit_dims_of(const struct ap_habit_rows *rows, uint32_t row);
/** The next tensor of a list, or of a list in it: its key; false where there is none. One without sizes is passed over. */
bool ap_habit_next_tensor(struct ap_text dims, size_t *at, uint32_t ret_key[2]);
/** Optimizers work on tensors of these sizes. */
AP_MUST_CHECK enum ap_status ap_habit_note_sizes(struct ap_habit_rows *rows, uint32_t row, struct ap_error *reterr);
/** Gradients that are cleared before an optimizer works on them; behind the sizes. */
AP_MUST_CHECK enum ap_status ap_habit_find_dropped(struct ap_habit_rows *rows, struct ap_error *reterr);
/** What gradients tell of it, where optimizers do not tell all. */
AP_MUST_CHECK enum ap_status ap_habit_read_taken(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Checks of arguments that the host waits for. */
void ap_habit_find_argument_checks(struct ap_habit_rows *rows);
/** Gradients of weights that no optimizer changes, and of inputs that nothing looks at. */
AP_MUST_CHECK enum ap_status ap_habit_find_gradients(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);
/** Is there any node of an embedding table? Names are few beside rows. */
bool ap_habit_has_tables(const struct ap_trace *trace);
/** Gradients of whole embedding tables of which few rows were looked up, where sizes are not told; and updates with them. */
void ap_habit_find_tables(struct ap_habit_rows *rows, size_t track);
/** What is done with single gradients before the optimizer's step, and with single weights behind it. */
void ap_habit_find_work_between(struct ap_habit_rows *rows);
/** Values that are read behind each of many layers of a forward pass, as hooks do and logs. */
AP_MUST_CHECK enum ap_status ap_habit_find_reads(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Gradients of a second model like the trained one, which nothing clears; of two trained in turn, those of the other. */
AP_MUST_CHECK enum ap_status ap_habit_find_reference(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);
/** Nodes of backward passes that are recorded for another one, and those which that one goes through. */
AP_MUST_CHECK enum ap_status ap_habit_find_second_order(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);
/** One more loop, filled with zeros. */
AP_MUST_CHECK enum ap_status ap_habit_new_loop(struct ap_habit_rows *rows, struct ap_habit_loop **ret_loop,
                                               struct ap_error *reterr);
/** Forgets the graphs of backward passes unless they are sure, and none is used; behind all threads. */
void ap_habit_judge_backward_graphs(struct ap_habit_rows *rows);
/** What checkpointing takes beside the recomputation, where that is there; behind all threads. */
AP_MUST_CHECK enum ap_status ap_habit_add_checkpointing(struct ap_habit_rows *rows, struct ap_error *reterr);
/** One more, of the items from @first to @last, of which the better form takes the share @keeps as well. */
AP_MUST_CHECK enum ap_status ap_habit_add_stretch(struct ap_habit_rows *rows, enum ap_habit_id id, size_t first, size_t last,
                                                  double keeps, struct ap_error *reterr);
/** The sizes of an operator's tensors; false where none are known. */
bool ap_habit_read_tensors(const struct ap_habit_rows *rows, size_t at, struct ap_tensor_list *ret_list);
/** Is one of its tensors of these sizes? */
bool ap_habit_has_tensor(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *tensor);
/** Before a search over the items of a thread that asks the next one. */
void ap_habit_begin_search(struct ap_habit_rows *rows);
/** Is one of these sizes read behind @at, before the same begins again with @first, or put together with others later? Where
 *  too much was looked at for other items, it may be. */
bool ap_habit_is_used_behind(struct ap_habit_rows *rows, size_t first, size_t at, const struct ap_tensor_dims *all);
/** Is @other an item, a call of the program's, and of the same step? */
bool ap_habit_is_of_step(const struct ap_habit_rows *rows, size_t at, size_t other);
/** The same operator with the same sizes, once more. */
bool ap_habit_is_same(const struct ap_habit_rows *rows, size_t at, size_t other);
/** Of its tensor of that number, from 0 on, as one that an optimizer works on has it: as read by ap_habit_read_updates(). */
bool ap_habit_is_trained(const struct ap_habit_rows *rows, size_t at, uint32_t number);
/** Convolutions as products with patches, filters of images with a whole matrix. */
AP_MUST_CHECK enum ap_status ap_habit_find_convolutions(struct ap_habit_rows *rows, struct ap_error *reterr);
/** These, copies that repeat a tensor, weights made anew, penalties on weights. */
AP_MUST_CHECK enum ap_status ap_habit_find_waste(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Weights that are packed anew for each call, in a run that does not train. */
void ap_habit_find_packed(struct ap_habit_rows *rows);
/** Encoders that are run again for each token, in a run that does not train. */
void ap_habit_find_encoders(struct ap_habit_rows *rows);
/** Rows that are brought to length 1 for each question anew, in a run that does not train. */
void ap_habit_find_normed(struct ap_habit_rows *rows);
/** Models that are built for each request, in a run that does not train. */
void ap_habit_find_built(struct ap_habit_rows *rows);
/** Passes of one model in turn, whose results are put together; in a run that does not train. */
void ap_habit_find_turns(struct ap_habit_rows *rows);
/** The same with a backward pass in each, in a run that trains nothing: gradients of single samples. */
void ap_habit_find_gradient_turns(struct ap_habit_rows *rows);
/** Tensors that are made of lists of Python's. */
void ap_habit_find_lists(struct ap_habit_rows *rows);
/** Objects of Python that ranks hand each other, pickled. */
void ap_habit_find_objects(struct ap_habit_rows *rows);
/** Work on all scores for a choice that needs less: probabilities for the largest, sums of weights for draws. */
AP_MUST_CHECK enum ap_status ap_habit_find_choices(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Elements that are computed and not used, and resizing, where the item takes or resizes something. */
AP_MUST_CHECK enum ap_status ap_habit_look_at_images(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr);
/** A batch that is mostly padding, where the item may be the first that makes it; *behind: what is before needs no look. */
AP_MUST_CHECK enum ap_status ap_habit_look_at_padding(struct ap_habit_rows *rows, size_t at, size_t *behind,
                                                      struct ap_error *reterr);
/** Of what a DataLoader calls: images that are worked on before they are made smaller. */
AP_MUST_CHECK enum ap_status ap_habit_find_waste_of_loading(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Are the items from @start to @end passes of @period items that begin alike, and is what they make put together? */
bool ap_habit_are_side_by_side(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period);
/** Can no batch take the place of the passes? Their products are mostly of matrices that differ in size, both of them, from
 *  pass to pass, which would all be padded to the largest; of attention that is what one does. Or, where @may_go_on, each
 *  pass goes on with what the one before has made, as filters and dynamic programs do: none of them keeps a result, and
 *  nothing behind the last one puts results together. Not where a norm is taken, as methods do that go round for long. */
bool ap_habit_make_no_batch(const struct ap_habit_rows *rows, size_t start, size_t end, size_t period, bool may_go_on);
/** Is a pass that begins with @start a head of attention, written out? */
bool ap_habit_attends(const struct ap_habit_rows *rows, size_t start, size_t period);
/** A mixture of experts of which each runs on all tokens, as loops. */
AP_MUST_CHECK enum ap_status ap_habit_find_experts(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Metrics that are computed of all results so far in each step. */
void ap_habit_find_history(struct ap_habit_rows *rows);
/** Queues that are copied whole to move them on, where no sizes are told. */
void ap_habit_find_queue(struct ap_habit_rows *rows);
/** A recurrent layer that goes over a series again each time a value is added; in a run that does not train. */
void ap_habit_find_reruns(struct ap_habit_rows *rows);
/** What takes longer from call to call, where no sizes tell how much there is. */
void ap_habit_find_growing(struct ap_habit_rows *rows, size_t track);
/** From the end of the item before; INT64_MAX for the first one of a thread. */
int64_t ap_habit_gap_before(const struct ap_habit_rows *rows, size_t at);
/** What of this goes with the item: the way of Python to the call, and what it released on it. 0 where it is long. */
int64_t ap_habit_lead_ns(const struct ap_habit_rows *rows, size_t at);
/** To give back behind the item what was made in @made_ns, which takes no longer than making it. */
int64_t ap_habit_given_back_ns(const struct ap_habit_rows *rows, size_t at, int64_t made_ns);
/** Loops are added when all threads were read. */
AP_MUST_CHECK enum ap_status ap_habit_find_loops(struct ap_habit_rows *rows, struct ap_error *reterr);
/** What loops, and in the backward pass their nodes, take. */
void ap_habit_add_loops(struct ap_habit_rows *rows);
/** Masks, indices and the like; they are added when all threads were read. */
void ap_habit_find_constants(struct ap_habit_rows *rows);
/** Where the operators end that begin with a counter at @start and work on what they made alone, in the same step; @start
 *  where they are few, or sizes do not tell. */
size_t ap_habit_end_of_fixed(const struct ap_habit_rows *rows, size_t start);
/** Attention that is handed a mask, as loops of one call; weights of attention that are used beside. */
AP_MUST_CHECK enum ap_status ap_habit_find_attention(struct ap_habit_rows *rows, struct ap_error *reterr);
/** Those that are made several times a step, or in each step the same; behind the loops. */
void ap_habit_add_constants(struct ap_habit_rows *rows);
/** What is made of data alone before several layers of one pass, in a run that trains. */
void ap_habit_find_prepared(struct ap_habit_rows *rows);
/** Passes that no backward pass goes through, in a run that trains. */
void ap_habit_find_passes(struct ap_habit_rows *rows);
/** Nodes for a backward pass in a run that has none. */
void ap_habit_find_graphs(struct ap_habit_rows *rows);
/** Nodes that run again: each loss goes back through what they share. Not where gradients of gradients are computed. */
AP_MUST_CHECK enum ap_status ap_habit_find_nodes_again(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr);
/** A model that is called with a batch of one, in a run without backward pass. */
void ap_habit_find_single_requests(struct ap_habit_rows *rows);
/** Short operators in steps of several backward passes. */
void ap_habit_find_micro_batches(struct ap_habit_rows *rows);
/** Between the steps of optimizers that are made anew: that making takes, too. */
void ap_habit_find_construction(struct ap_habit_rows *rows);
/** Passes over the data that begin in the recording, and samples that the loop takes from the workers one by one. */
void ap_habit_find_waits(struct ap_habit_rows *rows);

#endif
