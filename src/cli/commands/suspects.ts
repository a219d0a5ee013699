/** @module `countersign suspects`: commands about accepted changes without an explanation. */
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asking, limitFlag } from './asking.ts'

export function suspectsCommands(program: CliCommand): void {
  const group = program
    .command('suspects')
    .description('list accepted changes that nothing explains; confirm or reject them')
  asking(group.command('list'), 'approvals:write')
    .description('open suspects, each with its place and both values')
    .argument('[run]', 'id of the run (default: all open runs)')
    .flags(limitFlag())
    .runs(async () => (await import('../suspects.ts')).listSuspects)
  for (const [name, description] of [
    ['confirm', 'say that the new values are right; it is signed with your name'],
    [
      'reject',
      'say that they are wrong: the run goes back to before the first of them, and what waits on them does not run',
    ],
  ] as const) {
    asking(group.command(name), 'approvals:write')
      .description(`${description}. Over the store itself, this command owns the ledger meanwhile`)
      .argument('<run>', 'id of the run')
      .argument('<id...>', 'ids of suspects, such as 3.1')
      .flags(
        flag('--reason <text>', 'how you know; needed, and recorded'),
        flag('--as <name>', 'who decides; needed over the store itself, where no token says it'),
      )
      .runs(async () => (await import('../suspects.ts'))[`${name}Suspects`])
  }
}
