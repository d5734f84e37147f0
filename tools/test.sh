#!/bin/sh
# All tests, one stage after the other, each with a hard time limit. The last line is the sum over
# every runner: "N passed, N failed, N skipped". Not 0 when a test failed, when a stage ran none, or
# when a stage ended badly without saying which test it was.
#
# CAIRN_FULL=1 adds the heavy stages. CAIRN_STAGES="unit e2e" runs these alone.
set -u
cd "$(dirname "$0")/.." || exit 1

root=$PWD
out=$root/build/test
python=$root/build/venv/bin/python
begun=
export CAIRN="$root/build/cairn" PYTHONDONTWRITEBYTECODE=1
rm -rf "$out"
mkdir -p "$out"

# stage NAME SECONDS RESULTS COMMAND...: runs it, and notes where its results lie.
stage() {
    name=$1 limit=$2 results=$3
    shift 3
    case " ${CAIRN_STAGES:-$name} " in *" $name "*) ;; *) return ;; esac
    echo "== $name"
    start=${begun:-$(date +%s)}
    begun=
    timeout --kill-after=10 "$limit" "$@"
    status=$?
    seconds=$(($(date +%s) - start))
    [ $status != 124 ] || echo "$name: stopped, over its limit of $limit s"
    printf '%s\t%s\t%s\t%s\n' "$name" "$status" "$seconds" "$results" >>"$out/stages"
}

# meson_stage NAME SECONDS BUILD SUITES [FLAGS...]: the results are what Meson logs.
meson_stage() {
    name=$1 limit=$2 build=$3 suites=$4
    shift 4
    for suite in $suites; do set -- "$@" --suite "$suite"; done
    rm -f "$build/meson-logs/$name.json"
    stage "$name" "$limit" "$build/meson-logs/$name.json" \
        meson test -C "$build" --no-rebuild --num-processes 2 --print-errorlogs --quiet \
        --logbase "$name" "$@"
}

# pytest_stage NAME SECONDS FOLDER...
pytest_stage() {
    name=$1 limit=$2
    shift 2
    stage "$name" "$limit" "$out/$name.xml" \
        "$python" -m pytest -q --no-header -p no:cacheprovider --junit-xml="$out/$name.xml" "$@"
}

# variant BUILD MESON-FLAGS...: a second build of the libraries and unit tests, by clang, so that
# both compilers see every line. Its time counts for the next stage.
variant() {
    begun=$(date +%s) variant_build=$1
    shift
    [ -e "$variant_build/build.ninja" ] || CC=clang meson setup "$variant_build" -Db_lundef=false \
        ${CI:+-Dwerror=true} "$@" >"$out/variant.log" || cat "$out/variant.log"
    timeout 600 meson compile -C "$variant_build" >"$out/variant.log" || cat "$out/variant.log"
}

# The folders under tests/ that hold pytest files, but for those that have a stage of their own.
folders=$(find tests -name 'test_*.py' -printf '%h\n' | sort -u |
    grep -vE '^tests/(accuracy|fault)(/|$)')
# Of tests/accuracy, what asks neither how long anything took nor how much of it there was.
of_moments='tests/accuracy/test_churn.py tests/accuracy/test_moments.py tests/accuracy/test_oracle.py'

stage interpreters 600 build/interp/interpreters.tap tools/interpreters.sh
# What has just been unpacked gets its extension module.
make build >"$out/modules.log" 2>&1 || cat "$out/modules.log"
meson_stage checks 300 build checks
meson_stage unit 300 build unit
meson_stage corpora 300 build corpus
# shellcheck disable=SC2086
pytest_stage commands 1800 -m 'not alone' --numprocesses 2 --dist loadfile $of_moments \
    ${folders:-tests/e2e}
# shellcheck disable=SC2086
pytest_stage e2e 1500 -m alone ${folders:-tests/e2e}
# shellcheck disable=SC2086
pytest_stage accuracy 1800 $(printf -- '--ignore=%s ' $of_moments) tests/accuracy
pytest_stage faults "${CAIRN_FULL:+3}600" --numprocesses 2 tests/fault
variant build-asan -Db_sanitize=address,undefined
meson_stage sanitizers 600 build-asan 'unit corpus' --timeout-multiplier 3
meson_stage aarch64 300 build cross
if [ "${CAIRN_FULL:-}" ]; then
    export CAIRN_TEST_WRAP='valgrind -q --error-exitcode=9 --leak-check=full'
    meson_stage valgrind 1800 build 'unit corpus' --timeout-multiplier 20
    unset CAIRN_TEST_WRAP
    variant build-tsan -Db_sanitize=thread
    meson_stage tsan 1800 build-tsan unit --timeout-multiplier 5
fi
exec "$python" tools/tally.py "$out/stages"
