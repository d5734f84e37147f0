#!/bin/sh
# Builds Debian's CPython against musl, into build/musl, and prints the path of its executable. That
# takes some minutes once; of what it needs of Debian it installs musl-tools.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
place=$root/build/musl
source=python3.11
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

as_root() {
    if [ "$(id -u)" = 0 ]; then env "$@"; else sudo env "$@"; fi
}

fail() {
    tail -20 "$place/log" >&2
    echo "musl: $1; see $place/log" >&2
    exit 1
}

# The archive's own tool checks signatures and sums; with lists of its own, for nobody else to see.
fetch() {
    mkdir -p lists/partial
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >list
    own="-o Dir::Etc::SourceList=$place/list -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists=$place/lists -o APT::Sandbox::User=$(id -un)"
    # shellcheck disable=SC2086
    apt-get -qq $own update && apt-get -qq $own source --download-only $source
}

# The kernel's headers, which musl does not bring.
headers() {
    mkdir -p kernel
    ln -sfn /usr/include/linux kernel/linux
    ln -sfn /usr/include/asm-generic kernel/asm-generic
    ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" kernel/asm
}

# musl-gcc is gcc, and says so where it is asked what it compiles for; and what builds the modules
# adds the folders of glibc.
compiler() {
    cat >cc <<CC
#!/bin/sh
[ "\$1" = --print-multiarch ] && { gcc -print-multiarch | sed 's/-gnu\$/-musl/'; exit; }
for word; do
    shift
    case \$word in
    -I/usr/include*|-I/usr/local/include|-L/usr/lib*|-L/usr/local/lib) ;;
    *) set -- "\$@" "\$word" ;;
    esac
done
exec musl-gcc "\$@" -idirafter $place/kernel
CC
    chmod +x cc
}

build() {
    rm -rf tree
    mkdir tree
    tar xf ${source}_*.orig.tar.* -C tree --strip-components 1
    cd tree
    ./configure CC="$place/cc" --prefix="$place/root" --without-ensurepip --disable-test-modules
    make -j"$(nproc)"
    make altinstall
    cd ..
    rm -rf tree
}

if [ ! -e "$place/ready" ]; then
    mkdir -p "$place"
    cd "$place"
    command -v musl-gcc >/dev/null ||
        as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
            install musl-tools >log 2>&1 || fail 'apt-get could not install musl-tools'
    fetch >log 2>&1 || fail 'the source could not be had'
    headers
    compiler
    (build) >log 2>&1 || fail 'it cannot be built'
    touch ready
fi
echo "$place/root/bin/python3.11"
