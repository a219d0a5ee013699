/** @module The whole command line: all commands with their flags, and the parsing of a call. The action of each command is in its own file. */
import { CommanderError } from 'commander'
import { packageVersion } from '../settings/package-version.ts'
import { CliCommand } from './cli-command.ts'
import { captureCommands } from './commands/capture.ts'
import { evidenceCommands } from './commands/evidence.ts'
import { inspectionCommands } from './commands/inspection.ts'
import { keyCommands } from './commands/keys.ts'
import { serviceCommands } from './commands/service.ts'
import { shellCommands } from './commands/shell.ts'
import { transferCommands } from './commands/transfer.ts'
import { EXIT, usageFailure } from './failure.ts'

export function createProgram(): CliCommand {
  const program = new CliCommand('countersign')
  program
    .description('an append-only, signed ledger for AI-agent runs')
    .usage('COMMAND [ARGUMENTS]')
    .version(packageVersion(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show this, or the help of a command')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false, minWidthToWrap: NARROWEST_TEXT })
    .explained(...GENERAL)
  serviceCommands(program)
  captureCommands(program)
  keyCommands(program)
  evidenceCommands(program)
  inspectionCommands(program)
  transferCommands(program)
  shellCommands(program)
  return program
}

/** Minimum number of columns for the description of a flag, so that it still forms lines on a terminal of 60 columns. */
const NARROWEST_TEXT = 20

const GENERAL = [
  'countersign help COMMAND names the flags of a command.',
  'Settings are taken from flags, then COUNTERSIGN_* variables, then defaults.',
  'Exit code: 0 done or verified, 1 failed or tampered, 2 wrong usage, 3 incomplete or not proven, 4 the network.',
]

/** Runs one command and resolves with its exit code. Throws `CliFailure` with exit code 2, naming the invalid argument; `SettingsError` for a setting. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const program = createProgram()
  const words = args.length === 0 ? ['help'] : actionFirst(program, args)
  program.words = words
  try {
    await program.parseAsync(words, { from: 'user' })
    return program.exitCode
  } catch (error) {
    // Commander throws this after it has printed help or the version.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    throw error
  }
}

/** For a command with actions, flags may precede the action: `keys --data DIR list`. */
function actionFirst(program: CliCommand, args: readonly string[]): readonly string[] {
  const [name = '', ...rest] = args
  const group = program.commands.find((command) => command.name() === name)
  if (group === undefined || group.commands.length === 0) return args
  const actions = group.commands.map((command) => command.name())
  const takesValue = (word = ''): boolean =>
    [group, ...group.commands].some(({ options }) =>
      options.some(({ required, long, short }) => required && (word === long || word === short)),
    )
  const at = rest.findIndex((word, index) => !word.startsWith('-') && !takesValue(rest[index - 1]))
  const action = rest[at]
  if (action !== undefined && actions.includes(action))
    return [name, action, ...rest.slice(0, at), ...rest.slice(at + 1)]
  if (rest.includes('--help') || rest.includes('-h')) return [name, '--help']
  // A word behind a flag is taken for the flag's value: if there is no such flag, the command itself names the nearest one.
  const isOwn = action === undefined || rest[at - 1]?.startsWith('-') === true
  if (isOwn && group instanceof CliCommand && group.isRunnable) return args
  const wrong = action === undefined ? `${name} is not all` : `${name}: "${action}" is unknown`
  throw usageFailure(`${wrong}; it is followed by one of: ${actions.join(', ')}`, name)
}
