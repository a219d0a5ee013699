/** @module The operations of a ledger on data subjects; without a store for their keys, each one is refused. */
import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import type { EventBody } from '../../../schemas/events.ts'
import { parseJson } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { isHeldPlace } from '../../signing/held-place.ts'
import { type EventStore, type ReadRecord, readOne } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import type { KnownHead } from '../log/tenant-logs.ts'
import type { Effects } from '../ports.ts'
import { expectedAlone } from '../read/record-seal.ts'
import { checkInStream } from '../read/verified-events.ts'
import type { Archives } from './archive-records.ts'
import { openArchives } from './archives.ts'
import type { ErasureList, NotedKeyFile } from './erasure-list.ts'
import { Erasures, type ErasuresDeps, type RetentionFloors } from './erasures.ts'
import { HoldRecords } from './hold-records.ts'
import { openHolds } from './holds.ts'
import type { SubjectKeys } from './subject-keys.ts'
import type { Answered, Holds, Subjects } from './subjects.ts'

export interface OpenSubjects extends AsyncDisposable {
  readonly operations: { readonly subjects: Subjects; readonly holds: Holds; readonly archives: Archives }
}

interface SubjectsDeps extends Omit<ErasuresDeps, 'holds' | 'keys' | 'newId' | 'nowMs' | 'store' | 'floors'> {
  readonly retention?: RetentionFloors['classes'] | undefined
  readonly list: RetentionFloors['list']
  readonly subjects: SubjectKeys | undefined
  readonly subjectRuns?: ((keyId: string) => readonly string[]) | undefined
  readonly store: EventStore
  readonly effects: Pick<Effects, 'newId' | 'nowMs'>
  /** What the logs have seen of a stream. */
  readonly knownHead: ((stream: string) => Pick<KnownHead, 'events'> | undefined) | undefined
  readonly acknowledged: ((tenant: string) => Promise<ReadonlyMap<string, LostEvent>>) | undefined
  readonly sealer: Sealer
  readonly readOnly?: boolean | undefined
}

/** Store and keys are an older copy, and later erasures are unknown; `message` says what to do. */
export class ErasuresUnknownError extends Error {
  override readonly name = 'ErasuresUnknownError'
  readonly code = 'erasures-unknown'
}

/** Erasures that are recorded but not carried out here are carried out first, so that a restored copy of the keys makes nothing readable again. */
export async function openSubjects({
  subjects: keys,
  sealer,
  readOnly,
  knownHead,
  acknowledged,
  ...deps
}: SubjectsDeps): Promise<OpenSubjects> {
  const folding = { store: deps.store, sealer, knownHead, acknowledged }
  const records = new HoldRecords(folding)
  const archiving = { store: deps.store, facts: deps.facts, holds: records, folding }
  const holding = { records, ...deps, newId: deps.effects.newId }
  if (keys === undefined) {
    const alone = oneAtATime()
    const holds = openHolds({ ...holding, alone, keysOf: undefined })
    const archives = openArchives({ ...archiving, alone, runsOf: deps.subjectRuns })
    return { operations: { subjects: NO_SUBJECTS, holds, archives }, [Symbol.asyncDispose]: async () => undefined }
  }
  const { retention: classes } = deps
  const floors = classes && { classes, list: deps.list }
  const erasing = new Erasures({ ...deps, holds: records, keys, floors, ...deps.effects })
  const { erasures: list, store, log } = deps
  if (readOnly !== true) {
    await refuseUnknown({ keys, store, list, knownHead, acknowledged })
    const fault = keyFileFault(list?.listed.keyFiles ?? [], keys.store.identity(), keys.foreign())
    if (fault !== undefined) log.error({ code: 'subject-keys', ...fault.evidence }, fault.message)
    keys.rewrap()
    await replayErasures({ keys, sealer, store, list })
    await erasing.carryOut(list?.listed.erasures ?? [])
    await erasing.goOn()
    const noted = list?.listed.keyFiles.at(-1)?.keys ?? 0
    keys.noteKeys((made) => made > noted)
  }
  const within = async <T>(caller: Caller, work: () => Promise<Answered<T>>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    return outside === undefined ? work() : { ok: false, refusal: outside }
  }
  const subjects: Subjects = {
    places: (caller, subject) =>
      within(caller, async () => ({ ok: true, value: await erasing.subject(caller, subject) })),
    erase: (caller, subject, asked) => within(caller, () => erasing.erase(caller, subject, asked)),
  }
  const holds = openHolds({
    ...holding,
    alone: (work) => erasing.alone(work),
    keysOf: (tenant, subject) => keys.store.keysOf(tenant, subject).map(({ id }) => id),
  })
  const archives = openArchives({
    ...archiving,
    alone: (work) => erasing.alone(work),
    runsOf: (id) => keys.store.runsOf(id),
  })
  return {
    operations: { subjects, holds, archives },
    [Symbol.asyncDispose]: () => erasing[Symbol.asyncDispose](),
  }
}

/** Runs each piece of work after the one before it has ended, however that ended. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let turn: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = turn.then(work, work)
    turn = next.catch(() => undefined)
    return next
  }
}

interface Known extends Pick<SubjectsDeps, 'store' | 'knownHead' | 'acknowledged'> {
  readonly keys: SubjectKeys
  readonly list: ErasureList | undefined
}

/**
 * Throws `ErasuresUnknownError` if the logs have seen later events of a tenant's ledger stream than the store holds, also if that loss was acknowledged and
 * no start has gone on behind it since, keys of the tenant exist, and no list was supplied.
 */
async function refuseUnknown(known: Known): Promise<void> {
  const { keys, store, list, knownHead } = known
  if (list === undefined || list.isGiven || knownHead === undefined) return
  for (const tenant of new Set(keys.store.inState('open', 'closing').map((row) => row.tenant))) {
    const stream = ledgerStream(tenant)
    const { events = 0 } = knownHead(stream) ?? {}
    const head = await store.head(stream)
    if (events > head + 1)
      throw erasuresUnknown(`events of ${stream} behind @ ${head} that its log has seen up to @ ${events - 1}`)
    const held = await heldBehind(known, tenant)
    if (held !== undefined) throw erasuresUnknown(`${stream} @ ${held}, which is acknowledged as lost`)
  }
}

function erasuresUnknown(lost: string): ErasuresUnknownError {
  return new ErasuresUnknownError(
    `the store lacks ${lost}: erasures may be among them, and keys of subjects are there. Start once with --erasures and the newest copy of the list of erasures (store.db.erasures) that you keep on another machine; an empty file says that nothing was erased since`,
  )
}

/** The first revision of the tenant's ledger stream that is held for a lost event, among those that the file of keys has not seen. */
async function heldBehind({ keys, store, acknowledged }: Known, tenant: string): Promise<number | undefined> {
  const stream = ledgerStream(tenant)
  const seen = keys.store.seen(tenant)
  for (const lost of ((await acknowledged?.(tenant)) ?? new Map<string, LostEvent>()).values()) {
    if (lost.stream !== stream || lost.revision <= seen) continue
    const record = await readOne(store, lost)
    if (record !== undefined && isHeldPlace(record)) return lost.revision
  }
  return undefined
}

/** The reason why the key file is not, or not completely, the one that this ledger has used; undefined if it is. */
export function keyFileFault(
  noted: readonly NotedKeyFile[],
  file: NotedKeyFile | undefined,
  foreign: number,
): { readonly message: string; readonly evidence: { readonly [name: string]: number | string } } | undefined {
  const told = 'values under the keys that are not there read [key missing], and none of them counts as erased'
  const advice = `${told}: put back the newest copy of subjects.db, then run "countersign verify"`
  if (foreign > 0)
    return {
      message: `keys in subjects.db cannot be opened with this key ring, as it is of another ledger: ${advice}`,
      evidence: { foreign },
    }
  const lost = noted.find(({ id }) => id !== file?.id)
  if (lost !== undefined)
    return {
      message: `subjects.db is ${file === undefined ? 'missing' : 'not the one that was here before'}: ${advice}`,
      evidence: { file: lost.id, keys: lost.keys },
    }
  const most = Math.max(0, ...noted.map(({ keys }) => keys))
  if (most <= (file?.keys ?? 0)) return undefined
  return { message: `subjects.db is an older copy: ${advice}`, evidence: { keys: file?.keys ?? 0, known: most } }
}

const none = async (): Promise<{ ok: false; refusal: Refusal }> => ({
  ok: false,
  refusal: refusal(
    'keep-unavailable',
    'this ledger has no place for the keys of subjects, and so keeps nothing of one encrypted: use a store in a file (SQLite)',
  ),
})

const NO_SUBJECTS: Subjects = { places: none, erase: none }

// Carries out recorded erasures on keys that exist again, as after a copy of `subjects.db` was restored (LIFE-9).

interface ReplayDeps {
  readonly keys: SubjectKeys
  readonly sealer: Sealer
  readonly store: Pick<EventStore, 'readStream'>
  readonly list: ErasureList | undefined
}

/**
 * Reads the events that the key file has not seen yet. Throws `DamagedStreamError` if an erasure among them is not as it was sealed; the ledger does
 * not start then.
 */
async function replayErasures(deps: ReplayDeps): Promise<void> {
  const { keys, store, list } = deps
  const subjects = keys.store
  const named = [...subjects.inState('open', 'closing', 'erased', 'done'), ...(list?.listed.erasures ?? [])]
  for (const tenant of new Set(named.map((each) => each.tenant))) {
    const before = subjects.seen(tenant)
    let last = before
    for await (const page of store.readStream(ledgerStream(tenant), { from: before + 1 })) {
      for (const record of page) {
        last = record.revision
        if (/"type":"(?:SubjectErased|ErasureRequested)"/.test(record.header)) carryOut(deps, tenant, record)
      }
    }
    if (last > before) subjects.noteSeen(tenant, last)
  }
}

function carryOut({ keys, sealer, list }: ReplayDeps, tenant: string, record: ReadRecord): void {
  const subjects = keys.store
  const { type, time } = checkInStream(sealer, record, expectedAlone(record)).header
  const { keyIds, request } = parseJson<EventBody<'ErasureRequested' | 'SubjectErased'>>(record.data)
  const ids = keyIds.filter((id) => typeof subjects.key(id)?.wrapped === 'string')
  if (ids.length > 0) {
    subjects.close(ids)
    subjects.noteRequest(ids, request)
  }
  if (type !== 'SubjectErased') return
  list?.add({ at: time, tenant, request, keyIds: [...keyIds] })
  if (ids.length > 0) keys.destroy(ids)
  keys.noteErased(keyIds)
}
