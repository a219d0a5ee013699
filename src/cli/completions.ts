/** @module `countersign completions bash|zsh|fish`: made from the help, so that a shell knows every command and flag that the help knows. */
import { AUDIT_QUERIES } from '../ledger/audit/audit-queries.ts'
import { readArguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { COMMANDS, type CommandHelp } from './help.ts'

/** What may stand right behind a command. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  audit: Object.keys(AUDIT_QUERIES),
  runs: ['list', 'show', 'diff', 'rollback'],
  keys: ['create', 'list', 'rotate'],
  help: Object.keys(COMMANDS),
  completions: ['bash', 'zsh', 'fish'],
}

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish }

export async function completions(args: readonly string[]): Promise<number> {
  const [shell = ''] = readArguments(args, { positionals: ['SHELL'] }).positionals
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (script === undefined) throw usageFailure(`completions takes one of: ${Object.keys(SHELLS).join(', ')}`)
  process.stdout.write(script())
  return EXIT.ok
}

/** `--run`, `--json`: names of flags without their values. */
function flagsOf({ flags = [], settings = [] }: CommandHelp): readonly string[] {
  return [...flags.flatMap(([flag]) => flag.match(/--[a-z-]+/g) ?? []), ...settings.map((name) => `--${name}`)]
}

const entries = (): [string, CommandHelp][] => Object.entries<CommandHelp>(COMMANDS)

/** `words` means something to zsh. */
function cases(indent: string, variable = 'words'): string {
  return entries()
    .map(([name, help]) => `${indent}${name}) ${variable}="${[...(WORDS[name] ?? []), ...flagsOf(help)].join(' ')}" ;;`)
    .join('\n')
}

function bash(): string {
  return `# countersign completions bash > ~/.local/share/bash-completion/completions/countersign
_countersign() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases('    ')}
    *) words="" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${Object.keys(COMMANDS).join(' ')}"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _countersign countersign
`
}

function zsh(): string {
  const commands = entries().map(
    ([name, { about }]) => `    '${name}:${about.replaceAll("'", '’').replaceAll(':', '\\:')}'`,
  )
  return `#compdef countersign
# countersign completions zsh > "\${fpath[1]}/_countersign"
_countersign() {
  local -a commands
  local offered
  commands=(
${commands.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2]" in
${cases('    ', 'offered')}
  esac
  compadd -- \${=offered}
}
_countersign "$@"
`
}

function fish(): string {
  const lines = entries().flatMap(([name, help]) => {
    const seen = `-n '__fish_seen_subcommand_from ${name}'`
    const words = WORDS[name] === undefined ? [] : [`complete -c countersign ${seen} -f -a '${WORDS[name]?.join(' ')}'`]
    const flags = flagsOf(help).map((flag) => `complete -c countersign ${seen} -l ${flag.slice(2)}`)
    const about = help.about.replaceAll("'", '’')
    return [`complete -c countersign -n __fish_use_subcommand -f -a ${name} -d '${about}'`, ...words, ...flags]
  })
  return `# countersign completions fish > ~/.config/fish/completions/countersign.fish\n${lines.join('\n')}\n`
}
