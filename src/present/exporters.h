/* exporters.h: the entry of each format, for the table in export.c. What they promise: export.h. */
#ifndef CAIRN_EXPORTERS_H
#define CAIRN_EXPORTERS_H

#include "export.h"

int cairn_export_collapsed(const struct cairn_tally *tally,
                           const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_speedscope(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_pprof(const struct cairn_tally *tally, const struct cairn_export_options *options,
                       struct cairn_outlet *out);
int cairn_export_flamegraph(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_pstats(const struct cairn_tally *tally, const struct cairn_export_options *options,
                        struct cairn_outlet *out);
int cairn_export_callgrind(const struct cairn_tally *tally,
                           const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_dot(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out);
int cairn_export_csv(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out);
int cairn_export_chrome(const struct cairn_tally *tally, const struct cairn_export_options *options,
                        struct cairn_outlet *out);
int cairn_export_perfetto(const struct cairn_tally *tally,
                          const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_firefox(const struct cairn_tally *tally,
                         const struct cairn_export_options *options, struct cairn_outlet *out);
int cairn_export_cpuprofile(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out);

#endif
