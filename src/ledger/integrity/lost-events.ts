/** @module The losses of a tenant, and the acknowledgement of losses that cannot be restored (LOG-63 to LOG-65). */
import { LOST_EVENTS_MAX, placeText } from '../../../schemas/acknowledged-loss.ts'
import type { AcknowledgeLoss, AcknowledgementAnswer, LossItem } from '../../../schemas/answers/losses.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { Json } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { heldPlace } from '../../signing/held-place.ts'
import { ringIndex } from '../../signing/key-ring.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import { type EventStore, readOne } from '../../store/event-store.ts'
import type { BehindLoss, LedgerFacts } from '../identity/ledger-facts.ts'
import type { Sealer } from '../identity/sealer.ts'
import { ACKNOWLEDGEMENTS_MAX, type Acknowledgement } from '../log/acknowledgements.ts'
import type { Lost, LostHere, LostPlace } from '../log/lost-here.ts'
import type { TenantLogs } from '../log/tenant-logs.ts'
import type { Effects, Log } from '../ports.ts'
import type { Answered } from '../subjects/subjects.ts'
import type { KnownLosses } from './known-losses.ts'
import type { LostEvents } from './losses.ts'
import type { OpenIntegrity } from './open-integrity.ts'

export interface LostEventsDeps {
  readonly logs:
    | Pick<TenantLogs, 'acknowledged' | 'catchUp' | 'knownHead' | 'lostAt' | 'lostPlaces' | 'openLosses' | 'publish'>
    | undefined
  readonly logTenants: () => readonly string[]
  readonly losses: KnownLosses
  readonly integrity: Pick<OpenIntegrity, 'present'>
  readonly facts: LedgerFacts
  readonly store: Pick<EventStore, 'head' | 'maxAppendBytes' | 'readStream'>
  readonly sealer: Pick<Sealer, 'kid' | 'notBefore' | 'ring' | 'ringIndex'>
  readonly effects: Pick<Effects, 'newId' | 'nowMs'>
  readonly log: Log
}

/** Maximum number of attempts if the loss changes between examining and recording it. */
const LOOKS_MAX = 3
/** Size in an append, at most, of a record that holds a place and of its line in the acknowledgement. */
const HELD_BYTES = 700
/** Left in such an append for everything else. */
const OTHER_BYTES = 16 * 1024

export function lostEvents(deps: LostEventsDeps): LostEvents {
  const within = async <T>(caller: Caller, work: () => Promise<Answered<T>>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    return outside === undefined ? work() : { ok: false, refusal: outside }
  }
  return {
    tenants: deps.logTenants,
    list: (caller) => within(caller, async () => ({ ok: true, value: { items: await itemsOf(deps, caller.tenant) } })),
    acknowledge: (caller, asked) => within(caller, () => acknowledged(deps, caller, asked)),
  }
}

async function itemsOf({ logs, losses, integrity }: LostEventsDeps, tenant: string): Promise<LossItem[]> {
  await logs?.catchUp()
  const onRecord = await logs?.acknowledged(tenant)
  const open = new Map<string, LossItem>()
  const isOpen = (place: Pick<LostPlace, 'stream' | 'revision'>): boolean =>
    onRecord?.places.has(placeText(place)) !== true
  for (const { stream, revision } of (await logs?.lostPlaces(tenant)) ?? [])
    if (isOpen({ stream, revision }))
      open.set(placeText({ stream, revision }), {
        state: 'open',
        scope: 'tenant',
        code: 'log-stopped',
        stream,
        revision,
      })
  for (const { stream, revision, code } of integrity.present({ tenant }))
    if (isOpen({ stream, revision }) && !open.has(placeText({ stream, revision })))
      open.set(placeText({ stream, revision }), { state: 'open', scope: 'run', code, stream, revision })
  const ofStore = losses({ tenant }).filter(({ scope }) => scope === 'store')
  const known = onRecord?.acknowledgements ?? []
  return [
    ...ofStore.map(({ scope, code }) => ({ state: 'open', scope, code }) as const),
    ...open.values(),
    ...known.map(
      ({ stream, from, to, code, reason, actor, time, event }): LossItem => ({
        ...{ state: 'acknowledged', scope: 'run', stream, revision: from, code, to, reason },
        ...{ acknowledgedBy: actor, acknowledgedAt: time, event },
      }),
    ),
  ]
}

async function acknowledged(
  deps: LostEventsDeps,
  caller: Caller,
  { stream, revision, reason }: AcknowledgeLoss,
): Promise<Answered<AcknowledgementAnswer>> {
  const { logs } = deps
  const { tenant } = caller
  if (logs === undefined || streamTenant(stream) !== tenant) return { ok: false, refusal: notLost(stream, revision) }
  await logs.catchUp()
  const place = { tenant, stream, revision }
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const { acknowledgements } = await logs.acknowledged(tenant)
    const before = acknowledgements.find((each) => each.stream === stream && each.from === revision)
    if (before !== undefined) return answered(deps, tenant, { status: 'known', ...before })
    if (acknowledgements.length >= ACKNOWLEDGEMENTS_MAX) return { ok: false, refusal: tooMany }
    const seen = await logs.lostAt(place)
    const own = await ownEndLost({ ...deps, logs }, place)
    if (own !== undefined) return { ok: false, refusal: own }
    if (seen.kind !== 'lost') return { ok: false, refusal: refused(seen, place) }
    if (eventsIn(acknowledgements) + seen.lost.leaves.length > LOST_EVENTS_MAX) return { ok: false, refusal: tooMany }
    const data: EventBody<'LossAcknowledged'> = { v: 1, ...seen.lost, reason }
    if (await isRecorded(deps, { caller, data, place }))
      return answered(deps, tenant, { status: 'acknowledged', ...seen.lost })
  }
  const detail = 'what is lost there changed while it was recorded: nothing was written; try again'
  return { ok: false, refusal: refusal('contended', detail, { retryAfterMs: 1_000 }) }
}

const tooMany = refusal(
  'loss-unknown',
  `this tenant would have more than ${ACKNOWLEDGEMENTS_MAX} acknowledged losses or ${LOST_EVENTS_MAX} lost events, and no more are read: put the store back from a copy`,
)

const eventsIn = (acknowledgements: readonly Acknowledgement[]): number =>
  acknowledgements.reduce((sum, { from, to }) => sum + to - from + 1, 0)

type EndReader = Pick<TenantLogs, 'acknowledged' | 'knownHead' | 'lostAt'>

/**
 * An acknowledgement is appended to this stream. While the log knows of a lost event at its end, only that loss can be acknowledged, from its first event
 * on: the acknowledgement is then written behind the places of the lost events.
 */
async function ownEndLost(
  { logs, store }: { readonly logs: EndReader; readonly store: Pick<EventStore, 'maxAppendBytes'> },
  place: LostPlace,
): Promise<Refusal | undefined> {
  const { tenant } = place
  const stream = ledgerStream(tenant)
  const { events } = logs.knownHead(stream) ?? { events: 0 }
  if (events === 0) return undefined
  const end = { tenant, stream, revision: events - 1 }
  const { acknowledgements, places } = await logs.acknowledged(tenant)
  if (places.has(placeText(end)) || (await logs.lostAt(end)).kind === 'not-lost') return undefined
  const isOwn = place.stream === stream && (await isFirst(logs, place))
  const pieces = isOwn ? await lostUpTo(logs, place, end.revision) : []
  if (pieces.length === 0)
    return refusal(
      'loss-unknown',
      `${stream} has lost its end, where acknowledgements are written: put the store back from its newest copy, or acknowledge that loss first; "countersign losses list" names its first event`,
    )
  const lost = events - place.revision
  const isInLimits = acknowledgements.length + pieces.length <= ACKNOWLEDGEMENTS_MAX
  if (!isInLimits || eventsIn(acknowledgements) + lost > LOST_EVENTS_MAX) return tooMany
  const fit = Math.floor((store.maxAppendBytes - OTHER_BYTES) / HELD_BYTES)
  return lost <= fit ? undefined : tooLong(stream, lost, fit)
}

const tooLong = (stream: string, lost: number, fit: number): Refusal =>
  refusal(
    'loss-unknown',
    `${stream} has lost its last ${lost} events, and one append of this store acknowledges at most ${fit}: put the store back from a newer copy`,
  )

/** Whether no missing event of the stream comes right before the place. */
async function isFirst(logs: EndReader, place: LostPlace): Promise<boolean> {
  const before = place.revision === 0 ? undefined : await logs.lostAt({ ...place, revision: place.revision - 1 })
  return before?.kind !== 'lost' || before.lost.what === 'damaged'
}

/** What is lost from the place up to `end`, in pieces that one acknowledgement each can name; empty if an event among them is not lost. */
async function lostUpTo(logs: EndReader, place: LostPlace, end: number): Promise<readonly Lost[]> {
  const pieces: Lost[] = []
  for (let { revision } = place; revision <= end; ) {
    const seen = await logs.lostAt({ ...place, revision })
    if (seen.kind !== 'lost') return []
    pieces.push(seen.lost)
    revision = seen.lost.to + 1
  }
  return pieces
}

function eventsOf({ from, leaves }: Lost): readonly { readonly revision: number; readonly digest: string }[] {
  return leaves.map(({ digest }, at) => ({ revision: from + at, digest }))
}

interface Recording {
  readonly caller: Caller
  readonly data: EventBody<'LossAcknowledged'>
  readonly place: LostPlace
}

/** False if another process was first, or if the loss had changed by the time the acknowledgement was to be appended. */
async function isRecorded(deps: LostEventsDeps, { caller, data, place }: Recording): Promise<boolean> {
  const { logs, facts } = deps
  const { reason } = data
  let isChanged = false
  const exists = async (): Promise<boolean> => {
    if (logs === undefined) return true
    const onRecord = await logs.acknowledged(caller.tenant)
    const now = await logs.lostAt(place)
    const isOwnEnd = (await ownEndLost({ ...deps, logs }, place)) !== undefined
    const isSame =
      !isOwnEnd && now.kind === 'lost' && JSON.stringify({ v: 1, ...now.lost, reason }) === JSON.stringify(data)
    isChanged = !isSame || onRecord.places.has(placeText(place))
    return isChanged
  }
  await facts.record(
    { tenant: caller.tenant, type: 'LossAcknowledged', data: data as unknown as Json, by: caller },
    exists,
    () => behindOwnEnd(deps, caller.tenant, data),
  )
  return !isChanged
}

/** Where a lost end of the stream of acknowledgements is acknowledged; undefined if its end is not lost from `from` on, or another loss is acknowledged. */
async function behindOwnEnd(
  { logs, store, sealer, effects }: LostEventsDeps,
  tenant: string,
  { stream, from, reason }: EventBody<'LossAcknowledged'>,
): Promise<BehindLoss | undefined> {
  if (logs === undefined || stream !== ledgerStream(tenant)) return undefined
  const head = await store.head(stream)
  const { events = 0 } = logs.knownHead(stream) ?? {}
  // A damaged last event is the end of the store's stream as well.
  const pieces = await lostUpTo(logs, { tenant, stream, revision: from }, Math.max(head, events - 1))
  const lost = pieces.flatMap(eventsOf)
  const last = lost.at(-1)
  if (last === undefined) return undefined
  const before = from === 0 ? undefined : await readOne(store, { stream, revision: from - 1 })
  const read = before && readHeader(before.header)
  const prev = read?.ok === true ? read.header : undefined
  sealer.notBefore(prev && ringIndex(sealer.ring, prev.kid))
  const now = new Date(effects.nowMs()).toISOString()
  const time = prev !== undefined && prev.time > now ? prev.time : now
  const held = lost
    .filter(({ revision }) => revision > head)
    .map((event) => heldPlace({ stream, tenant, ...event }, { id: effects.newId(), kid: sealer.kid, time }))
  const more = pieces.slice(1).map((piece) => ({ v: 1, ...piece, reason }) as unknown as Json)
  const next = { revision: last.revision + 1, prevDigest: last.digest, prevTime: prev?.time }
  return { at: { stream, ...next, minRingIndex: sealer.ringIndex }, held, more }
}

async function answered(
  { logs, log, integrity }: LostEventsDeps,
  tenant: string,
  { status, stream, from, to }: Omit<AcknowledgementAnswer, 'open'>,
): Promise<Answered<AcknowledgementAnswer>> {
  // The acknowledgement is recorded; an error of the log must not hide that.
  await logs
    ?.publish()
    .catch((error: unknown) => log.warn({ err: error, tenant }, 'a loss is acknowledged; the log goes on later'))
  const onRecord = await logs?.acknowledged(tenant)
  const broke = integrity.present({ tenant }).filter((row) => onRecord?.places.has(placeText(row)) !== true)
  const open = logs?.openLosses(tenant) ?? []
  return { ok: true, value: { status, stream, from, to, open: open.length + broke.length } }
}

function refused(seen: Exclude<LostHere, { kind: 'lost' }>, { stream, revision }: LostPlace): Refusal {
  if (seen.kind === 'not-lost') return notLost(stream, revision)
  return refusal(
    'loss-unknown',
    `${placeText({ stream, revision })} is lost, and ${seen.why}: the log cannot go on past it; put the event back from a copy of the store, or log.db from one that still knows it`,
  )
}

function notLost(stream: string, revision: number): Refusal {
  return refusal(
    'loss-not-found',
    `this ledger sees no loss at ${placeText({ stream, revision })}: "countersign losses list" names the places that it sees`,
  )
}
