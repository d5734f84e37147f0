#!/bin/sh
# Installs what building and testing need and this machine lacks, and says what. Debian 12.
set -eu

packages='build-essential meson ninja-build pkg-config
    libzstd-dev libxxhash-dev libelf-dev libdw-dev zlib1g-dev libjansson-dev
    libprotobuf-c-dev protobuf-c-compiler libpcre2-dev libmicrohttpd-dev libcmocka-dev
    python3 python3-dev python3-venv
    clang clang-format libclang-rt-14-dev valgrind strace
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    chromium-headless-shell fonts-dejavu-core golang-go
    debootstrap debian-archive-keyring gpgv xz-utils wget ca-certificates util-linux procps'

missing=
for package in $packages; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) in
    *' installed') ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root() {
    if [ "$(id -u)" = 0 ]; then env "$@"; else sudo env "$@"; fi
}

echo "deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
    as_root apt-get -qq update &&
    # shellcheck disable=SC2086
    as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing
} >"$log" 2>&1 || {
    tail -20 "$log"
    echo "deps: apt-get could not install them; see above"
    exit 1
}
