/** @module `countersign runs list|show|reservations|forks|waits|approvals|diff|rollback`. */
import { contextDiff } from '../../projections/context-diff.ts'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import { type Api, asOfSize, openApi, pastOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf } from './filters.ts'
import { printObject } from './print-object.ts'
import { runIdOf } from './run-id.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const LIST_FILTERS = ['status', 'name', 'tag', 'agent', 'contains', 'compensation', 'since', 'until']
const LIST_COLUMNS = [
  'runId',
  'name',
  'status',
  'compensation',
  'inDoubtCalls',
  'overdue',
  'stuck',
  'seal',
  'startedAt',
  'step',
  'rejections',
  'calls',
  'waiting',
  'tokens',
  'cost',
  'currency',
  'agents',
]
/** Of runs that are stuck, which is what was asked for. */
const STUCK_COLUMNS = ['runId', 'name', 'why', 'since', 'attempts']

export async function listRuns(inputs: Arguments): Promise<number> {
  const limit = limitOf(inputs)
  const asOf = asOfSize(inputs)
  await using api = await openApi(inputs)
  const filters = Object.fromEntries(LIST_FILTERS.map((name) => [name, inputs.text(name)]))
  // A waiting run has the status `open`: the API has a separate filter for it.
  if (filters.status === 'waiting') Object.assign(filters, { status: 'open', waiting: 'true' })
  const inDoubt = inputs.has('in-doubt') ? 'true' : undefined
  const overdue = inputs.has('overdue') ? 'true' : undefined
  const stuck = inputs.has('stuck') ? 'true' : undefined
  const json = inputs.has('json')
  const rows = api.items('/v1/runs', { ...filters, inDoubt, overdue, stuck, asOf }, limit)
  const columns = stuck === undefined ? LIST_COLUMNS : STUCK_COLUMNS
  await printRows(isTable(json) ? shownRows(rows) : rows, { columns, json })
  return api.exitCode()
}

const isTable = (json: boolean): boolean => !json && process.stdout.isTTY === true

/** In a table, why and since when a run is stuck, and how often it was tried, are columns of their own. */
async function* shownRows(rows: AsyncIterable<JsonObject>): AsyncGenerator<JsonObject> {
  for await (const row of rows) {
    const { stuck } = row
    if (stuck === undefined || !isJsonObject(stuck)) yield row
    else {
      const { since, attempts = null, code, message } = stuck
      const seconds = String(since).replace(/\.\d+Z$/, 'Z')
      yield { ...row, since: seconds, attempts, why: `${code}: ${message}`, stuck: `${code} since ${seconds}` }
    }
  }
}

export async function showRun(inputs: Arguments): Promise<number> {
  const path = runPath(inputs)
  const { opened, params } = pastOf(inputs)
  await using api = await openApi(inputs, opened)
  printObject(await api.get(path, params), inputs.has('json'))
  return api.exitCode()
}

export async function listReservations(inputs: Arguments): Promise<number> {
  const path = `${runPath(inputs)}/budget`
  const limit = limitOf(inputs)
  const { opened, params } = pastOf(inputs)
  await using api = await openApi(inputs, opened)
  await printRows(api.items(path, params, limit, 'reservations'), {
    columns: ['reservationId', 'status', 'agent', 'tokens', 'cost', 'deadline', 'callId'],
    json: inputs.has('json'),
  })
  return api.exitCode()
}

const FORK_COLUMNS = ['forkId', 'status', 'agent', 'join', 'step', 'startedRevision', 'joinRevision', 'branches']
const WAIT_COLUMNS = ['waitId', 'status', 'name', 'until', 'due', 'startedAt', 'payload']
const APPROVAL_COLUMNS = ['approvalId', 'status', 'tool', 'args', 'requestedAt', 'expiresAt', 'grants', 'denial']

export const listWaits = (inputs: Arguments): Promise<number> =>
  listOf(inputs, { name: 'waits', columns: WAIT_COLUMNS, past: byClock(inputs) })

export const listRunApprovals = (inputs: Arguments): Promise<number> =>
  listOf(inputs, { name: 'approvals', columns: APPROVAL_COLUMNS, past: byClock(inputs) })

/** Whether a wait or an approval has expired depends on the time of the requested moment: the application decides this, also for the store itself. */
const byClock = (inputs: Arguments): ReturnType<typeof pastOf> => ({
  opened: {},
  params: { asOf: asOfSize(inputs) },
})

export const listForks = (inputs: Arguments): Promise<number> =>
  listOf(inputs, { name: 'forks', columns: FORK_COLUMNS, past: pastOf(inputs) })

interface ListOfRun {
  readonly name: string
  readonly columns: readonly string[]
  readonly past: ReturnType<typeof pastOf>
}

/** One of a run's lists, now or in the past. */
async function listOf(inputs: Arguments, { name, columns, past }: ListOfRun): Promise<number> {
  const path = `${runPath(inputs)}/${name}`
  const limit = limitOf(inputs)
  await using api = await openApi(inputs, past.opened)
  await printRows(api.items(path, past.params, limit), { columns, json: inputs.has('json') })
  return api.exitCode()
}

/** The differences between two steps, with the findings of every handoff in between. */
export async function diffRun(args: Arguments): Promise<number> {
  const path = runPath(args)
  const [from = 0, to = 0] = args.positionals.slice(1).map(stepOf)
  const { opened, params } = pastOf(args)
  await using api = await openApi(args, opened)
  const [before, after] = [
    await api.get(`${path}/context`, { step: from, ...params }),
    await api.get(`${path}/context`, { step: to, ...params }),
  ]
  const changes = contextDiff(contextOf(before), contextOf(after)).map((change) => ({ ...change }))
  const range = [Number(before.revision), Number(after.revision)].sort((a, b) => a - b)
  const findings = await findingsBetween(api, path, range)
  await printRows(rowsOf([...changes, ...findings]), {
    columns: ['kind', 'path', 'before', 'after', 'rule', 'message'],
    json: args.has('json'),
  })
  return api.exitCode()
}

async function findingsBetween(
  api: Api,
  path: string,
  [first = 0, last = 0]: readonly number[],
): Promise<JsonObject[]> {
  const found: JsonObject[] = []
  for await (const { revision, findings, accepted, agent } of api.items(`${path}/findings`, {})) {
    if (Number(revision) <= first || Number(revision) > last || !Array.isArray(findings)) continue
    const place = { kind: accepted === true ? 'warning' : 'refused', revision: revision ?? null, agent: agent ?? null }
    found.push(
      ...findings.filter((each) => isJsonObject(each)).map((finding) => ({ ...place, ...(finding as JsonObject) })),
    )
  }
  return found
}

/** Without --url, this command owns the ledger meanwhile; if another process owns it, the error names its address. */
export async function rollbackRun(args: Arguments): Promise<number> {
  const path = runPath(args)
  const reason = args.text('reason')
  if (reason === undefined || reason.trim() === '') throw usageFailure('--reason is missing: it is recorded')
  const toStep = args.text('to-step')
  const body = { reason, ...(toStep !== undefined && { toStep: stepOf(toStep) }) }
  await using api = await openWritingApi(args)
  printObject(await api.post(`${path}/rollback`, body), args.has('json'))
  return EXIT.ok
}

/** The fence that was read is sent along: a run that a worker has taken meanwhile is not taken from it. */
export async function retryRun(args: Arguments): Promise<number> {
  const path = runPath(args)
  await using api = await openWritingApi(args)
  const { fence: runFence = 1 } = await api.get(path)
  printObject(await api.post(`${path}/leave`, { because: 'retry', runFence }), args.has('json'))
  return EXIT.ok
}

function runPath(args: Arguments): string {
  return `/v1/runs/${runIdOf(args)}`
}

function stepOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageFailure(`"${text}" is no step: a whole number, 0 for the start`)
  return Number(text)
}

function contextOf({ context }: JsonObject): JsonObject {
  return isJsonObject(context) ? context : {}
}

async function* rowsOf(rows: readonly JsonObject[]): AsyncGenerator<JsonObject, void> {
  yield* rows
}
