#!/usr/bin/env bash
# Builds the command from nothing, and prints how long that takes:
#
#     bash scale/benches/build_time.sh [--features LIST]
#
# Without features it is what README's first command builds. Crates are downloaded before. What is built goes to a
# folder of its own, which is removed, and no wrapper of the compiler, such as a cache, is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo fetch --locked --quiet
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
export CARGO_TARGET_DIR=$target RUSTC_WRAPPER=

load=$(uptime | sed 's/.*load average[s]*: *//; s/,.*//')
TIMEFORMAT='%0R %0U %0S'
times=$( { time cargo build --release --locked "$@" >"$target/output" 2>&1; } 2>&1 ) || {
    cat "$target/output" >&2
    exit 1
}
read -r wall user system <<<"$times"
printf '%d min %d s, %d s of processor time; %d cores, load %s before, %s, %s\n' \
    $((wall / 60)) $((wall % 60)) $((user + system)) \
    "$(getconf _NPROCESSORS_ONLN)" "$load" "$(rustc --version)" "$(date -u +%F)"
