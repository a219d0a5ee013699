/**
 * @module Erasures (LIFE-7 to LIFE-9): the request is made durable first, then the keys are destroyed, then that is recorded. The state of each key
 * shows the progress, so that an erasure continues after a crash at any step.
 */
import type { ErasureAnswer, SubjectAnswer } from '../../../schemas/answers/subjects.ts'
import type { EraseSubject } from '../../../schemas/erasure.ts'
import type { EventBody } from '../../../schemas/events.ts'
import { isJsonObject, type Json, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { ledgerStream, runStream } from '../../../schemas/names.ts'
import type { RetentionClass } from '../../../schemas/retention.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { type Floor, type FloorAt, longestFloor, retentionFloor } from '../../domain/retention.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { ArchiveMissingError, requireBodies } from '../../store/archive-missing-error.ts'
import type { EventStore } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { SubjectKeyRow, SubjectStore } from '../../store/subject-store.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import type { Caller } from '../ledger.ts'
import type { Log } from '../ports.ts'
import type { Queries } from '../read/queries.ts'
import type { RunList } from '../read/run-list.ts'
import { DamagedStreamError } from '../read/verified-events.ts'
import type { ErasureList, ListedErasure } from './erasure-list.ts'
import { type Hold, type HoldRecords, holdOn } from './hold-records.ts'
import { redactedOf } from './kept-values.ts'
import type { SubjectKeys } from './subject-keys.ts'
import type { Answered } from './subjects.ts'

const AGAIN_MS = 30_000
const LISTED_MAX = 100
/** Actor that continues an erasure requested earlier. */
const ACTOR = 'countersign'
/** The reason used if the original record no longer exists. */
const AGAIN = { reason: 'carried out again: the list of erasures names these keys', basis: 'list of erasures' } as const

export interface RetentionFloors {
  readonly classes: () => readonly RetentionClass[]
  readonly list: Pick<RunList, 'catchUp' | 'row'>
}

export interface ErasuresDeps {
  readonly keys: SubjectKeys
  readonly facts: LedgerFacts
  readonly queries: Pick<Queries, 'read'>
  readonly store: Pick<EventStore, 'readStream'>
  readonly newId: () => string
  readonly log: Log
  readonly holds: Pick<HoldRecords, 'of'>
  /** Classes of retention, whose terms hold up erasures, and the runs that they are held against; absent if there are none. */
  readonly floors?: RetentionFloors | undefined
  /** If absent, no record of erasures is kept outside of store and keys. */
  readonly erasures?: ErasureList | undefined
  readonly nowMs: () => number
}

/** One request and its keys. */
interface Erasing {
  readonly tenant: string
  readonly request: string
  readonly ids: readonly string[]
}

/** A legal hold covers the keys; nothing was destroyed. */
class HeldError extends Error {
  override readonly name = 'HeldError'
  readonly refusal: Refusal

  constructor({ hold, placedBy }: Hold) {
    super(`the legal hold ${hold} covers these keys`)
    const detail = `the legal hold ${hold}, placed by ${placedBy}, covers this: nothing was erased; release the hold first`
    this.refusal = refusal('held', detail, { evidence: { hold } })
  }
}

function refusedAway({ message, retryAfterMs }: ArchiveMissingError): Refusal {
  return refusal('archive-missing', `${message}; nothing was erased`, { retryAfterMs })
}

export class Erasures implements AsyncDisposable {
  readonly #deps: ErasuresDeps
  readonly #subjects: SubjectStore
  /** One erasure at a time, so that each sees the states left by the previous one. */
  #turn: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ErasuresDeps) {
    this.#deps = deps
    this.#subjects = deps.keys.store
  }

  /** Continues erasures that an earlier process, or an open run, left unfinished; repeated later while any is waiting. */
  goOn(): Promise<void> {
    return this.#inTurn(() => this.#pass())
  }

  /** Carries out listed erasures whose keys exist again, as in an older copy of store and keys. They are recorded again, under the same request. */
  carryOut(listed: readonly ListedErasure[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const erasure of listed) await this.#again(erasure)
    })
  }

  async #again({ tenant, request, keyIds }: ListedErasure): Promise<void> {
    const rows = keyIds.flatMap((id) => this.#subjects.key(id) ?? [])
    const there = rows.filter((row) => row.wrapped !== null && row.tenant === tenant)
    const ids = there.map(({ id }) => id)
    if (ids.length === 0) return
    if (!there.every((row) => row.request === request)) {
      this.#subjects.close(ids)
      const data: EventBody<'ErasureRequested'> = { v: 1, request, keyIds: ids, ...AGAIN }
      await this.#deps.facts.record({
        ...{ tenant, type: 'ErasureRequested', data: data as unknown as Json },
        by: { actor: ACTOR },
      })
      this.#subjects.noteRequest(ids, request)
    }
    // It was decided before, by the process that listed it; a later hold covers what was there then.
    await this.#finish({ tenant, request, ids }, { isDecided: true })
  }

  async subject(caller: Caller, subject: string): Promise<SubjectAnswer> {
    const rows = this.#subjects.keysOf(caller.tenant, subject)
    const ids = rows.map(({ id }) => id)
    const keys = rows.map(({ id, state }) => ({ id, state: state === 'open' ? ('open' as const) : 'closing' }))
    const { store: events } = this.#deps
    const { tenant, pace } = caller
    return { keys, ...(await placesOf({ events, subjects: this.#subjects }, { tenant, ids, pace })) } as SubjectAnswer
  }

  erase(caller: Caller, subject: string, asked: EraseSubject): Promise<Answered<ErasureAnswer>> {
    return this.#inTurn(() =>
      this.#erase(caller, subject, asked).catch((error: unknown) => {
        if (error instanceof HeldError) return { ok: false, refusal: error.refusal }
        if (error instanceof DamagedStreamError)
          return { ok: false, refusal: refusal('stream-damaged', `${error.message}; nothing was erased`) }
        if (error instanceof ArchiveMissingError) return { ok: false, refusal: refusedAway(error) }
        throw error
      }),
    )
  }

  async #erase(caller: Caller, subject: string, asked: EraseSubject): Promise<Answered<ErasureAnswer>> {
    const rows = this.#subjects.keysOf(caller.tenant, subject)
    if (rows.length === 0) return { ok: true, value: { status: 'nothing', keyIds: [], openRuns: [] } }
    const ids = rows.map(({ id }) => id)
    await this.#refuseHeld(caller.tenant, ids)
    const kept = await this.#keptByClass(caller.tenant, ids)
    if (kept !== undefined) return { ok: false, refusal: kept }
    // From here on, other runs use a new key for the subject, so the runs that use these keys are known.
    this.#subjects.close(ids)
    const open = await this.#openRuns(caller.tenant, ids)
    if (!Array.isArray(open)) return { ok: false, refusal: open as Refusal }
    const request = await this.#requested(caller, { ids, rows, asked, open })
    const waits = open.length > 0 && asked.now !== true
    if (waits) {
      this.#later()
      return { ok: true, value: { status: 'waiting', request, keyIds: ids, openRuns: open } }
    }
    const counts = await this.#finish({ tenant: caller.tenant, request, ids }, { by: caller }).catch(
      (error: unknown) => {
        this.#later()
        throw error
      },
    )
    return { ok: true, value: { status: 'erased', request, keyIds: ids, counts, openRuns: open } }
  }

  /** The refusal if a class of retention still keeps a run in which the keys are used (LIFE-59). */
  async #keptByClass(tenant: string, ids: readonly string[]): Promise<Refusal | undefined> {
    const { floors, nowMs } = this.#deps
    const classes = floors?.classes() ?? []
    if (floors === undefined || classes.length === 0) return undefined
    await floors.list.catchUp()
    const at = { tenant, classes, nowMs: nowMs() }
    for (const run of new Set(ids.flatMap((id) => this.#subjects.runsOf(id)))) {
      const row = floors.list.row(tenant, run)
      const floor = row === undefined ? await this.#unlistedFloor(run, at) : retentionFloor(row, at)
      if (floor === undefined) continue
      const detail = `the class of retention ${floor.class} keeps the run ${run} until ${floor.until}: nothing was erased; ask again then, or change the class`
      return refusal('retention-floor', detail, { evidence: { run, ...floor } })
    }
    return undefined
  }

  /** A run whose beginning cannot be read is not listed, and may be of any class. Undefined also for a key whose first event was never written. */
  async #unlistedFloor(run: string, at: FloorAt): Promise<Floor | undefined> {
    const pages = this.#deps.store.readStream(runStream(at.tenant, run), { direction: 'backwards' })
    for await (const [last] of pages) {
      if (last === undefined) continue
      const read = readHeader(last.header)
      return longestFloor(read.ok ? read.header.time : '', at)
    }
    return undefined
  }

  /** Records the request once; repeating it with `now` is a different request. */
  async #requested(
    caller: Caller,
    of: {
      readonly ids: readonly string[]
      readonly rows: readonly SubjectKeyRow[]
      readonly asked: EraseSubject
      readonly open: readonly string[]
    },
  ): Promise<string> {
    const { ids, rows, asked, open } = of
    const now = asked.now === true && open.length > 0
    const before = rows[0]?.request
    if (before !== null && before !== undefined && !now && rows.every((row) => row.request === before)) return before
    const request = this.#deps.newId()
    const { reason, basis } = asked
    const data: EventBody<'ErasureRequested'> = {
      ...{ v: 1, request, keyIds: [...ids], reason, basis },
      ...(open.length > 0 && { waitsFor: open.slice(0, LISTED_MAX) }),
      ...(now && { now: true }),
    }
    const { tenant } = caller
    const isHeld = async (): Promise<boolean> => {
      await this.#refuseHeld(tenant, ids)
      return false
    }
    await this.#deps.facts.record(
      { tenant, type: 'ErasureRequested', data: data as unknown as Json, by: caller },
      isHeld,
    )
    this.#subjects.noteRequest(ids, request)
    return request
  }

  /** Continues from any step. Encrypted values are counted while the keys still show where they were used. */
  async #finish(
    { tenant, request, ids }: Erasing,
    { by, isDecided = false }: { readonly by?: Caller; readonly isDecided?: boolean } = {},
  ): Promise<ErasureAnswer['counts']> {
    const { store: events, facts, keys, erasures, nowMs } = this.#deps
    // What was decided before is carried out even while an archive is away; its values are not counted then.
    const { counts } = await placesOf({ events, subjects: this.#subjects }, { tenant, ids, mayLack: isDecided })
    // The last wait before keys are destroyed: no hold is placed between this and that.
    if (!isDecided) await this.#refuseHeld(tenant, ids)
    // Before anything is destroyed, so that the erasure also applies to an older copy of store and keys.
    erasures?.add({ at: new Date(nowMs()).toISOString(), tenant, request, keyIds: [...ids] })
    keys.destroy(ids)
    const copies = await this.#copies(tenant)
    const data: EventBody<'SubjectErased'> = { v: 1, request, keyIds: [...ids], counts, copies }
    await facts.record({
      tenant,
      type: 'SubjectErased',
      data: data as unknown as Json,
      by: by ?? { actor: ACTOR },
    })
    keys.noteErased(ids)
    return counts
  }

  async #pass(): Promise<void> {
    const byRequest = new Map<string, { tenant: string; request: string; ids: string[]; isDestroyed: boolean }>()
    for (const { id, tenant, request, state } of this.#subjects.inState('closing', 'erased')) {
      // The request was never confirmed to the caller, who has to repeat it.
      if (request === null) continue
      const known = byRequest.get(request) ?? { tenant, request, ids: [], isDestroyed: false }
      known.ids.push(id)
      known.isDestroyed ||= state === 'erased'
      byRequest.set(request, known)
    }
    let waiting = false
    for (const erasing of byRequest.values()) {
      const open = erasing.isDestroyed ? [] : await this.#openRuns(erasing.tenant, erasing.ids)
      const isReady = Array.isArray(open) && open.length === 0
      if (!isReady || !(await this.#finished(erasing, erasing.isDestroyed))) waiting = true
    }
    if (waiting) this.#later()
  }

  /** False if a legal hold covers the keys, if that cannot be told, or if an archive with values under them is away. */
  async #finished(erasing: Erasing, isDecided: boolean): Promise<boolean> {
    try {
      await this.#finish(erasing, { isDecided })
      return true
    } catch (error) {
      const waits = [HeldError, DamagedStreamError, ArchiveMissingError].some((kind) => error instanceof kind)
      if (!waits) throw error
      const { tenant, request } = erasing
      this.#deps.log.warn({ err: error, tenant, request }, 'an erasure that was requested waits')
      return false
    }
  }

  #later(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.goOn().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'an erasure that was requested cannot go on yet; it is tried again')
        this.#later()
      })
    }, AGAIN_MS).unref()
  }

  /** The open runs with values under these keys, which may still need them; or the reason why that cannot be determined. */
  async #openRuns(tenant: string, ids: readonly string[]): Promise<string[] | Refusal> {
    const open: string[] = []
    for (const run of new Set(ids.flatMap((id) => this.#subjects.runsOf(id)))) {
      const found = await this.#deps.queries.read({ tenant, actor: ACTOR }, run, (state) => state.status)
      if (found.ok && found.value === 'open') open.push(run)
      // Ignored: a key whose first event was never written, or a run that can no longer be resumed.
      if (!found.ok && found.refusal.code !== 'run-not-found' && found.refusal.code !== 'stream-damaged') {
        const detail = `whether the run ${run} is open cannot be told now (${found.refusal.detail})`
        return refusal(found.refusal.code, `${detail}: nothing was destroyed; ask again`)
      }
    }
    return open
  }

  async #copies(tenant: string): Promise<EventBody<'SubjectErased'>['copies']> {
    const last: EventBody<'SubjectErased'>['copies']['last'] = []
    let total = 0
    const stream = ledgerStream(tenant)
    for await (const page of this.#deps.store.readStream(stream, { direction: 'backwards' })) {
      for (const record of page) {
        if (!record.header.includes('"type":"ExportStarted"')) continue
        total += 1
        const read = readHeader(record.header)
        const data = parseJsonOrUndefined(record.data) as { exportId?: string } | undefined
        if (last.length >= LISTED_MAX || !read.ok || data?.exportId === undefined) continue
        last.push({ exportId: data.exportId, at: read.header.time, actor: read.header.actor })
      }
    }
    return { total, last }
  }

  /** Throws `HeldError` if a hold covers these keys: by their subject, by a run in which they are used, or by the tenant. */
  async #refuseHeld(tenant: string, ids: readonly string[]): Promise<void> {
    const holds = await this.#deps.holds.of(tenant)
    // Read after the wait, as a run may have begun to use a key meanwhile.
    const runs = new Set(ids.flatMap((id) => this.#subjects.runsOf(id)))
    const hold = holdOn(holds, { runs, keyIds: new Set(ids) })
    if (hold !== undefined) throw new HeldError(hold)
  }

  /** Runs `work` while no erasure is under way. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(work)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.catch(() => undefined).then(work)
    this.#turn = turn
    return turn
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#turn.catch(() => undefined)
  }
}

// Finds the encrypted values of a subject in the runs in which its keys were used.

const ITEMS_MAX = 1_000

interface PlacesDeps {
  readonly events: Pick<EventStore, 'readStream'>
  readonly subjects: Pick<SubjectStore, 'runsOf'>
}

interface PlacesAsked {
  readonly tenant: string
  readonly ids: readonly string[]
  readonly pace?: Pace | undefined
  /** Leave out what is in an archive that is away. */
  readonly mayLack?: boolean
}

/** A key whose event was never written has no places. Throws `ArchiveMissingError`, unless places may be left out. */
async function placesOf(
  { events, subjects }: PlacesDeps,
  { tenant, ids, pace, mayLack = false }: PlacesAsked,
): Promise<Pick<SubjectAnswer, 'counts' | 'items'>> {
  const counts = { runs: 0, events: 0, values: 0 }
  const items: SubjectAnswer['items'] = []
  const wanted = new Set(ids)
  const runs = new Set(ids.flatMap((id) => subjects.runsOf(id)))
  for (const run of runs) {
    const before = counts.events
    for await (const page of pacedPages(events.readStream(runStream(tenant, run)), pace)) {
      if (!mayLack) requireBodies(page)
      for (const record of page) {
        const found = record.data.includes('"$enc":') ? itemsOf(run, record, wanted) : []
        counts.events += found.length === 0 ? 0 : 1
        counts.values += found.reduce((sum, { values }) => sum + values, 0)
        if (items.length < ITEMS_MAX) items.push(...found)
      }
    }
    if (counts.events > before) counts.runs += 1
  }
  return { counts, items: items.slice(0, ITEMS_MAX) }
}

function itemsOf(
  run: string,
  record: { readonly header: string; readonly data: string },
  wanted: ReadonlySet<string>,
): SubjectAnswer['items'] {
  const [read, data] = [readHeader(record.header), parseJsonOrUndefined(record.data)]
  if (!read.ok || !isJsonObject(data)) return []
  const { revision, type } = read.header
  return (redactedOf(data)?.kept ?? []).flatMap(({ key, count, at }) =>
    wanted.has(key) ? [{ run, revision, type, key, values: count, places: at }] : [],
  )
}
