#!/usr/bin/env bash
# Builds the command from scratch, and prints how long that takes:
#
#     bash scale/benches/build_time.sh [--features LIST]
#
# Without features it builds what README's first command builds. Crates are downloaded beforehand. The build goes to its
# own folder, which is removed afterwards, and uses no compiler wrapper, such as a cache.
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
