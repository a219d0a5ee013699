/** @module Commands that run a ledger and maintain its store. */
import { SETTINGS, type SettingName } from '../../settings/settings.ts'
import { SCOPES } from '../../signing/token-claims.ts'
import type { CliCommand } from '../cli-command.ts'
import { flag, jsonFlag, PLACE, tenantFlag, tokenFlag, trustNothingFlag, urlFlag } from '../flag.ts'
import { limitFlag } from './asking.ts'

export function serviceCommands(program: CliCommand): void {
  program.commandsGroup('Run a ledger:')
  serve(program)
  token(program)
  store(program)
  projections(program)
  program
    .command('rebuild')
    .description('drop the views; the next start rebuilds them from the store')
    .flags(jsonFlag())
    .settings('data', 'store')
    .runs(async () => (await import('../rebuild.ts')).rebuild)
  program
    .command('erase')
    .description('forget a person: destroy the keys of a subject, so that nothing kept of it can be read again')
    .flags(
      flag('--subject <name>', 'needed: whose values, as the rules of redaction name it (run:ID: those of a run)'),
      flag('--reason <text>', 'needed: why; recorded permanently, so name no person'),
      flag('--basis <text>', 'needed: the law or contract that it follows; it is recorded'),
      flag('--now', 'do not wait for the end of open runs: they cannot be resumed or undone with these values'),
      tenantFlag(),
      urlFlag(),
      tokenFlag('subjects:erase'),
      jsonFlag('the answer as one JSON object'),
    )
    .settings(...PLACE, 'retention')
    .runs(async () => (await import('../erase.ts')).erase)
  holds(program)
  retention(program)
  reviews(program)
  losses(program)
  witness(program)
  program
    .command('tour')
    .description('a guided walk through a small ledger of its own, without a server')
    .flags(flag('--store <url>', 'an empty store on a server instead; it keeps the run of the tour'))
    .runs(async () => (await import('../tour.ts')).tour)
}

/** All settings except the file of pinned keys. */
const SERVE_SETTINGS = (Object.keys(SETTINGS) as SettingName[]).filter((name) => name !== 'known-keys')

function retention(program: CliCommand): void {
  const group = program
    .command('retention')
    .description('archive runs that have ended: their bodies go to files, their headers and all proofs stay')
  const flags = () => [tenantFlag(), jsonFlag('the answer as one JSON object')]
  group
    .command('list')
    .description('the recorded archives: which files, when, by whom')
    .flags(tenantFlag(), trustNothingFlag(), urlFlag(), tokenFlag('audit:read'), jsonFlag('one JSON object a line'))
    .settings(...PLACE)
    .runs(async () => (await import('../retention.ts')).listArchives)
  group
    .command('plan')
    .description('show what a pass would archive now, and why it would leave the rest; changes nothing')
    .flags(...flags())
    .settings(...PLACE, 'retention')
    .runs(async () => (await import('../retention.ts')).planned)
  group
    .command('run')
    .description('archive what is due, then give the space back; stop the ledger first')
    .flags(...flags())
    .settings(...PLACE, 'retention')
    .explained('Exit code: 0 done, 3 a run that is due was not archived.')
    .runs(async () => (await import('../retention.ts')).run)
}

function serve(program: CliCommand): void {
  program
    .command('serve')
    .description('run the ledger; the first start makes its keys. Its log goes to standard output as JSON')
    .flags(
      flag(
        '--accept-wal-loss',
        'start past a damaged log of the store, without what cannot be read; the log is set aside',
      ),
      flag('--erasures <file>', 'carry out a copy of the list of erasures first, as after a backup was put back'),
      flag('--mcp <file>', 'MCP servers over HTTP to proxy, each at /mcp/NAME, with every call recorded'),
      flag('--mcp-idle-minutes <n>', 'how long a session with them may be idle before it is ended (default: 30)'),
    )
    .settings(...SERVE_SETTINGS)
    .runs(async () => (await import('../serve.ts')).serve)
}

function token(program: CliCommand): void {
  const group = program
    .command('token')
    .description('print an access token for the keys of the data folder; revoke one; list those revoked')
    .flags(
      flag('--scope <scopes>', `needed: one or more of ${SCOPES.join(' ')}`, SCOPES),
      tenantFlag(),
      flag('--sub <name>', 'who is responsible (default: local)'),
      flag(
        '--role <names>',
        'what the bearer may decide, where an approval asks for a role: names with commas between them',
      ),
      flag('--act <name>', 'who acts on behalf of --sub, such as an agent platform'),
      flag('--run <run>', 'good for this run only'),
      flag('--agent <name>', 'good for this agent only'),
      flag(
        '--ttl <time>',
        'life of the token, such as 30m; at most 24h, or 366d where metrics:read is its only scope (default: 1h)',
        ['15m', '1h', '8h', '24h', '366d'],
      ),
      jsonFlag('print the token with what it is good for, as JSON'),
    )
    .settings(...PLACE, 'issuer', 'audience')
    .runs(async () => (await import('../token.ts')).token)
  group
    .command('revoke')
    .description('refuse a token from now on, in every process on the store, until it expires and after')
    .argument('<id>', 'its jti, as "countersign audit tokens" lists it')
    .flags(
      flag('--reason <text>', 'why; recorded permanently, so name no person'),
      tenantFlag(),
      urlFlag(),
      tokenFlag('admin'),
      jsonFlag('the answer as one JSON object'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../revoke-token.ts')).revokeToken)
  group
    .command('revoked')
    .description('access tokens that were revoked, the newest first: which, when, by whom, and why')
    .flags(tenantFlag(), trustNothingFlag(), urlFlag(), tokenFlag('audit:read'), jsonFlag('one JSON object a line'))
    .settings(...PLACE)
    .runs(async () => (await import('../revoke-token.ts')).listRevoked)
}

const STORE_MORE =
  'Run init as the role that is to own the tables, and serve as another one, named with --writer: not even the owner can then change what is written without dropping a trigger, which every start and verify notice.'

function store(program: CliCommand): void {
  const group = program.command('store').description('make or upgrade the schema of a store on PostgreSQL; look at it')
  group
    .command('init')
    .description('make or upgrade the schema, as the owner of its tables')
    .flags(flag('--writer <role>', 'let this role append and read, and nothing else'), jsonFlag())
    .settings('data', 'store')
    .explained(STORE_MORE)
    .runs(async () => (await import('../store.ts')).initSchema)
  group
    .command('status')
    .description('what the schema is, and whether it was altered')
    .flags(jsonFlag())
    .settings('data', 'store')
    .explained('Exit code: 0 it is as it was made; 1 missing, of another version, or altered.')
    .runs(async () => (await import('../store.ts')).schemaStatus)
}

const waitFlag = (what: string) => flag('--wait <seconds>', `${what} (default: 10)`)

function projections(program: CliCommand): void {
  const group = program
    .command('projections')
    .description('have an EventStoreDB server fold runs and their list; compare its folds with ours')
  group
    .command('install')
    .description("have the server fold each run's state and its row in the run list")
    .flags(
      flag('--reset', 'fold everything again from the beginning'),
      waitFlag('for projections to start'),
      jsonFlag('one JSON object a line'),
    )
    .settings('data', 'store')
    .runs(async () => (await import('../projections.ts')).installed)
  group
    .command('status')
    .description('which of them run, and how far they are')
    .flags(jsonFlag('one JSON object a line'))
    .settings('data', 'store')
    .explained('Exit code: 0 all run; 1 one does not (its reason is printed).')
    .runs(async () => (await import('../projections.ts')).status)
  group
    .command('diff')
    .description("compare each run's state on the server with our own fold; it checks no macs: verify does")
    .flags(
      tenantFlag("this tenant's runs only (default: all)"),
      waitFlag('for a server that lags and does not move'),
      jsonFlag('one JSON object a line'),
    )
    .settings('data', 'store')
    .explained(
      'Exit code: 0 all states are the same; 1 one differs; 3 not compared (the server lags, runs no projections, or a run is too large); 4 no answer.',
    )
    .runs(async () => (await import('../projections.ts')).diff)
}

function holds(program: CliCommand): void {
  const group = program
    .command('holds')
    .description('legal holds: what must not be erased for now; list, place and release them')
  group
    .command('list')
    .description('active holds, and those that were released')
    .flags(tenantFlag(), trustNothingFlag(), urlFlag(), tokenFlag('audit:read'), jsonFlag('one JSON object a line'))
    .settings(...PLACE)
    .runs(async () => (await import('../holds.ts')).listHolds)
  const changing = () => [
    flag('--as <name>', 'who does it; needed over the store itself, where no token says it'),
    tenantFlag(),
    urlFlag(),
    tokenFlag('holds:write'),
    jsonFlag('the answer as one JSON object'),
  ]
  group
    .command('place')
    .description('from now on, nothing that the hold covers is erased')
    .flags(
      flag('--run <run>', 'hold a run: the values of all subjects in it'),
      flag('--subject <name>', 'hold what is kept of a subject, in all runs'),
      flag('--whole-tenant', 'hold everything of the tenant'),
      flag('--reason <text>', 'needed: why; recorded permanently, so name no person'),
      ...changing(),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../holds.ts')).placeHold)
  group
    .command('release')
    .description('end a hold; an erasure that waited for it goes on by itself')
    .argument('<hold>', 'id of the hold')
    .flags(flag('--reason <text>', 'needed: why; recorded permanently, so name no person'), ...changing())
    .settings(...PLACE)
    .runs(async () => (await import('../holds.ts')).releaseHold)
}

function reviews(program: CliCommand): void {
  const group = program.command('reviews').description('sign off what you reviewed of the record; list the sign-offs')
  group
    .command('list')
    .description('reviews that were signed off; audit reviews has more filters')
    .flags(
      limitFlag(),
      tenantFlag(),
      trustNothingFlag(),
      urlFlag(),
      tokenFlag('audit:read'),
      jsonFlag('one JSON object a line'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../reviews.ts')).listReviews)
  group
    .command('sign')
    .description('record that you reviewed the answer to a query, and what you found')
    .argument('<query>', 'name of the audit query, such as rejections')
    .flags(
      flag('--as-of <size>', 'needed: the size of the log that you reviewed, in events'),
      flag('--findings <text>', 'needed: what you found; recorded permanently, so name no person'),
      flag('--comment <text>', 'a remark; recorded permanently'),
      flag('--filters <text>', 'filters of the query as in its URL, such as "run=r&verdict=rejected"'),
      flag('--as <name>', 'who signs; needed over the store itself, where no token says it'),
      tenantFlag(),
      urlFlag(),
      tokenFlag('audit:read'),
      jsonFlag('the answer as one JSON object'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../reviews.ts')).signReview)
}

const LOSSES_MORE =
  'First try to put back what is gone: a log that finds it again goes on by itself, whole. What was acknowledged stays INCOMPLETE for ever.'

function losses(program: CliCommand): void {
  const group = program
    .command('losses')
    .description('events that a tenant has lost; acknowledge what cannot be recovered')
  group
    .command('list')
    .description('open losses, and those that were acknowledged')
    .flags(tenantFlag(), urlFlag(), tokenFlag('audit:read'), jsonFlag('one JSON object a line'))
    .settings(...PLACE)
    .explained('Exit code: 3 where anything is lost, open or acknowledged.')
    .runs(async () => (await import('../losses.ts')).listLosses)
  group
    .command('acknowledge')
    .description('record that events are lost for good: the log goes on with a hole that it names')
    .flags(
      flag('--stream <stream>', 'the stream that lost them, as losses list names it'),
      flag('--revision <n>', 'the first revision that is lost'),
      flag('--all', 'every open loss of the tenant, instead of one'),
      flag('--every-tenant', 'with --all: of all tenants, and of the ledger itself; without --url'),
      flag('--reason <text>', 'needed: why it cannot be put back; recorded permanently, so name no person'),
      tenantFlag(),
      urlFlag(),
      tokenFlag('admin'),
      jsonFlag('the answer as one JSON object'),
    )
    .settings(...PLACE)
    .explained(LOSSES_MORE)
    .runs(async () => (await import('../losses.ts')).acknowledgeLoss)
}

function witness(program: CliCommand): void {
  program
    .command('witness')
    .description('cosign checkpoints of other ledgers (POST /add-checkpoint), if each continues the one before')
    .flags(
      flag(
        '--log <keys>',
        'needed: verifier keys of the logs to witness, with commas between (countersign checkpoint --key prints one)',
      ),
      flag('--name <name>', 'name of the witness, such as a host name and path of yours'),
      jsonFlag('print the verifier key and the address as JSON'),
    )
    .settings('data', 'host', 'port')
    .runs(async () => (await import('../witness.ts')).witness)
}
