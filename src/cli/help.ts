/** @module What `countersign help` says: one entry a command, the same text for people and for the test that compares it. */

import { AUDIT_FILTERS } from '../../schemas/audit-fields.ts'
import { SETTINGS, type SettingName } from '../config.ts'
import { INSPECT_COMMANDS } from './help-inspect.ts'

export interface CommandHelp {
  readonly usage: string
  readonly about: string
  /** Flag with its value, and what it does. */
  readonly flags?: readonly (readonly [flag: string, about: string])[]
  readonly settings?: readonly SettingName[]
  readonly more?: readonly string[]
}

const VERDICTS = [
  'Exit code: 0 verified, 1 tampered, 2 usage, 3 incomplete, unverifiable, or not authenticated (no key of the log).',
  'VERIFIED says that nothing was changed, dropped or slipped in before the last event that is there. It does not say',
  'that nothing is missing after it (only a checkpoint held elsewhere shows that), nor that what was recorded is true.',
  'An export of a run or a query is never VERIFIED: nothing in it proves that its end is there. A bundle proves it.',
]
const PLACE = ['data', 'store', 'keys'] as const
const TENANT = ['--tenant T', 'tenant (default: default)'] as const
const JSON_FLAG = ['--json', 'print JSON'] as const

export const COMMANDS = {
  serve: {
    usage: 'serve [--port 7070] [--host 127.0.0.1] [--data DIR] [--store URL|PATH]',
    about: 'run the ledger; the first start makes its keys',
    flags: [
      [
        '--accept-wal-loss',
        'start past a damaged log of the store, without what cannot be read; the log is kept aside',
      ],
    ],
    settings: Object.keys(SETTINGS) as SettingName[],
  },
  token: {
    usage: 'token --scope "runs:write runs:read" [--tenant T] [--sub S] [--ttl 1h]',
    about: 'print an access token for the keys of the data folder',
    flags: [
      ['--scope SCOPES', 'any of runs:write runs:read runs:admin audit:read audit:export admin'],
      TENANT,
      ['--sub S', 'who is responsible (default: local)'],
      ['--act A', 'who acts on behalf of --sub, such as an agent platform'],
      ['--run R', 'good for this run only'],
      ['--agent A', 'good for this agent only'],
      ['--ttl TIME', 'life of the token, such as 30m; at most 24h (default: 1h)'],
    ],
    settings: [...PLACE, 'issuer', 'audience'],
  },
  keys: {
    usage: 'keys create|list|rotate|disclose RUN|pin KEY [--tenant T] [--json]',
    about:
      "make the first keys of a shared store; show keys without secrets; put a new sealing key in place; give away the keys of a run; pin the key of another ledger's log, to verify what it signs",
    flags: [
      JSON_FLAG,
      ['--tenant T', 'whose log is named with its verifier key by list, and whose run is disclosed (default: default)'],
      ['--url URL', 'disclose by a running ledger, which owns the store'],
      ['--token TOKEN', 'access token for --url, scope admin (better: COUNTERSIGN_TOKEN)'],
      ['--tokens', 'rotate the key that signs tokens instead: tokens made before are refused'],
    ],
    settings: [...PLACE, 'known-keys'],
  },
  validate: {
    usage: 'validate [--policy default|relay|FILE] [--explain] < handoffs.jsonl',
    about: 'judge handoffs {before, after, supersedes?, evidence?} line by line, without a ledger',
    flags: [
      ['--policy P', 'default, relay, or a JSON file with a policy (docs/judgement.md)'],
      ['--explain', 'print findings for people instead of lines of JSON'],
    ],
  },
  verify: {
    usage: 'verify [STORE|EXPORT.jsonl|BUNDLE.tar|-] [--key KEY] [--checkpoint FILE] [--json]',
    about: 'check every event of a store, an export or a bundle, offline',
    flags: [
      JSON_FLAG,
      ['--checkpoint FILE', 'a checkpoint that was kept: the history up to it must be the same'],
      [
        '--key KEY|FILE',
        'verifier key of the log, or a file with one a line (else: the pinned ones, or the key file that is named)',
      ],
      ['--witness KEY[,KEY]', 'of a bundle: verifier keys of the witnesses that must have cosigned its checkpoint'],
      ['--quorum N', 'how many of them must have (default: all)'],
      ['--run-key FILE', 'disclosed keys of a run (keys disclose), to check the macs of its events'],
      ['--fast', 'check every byte, but not again that bodies are canonical and fit their schemas'],
    ],
    settings: [...PLACE, 'known-keys'],
    more: VERDICTS,
  },
  checkpoint: {
    usage: 'checkpoint [--tenant T] [--key]',
    about: "print the last checkpoint of a tenant's log: keep it where this ledger cannot reach it",
    flags: [
      TENANT,
      ['--key', 'print the verifier key of the log instead'],
      ['--witness URL', 'have a witness cosign it first'],
      ['--witness-key KEY', 'verifier key of that witness'],
    ],
    settings: PLACE,
  },
  proof: {
    usage: 'proof EVENT [--tenant T] > EVENT.tlog-proof',
    about: 'print a file that proves offline that an event is in its log',
    flags: [TENANT, ['--key KEY', 'verifier key of the log, where the key file is not at hand']],
    settings: PLACE,
  },
  replay: {
    usage: 'replay RUN [--tenant T] [--json]',
    about: 'read one run again, fold it, and compare with what its snapshots recorded',
    flags: [TENANT, JSON_FLAG],
    settings: PLACE,
    more: VERDICTS.slice(0, 1),
  },
  export: {
    usage: 'export [--bundle FILE.tar | --format F [--out FILE]] [--run R] [--actor A ...] [--tenant T] [--url URL]',
    about:
      'write a run, a query or a whole tenant, as JSONL, in another format, or as a bundle that proves itself; each goes on record',
    flags: [
      ['--run R', 'this run only'],
      [
        '--actor A ...',
        `a query: ${AUDIT_FILTERS.map(({ name }) => name)
          .filter((name) => name !== 'run')
          .join(', ')}`,
      ],
      ['--bundle FILE.tar', 'events, log, checkpoint, signed manifest, report and verify.mjs in one new file'],
      ['--format F', 'jsonl (default), csv, cloudevents, cloudevents-batch, ocsf or otlp'],
      TENANT,
      ['--out FILE', 'a new file, which bears its name once it is whole (default: standard output)'],
      ['--url URL', 'ask a running ledger instead of opening the store; a cut line is taken up again'],
      ['--token TOKEN', 'access token for --url, scope audit:export (better: COUNTERSIGN_TOKEN)'],
    ],
    settings: PLACE,
  },
  import: {
    usage: 'import FILE|- --format openai [--tenant T]',
    about: 'make signed runs of chat transcripts, one run a line; the same file again adds nothing',
    flags: [
      ['--format openai', 'the OpenAI chat format with tool calls: {id, model, messages}'],
      TENANT,
      ['--url URL', 'send to a running ledger instead of opening the store'],
      ['--token TOKEN', 'access token for --url, scope runs:write (better: COUNTERSIGN_TOKEN)'],
      JSON_FLAG,
    ],
    settings: PLACE,
  },
  tour: {
    usage: 'tour [--store esdb://...]',
    about: 'a guided walk through a small ledger of its own, without a server',
    flags: [['--store URL', 'an empty store on a server instead; it keeps the run of the tour']],
  },
  witness: {
    usage: 'witness --log KEY[,KEY...] [--name NAME] [--data DIR] [--port 7070]',
    about: 'cosign checkpoints of other ledgers (POST /add-checkpoint), if each continues the one before',
    flags: [
      ['--log KEY', 'verifier keys of the logs to witness (countersign checkpoint --key prints one)'],
      ['--name NAME', 'name of the witness, such as a host name and path of yours'],
    ],
    settings: ['data', 'host', 'port'],
  },
  copy: {
    usage: 'copy --from STORE --to STORE [--json]',
    about: 'copy a whole ledger into an empty store, every event verified; the same again goes on where it stopped',
    flags: [
      [
        '--from STORE',
        'a path, sqlite:<path> or esdb://...; it may be served meanwhile, and is read up to its present end',
      ],
      ['--to STORE', 'an empty store that nobody serves'],
      JSON_FLAG,
    ],
    settings: ['data', 'keys'],
  },
  store: {
    usage: 'store init|status --store postgres://... [--writer ROLE] [--json]',
    about: 'make or upgrade the schema of a store on PostgreSQL, as the owner of its tables; look at it',
    flags: [['--writer ROLE', 'init: let this role append and read, and nothing else'], JSON_FLAG],
    settings: ['data', 'store'],
    more: [
      'Run init as the role that is to own the tables, and serve as another one, named with --writer: not even the owner can',
      'then change what is written without dropping a trigger, which every start and verify notice.',
      'Exit code: 0 the schema is there as it was made; 1 it is missing, of another version, or was altered; 2 usage.',
    ],
  },
  projections: {
    usage: 'projections install|status|diff --store esdb://... [--json]',
    about: "have an EventStoreDB server fold each run's state and its row in the run list; compare its folds with ours",
    flags: [
      ['--reset', 'install: fold everything again from the beginning'],
      ['--tenant T', "diff: this tenant's runs only (default: all)"],
      ['--wait SECONDS', 'for projections to start, and for a server that lags and does not move (default: 10)'],
      JSON_FLAG,
    ],
    settings: ['data', 'store'],
    more: [
      'Exit code: 0 all run, all states are the same; 1 one does not run (its reason is printed), or differs; 2 usage;',
      '3 not compared or not installed (the server lags, runs no projections, or a run is too large); 4 no answer.',
      'diff compares folds, and checks no macs: verify does.',
    ],
  },
  rebuild: {
    usage: 'rebuild',
    about: 'drop the views; the next start makes them anew from the store',
    settings: ['data', 'store'],
  },
  ...INSPECT_COMMANDS,
  help: { usage: 'help [COMMAND]', about: 'this, or more about one command' },
  version: { usage: 'version', about: 'print the version' },
} as const satisfies Record<string, CommandHelp>

export type CommandName = keyof typeof COMMANDS

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name)
}

const COLUMN = 12
const FLAG_COLUMN = 24

export function generalHelp(): string {
  const commands = Object.entries<CommandHelp>(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(COLUMN)}${about}`)
  return [
    'countersign: an append-only, signed ledger for AI-agent runs',
    '',
    'usage: countersign COMMAND [ARGUMENTS]',
    '',
    ...commands,
    '',
    'countersign help COMMAND names its flags. Settings: flags, then COUNTERSIGN_* variables, then defaults.',
    '',
  ].join('\n')
}

export function helpOf({ usage, about, flags = [], settings = [], more = [] }: CommandHelp): string {
  const own = flags.map(([flag, text]) => `  ${flag.padEnd(FLAG_COLUMN)}${text}`)
  const shared = settings.map((name) => `  ${`--${name} VALUE`.padEnd(FLAG_COLUMN)}${settingText(name)}`)
  const extra = more.length === 0 ? [] : ['', ...more]
  return [`usage: countersign ${usage}`, '', about, ...heading([...own, ...shared]), ...extra, ''].join('\n')
}

function heading(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}

function settingText(name: SettingName): string {
  const setting: { about: string; fallback?: string; shownDefault?: string } = SETTINGS[name]
  return `${setting.about} (default: ${setting.shownDefault ?? setting.fallback})`.replaceAll('`', '')
}
