/* pprof_graph.h: functions, or lines, or files, and who calls whom, as google/pprof adds them up
 * and leaves out the small ones.
 *
 * A node counts once in `cum` of a sample, however often it is on the stack; an edge likewise. With
 * nodes left out, an edge over them is residual, and what the innermost of them had itself is
 * nobody's.
 * Holds always: `order` has the nodes that are shown, sorted; edges have both ends in it.
 * Owner: the caller, until cairn_pprof_graph_release(); borrows the samples. Threads: one at a
 * time.
 */
#ifndef CAIRN_PPROF_GRAPH_H
#define CAIRN_PPROF_GRAPH_H

#include "pprof_samples.h"

enum cairn_pprof_granularity {
    CAIRN_PPROF_FUNCTIONS, /* by name, whatever the file */
    CAIRN_PPROF_FILEFUNCTIONS,
    CAIRN_PPROF_FILES,
    CAIRN_PPROF_LINES,
};

struct cairn_pprof_node {
    uint32_t name, file; /* texts; 0: not asked for */
    uint32_t line, first_line;
    uint32_t label; /* text: how it is printed */
    int64_t flat, cum, flat_count, cum_count;
    uint64_t seen; /* the sample that it was counted in last, and 1 */
    bool kept;
    double score;
};

struct cairn_pprof_edge {
    uint32_t from, to; /* nodes */
    int64_t weight, count;
    uint64_t seen;
    bool residual, dropped;
};

struct cairn_pprof_graph_options {
    enum cairn_pprof_granularity by;
    size_t node_count;             /* 0: any */
    double node_least, edge_least; /* parts of the whole */
    bool by_cum, drop_negative, mean;
    bool drawn;       /* sorted and thinned out for a picture */
    bool with_starts; /* functions that begin at different lines are different nodes */
    bool all_nodes;   /* nothing is left out */
};

struct cairn_pprof_graph {
    const struct cairn_pprof *pprof;
    struct cairn_intern *texts;
    struct cairn_pprof_graph_options options;
    struct cairn_intern keys;
    CAIRN_VEC(struct cairn_pprof_node) nodes;
    CAIRN_VEC(struct cairn_pprof_edge) edges;
    CAIRN_VEC(uint32_t) order;
    struct cairn_map edge_of;
    uint32_t *node_of; /* of each frame */
    size_t node_total; /* that there were before the largest were taken */
    size_t dropped_nodes, dropped_edges;
};

/* On success release it. Texts are added to those of the samples. 0, -CAIRN_ENOMEM,
 * -CAIRN_ELIMIT. */
int cairn_pprof_graph_make(struct cairn_pprof *pprof,
                           const struct cairn_pprof_graph_options *options,
                           struct cairn_pprof_graph *ret_graph);
void cairn_pprof_graph_release(struct cairn_pprof_graph *graph);

/* Values of a node: divided by its samples when means are asked for. */
int64_t cairn_pprof_node_flat(const struct cairn_pprof_graph *graph, uint32_t node);
int64_t cairn_pprof_node_cum(const struct cairn_pprof_graph *graph, uint32_t node);

/* The edges into a node (`incoming`) or out of it, or with UINT32_MAX all, the heaviest first, as
 * indexes that are appended to *list, which the caller releases. 0 or -CAIRN_ENOMEM. */
CAIRN_VEC_DECLARE(cairn_pprof_edge_list, uint32_t);
int cairn_pprof_graph_edges(const struct cairn_pprof_graph *graph, uint32_t node, bool incoming,
                            struct cairn_pprof_edge_list *list);

#endif
