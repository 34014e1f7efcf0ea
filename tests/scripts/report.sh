# Functions with which tests/run runs steps, and reports on them at the end.

begin() {
    folder=$(mktemp -d)
    output=$folder/output
    touch "$output"
    report='' failures=() left_out=()
    run_start=$SECONDS
    trap 'stop_all INT' INT
    trap 'stop_all TERM' TERM
    trap summary EXIT
    watch_memory &
    watcher=$!
}

# descendants PROCESS: prints the processes that a process has started, and their descendants.
descendants() {
    local stat fields parent
    local -A children=()
    for stat in /proc/[0-9]*/stat; do
        { read -r fields <"$stat"; } 2>/dev/null || continue
        parent=${fields##*) }
        parent=${parent#* }
        parent=${parent%% *}
        children[$parent]+=" ${fields%% *}"
    done
    local queue=("$1") next
    while [[ ${#queue[@]} -gt 0 ]]; do
        next=${queue[0]}
        queue=("${queue[@]:1}")
        for next in ${children[$next]-}; do
            echo "$next"
            queue+=("$next")
        done
    done
}

# stop_all SIGNAL: ends all processes of this run, because background processes do not always get the signal.
stop_all() {
    trap - INT TERM
    local process
    for process in $(descendants $$); do
        kill "$process" 2>/dev/null
    done
    failures+=("${current:-nothing} was interrupted")
    exit $((128 + $(kill -l "$1")))
}

# Records the largest resident memory, in KiB, of a compiler and of any other process that this run has started.
watch_memory() {
    [[ -d /proc/self ]] || return
    trap 'exit' TERM
    local process name key value compiler_kib=0 other_kib=0
    while sleep 1; do
        for process in $(descendants $$); do
            name=''
            while read -r key value; do
                case $key in
                    Name:) name=$value ;;
                    VmHWM:)
                        value=${value% kB}
                        case $name in
                            rustc | clippy-driver | rustdoc | ld* | *lld | cc* | collect2)
                                [[ $value -le $compiler_kib ]] || compiler_kib=$value
                                ;;
                            *) [[ $value -le $other_kib ]] || other_kib=$value largest_name=$name ;;
                        esac
                        ;;
                esac
            done 2>/dev/null <"/proc/$process/status"
        done
        echo "$other_kib ${largest_name-} $compiler_kib" >"$folder/memory"
    done
}

# step NAME COMMAND...: runs a check. Exit code 77 means that it skipped itself and has printed the reason.
step() {
    local status=0
    current=$1
    printf '\n== %s\n' "$1"
    local start=$SECONDS
    "${@:2}" 2>&1 </dev/null | tee -a "$output"
    status=${PIPESTATUS[0]}
    note "$1" "$status" $((SECONDS - start))
    current=''
}

# note NAME STATUS SECONDS: adds the outcome of a step to the report.
note() {
    local verdict
    case $2 in
        0) verdict=passed ;;
        77) verdict=skipped ;;
        *) verdict=FAILED failures+=("$1") ;;
    esac
    report+=$(printf '%5d s  %-8s %s' "$3" "$verdict" "$1")$'\n'
}

# start NAME COMMAND...: begins a step in the background. `finish` prints its output.
start() {
    background=$1
    background_start=$SECONDS
    printf '\n== %s: running in the background\n' "$1"
    (
        "${@:2}" >"$folder/background" 2>&1
        status=$?
        echo $SECONDS >"$folder/background_end"
        exit "$status"
    ) </dev/null &
    background_process=$!
}

finish() {
    [[ -n ${background_process-} ]] || return 0
    local status=0
    current=$background
    wait "$background_process" || status=$?
    printf '\n== %s\n' "$background"
    tee -a "$output" <"$folder/background"
    note "$background" "$status" $(($(<"$folder/background_end") - background_start))
    current=''
}

# lacks WHAT HOW: skips the step. The last lines of the run print HOW to install WHAT.
lacks() {
    echo "skipped: there is no $1 here"
    echo "$1: $2" >>"$folder/missing"
    return 77
}

summary() {
    local status=$?
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    printf '\n== Summary, after %d s\n%s' $((SECONDS - run_start)) "$report"
    local slowest
    slowest=$(sed -n -E 's/^test (.*) \.\.\. ok <([0-9.]+)s>$/\2 \1/p' "$output" | sort -rn | head -n 10)
    if [[ -n $slowest ]]; then
        printf 'The slowest tests, in seconds:\n%s\n' "$slowest"
    fi
    if [[ -s $folder/memory ]]; then
        awk '{ printf "Peak memory: %d MB (%s); of a compiler %d MB\n", $1 / 1024, $2, $3 / 1024 }' "$folder/memory"
    fi
    if [[ ${#left_out[@]} -gt 0 ]]; then
        printf 'Left out after %s minutes: %s\n' "$minutes" "${left_out[*]}"
    fi
    if [[ -s $folder/missing ]]; then
        echo 'Missing here:'
        sort -u "$folder/missing"
    fi
    # Cargo's runner writes "test result: ok. 5 passed; 0 failed; …", the Python checks "5 passed, 0 failed", and tests
    # that run many cases "cases: 5 passed".
    awk '/^test result: /              { passed += $4; failed += $6 }
         /^cases: [0-9]+ passed/       { passed += $2 }
         /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3 }
         END { printf "%d passed, %d failed\n", passed, failed }' "$output"
    rm -rf "$folder"
    if [[ ${#failures[@]} -gt 0 ]]; then
        printf 'FAILED: %s\n' "${failures[@]}"
        [[ $status != 0 ]] || status=1
    fi
    exit "$status"
}
