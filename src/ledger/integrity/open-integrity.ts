/** @module Assembles the record of broken seals and the scrub. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RunAnswer } from '../../../schemas/answers/runs.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { parseStream, runStream } from '../../../schemas/names.ts'
import { type EventStore, StoreUnavailableError, takesReads } from '../../store/event-store.ts'
import type { LogHole, LogStore } from '../../store/log-store.ts'
import type { FaultRow } from '../../store/view-store.ts'
import type { Caller, Found } from '../ledger.ts'
import type { LedgerOptions } from '../ledger-options.ts'
import { ACKNOWLEDGED, type LedgerStats } from '../ledger-stats.ts'
import { acknowledgedIn, type IsAcknowledged, withinHoles } from '../log/acknowledged-holes.ts'
import type { Effects } from '../ports.ts'
import type { Integrity, IntegrityFault, IntegrityState } from './integrity.ts'
import { type IntegrityDeps, IntegrityFaults } from './integrity-faults.ts'
import { Scrub } from './scrub.ts'
import { pastSince } from './scrub-state.ts'

/** Reasonable delay before the next attempt while the store cannot be read, in milliseconds. */
const AWAY_MS = 1_000

export interface OpenIntegrityDeps
  extends Omit<IntegrityDeps, 'readOnly' | 'now'>,
    Pick<LedgerOptions, 'logs' | 'readOnly' | 'scrubDays'> {
  readonly effects: Effects
  /** Losses where the tenant's log stopped, and losses that no log can name. */
  readonly ofLog: (tenant: string) => readonly Loss[]
}

export interface OpenIntegrity extends AsyncDisposable {
  readonly integrity: Omit<Integrity, 'eventsAsStored'>
  stats(): LedgerStats['integrity']
  /** Events recorded as broken, except those that a later scrub pass found to be repaired. */
  present(place: { readonly tenant?: string; readonly stream?: string }): readonly FaultRow[]
  /** Whether an event of the tenant is acknowledged as lost. */
  acknowledged(tenant: string): IsAcknowledged
  /** The state of a run, with `seal: 'invalid'` if one of its events is recorded as broken. */
  marked(caller: Caller, runId: string, found: Promise<Found<RunAnswer>>): Promise<Found<RunAnswer>>
}

export function openIntegrity(deps: OpenIntegrityDeps): OpenIntegrity {
  const { logs, scrubDays = 0, readOnly = false } = deps
  const now = (): string => new Date(deps.effects.nowMs()).toISOString()
  const faults = new IntegrityFaults({ ...deps, readOnly, now })
  const scrub = new Scrub({ ...deps, logStore: logs?.store, faults, days: scrubDays })
  const stop = new AbortController()
  const present: OpenIntegrity['present'] = (place) => {
    const rows = faults.onRecord(place)
    if (rows.length === 0) return rows
    const { last } = scrub.state
    return rows.filter((row) => pastSince(faults.metAt(row), last) === undefined)
  }
  let looking: Promise<void> | undefined
  if (scrubDays > 0 && !readOnly) {
    scrub.start()
    const lostBeginnings = deps.store.lostBeginnings?.bind(deps.store)
    if (logs !== undefined && lostBeginnings !== undefined) {
      const looked = { lostBeginnings, logStore: logs.store, faults, effects: deps.effects }
      looking = lookForFirstEvents(looked, stop.signal).catch((error: unknown) =>
        deps.log.warn({ err: error }, 'whether the store still holds the beginning of every stream is not known'),
      )
    }
  }
  return {
    integrity: {
      reported: (fault) => deps.sealer.faultFound(fault),
      reached: async () => {
        if (readOnly) return deps.list.catchUp()
        const status = deps.store.status()
        if (!takesReads(status)) throw new StoreUnavailableError(status.detail ?? 'the store cannot be read', AWAY_MS)
      },
      state: (caller) => stateOf(caller, { faults, scrub, scrubDays, holes: holesOf(deps, caller) }),
      broken: (caller) => {
        const rows = present(placeOf(caller))
        const isAcknowledged = withinHoles(rows.length === 0 ? [] : holesOf(deps, caller))
        const ofLog = deps.ofLog(caller.tenant).filter(({ code }) => code !== ACKNOWLEDGED)
        return rows.filter((row) => !isAcknowledged(row)).length + ofLog.length
      },
      scrub: async () => {
        await scrub.whole()
        await faults.settled()
      },
      settled: () => faults.settled(),
    },
    marked: async ({ tenant }, runId, reading) => {
      const found = await reading
      if (!found.ok || faults.onRecord({ tenant, stream: runStream(tenant, runId) }).length === 0) return found
      return { ...found, value: { ...found.value, seal: 'invalid' } }
    },
    present,
    acknowledged: (tenant) => withinHoles(holesOf(deps, { tenant })),
    stats: () => {
      const { last } = scrub.state
      const isAcknowledged = acknowledgedIn(logs?.store)
      const open = present({}).filter((row) => !isAcknowledged(row))
      return { faults: open.length, ...(last && { lastPassEndedMs: Date.parse(last.endedAt) }) }
    },
    [Symbol.asyncDispose]: async () => {
      scrub[Symbol.dispose]()
      stop.abort()
      await looking
      await scrub.stopped()
      await faults.settled()
    },
  }
}

interface Parts {
  readonly faults: IntegrityFaults
  readonly scrub: Scrub
  readonly scrubDays: number
  readonly holes: readonly LogHole[]
}

type Reader = Parameters<Integrity['state']>[0]

function placeOf({ tenant, run }: Reader): { readonly tenant: string; readonly stream?: string } {
  return { tenant, ...(run !== undefined && { stream: runStream(tenant, run) }) }
}

/** A process that only reads knows the first event of each. */
function holesOf({ logs, ofLog }: OpenIntegrityDeps, reader: Reader): readonly LogHole[] {
  const { stream: own } = placeOf(reader)
  const known = ofLog(reader.tenant).flatMap(({ code, stream, revision }) =>
    code === ACKNOWLEDGED && stream !== undefined && revision !== undefined ? [{ stream, revision }] : [],
  )
  const holes = logs?.store.log(reader.tenant)?.holes ?? known
  return holes.filter(({ stream }) => (own ?? stream) === stream)
}

function stateOf(reader: Reader, { faults, scrub, scrubDays, holes }: Parts): IntegrityState {
  const { tenant } = reader
  const { pass, last } = scrub.state
  const found = faults.onRecord(placeOf(reader))
  const isAcknowledged = withinHoles(holes)
  return {
    faults: found.map((row) => ({
      ...shown(row, pastSince(faults.metAt(row), last)),
      ...(isAcknowledged(row) && { acknowledged: true as const }),
    })),
    acknowledged: holes.map((hole) => ({ ...hole, ...runOf(hole) })),
    scrub: {
      days: scrubDays,
      ...(pass && { passSince: pass.startedAt }),
      ...(last && {
        lastPass: { startedAt: last.startedAt, endedAt: last.endedAt, leaves: last.leaves[tenant] ?? 0 },
      }),
    },
  }
}

function runOf({ stream }: Pick<LogHole, 'stream'>): { readonly run?: string } {
  const run = parseStream(stream)?.runId
  return run === undefined ? {} : { run }
}

function shown({ stream, revision, code, foundAt }: FaultRow, past: string | undefined): IntegrityFault {
  return {
    stream,
    revision,
    ...runOf({ stream }),
    code,
    foundAt,
    ...(past !== undefined && { pastSince: past }),
  }
}

// Once per start, for a store that others administer: checks whether it still holds the first event of every stream that the log knows. A
// server that is configured to discard data removes the oldest events of a stream without a trace in the stream; the log is older than that.

const LEAVES_AT_ONCE = 256
const STREAMS_AT_ONCE = 256

type LostBeginnings = NonNullable<EventStore['lostBeginnings']>

interface FirstEventsDeps {
  readonly lostBeginnings: LostBeginnings
  readonly logStore: Pick<LogStore, 'signedTenants' | 'leaves'>
  readonly faults: Pick<IntegrityFaults, 'confirmed'>
  readonly effects: Pick<Effects, 'sleep'>
}

/** Asks for many streams at once, batch after batch. Waits for an unavailable store. */
async function lookForFirstEvents(deps: FirstEventsDeps, signal: AbortSignal): Promise<void> {
  const { logStore } = deps
  for (const tenant of logStore.signedTenants()) {
    let streams: string[] = []
    for (let from = 0; !signal.aborted; from += LEAVES_AT_ONCE) {
      const leaves = logStore.leaves(tenant, from, from + LEAVES_AT_ONCE)
      for (const { stream, revision } of leaves) if (revision === 0) streams.push(stream)
      const isLast = leaves.length < LEAVES_AT_ONCE
      if (streams.length >= STREAMS_AT_ONCE || (isLast && streams.length > 0)) {
        await lookFor(deps, streams, signal)
        streams = []
      }
      if (isLast) break
      await nextTurn()
    }
  }
}

async function lookFor(
  { lostBeginnings, faults, effects }: FirstEventsDeps,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const stream of await lostBeginnings(streams)) {
        await faults.confirmed({ stream, revision: 0, code: 'missing', message: 'the log has it, the store has not' })
      }
      return
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      await effects.sleep(error.retryAfterMs)
    }
  }
}
