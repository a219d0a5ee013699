/** @module `countersign calls`: commands about tool calls. */
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asking, limitFlag } from './asking.ts'

export function callsCommands(program: CliCommand): void {
  const group = program.command('calls').description('list calls without an outcome; say how one in doubt ended')
  asking(group.command('list'))
    .description(
      'calls without an outcome, of all runs, newest run first; one with a child ends with that run, once it is over',
    )
    .flags(
      flag('--in-doubt', 'only those whose outcome is recorded as not known'),
      flag('--overdue', 'only those that are claimed and whose lease is over'),
      limitFlag(),
    )
    .runs(async () => (await import('../calls.ts')).listCalls)
  asking(group.command('resolve'), 'runs:write')
    .description(
      'say how a call in doubt ended; nothing is executed: the run continues when it is resumed or recovered',
    )
    .argument('<run>', 'id of the run')
    .argument('<call>', 'id of the call')
    .flags(
      flag('--executed', 'the tool did what it was called for'),
      flag('--not-executed', 'it did not'),
      flag('--result <json>', 'what the tool gave, as JSON (default: null)'),
      flag('--reason <text>', 'needed: how you know; it is recorded with your name'),
    )
    .runs(async () => (await import('../calls.ts')).resolveCall)
}
