#!/bin/sh
# Runs every libFuzzer target for FUZZ_SECONDS. It goes on from what was learnt before, and what it
# learns is kept in tests/corpus/learnt, an archive a target, without what brings nothing new;
# `make test` replays it. An input that crashes a target lies in build-fuzz/ and is named by the last
# lines of its log. Once the fault is mended, put it into tests/corpus/<target>, which is replayed too.
set -eu
cd "$(dirname "$0")/.."

[ -e build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dfuzz=true -Dtests=false \
    -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link >/dev/null
meson compile -C build-fuzz >build-fuzz/compile.log 2>&1 || { cat build-fuzz/compile.log; exit 1; }

ran=0 crashed=0
for program in build-fuzz/tests/fuzz/fuzz_*; do
    [ -f "$program" ] || continue
    target=${program##*/fuzz_}
    log=build-fuzz/$target.log
    corpus=build-fuzz/corpus/$target
    learnt=tests/corpus/learnt/$target.tar.xz
    mkdir -p "$corpus"
    [ ! -e "$learnt" ] || tools/learnt.py unpack "$learnt" "$corpus"
    ran=$((ran + 1))
    printf 'fuzz: %-20s' "$target"
    if UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        "$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="build-fuzz/$target-" \
        "$corpus" "tests/corpus/$target" >"$log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$log"
        rm -rf "$corpus.least"
        mkdir "$corpus.least"
        "$program" -merge=1 "$corpus.least" "$corpus" >>"$log" 2>&1
        tools/learnt.py pack "$corpus.least" "$learnt" >>"$log"
    else
        crashed=$((crashed + 1))
        echo 'FAILED'
        tail -15 "$log"
    fi
done
echo "fuzz: $ran targets, $crashed failed"
[ "$ran" -gt 0 ] && [ "$crashed" = 0 ]
