/** @module `countersign runs`: commands about runs. */
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../../../schemas/run-status.ts'
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asItWas, asking, limitFlag } from './asking.ts'

export function runsCommands(program: CliCommand): void {
  const group = program
    .command('runs')
    .description('list runs; show one, its reservations, its forks; compare two of its steps; rewind it by hand')
  asking(group.command('list'))
    .description('runs by what they are, newest first')
    .flags(
      flag(
        '--status <status>',
        'only runs with this status; waiting: open, and waits for a decision, a signal or a time',
        [...RUN_STATUSES, 'waiting'],
      ),
      flag('--name <name>', 'only runs of this name'),
      flag('--tag <tag>', 'only runs with this tag'),
      flag('--agent <agent>', 'only runs that this agent took part in'),
      flag('--contains <text>', 'only runs with this in their id, name, tags, agents or starter, in any case'),
      flag('--compensation <verdict>', 'only runs whose last rollback ended this way', ROLLBACK_VERDICTS),
      flag('--in-doubt', 'only runs with a call in doubt'),
      flag('--overdue', 'only runs with an open call whose lease is over'),
      flag('--stuck', 'only runs that the code of their worker could not resume'),
      flag('--since <time>', 'only runs started at this time or later; RFC 3339'),
      flag('--until <time>', 'only runs started before this time; RFC 3339'),
      limitFlag(),
      flag('--as-of <size>', "the runs as they were when the tenant's log had so many events"),
    )
    .runs(async () => (await import('../runs.ts')).listRuns)
  asking(group.command('show'))
    .description('one run: status, totals, what is open')
    .argument('<run>', 'id of the run')
    .flags(flag('--as-of <size>', "the run as it was when the tenant's log had so many events"))
    .runs(async () => (await import('../runs.ts')).showRun)
  listCommands(group)
  asking(group.command('diff'))
    .description('what changed between two steps, with the findings of every handoff in between')
    .argument('<run>', 'id of the run')
    .argument('<from>', 'step, a whole number; 0 for the start')
    .argument('<to>', 'step')
    .flags(asItWas())
    .runs(async () => (await import('../runs.ts')).diffRun)
  asking(group.command('rollback'), 'runs:write')
    .description('rewind a run by hand; over the store itself, this command owns the ledger meanwhile')
    .argument('<run>', 'id of the run')
    .flags(
      flag('--reason <text>', 'needed: why; it is recorded'),
      flag('--to-step <step>', 'the step to go back to (default: the one before)'),
    )
    .runs(async () => (await import('../runs.ts')).rollbackRun)
  asking(group.command('retry'), 'runs:write runs:read')
    .description(
      'let a worker take a run that is stuck at once; over the store itself, this command owns the ledger meanwhile',
    )
    .argument('<run>', 'id of the run')
    .runs(async () => (await import('../runs.ts')).retryRun)
}

/** The lists of one run, now or in the past. */
function listCommands(group: CliCommand): void {
  asking(group.command('reservations'))
    .description('what a run reserved of its budget and what became of each, oldest first')
    .argument('<run>', 'id of the run')
    .flags(limitFlag(), asItWas())
    .runs(async () => (await import('../runs.ts')).listReservations)
  asking(group.command('forks'), 'payloads:read')
    .description('the forks of a run with how each was joined, oldest first')
    .argument('<run>', 'id of the run')
    .flags(limitFlag(), asItWas())
    .runs(async () => (await import('../runs.ts')).listForks)
  asking(group.command('waits'), 'payloads:read')
    .description('what a run waited or waits for, with how each wait ended, oldest first')
    .argument('<run>', 'id of the run')
    .flags(limitFlag(), asItWas())
    .runs(async () => (await import('../runs.ts')).listWaits)
  asking(group.command('approvals'), 'approvals:write')
    .description('approvals of a run with their arguments, decided or not, oldest first')
    .argument('<run>', 'id of the run')
    .flags(limitFlag(), asItWas())
    .runs(async () => (await import('../runs.ts')).listRunApprovals)
}
