# Defines the steps of tests/run, which sources this file. The function `check_NAME` runs the step NAME, and returns 77
# if it skips the step. The long steps are scripts in this folder instead.

# For each step: its name, its time on 2 cores, and what it checks and needs.
steps=(
    formatting '2 s' 'rustfmt on every package; rustfmt'
    lints '1 min' 'clippy on all targets with all features; clippy'
    tests '4 min' 'unit and integration tests, golden vectors, 3,000 random cases; lavapipe for those on a GPU'
    readme '2 min' "README's first command, a release build of the command"
    features '3 min' 'lints and tests of other sets of features, the standard library off among them'
    documents '2 min' 'rustdoc, doc tests, links; Python 3 for links'
    links '1 min' 'links between documents and pages (a part of documents); Python 3'
    wasm '1 min' "the library for browsers; rustup's target wasm32-unknown-unknown"
    bare '20 s' "the library where there is no standard library; rustup's target thumbv7em-none-eabi"
    fuzz-targets '2 min' 'the fuzz targets compile; a compiler of C++'
    package '10 s' 'the packages for crates.io have every file that the compiler reads'
    verify '5 min' 'golden vectors at every size and 10,000 random cases on all adapters, the CPU also without byte shuffles'
    variants '1 min' 'golden vectors and random cases run every text of the shaders with every value of its constants'
    everywhere '4 min' 'tests of operations on devices of every other kind, scatters on OpenGL; lavapipe'
    amd '2 min' "one family of kernels through AMD's compiler; mesa-vulkan-drivers"
    swiftshader '3 min' 'tests on a second software adapter; Debian'
    driverless '1 min' 'tests as on a machine without an adapter'
    benches '1 min' 'everything that the benchmarks measure, once and untimed'
    examples '10 s' 'the examples; lavapipe or a GPU'
    proofs '2 min' 'formulas of the shaders; Python 3 with venv, network'
    photo '10 s' 'slices of a photograph against NumPy; Python 3 with venv, network'
    embedding '2 min' 'rows of a real table (84 MB): by name only; Python 3 with venv, network'
    adapters '15 min' 'the suites on each adapter by itself; writes the table of docs/TESTING.md'
    arm '10 min' "the CPU path on 64-bit Arm by QEMU; rustup's target"
    compilers '45 min' 'every shader through spirv-val, glslang, DXC and Tint'
    dependencies '15 min' 'licences, sets of features, oldest versions; cargo-deny, cargo-hack, nightly'
    hardware '60 min' 'the demands of the shaders on GPUs; writes benches/results/hardware.md'
    large '30 min' 'arrays beyond 2^32 bytes; 16 GB of memory, 3 GB of disk'
    mutants '50 min' 'the faults in the shaders that tests notice; writes their count into docs/TESTING.md; Python 3, lavapipe'
    others '10 min' 'the examples with burn and bevy; 4 GB of disk'
    soak '12 min' 'memory does not grow in minutes of work and over 10,000 plans; Linux, lavapipe'
)
quick_steps=(formatting readme lints tests)
# With `--minutes`, the last of these are left out first.
other_steps=(
    features documents bare verify everywhere swiftshader driverless examples variants proofs wasm package photo fuzz-targets benches amd
)

# No build of these steps is debugged or repeated, so debug information and incremental builds would only cost disk
# space and time. Steps share dependencies only if these settings are equal.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG-0}
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL-0}
# With this setting, wgpu records no backtrace at every call. With RUST_BACKTRACE=1, panics still have backtraces.
export RUST_LIB_BACKTRACE=${RUST_LIB_BACKTRACE-0}
# Without a display, EGL and Mesa's Vulkan layer complain.
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR-/tmp} NODEVICE_SELECT=${NODEVICE_SELECT-1}
# Each run draws different devices and random cases. A failed test prints the seed.
export WGSLICE_TEST_SEED=${WGSLICE_TEST_SEED-$(date +%s)}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
target=$CARGO_TARGET_DIR
vectors=(tests/vectors/{seed1,scatter_floats,assembly,array_index,index_update,jax_index,mask,paste,convert,numbers,xla}.jsonl)

# If a step builds a single package, or builds without wgpu's feature `noop` (which the tests enable), cargo compiles
# most dependencies again, with other features. So most steps build the whole workspace or, without `gpu`, all packages
# that work without it.
all_features=(--workspace --all-features)
without_gpu=(
    --workspace --exclude wgslice-hardware --no-default-features
    --features wgslice/half,wgslice/ndarray,wgslice-cli/verify
)

# Builds the command together with a test of it. Without a test, dependencies have other features, so cargo would compile
# most of them again.
tested_command() {
    cargo build "${all_features[@]}" --bin wgslice --test command
}

# Runs cargo's tests, and prints the time of each test. A test has few rows, so Mesa's drivers take longer to compile
# its shaders than to run them; `nopt` makes Mesa compile without optimizations.
timed_tests() {
    local host variable
    host=$(rustc -vV | sed -n 's/^host: //p')
    variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
    # Tests of many sizes fragment glibc's memory. With these settings, large blocks are returned to the system.
    env "$variable=$PWD/tests/scripts/timed" GALLIVM_PERF=nopt MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 \
        MALLOC_TRIM_THRESHOLD_=262144 cargo test --no-fail-fast "$@"
}

# Checks every package, even those outside the workspace, which `cargo fmt --all` would leave out.
check_formatting() {
    if ! cargo fmt --version >/dev/null 2>&1; then
        lacks rustfmt 'rustup component add rustfmt'
        return
    fi
    local manifest status=0
    for manifest in Cargo.toml */Cargo.toml */*/Cargo.toml; do
        # A target folder can contain copies of manifests.
        [[ $PWD/$manifest != "$target"/* ]] || continue
        cargo fmt --manifest-path "$manifest" --check || status=1
    done
    return "$status"
}

check_lints() {
    if ! cargo clippy --version >/dev/null 2>&1; then
        lacks clippy 'rustup component add clippy'
        return
    fi
    # `--all-targets` leaves out targets with `test = false`.
    cargo clippy "${all_features[@]}" --all-targets -- -D warnings &&
        cargo clippy "${all_features[@]}" --test '*' -- -D warnings
}

check_tests() {
    if [[ $(uname) == Linux ]] && ! has_vulkan; then
        echo 'There is no Vulkan driver here: the tests run on the CPU and in the interpreter of shaders.'
        echo "a Vulkan driver: $(vulkan_packages)" >>"$folder/missing"
    fi
    # Two processes are used, because drivers keep memory of a test until its process ends. `check_amd` runs the skipped
    # test.
    local status=0
    timed_tests "${all_features[@]}" --lib --bins --tests -- --show-output \
        --skip devices::every_ --skip property::random_ --skip amds_compiler || status=$?
    timed_tests "${all_features[@]}" --test root -- --show-output devices::every_ property::random_ || status=$?
    return "$status"
}

# Compiles the kernels for one family of GPUs with AMD's compiler, which needs no GPU.
check_amd() {
    timed_tests "${all_features[@]}" --test check -- amds_compiler
}

# Runs README's first command exactly as README prints it.
check_readme() {
    cargo run --release -- slice tests/data/astronaut.png '32:288:2, 400:100:-2' -o "$target/flipped.png"
}

check_features() {
    if cargo clippy --version >/dev/null 2>&1; then
        cargo clippy "${without_gpu[@]}" --all-targets -- -D warnings &&
            cargo clippy -p wgslice --no-default-features --all-targets -- -D warnings &&
            cargo clippy -p wgslice --no-default-features --features std --all-targets -- -D warnings &&
            cargo clippy --workspace --all-targets --features wgslice/half,wgslice/ndarray,wgpu/noop -- -D warnings ||
            return
    else
        lacks clippy 'rustup component add clippy'
    fi
    timed_tests "${without_gpu[@]}" --lib --bins --tests &&
        timed_tests -p wgslice-vectors --test without_std
}

check_documents() {
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps "${all_features[@]}" --features wgpu/noop &&
        cargo test "${all_features[@]}" --doc &&
        cargo test "${without_gpu[@]}" --doc || return
    if command -v python3 >/dev/null; then
        python3 tests/python/links.py "$target/doc"
    else
        lacks 'Python 3' 'install python3'
        # The other checks of the step have passed.
        return 0
    fi
}

check_links() {
    if ! command -v python3 >/dev/null; then
        lacks 'Python 3' 'install python3'
        return
    fi
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps "${all_features[@]}" --features wgpu/noop &&
        python3 tests/python/links.py "$target/doc"
}

check_wasm() {
    local browser=wasm32-unknown-unknown
    if ! [[ -d $(rustc --print target-libdir --target "$browser" 2>/dev/null) ]]; then
        lacks "target $browser" "rustup target add $browser"
        return
    fi
    cargo check -p wgslice --target "$browser"
}

# This also checks that the library itself enables all features of dependencies that it needs, because this build has no
# other package.
check_bare() {
    local bare=thumbv7em-none-eabi
    if ! [[ -d $(rustc --print target-libdir --target "$bare" 2>/dev/null) ]]; then
        lacks "target $bare" "rustup target add $bare"
        return
    fi
    cargo check -p wgslice --no-default-features --features half --target "$bare"
}

# The fuzz targets are outside of the workspace and compile files of the command.
check_fuzz_targets() {
    if ! command -v c++ >/dev/null; then
        lacks 'compiler of C++' 'install g++'
        return
    fi
    cargo check --manifest-path crates/fuzz/Cargo.toml --target-dir "$target/fuzz"
}

# Packs the files that crates.io would get. Checks that each package contains every file that the compiler reads for it.
# Cargo's own verification would compile all dependencies again, so only a release runs it. Uncommitted changes are also
# packed. In a clean checkout, cargo fails if the build has changed a file.
check_package() {
    local crate crates=() dirty=() all='' status=0
    while read -r crate; do crates+=("$crate"); done < <(bash .github/release crates)
    if [[ -n $(git status --porcelain 2>/dev/null) ]]; then
        dirty=(--allow-dirty)
    fi
    tested_command &&
        cargo package --no-verify "${crates[@]/#/--package=}" "${dirty[@]+"${dirty[@]}"}" || return
    for crate in "${crates[@]}"; do
        local folder files lacking
        folder=$(folder_of "$crate")
        files=$(compiled_files "$crate" | grep -vxF "$all")
        all+=$files$'\n'
        lacking=$(comm -23 <(sed "s|^$folder||" <<<"$files" | sort) \
            <(cargo package --list -p "$crate" "${dirty[@]+"${dirty[@]}"}" 2>/dev/null | sort))
        if [[ $files != *src/* || -n $lacking ]]; then
            printf 'of the files that %s is compiled from:\n%s\nthe package lacks these:\n%s\n' \
                "$crate" "$files" "$lacking"
            status=1
        fi
    done
    return "$status"
}

# folder_of CRATE: prints the folder of a crate in the workspace, with a trailing slash. Prints nothing for the root.
folder_of() {
    local manifest
    for manifest in Cargo.toml */Cargo.toml crates/*/Cargo.toml; do
        if [[ $(sed -n 's/^name = "\(.*\)"$/\1/p' "$manifest" | head -n 1) == "$1" ]]; then
            echo "${manifest%Cargo.toml}"
            return
        fi
    done
}

# compiled_files CRATE: prints the files of this checkout that the compiler has read for a crate. For the command, these
# include the libraries' files.
compiled_files() {
    local library=${1//-/_} rlib
    if [[ $1 == wgslice-cli ]]; then
        # The file has one line, with the paths of the executable and of each source.
        sed 's/^[^:]*: //' "$target/debug/wgslice.d" | tr ' ' '\n' | sed "s|^$PWD/||"
    else
        # For each library, the compiler has written lines such as `src/gpu/engine/../../../shaders/copy.wgsl:`.
        for rlib in "$target"/debug/deps/"lib$library"-*.rlib; do
            rlib=${rlib%.rlib}
            sed -n -E 's/^([^ ]+):$/\1/p' "${rlib/"lib$library"/$library}.d"
        done | sed -E ':again; s|[^/]+/\.\./||; t again'
    fi | sort -u |
        # Files that only old builds have read can be missing.
        while read -r file; do [[ ! -e $file ]] || echo "$file"; done
}

# Verifies every vector at all sizes and with all index types. At the same time 10,000 random cases run, because each of
# the two runs uses one processor. The CPU path is also verified as on a processor without byte shuffles. The build
# panics on overflow. A failing case is printed as a line that can be verified again.
check_verify() {
    local random=$folder/random status=0 seed
    seed=$(date +%s)
    tested_command || return
    "$target/debug/wgslice" verify --random 10000 --seed "$seed" --device all >"$random" 2>&1 &
    "$target/debug/wgslice" verify "${vectors[@]}" --device all || status=$?
    wait $! || status=$?
    WGSLICE_TEST_SHUFFLES=none "$target/debug/wgslice" verify tests/vectors/seed1.jsonl --random 10000 \
        --seed "$seed" --device cpu || status=$?
    cat "$random"
    return "$status"
}

# Prints how many cases ran each variant of the shaders. The seed is fixed, because with another seed a rare variant
# might not run.
check_variants() {
    WGSLICE_TEST_SEED=1 timed_tests "${all_features[@]}" --lib -- --ignored --show-output every_variant_is_reached
}

# Runs the tests of operations, without random cases, on one kind of device after another. Each kind has its own process,
# so that compiled pipelines do not accumulate.
check_everywhere() {
    local kind status=0
    for kind in Default Tiny Parts; do
        WGSLICE_TEST_DEVICES=$kind timed_tests "${all_features[@]}" --test root -- \
            array_index:: concat:: convert:: crop:: devices:: gather:: gather_elements:: gather_nd:: index_update:: \
            written_to:: mask:: onnx_nodes:: pad:: paste:: roll:: scatter_elements:: scatter_nd:: slice:: \
            strided_slice:: strided_slice_grad:: strided_slice_update:: tile:: view:: xla:: || status=$?
    done
    # Tests use OpenGL only with WGSLICE_TEST_ALL=1. There, the library limits loops as on every software adapter.
    # Scatters have the longest loops.
    WGSLICE_TEST_ALL=1 WGSLICE_TEST_DEVICES='Gl), Full' timed_tests "${all_features[@]}" --test root -- \
        scatter_elements:: scatter_nd:: xla:: || status=$?
    return "$status"
}

# SwiftShader clamps an index that is outside a buffer, as many GPUs do, and lavapipe drops the store. These tests run
# every kind of shader that stores something. All tests would take many minutes.
check_swiftshader() {
    local manifest
    if ! manifest=$(swiftshader_manifest); then
        if is_debian && [[ ${WGSLICE_REQUIRE_GPU-} == 1 ]]; then
            echo 'WGSLICE_REQUIRE_GPU=1, but there is no SwiftShader'
            return 1
        fi
        lacks SwiftShader 'on Debian: bash tests/run --install swiftshader'
        return
    fi
    VK_ICD_FILENAMES=$manifest WGPU_ADAPTER_NAME=SwiftShader WGSLICE_TEST_DEVICES=SwiftShader WGSLICE_REQUIRE_GPU=1 \
        timed_tests "${all_features[@]}" --test root -- \
        strided_slice:: strided_slice_update:: strided_slice_grad:: texture:: \
        gather::every_axis gather_nd::slices_of_every_length \
        scatter_nd::slices_of_every_length scatter_nd::floats_are scatter_nd::halves_are
}

# Runs the tests that search for adapters or lose devices, as on a machine without adapters.
check_driverless() (
    unset WGSLICE_REQUIRE_GPU
    export VK_ICD_FILENAMES=/dev/null __EGL_VENDOR_LIBRARY_FILENAMES=/dev/null
    timed_tests "${all_features[@]}" --test root -- gpu:: stream:: failures:: prepare:: encode:: limits::
)

check_benches() {
    cargo test "${all_features[@]}" --bench encode --bench copies --bench device --bench writes --bench threads
}

# The examples compare their results with plain loops.
check_examples() {
    local example
    if ! has_vulkan && [[ ${WGSLICE_REQUIRE_GPU-} != 1 ]]; then
        lacks 'Vulkan driver' "$(vulkan_packages)"
        return
    fi
    cargo build "${all_features[@]}" --examples || return
    for example in examples/*.rs; do
        example=$(basename "$example" .rs)
        echo "$example"
        "$target/debug/examples/$example" || return
    done
}

# Python packages are installed into a virtual environment under target/.
python_ready() {
    if ! has_venv; then
        lacks 'Python 3 with venv' 'install python3 python3-venv'
        return
    fi
    python3 -m venv "$target/venv" &&
        "$target/venv/bin/pip" install --quiet --disable-pip-version-check --requirement tests/python/requirements.txt
}

# Proves formulas of the shaders, taken from their source, for all inputs.
check_proofs() {
    python_ready || return
    local formulas=$target/formulas
    rm -rf "$formulas"
    mkdir -p "$formulas"
    WGSLICE_FORMULAS=$formulas cargo test "${all_features[@]}" --lib -q -- formulas_of_the_shaders >/dev/null &&
        "$target/venv/bin/python" tests/python/proofs.py "$formulas"
}

check_photo() {
    python_ready && built_command && "$target/venv/bin/python" tests/python/photo.py
}

check_embedding() {
    python_ready && built_command && "$target/venv/bin/python" tests/python/embedding.py
}

# Builds the command as users do.
built_command() {
    export WGSLICE=$target/release/wgslice
    cargo build --release
}

# install_requirements STEP...: installs what these steps need and the machine lacks, if this script knows how.
install_requirements() {
    [[ $(uname) == Linux ]] || return 0
    local lacking=()
    has_lavapipe || lacking+=(mesa-vulkan-drivers)
    has_vulkan_loader || lacking+=(libvulkan1)
    command -v cc >/dev/null || lacking+=(gcc libc6-dev)
    if [[ " $* " == *' proofs '* || " $* " == *' photo '* ]]; then
        has_venv || lacking+=(python3-venv)
    fi
    install_packages "${lacking[@]+"${lacking[@]}"}"
    if [[ " $* " == *' swiftshader '* ]]; then
        get_swiftshader
    fi
}
