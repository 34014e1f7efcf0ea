# Functions that find tools that a machine can lack, and install them on Debian and Ubuntu. tests/run and scripts of
# this folder set $target and source this file.

has_vulkan_loader() {
    [[ $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p) == *libvulkan.so.1* ]]
}

# Prints the file with which the Vulkan loader finds lavapipe. Fails if there is none.
lavapipe_manifest() {
    compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1 | grep .
}

has_lavapipe() {
    lavapipe_manifest >/dev/null
}

# Succeeds if there is a Vulkan driver for the tests.
has_vulkan() {
    has_vulkan_loader && compgen -G '/usr/share/vulkan/icd.d/*.json' >/dev/null
}

# Prints how to install lavapipe on this machine.
vulkan_packages() {
    if command -v apt-get >/dev/null; then
        echo 'bash tests/run --install, or apt-get install mesa-vulkan-drivers libvulkan1'
    elif command -v dnf >/dev/null; then
        echo 'dnf install mesa-vulkan-drivers vulkan-loader'
    else
        echo 'install lavapipe, as by pacman -S vulkan-swrast vulkan-icd-loader'
    fi
}

is_debian() {
    grep -qsx 'ID=debian' /etc/os-release
}

has_venv() {
    python3 -c 'import ensurepip, venv' 2>/dev/null
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        sudo "$@"
    fi
}

# install_packages PACKAGE...: installs packages if the machine has apt-get. Does not fail: a step that lacks an
# essential package reports it.
install_packages() {
    [[ $# -gt 0 ]] && command -v apt-get >/dev/null || return 0
    echo "Installing $*"
    {
        as_root apt-get -qq update &&
            as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get -qq install --no-install-recommends "$@" >/dev/null
    } || echo "Could not install them; going on without."
}

# Prints the file with which the Vulkan loader finds SwiftShader: an installed Chromium's, or the one that
# `get_swiftshader` leaves. Fails if there is neither.
swiftshader_manifest() {
    local root manifest
    for root in '' "$(cd "$target" && pwd)/swiftshader"; do
        manifest=$root/usr/lib/chromium/vk_swiftshader_icd.json
        if [[ -e $manifest ]]; then
            echo "$manifest"
            return
        fi
    done
    return 1
}

# Extracts SwiftShader from the Debian package that contains it. Installing the package would also install hundreds of
# megabytes of other packages that SwiftShader does not need.
unpack_swiftshader() {
    local folder=$target/swiftshader
    mkdir -p "$folder"
    (cd "$folder" && apt-get -qq download chromium-common 2>/dev/null) || return
    dpkg-deb --fsys-tarfile "$folder"/chromium-common_*.deb |
        tar -x -C "$folder" --wildcards './usr/lib/chromium/*swiftshader*'
    # SwiftShader does not report its own version.
    dpkg-deb --field "$folder"/chromium-common_*.deb Version >"$folder/version"
    rm "$folder"/chromium-common_*.deb
}

get_swiftshader() {
    if is_debian && ! swiftshader_manifest >/dev/null; then
        echo "Unpacking SwiftShader"
        # apt's list of packages can be missing, or too old.
        unpack_swiftshader ||
            { as_root apt-get -qq update && unpack_swiftshader; } ||
            echo "Could not get it; going on without."
    fi
}
