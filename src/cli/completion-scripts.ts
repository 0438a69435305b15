/**
 * Each script asks `toolyard completion --words` for the words that fit, one a line. They are taken as they are, never
 * expanded (as bash's `compgen -W` would): a configuration from elsewhere must not get a shell to run anything.
 */
export const COMPLETION_SCRIPTS: ReadonlyMap<string, string> = new Map([
  [
    'bash',
    `# Completion for bash: put   source <(toolyard completion bash)   into ~/.bashrc
_toolyard() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(command toolyard completion --words "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ \${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -o default -F _toolyard toolyard`,
  ],
  [
    'zsh',
    `#compdef toolyard
# Completion for zsh: put   source <(toolyard completion zsh)   into ~/.zshrc, after compinit
_toolyard() {
  local -a found
  found=("\${(@f)$(command toolyard completion --words "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} == 0 )); then
    _files
    return
  fi
  compadd -S '' -- "\${(@M)found:#*=}"
  compadd -- "\${(@)found:#*=}"
}
compdef _toolyard toolyard`,
  ],
  [
    'fish',
    `# Completion for fish: toolyard completion fish > ~/.config/fish/completions/toolyard.fish
function __toolyard_words
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    command toolyard completion --words $before[2..-1] "$current" 2>/dev/null
end
complete -c toolyard -f -a '(__toolyard_words)'
complete -c toolyard -l config -r -F`,
  ],
])
