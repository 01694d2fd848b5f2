// The scripts that make shells ask `records-sync __complete`, which answers a line for each word: the word, a tab, and what it
// is; `:files` or `:folders` where a path may stand.

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

const bash = String.raw`# Completion of records-sync for bash. In ~/.bashrc: eval "$(records-sync completion bash)"
_records_sync() {
  local line current=${'$'}{COMP_WORDS[COMP_CWORD]} self=${'$'}{COMP_WORDS[0]/#\~/$HOME}
  COMPREPLY=()
  [[ $current == = ]] && current=
  while IFS= read -r line; do
    case $line in
      :files)
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
        compopt -o filenames 2>/dev/null ;;
      :folders)
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current")
        compopt -o filenames 2>/dev/null ;;
      *) COMPREPLY+=("${'$'}{line%%$'\t'*}") ;;
    esac
  done < <("$self" __complete -- "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _records_sync records-sync
`

const zsh = String.raw`#compdef records-sync
# Completion of records-sync for zsh. In ~/.zshrc: eval "$(records-sync completion zsh)"
_records_sync() {
  local line paths
  local -a found
  for line in "${'$'}{(@f)$(${'$'}{~words[1]} __complete -- "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) paths='_files' ;;
      :folders) paths='_files -/' ;;
      *) found+=("${'$'}{${'$'}{line%%$'\t'*}//:/\\:}:${'$'}{line#*$'\t'}") ;;
    esac
  done
  (( $#found )) && _describe -V 'records-sync' found
  [[ -n $paths ]] && ${'$'}{=paths}
}
if [[ $funcstack[1] == _records_sync ]]; then
  _records_sync "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _records_sync records-sync
fi
`

const fish = String.raw`# Completion of records-sync for fish. In ~/.config/fish/config.fish: records-sync completion fish | source
function __records_sync_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current" ''
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c records-sync -k -f -a '(__records_sync_complete)'
`

const SCRIPTS: Readonly<Record<Shell, string>> = { bash, zsh, fish }

export const completionScript = (shell: Shell): string => SCRIPTS[shell]
