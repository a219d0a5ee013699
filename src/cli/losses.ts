/** @module `countersign losses list|acknowledge`: lists the losses of a tenant, and acknowledges those that cannot be recovered. */
import { placeText } from '../../schemas/acknowledged-loss.ts'
import { AcknowledgeLoss } from '../../schemas/answers/losses.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { ledgerStream, SYSTEM_TENANT } from '../../schemas/names.ts'
import { type OpenLedger, openLedger } from '../compose/compose.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Answered } from '../ledger/subjects/subjects.ts'
import { type Api, apiOver, applicationOver } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, type ExitCode, usageFailure } from './failure.ts'
import { printObject } from './print-object.ts'
import { oneLine } from './shown.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['state', 'scope', 'code', 'stream', 'revision', 'to', 'acknowledgedAt', 'acknowledgedBy', 'reason']
/** Maximum number of acknowledgements of one command. */
const ALL_MAX = 1_000
/** A tenant has one stream with this beginning: that of its acknowledgements. */
const LEDGER = ledgerStream('')

/** Exits with 3 if anything is lost, open or acknowledged. */
export async function listLosses(args: Arguments): Promise<number> {
  await using losses = await openLosses(args, 'audit:read')
  const { items } = await losses.list()
  await printRows(each(items), { columns: COLUMNS, json: args.has('json') })
  return losses.exitCode()
}

/** Exits with 3 if other losses of the tenant are open. */
export async function acknowledgeLoss(args: Arguments): Promise<number> {
  const reason = needed(args, 'reason')
  if (args.has('all')) return acknowledgeAll(args, reason)
  const [stream, revision] = [needed(args, 'stream'), needed(args, 'revision')]
  if (!/^\d{1,15}$/.test(revision)) throw usageFailure(`--revision: "${revision}" is no revision`)
  await using losses = await openLosses(args, 'admin')
  const answer = await losses.acknowledge({ stream, revision: Number(revision), reason })
  printObject(answer, args.has('json'))
  return answer.open === 0 ? EXIT.ok : EXIT.unproven
}

/** Exits with 3 if any loss is open afterwards. */
async function acknowledgeAll(args: Arguments, reason: string): Promise<ExitCode> {
  const { text, has } = args
  if (text('stream') !== undefined || text('revision') !== undefined)
    throw usageFailure('--all: without --stream and --revision')
  if (has('every-tenant')) return acknowledgeEverywhere(args, reason)
  await using losses = await openLosses(args, 'admin', 'audit:read')
  return acknowledgeOf(losses, args, reason)
}

/** In the logs of every tenant, and in the ledger's own. A token is of one tenant, so this needs the store itself. */
async function acknowledgeEverywhere(args: Arguments, reason: string): Promise<ExitCode> {
  if (args.text('url') !== undefined || args.text('tenant') !== undefined)
    throw usageFailure('--every-tenant: without --url and --tenant')
  await using opened = await openLedger({ ...args.settings, acknowledges: true }, silentLog)
  let code: ExitCode = EXIT.ok
  for (const tenant of opened.ledger.lostEvents.tenants()) {
    const losses = tenant === SYSTEM_TENANT ? systemLosses(opened) : await tenantLosses(opened, tenant)
    const found = await acknowledgeOf(losses, args, reason, tenant)
    if (found !== EXIT.ok) code = found
  }
  return code
}

async function tenantLosses(opened: OpenLedger, tenant: string): Promise<OfTenant> {
  const held = { ledger: opened.ledger, keys: opened.keys.current() }
  const { token, fetch } = await applicationOver(held, tenant, { scopes: ['admin', 'audit:read'] })
  return ofApi(apiOver({ url: 'http://localhost', token, fetch, retries: 0 }, async () => undefined))
}

/** Every open loss that has a place. That of the stream of acknowledgements comes first, because the others are written behind it. */
async function acknowledgeOf(losses: OfTenant, args: Arguments, reason: string, tenant = ''): Promise<ExitCode> {
  const done = new Set<string>()
  // Since the last acknowledgement, behind which another one may be taken.
  const refused = new Map<string, string>()
  for (;;) {
    const { items } = await losses.list()
    const open = ((items ?? []) as readonly JsonObject[]).filter(({ state }) => state === 'open')
    const next = done.size < ALL_MAX ? nextOf(open, (place) => done.has(place) || refused.has(place)) : undefined
    if (next === undefined) {
      for (const [place, why] of refused) process.stderr.write(`countersign: ${place}: ${oneLine(why)}\n`)
      const of = tenant === '' ? 'the tenant' : tenant
      const left = `${open.length} losses of ${of} are still open: "countersign losses list" names them`
      if (open.length > 0) process.stderr.write(`countersign: ${left}\n`)
      else if (done.size === 0 && tenant === '') process.stderr.write('countersign: no loss is open\n')
      return open.length === 0 ? EXIT.ok : EXIT.unproven
    }
    try {
      const answer = await losses.acknowledge({ ...next, reason })
      done.add(placeText(next))
      refused.clear()
      printObject(answer, args.has('json'))
    } catch (error) {
      refused.set(placeText(next), error instanceof Error ? error.message : String(error))
    }
  }
}

const Place = AcknowledgeLoss.pick({ stream: true, revision: true })

function nextOf(
  open: readonly JsonObject[],
  isTried: (place: string) => boolean,
): Omit<AcknowledgeLoss, 'reason'> | undefined {
  const places = open.flatMap(({ stream, revision }) => Place.safeParse({ stream, revision }).data ?? [])
  const left = places.filter((place) => !isTried(placeText(place)))
  return left.find(({ stream }) => stream.startsWith(LEDGER)) ?? left[0]
}

interface OfTenant {
  list(): Promise<JsonObject>
  acknowledge(asked: AcknowledgeLoss): Promise<JsonObject>
  exitCode(): ExitCode
}

type Losses = OfTenant & AsyncDisposable

/** Of a running ledger, or of the store itself, which is opened although a start of the server would be refused (LOG-73). */
async function openLosses(args: Arguments, ...scopes: readonly string[]): Promise<Losses> {
  const settings = { ...args.settings, acknowledges: true }
  const tenant = args.text('tenant') ?? 'default'
  if (tenant === SYSTEM_TENANT && args.text('url') === undefined) {
    const opened = await openLedger(settings, silentLog)
    return { ...systemLosses(opened), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
  }
  const api = await openWritingApi(args, { scopes }, settings)
  return { ...ofApi(api), [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

const ofApi = (api: Api): OfTenant => ({
  list: () => api.get('/v1/losses'),
  acknowledge: (asked) => api.post('/v1/losses/acknowledge', { ...asked }),
  exitCode: () => api.exitCode(),
})

/** Of the streams of the ledger itself: no token is for them, so only who has the store and its keys can ask. */
function systemLosses({ ledger: { lostEvents } }: OpenLedger): OfTenant {
  const caller = { tenant: SYSTEM_TENANT, actor: 'local' }
  const answerOf = (found: Answered<object>): JsonObject => {
    if (!found.ok) throw new CliFailure(`${found.refusal.detail} (${found.refusal.code})`, EXIT.failed)
    return found.value as JsonObject
  }
  let isLost = false
  return {
    list: async () => {
      const answer = answerOf(await lostEvents.list(caller))
      isLost ||= Array.isArray(answer.items) && answer.items.length > 0
      return answer
    },
    acknowledge: async (asked) => answerOf(await lostEvents.acknowledge(caller, asked)),
    exitCode: () => (isLost ? EXIT.unproven : EXIT.ok),
  }
}

/** The answer has no pages. */
export async function* each(items: Json | undefined): AsyncGenerator<JsonObject, void> {
  yield* (items ?? []) as readonly JsonObject[]
}

function needed({ text }: Arguments, name: string): string {
  const value = text(name)
  if (value === undefined || value === '') throw usageFailure(`--${name} is missing`)
  return value
}
