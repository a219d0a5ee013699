/** @module Help of the commands that look at a ledger; the flags of queries come from the table of the queries. */
import { AUDIT_FILTERS } from '../../schemas/audit-fields.ts'
import type { CommandHelp } from './help.ts'

const PLACE = ['data', 'store', 'keys'] as const
const ASKING = [
  ['--url URL', 'ask a running ledger; without it the store is read, beside its owner or without one'],
  ['--token TOKEN', 'access token for --url, scope audit:read (better: COUNTERSIGN_TOKEN)'],
  ['--tenant T', 'tenant, where the store is read (default: default)'],
  ['--json', 'one JSON object a line; the default where the output is no terminal'],
] as const
const AS_IT_WAS = [
  '--as-of SIZE',
  "the store as it was when the tenant's log had so many events; not with --url",
] as const
/** Those that have no line of their own. */
const FURTHER = AUDIT_FILTERS.map(({ name }) => name).filter(
  (name) => !['run', 'actor', 'since', 'until', 'text'].includes(name),
)
const FILTERS = [
  ['--run R --actor A ...', `also ${FURTHER.map((name) => `--${name}`).join(' ')}`],
  ['--since T --until T', 'RFC 3339, by the time of the event; until is left out'],
  ['--text WORDS', 'words of payloads, results, errors and reasons; "words in quotes" stand together'],
  ['--as-of SIZE', 'the log as it was with so many events: the same answer for ever'],
  ['--limit N', 'no more than so many (default: all)'],
  ['--order asc|desc', 'oldest or newest first'],
] as const

export const INSPECT_COMMANDS = {
  runs: {
    usage: 'runs list|show RUN|diff RUN STEP STEP|rollback RUN --reason R [--to-step N]',
    about: 'list runs; one run; what changed between two of its steps, with findings; rewind it by hand',
    flags: [
      ['--status S --name N ...', 'of list: also --tag --agent --since --until --limit'],
      AS_IT_WAS,
      ['--reason R', 'of rollback: why; it stands on record'],
      ['--to-step N', 'of rollback: the step to go back to (default: the one before)'],
      ...ASKING,
    ],
    settings: PLACE,
  },
  events: {
    usage: 'events [--run R] [--types T,T] [--agent A] [--since T] ...',
    about: 'list events by any filters, each with the way to its record and its proof',
    flags: [...FILTERS, ...ASKING],
    settings: PLACE,
  },
  search: {
    usage: 'search WORDS [--run R] ...',
    about: 'find words in payloads, results, errors and reasons, and say where they stand',
    flags: [...FILTERS, ...ASKING],
    settings: PLACE,
  },
  audit: {
    usage: 'audit [QUERY] [--by run|agent|model|day|month|tenant] [--seed ROOT] ...',
    about: 'ask a named query: open work, refusals, spending, keys, who read what; without a name they are listed',
    flags: [
      ['--by WHAT', 'of spend: what is summed by (default: run)'],
      ['--seed ROOT', 'of sample: the root hash of a checkpoint, so that neither side picks'],
      ...FILTERS,
      ...ASKING,
    ],
    settings: PLACE,
  },
  tail: {
    usage: 'tail [-f] [--run R] [--types T,T] [--lines 10]',
    about: 'the last events, and with -f every one that comes',
    flags: [
      ['-f, --follow', 'go on until interrupted; a line that breaks is taken up where it was'],
      ['--lines N', 'so many of the last events first (default: 10)'],
      ...ASKING,
    ],
    settings: PLACE,
  },
  report: {
    usage: 'report RUN',
    about: 'one run on one page: who, what, when, verdicts, spending, open points, limits of the proof',
    flags: [AS_IT_WAS, ...ASKING],
    settings: PLACE,
  },
  completions: {
    usage: 'completions bash|zsh|fish',
    about: 'print a script that completes commands and flags in a shell',
  },
} as const satisfies Record<string, CommandHelp>
