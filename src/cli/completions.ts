/** @module `countersign completions bash|zsh|fish`: completion scripts generated from the commands, with the values of their flags and arguments. */
import { CliCommand } from './cli-command.ts'
import { usageFailure } from './failure.ts'
import { offeredValues } from './flag.ts'

/** The completions after the words of a command. */
interface Place {
  /** For example `keys list`; empty for the program itself. */
  readonly path: string
  /** Its subcommands, the values of its arguments, and its flags. */
  readonly words: readonly Word[]
  /** Flags that take a value, with the offered values; if there are none, the shell completes file names. */
  readonly values: readonly { readonly flag: string; readonly offered: readonly string[] }[]
}

interface Word {
  readonly text: string
  readonly about: string
}

const SHELLS: Readonly<Record<string, (places: readonly Place[]) => string>> = { bash, zsh, fish }

/** Throws `CliFailure` for an unsupported shell. */
export function completionScript(program: CliCommand, shell: string): string {
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (script === undefined) throw usageFailure(`completions takes one of: ${Object.keys(SHELLS).join(', ')}`)
  return script(placesBelow(program))
}

function placesBelow(command: CliCommand): readonly Place[] {
  const below = command.commands.filter((each) => each instanceof CliCommand)
  const options = command.options.filter(({ hidden }) => !hidden)
  const flags = options.map(({ long, description }) => ({ text: long ?? '', about: description }))
  const commands = below.map((each) => ({ text: each.name(), about: each.description() }))
  const place: Place = {
    path: command.path,
    words: [...commands, ...argumentWords(command), ...flags],
    values: options
      .filter(({ required }) => required)
      .map((option) => ({ flag: option.long ?? '', offered: offeredValues(option) })),
  }
  return [place, ...below.flatMap(placesBelow)]
}

/** The shells for `completions`, and the commands for `help`. */
function argumentWords(command: CliCommand): readonly Word[] {
  if (command.path === 'completions') return Object.keys(SHELLS).map((text) => ({ text, about: '' }))
  if (command.path !== 'help') return []
  return command.root.commands.map((each) => ({ text: each.name(), about: each.description() }))
}

const textsOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ')

/** Shell code that sets `offered` from the words of the command and, after a flag with values, from the flag. */
function cases(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .flatMap(({ path, words, values }) => [
      ...values.map(({ flag, offered }) => `    "${path} ${flag}") offered="${offered.join(' ')}" ;;`),
      `    "${path} "*) offered="${textsOf(words)}" ;;`,
    ])
    .join('\n')
}

/** Commands with subcommands; for these, the path has two words. */
function groupsOf(places: readonly Place[]): string {
  const groups = places.flatMap(({ path }) => (path.includes(' ') ? [path.split(' ')[0] ?? ''] : []))
  return [...new Set(groups)].join('|')
}

/** Longer paths first: `keys list` before `keys`. */
function bySpecificity(places: readonly Place[]): readonly Place[] {
  return [...places].sort((a, b) => b.path.split(' ').length - a.path.split(' ').length)
}

function bash(places: readonly Place[]): string {
  const root = places[0]
  return `# countersign completions bash > ~/.local/share/bash-completion/completions/countersign
_countersign() {
  local offered="" path="\${COMP_WORDS[1]}" current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$path" in ${groupsOf(places)}) if [ "$COMP_CWORD" -gt 2 ] && [[ "\${COMP_WORDS[2]}" != -* ]]; then path="$path \${COMP_WORDS[2]}"; fi ;; esac
  case "$path $previous" in
${cases(bySpecificity(places))}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then offered="${textsOf(root?.words ?? [])}"; fi
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _countersign countersign
`
}

function zsh(places: readonly Place[]): string {
  const [root] = places
  const commands = (root?.words ?? []).map(
    ({ text, about }) => `    '${text}:${about.replaceAll("'", '’').replaceAll(':', '\\:')}'`,
  )
  return `#compdef countersign
# countersign completions zsh > "\${fpath[1]}/_countersign"
_countersign() {
  local -a commands
  local offered="" command_path="$words[2]"
  commands=(
${commands.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$command_path" in ${groupsOf(places)}) if (( CURRENT > 3 )) && [[ "$words[3]" != -* ]]; then command_path="$command_path $words[3]"; fi ;; esac
  case "$command_path $words[CURRENT-1]" in
${cases(bySpecificity(places))}
  esac
  if [[ -z "$offered" ]]; then _files; else compadd -- \${=offered}; fi
}
_countersign "$@"
`
}

/**
 * Matches only if the words of the command are exactly these: fish's own `__fish_seen_subcommand_from` matches a word anywhere, so that `audit keys` would be
 * offered the flags of `keys`.
 */
const FISH_PLACE = `function __countersign_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l depth (count $argv)
  test (count $words) -ge $depth; or return 1
  test $depth -eq 0; and test (count $words) -eq 0; and return 0
  test $depth -gt 0; and test "$words[1..$depth]" = "$argv"
end
function __countersign_group
  set -l words (commandline -opc)
  test "$words[2]" = "$argv"; or return 1
  test (count $words) -eq 2; or string match -q -- '-*' $words[3]
end`

function fish(places: readonly Place[]): string {
  const groups = groupsOf(places).split('|')
  const lines = places.flatMap(({ path, words, values }) => {
    const place = groups.includes(path) ? `'__countersign_group ${path}'` : `'${`__countersign_at ${path}`.trim()}'`
    const plain = words.filter(({ text }) => !text.startsWith('--'))
    const flags = words.filter(({ text }) => text.startsWith('--'))
    return [
      ...plain.map(({ text, about }) => `complete -c countersign -n ${place} -f -a ${text} -d '${quoted(about)}'`),
      ...flags.map(({ text, about }) => {
        const option = values.find(({ flag }) => flag === text)
        const offered =
          option === undefined ? '' : option.offered.length === 0 ? ' -r' : ` -x -a '${option.offered.join(' ')}'`
        return `complete -c countersign -n ${place} -l ${text.slice(2)}${offered} -d '${quoted(about)}'`
      }),
    ]
  })
  const head = '# countersign completions fish > ~/.config/fish/completions/countersign.fish'
  return `${head}\n${FISH_PLACE}\n${lines.join('\n')}\n`
}

const quoted = (text: string): string => text.replaceAll('\\', '').replaceAll("'", '’')
