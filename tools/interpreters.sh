#!/bin/sh
# Brings the CPythons that this Debian does not have: unpacks Debian's newer suites into folders of
# their own, build/interp/<suite>, and lists what they hold in build/interp/list, one interpreter a
# line: "3.15.0 /abs/build/interp/forky python3.15". Tests run them by chroot(8) and profile them
# from outside. Once unpacked they stay, and nothing is fetched; --fresh looks for newer ones.
set -eu

minors='3.14 3.15'
suites='forky sid'
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
arch=$(dpkg --print-architecture)

root=$(cd "$(dirname "$0")/.." && pwd)
interp=$root/build/interp
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

say() { printf 'interpreters: %s\n' "$*"; }

# Prints the names of a suite's packages. Every byte is held against the archive's signature:
# Release by the key, the package list by the checksum in Release.
package_names() {
    index=main/binary-$arch/Packages.xz
    wget -q -T 30 -t 3 -O "$scratch/signed" "$mirror/dists/$1/InRelease"
    gpgv -q --keyring "$keyring" -o "$scratch/release" "$scratch/signed" 2>"$scratch/gpgv" || {
        cat "$scratch/gpgv" >&2
        say "$1: the signature of its Release does not hold" >&2
        return 1
    }
    want=$(awk -v index_name="$index" \
        '/^[A-Za-z0-9-]+:/ { in_sum = ($1 == "SHA256:") }
         in_sum && $3 == index_name { print $1 }' "$scratch/release")
    wget -q -T 60 -t 3 -O "$scratch/packages.xz" "$mirror/dists/$1/$index"
    echo "$want  $scratch/packages.xz" | sha256sum -c --status || {
        say "$1: the package list does not have the checksum that Release gives it" >&2
        return 1
    }
    xz -dc "$scratch/packages.xz" | sed -n 's/^Package: //p'
}

# Unpacks suite $1 with the packages $2 (names joined by commas).
unpack() {
    dir=$interp/$1
    [ "$(cat "$dir/.cairn-holds" 2>/dev/null || true)" = "$2" ] && return 0
    script=/usr/share/debootstrap/scripts/$1
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
    as_root umount "$dir.part/proc" "$dir.part/sys" 2>/dev/null || true
    as_root rm -rf --one-file-system "$dir.part" "$dir"
    as_root debootstrap --variant=minbase --keyring="$keyring" --include="$2" \
        "$1" "$dir.part" "$mirror" "$script" >"$scratch/log" 2>&1 || {
        tail -5 "$scratch/log"
        say "$1: debootstrap failed"
        return 1
    }
    as_root umount "$dir.part/proc" "$dir.part/sys" 2>/dev/null || true
    as_root rm -rf "$dir.part/var/cache/apt" "$dir.part/var/lib/apt/lists"
    echo "$2" | as_root tee "$dir.part/.cairn-holds" >/dev/null
    as_root mv "$dir.part" "$dir"
}

# Prints "3.15.0 /abs/build/interp/forky python3.15" for each interpreter of suite $1.
list_suite() {
    for exe in "$interp/$1"/usr/bin/python3.*; do
        name=${exe##*/}
        case $name in *-config|*.*.*|*[!a-z0-9.-]*) continue ;; esac
        [ -x "$exe" ] || continue
        # Read from the package list, because asking the interpreter itself takes chroot and root.
        version=$(awk -v name="$name" '$1 == "Package:" { hit = ($2 == name) }
            hit && $1 == "Version:" { sub(/[-~+].*/, "", $2); print $2 }' \
            "$interp/$1/var/lib/dpkg/status")
        if [ -n "$version" ]; then echo "$version $interp/$1 $name"; fi
    done
}

# To a person, and as TAP to the sum of the tests, so that a version nobody has is not passed over.
told() {
    sed 's/^/interpreters: /' "$interp/list" "$interp/lacking"
    {
        sed 's/^/ok - /' "$interp/list"
        sed 's/^\([^:]*\): /ok - \1 # SKIP /' "$interp/lacking"
    } >"$interp/interpreters.tap"
}

if [ "${1:-}" = --fresh ]; then
    rm -f "$interp/complete"
    for suite in $suites; do as_root rm -f "$interp/$suite/.cairn-holds"; done
fi
if [ -e "$interp/complete" ]; then
    told
    exit 0
fi

mkdir -p "$interp"
: >"$interp/list.new"
lacking=$minors
for minor in $minors; do lacking="$lacking $minor-nogil"; done
failed=0
for suite in $suites; do
    [ -n "$lacking" ] || break
    package_names "$suite" >"$scratch/names" || { failed=1; continue; }
    include= still=
    for version in $lacking; do
        if grep -qxF "python$version" "$scratch/names"; then
            include="$include,python$version"
            # The headers: its structures are read from them when tables are made. The tests of
            # CPython, which Debian packs apart, are run with Cairn's modules in their place.
            for beside in dev testsuite; do
                if grep -qxF "libpython$version-$beside" "$scratch/names"; then
                    include="$include,libpython$version-$beside"
                fi
            done
        else
            still="$still $version"
        fi
    done
    [ -n "$include" ] || continue
    unpack "$suite" "${include#,}" || { failed=1; continue; }
    lacking=$still
    list_suite "$suite" >>"$interp/list.new"
done
mv "$interp/list.new" "$interp/list"
for version in $lacking; do echo "$version: not in $suites"; done >"$interp/lacking"
told
[ $failed = 0 ] || exit 1
touch "$interp/complete"
