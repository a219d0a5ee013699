/** @module `countersign signals`: sends external signals to runs that wait for them. */
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asking } from './asking.ts'

export function signalsCommands(program: CliCommand): void {
  const group = program.command('signals').description('send a signal to a run that waits for it')
  asking(group.command('send'), 'signals:write')
    .description(
      'end the oldest wait for a signal; one that no run waits for is held for the next wait. Over the store itself, this command owns the ledger meanwhile',
    )
    .argument('<run>', 'id of the run')
    .argument('<signal>', 'name of the signal')
    .flags(
      flag('--payload <json>', 'what it says, as JSON (default: null)'),
      flag('--request-id <id>', 'your own id of the signal: sent again under the same id, it counts once'),
      flag('--as <name>', 'who sends it, over the store itself, where no token says it'),
    )
    .runs(async () => (await import('../signals.ts')).sendSignal)
}
