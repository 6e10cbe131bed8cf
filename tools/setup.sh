# setup.sh - sourced by tools/demo and tools/test: what heed needs on this
# system, and the build.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Package names are those of Debian 12 and 13.
build_packages=(gcc libc6-dev cmake ninja-build pkg-config lua5.4
  liblua5.4-dev libopenblas-openmp-dev libjansson-dev libutf8proc-dev
  libpng-dev libjpeg62-turbo-dev libzip-dev libedit-dev)
# What the module requires when it runs, if only to collect the texts of help.
lua_packages=(lua-argparse lua-cjson lua-filesystem lua-rex-pcre2)
# The fonts show what pictures are labelled with: the living scripts; Chinese,
# Japanese and Korean; emoji.
demo_packages=("${lua_packages[@]}" gnuplot-nox
  fonts-noto-core fonts-wqy-microhei fonts-noto-color-emoji)
# cmark-gfm turns the pages of docs/ into HTML, lua-expat checks it.
docs_packages=(cmark-gfm)
test_packages=("${demo_packages[@]}" "${docs_packages[@]}" lua-busted lua-check
  lua-expat tmux)
# What tests readers of files with any bytes, from clang's libFuzzer.
fuzz_packages=(clang libomp-dev)
# What tests pages in a browser: more to load than all the others together.
browser_packages=(chromium-driver lua-socket)

fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 1
}

# Prints the name of a Lua 5.4, whatever it is called here.
find_lua() {
  local name
  for name in lua5.4 lua54 lua-5.4 lua; do
    if command -v "$name" >/dev/null &&
        "$name" -e 'os.exit(_VERSION == "Lua 5.4")' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

has_module() {
  local lua
  lua=$(find_lua) && "$lua" -e "require '$1'" 2>/dev/null
}

has_library() {
  local name
  for name in "$@"; do
    if pkg-config --exists "$name" 2>/dev/null; then return; fi
  done
  return 1
}

# True if some font has the character of each code point.
has_characters() {
  local code
  for code in "$@"; do
    fc-list ":charset=$code" | grep -q . || return 1
  done
}

# True if what the Debian package brings is here, on a system without dpkg.
is_here() {
  case $1 in
    gcc) command -v cc ;;
    libc6-dev) echo '#include <stdio.h>' | cc -E - ;;
    ninja-build) command -v ninja ;;
    lua5.4) find_lua ;;
    liblua5.4-dev) has_library lua5.4 lua-5.4 lua54 'lua >= 5.4' ;;
    libopenblas-openmp-dev) has_library openblas ;;
    libjansson-dev) has_library jansson ;;
    libutf8proc-dev) has_library libutf8proc ;;
    libpng-dev) has_library libpng ;;
    libjpeg62-turbo-dev) has_library libjpeg ;;
    libzip-dev) has_library libzip ;;
    libedit-dev) has_library libedit ;;
    lua-argparse) has_module argparse ;;
    lua-cjson) has_module cjson ;;
    lua-expat) has_module lxp ;;
    lua-filesystem) has_module lfs ;;
    lua-rex-pcre2) has_module rex_pcre2 ;;
    lua-busted) has_module busted ;;
    lua-check) command -v luacheck ;;
    lua-socket) has_module socket ;;
    libomp-dev) echo 'int main(void) { return 0; }' |
      clang -fopenmp -x c -o /dev/null - ;;
    gnuplot-nox) command -v gnuplot ;;
    fonts-noto-core) has_characters e9 3b1 416 5d0 645 915 e01 ;;
    fonts-wqy-microhei) has_characters 4e2d 3042 d55c ;;
    fonts-noto-color-emoji) has_characters 1f44d 1f979 ;;
    chromium-driver) command -v chromedriver ;;
    *) command -v "$1" ;;
  esac >/dev/null 2>&1
}

# Prints those of the packages that are not installed.
find_missing() {
  local name
  if command -v dpkg-query >/dev/null; then
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" \
      2>/dev/null || true)
    for name in "$@"; do
      grep -qxF "installed $name" <<<"$installed" || echo "$name"
    done
  else
    for name in "$@"; do
      is_here "$name" || echo "$name"
    done
  fi
}

# Installs what is missing of the packages; touches nothing if all are there.
need_packages() {
  local missing as_root=()
  mapfile -t missing < <(find_missing "$@")
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null
  then
    fail "please install, by whatever name this system has for them: \
${missing[*]}"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "neither root nor sudo here; please install: ${missing[*]}"
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}"
  quietly "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=120 update
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 install \
    --yes --no-install-recommends "${missing[@]}"
}

# Runs a command and shows what it wrote only if it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    rm -f "$log"
    fail "this failed: $*"
  fi
  rm -f "$log"
}

# is_configured DIR [-DNAME=VALUE...]: true if the build tree is of these
# sources and has these settings.
is_configured() {
  local cache="$1/CMakeCache.txt" setting
  [ -e "$1/build.ninja" ] || return 1
  grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" || return 1
  shift
  for setting in "$@"; do
    setting=${setting#-D}
    grep -q "^${setting%%=*}:[A-Z]*=${setting#*=}\$" "$cache" || return 1
  done
}

# build DIR [-DNAME=VALUE...]: configures if needed, and builds.
build() {
  local directory="$root/$1" cache
  cache="$directory/CMakeCache.txt"
  shift
  if ! is_configured "$directory" "$@"; then
    if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
      rm -rf "$cache" "$directory/CMakeFiles" # of another place, or none
    fi
    cmake -S "$root" -B "$directory" -G Ninja "$@" || return
  fi
  cmake --build "$directory"
}
