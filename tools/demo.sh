#!/bin/sh
# Profiles examples/nn.py and shows the three things people do next.
set -eu
cd "$(dirname "$0")/.."

root=$PWD
export PATH="$root/build/venv/bin:$PATH" VIRTUAL_ENV="$root/build/venv"
mkdir -p build/demo
rm -f build/demo/nn.cairn build/demo/nn.svg

# Shows a command as it would be typed, then runs it.
show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show build/cairn run -o build/demo/nn.cairn examples/nn.py
show build/cairn report --by line build/demo/nn.cairn
show build/cairn export -f flamegraph -o build/demo/nn.svg build/demo/nn.cairn
cat <<END

Next: open build/demo/nn.svg in a browser, or profile a program of yours:
    build/cairn run your_program.py
    build/cairn attach PID
    build/cairn dump PID
END
