/* SPDX-License-Identifier: MIT
 * option_names.h - what the program calls its options, for texts below it that have to name one: a report, which is a
 * document of the program, and the table of words. Nothing else outside of src/cli spells an option. */
#ifndef AP_OPTION_NAMES_H
#define AP_OPTION_NAMES_H

#define AP_OPTION_AROUND "--around"
#define AP_OPTION_BASELINE "--baseline"
#define AP_OPTION_RERUN "--rerun"
#define AP_OPTION_COLUMNS "--columns"
#define AP_OPTION_CONTEXT "--context"
#define AP_OPTION_CPU_TRACE "--cpu-trace"
#define AP_OPTION_EXPLAIN "--explain"
#define AP_OPTION_FAIL_ON "--fail-on"
#define AP_OPTION_FOCUS "--focus"
#define AP_OPTION_FORMAT "--format"
#define AP_OPTION_FULL "--full"
#define AP_OPTION_JSON_OUT "--json-out"
#define AP_OPTION_LIST_METRICS "--list-metrics"
#define AP_OPTION_LIST_RULES "--list-rules"
#define AP_OPTION_MAPPING_TRACE "--mapping-trace"
#define AP_OPTION_MAX_DEPTH "--max-depth"
#define AP_OPTION_MAX_MEMORY "--max-memory"
#define AP_OPTION_MAX_SECONDS "--max-seconds"
#define AP_OPTION_MD_OUT "--md-out"
#define AP_OPTION_MEMORY_JSON "--memory-json"
#define AP_OPTION_OUTPUT "-o"
#define AP_OPTION_PEAKS "--peaks"
#define AP_OPTION_PHASE "--phase"
#define AP_OPTION_RANK "--rank"
#define AP_OPTION_RANK_REGEX "--rank-regex"
#define AP_OPTION_RUBRIC "--rubric"
#define AP_OPTION_SALVAGE "--salvage"
#define AP_OPTION_SERIES "--series"
#define AP_OPTION_SLICE "--slice"
#define AP_OPTION_SLICE_OUT "--slice-out"
#define AP_OPTION_SORT "--sort"
#define AP_OPTION_STRICT "--strict"
#define AP_OPTION_TABLE "--table"
#define AP_OPTION_TOP_N "--top-n"
#define AP_OPTION_WHAT_IF "--what-if"
#define AP_OPTION_WHERE "--where"

#endif
