/** @module Commands about the command line itself. */
import { CliCommand } from '../cli-command.ts'
import { usageFailure } from '../failure.ts'
import { jsonFlag } from '../flag.ts'

export function shellCommands(program: CliCommand): void {
  program.commandsGroup('The command line:')
  program
    .command('completions')
    .description('print a script that completes commands, flags and values in a shell')
    .argument('<shell>', 'bash, zsh or fish')
    .runs(async () => {
      const { completionScript } = await import('../completions.ts')
      return ({ positionals: [shell = ''] }) => printed(completionScript(program, shell))
    })
  program
    .command('version')
    .description('print the version')
    .flags(jsonFlag())
    .runs(async () => (await import('../version.ts')).version)
  program
    .command('help')
    .description('show this list, or the help of one command')
    .argument('[command...]', 'such as: verify, or: keys list')
    .runs(async () => ({ positionals }) => {
      named(program, positionals).outputHelp()
      return 0
    })
}

function printed(text: string): number {
  process.stdout.write(text)
  return 0
}

function named(program: CliCommand, names: readonly string[]): CliCommand {
  return names.reduce((command, name) => {
    const found = command.commands.find((each) => each.name() === name)
    if (found instanceof CliCommand) return found
    throw usageFailure(
      `"${name}" is not one of the commands: ${command.commands.map((each) => each.name()).join(', ')}`,
    )
  }, program)
}
