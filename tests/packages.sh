# SPDX-License-Identifier: MIT
# Sourced: need_packages NAME... makes sure that Debian packages are there. As root it
# installs what is missing, else it names it and stops.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        return 0 # not Debian: the build will say what it lacks
    fi
    missing=
    for package; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        echo "Please install:$missing" >&2
        echo "(apt-get install$missing)" >&2
        exit 1
    fi
    echo "Installing:$missing"
    apt_log=$(mktemp)
    # shellcheck disable=SC2086
    { apt-get -q update && DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install $missing; } >"$apt_log" 2>&1 ||
        { tail -n 20 "$apt_log" >&2; exit 1; }
    rm -f "$apt_log"
}
