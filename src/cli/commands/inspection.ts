/** @module Commands that inspect a ledger: over HTTP with `--url`, otherwise from the store. */
import type { Option } from 'commander'
import type { FilterName } from '../../../schemas/audit-fields.ts'
import {
  AUDIT_QUERIES,
  type AuditQueryDefinition,
  type AuditQueryName,
  followsFromLog,
  isOrdered,
} from '../../ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import type { CliCommand } from '../cli-command.ts'
import { choice, flag, jsonFlag, PLACE } from '../flag.ts'
import { approvalsCommands } from './approvals.ts'
import { asItWas, asking, limitFlag } from './asking.ts'
import { callsCommands } from './calls.ts'
import { filterFlags } from './filter-flags.ts'
import { policyCommands } from './policies.ts'
import { runsCommands } from './runs.ts'
import { signalsCommands } from './signals.ts'
import { suspectsCommands } from './suspects.ts'

export function inspectionCommands(program: CliCommand): void {
  program.commandsGroup('Look into it:')
  runsCommands(program)
  callsCommands(program)
  approvalsCommands(program)
  suspectsCommands(program)
  signalsCommands(program)
  policyCommands(program)
  asking(program.command('report'))
    .description('one run on one page: who, what, when, verdicts, spending, open points, limits of the proof')
    .argument('<run>', 'id of the run')
    .flags(asItWas())
    .runs(async () => (await import('../report.ts')).report)
  asking(program.command('integrity'))
    .description('events that are recorded as broken, and the last pass of the scrub; ends with 1 if there is one')
    .runs(async () => (await import('../integrity.ts')).integrity)
  asking(queryFlags(program.command('events'), 'events'))
    .description('list events by any filters, each with the way to its record and its proof')
    .runs(async () => (await import('../audit.ts')).events)
  asking(queryFlags(program.command('search'), 'search', 'text'))
    .description('find words in payloads, results, errors and reasons, and say where they are')
    .argument('<words>', 'all of them; "words in quotes" must be adjacent')
    .runs(async () => (await import('../audit.ts')).search)
  audit(program)
  asking(program.command('tail'))
    .description('print the last events, and with -f every new one')
    .flags(
      flag('-f, --follow', 'continue until interrupted; a broken connection is resumed where it was'),
      flag('--lines <count>', 'start with this many of the last events (default: 10)'),
      ...filterFlags(['run', 'types']),
    )
    .runs(async () => (await import('../tail.ts')).tail)
}

/** One command per query, so that each accepts only its own filters. */
function audit(program: CliCommand): void {
  const group = program
    .command('audit')
    .description('ask a named query: open work, refusals, spending, keys, who read what; without a name, list them')
    .flags(jsonFlag('one JSON object a line; the default where the output is no terminal'))
    .settings(...PLACE)
    .runs(async () => (await import('../audit.ts')).listQueries)
  for (const [name, { summary }] of Object.entries<AuditQueryDefinition>(AUDIT_QUERIES)) {
    asking(queryFlags(group.command(name), name as AuditQueryName))
      .description(summary.replaceAll('`', ''))
      .runs(async () => (await import('../audit.ts')).queryNamed(name as AuditQueryName))
  }
  for (const [name, { summary, filters }] of Object.entries(SERVICE_QUERIES)) {
    asking(group.command(name).flags(limitFlag(), exportFlag(), ...filterFlags(filters)))
      .description(summary.replaceAll('`', ''))
      .runs(async () => (await import('../audit.ts')).serviceQueryNamed(name as ServiceQueryName))
  }
}

const SPEND_KEYS = ['run', 'agent', 'model', 'day', 'month', 'tenant']

function queryFlags(command: CliCommand, name: AuditQueryName, except?: FilterName): CliCommand {
  const { filters, shape }: AuditQueryDefinition = AUDIT_QUERIES[name]
  if (name === 'spend') command.flags(flag('--by <what>', 'what to sum by (default: run)', SPEND_KEYS))
  if (name === 'sample')
    command.flags(flag('--seed <root>', 'needed: the root hash of a checkpoint, so that neither side picks'))
  if (isOrdered(shape)) command.flags(choice('--order <order>', 'oldest or newest first', ['asc', 'desc']))
  return command.flags(
    flag('--as-of <size>', 'the log as it was at this size, in events: always the same answer'),
    limitFlag(),
    exportFlag(),
    ...(followsFromLog(shape)
      ? [
          flag(
            '--bundle <file>',
            'write a tar with all rows and the events that they follow from: a verifier makes each row again, and finds one that is missing (over --url: scope audit:export); it is recorded',
          ),
        ]
      : []),
    ...filterFlags(filters.filter((filter) => filter !== except)),
  )
}

const exportFlag = (): Option =>
  flag(
    '--export <file>',
    'write all rows to a new file, as CSV where its name ends in .csv, else as JSON lines, under a signed trailer (over --url: scope audit:export); it is recorded',
  )
