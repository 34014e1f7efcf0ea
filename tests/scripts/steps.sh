# Functions with which scripts of this folder run all of their steps, even after one has failed, and count the results.

report=''
passed=0
failed=0

# step NAME COMMAND...: runs a step. Exit code 77 means that it skipped itself and has printed the reason.
step() {
    local start=$SECONDS status=0 verdict
    printf '\n== %s\n' "$1"
    "${@:2}" || status=$?
    case $status in
        0) verdict=passed passed=$((passed + 1)) ;;
        77) verdict=skipped ;;
        *) verdict=FAILED failed=$((failed + 1)) ;;
    esac
    report+=$(printf '%5d s  %-8s %s' $((SECONDS - start)) "$verdict" "$1")$'\n'
}

# Prints how each step ended. Fails if a step failed.
summary() {
    printf '\n== Summary\n%s' "$report"
    echo "$passed passed, $failed failed"
    [[ $failed -eq 0 ]]
}
