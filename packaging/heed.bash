# Completion of the program heed for bash.

_heed() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local i
  COMPREPLY=()
  case $before in
    -e | -l) return ;;
  esac
  # behind the script all names are files
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -e | -l) i=$((i + 1)) ;;
      -*) ;;
      *)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return
        ;;
    esac
  done
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W \
      "-e -l -i -v -W -E --strict --version --help --" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(
    compgen -f -X '!*.lua' -- "$word"
    compgen -d -- "$word"
  )
  compopt -o filenames 2>/dev/null
}

complete -F _heed heed
