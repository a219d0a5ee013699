/** @module The identity of a ledger: its founding event, and the key rotations after it (STR-3). */
import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import { type Expectation, firstExpectation } from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { currentKey, ringIndex } from '../../signing/key-ring.ts'
import { type AppendResult, type EventStore, readOne, StoreUnavailableError } from '../../store/event-store.ts'
import type { Effects, KeySource, Log } from '../ports.ts'
import { type KnownEnd, refuseLostEnd } from '../read/lost-end.ts'
import { DamagedStreamError } from '../read/verified-events.ts'
import { appendFact, type Fact } from './append-fact.ts'
import type { LogKeys } from './log-keys.ts'
import { type FoldPlace, loadSealedFold, type SealedFolds, saveSealedFold } from './sealed-fold.ts'
import type { Sealer } from './sealer.ts'
import { systemEvents } from './system-events.ts'

/** Used if the origin of the logs was not configured; the id of the ledger keeps the logs of two ledgers apart. */
const DEFAULT_ORIGIN = 'countersign.local'
const APPEND_AGAIN_MAX = 8
const ROTATE_AGAIN_MS = 25
const RETRY_AFTER_MS = 1_000

/** The keys do not belong to this store, or the store is too damaged to tell. The message says what to do. */
export class IdentityError extends Error {
  readonly code: 'foreign-keys' | 'foreign-verifier-key' | 'ledger-damaged' | 'no-ledger'

  constructor(code: IdentityError['code'], message: string) {
    super(message)
    this.name = 'IdentityError'
    this.code = code
  }
}

export interface LedgerIdentityDeps extends Pick<SnapshotDeps, 'views'> {
  readonly store: EventStore
  readonly keys: KeySource
  readonly sealer: Sealer
  readonly logKeys: LogKeys
  readonly effects: Effects
  readonly log: Log
  readonly origin?: string | undefined
  /** The store belongs to another writer: no ledger is founded and no rotation is recorded. */
  readonly readOnly?: boolean | undefined
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
  /** `acknowledges`: losses are acknowledged first, and a rotation is recorded by the next start. */
  readonly logs?: { readonly acknowledges?: boolean | undefined } | undefined
}

/**
 * The identity of the ledger, created at the first start and checked at every later one. Throws `StoreUnavailableError` if the store accepts no event
 * at the moment.
 */
export async function openLedgerIdentity(deps: LedgerIdentityDeps): Promise<EventBody<'LedgerCreated'>> {
  let reason: string | undefined
  for (let tries = 0; tries < APPEND_AGAIN_MAX; tries += 1) {
    const known = await readSystemStream(deps)
    if (known === undefined && deps.readOnly === true) throw nothingHere()
    if (known === undefined) {
      reason = await found(deps)
      continue
    }
    checkIdentity(deps, known)
    useAnnounced(deps, known)
    if (deps.readOnly !== true && deps.logs?.acknowledges !== true) await recordRotations(deps)
    return known.founding
  }
  if (reason !== undefined) throw notTaken('LedgerCreated', reason)
  throw new IdentityError(
    'ledger-damaged',
    'the founding event can be neither written nor read; look at the store and start again',
  )
}

/** A failure that may resolve with time, such as a lock on the tables that another process holds. */
function notTaken(type: string, reason: string): StoreUnavailableError {
  return new StoreUnavailableError(`${type} could not be written: ${reason}`, RETRY_AFTER_MS)
}

/** Writes nothing. Throws `IdentityError` if the keys do not belong to the ledger in this store; an empty store has no ledger. */
export async function refuseForeignKeys(deps: LedgerIdentityDeps): Promise<void> {
  const known = await readSystemStream(deps)
  if (known !== undefined) checkIdentity(deps, known)
}

function nothingHere(): IdentityError {
  return new IdentityError('no-ledger', 'there is no ledger in this store yet: name the store with --data or --store')
}

/** Writes the founding event. Resolves to the reason why it was not written, if the store reported one. */
async function found(deps: LedgerIdentityDeps): Promise<string | undefined> {
  const { effects, keys } = deps
  const ledgerId = effects.newId()
  const origin = deps.origin ?? `${DEFAULT_ORIGIN}/${ledgerId}`
  const { kid } = currentKey(keys.current().ring)
  deps.sealer.sealWith(kid)
  // The oldest key: if it was rotated before the ledger was founded, its successors are recorded next.
  const data = { v: 1, ledgerId, origin, kid, verifierKey: deps.logKeys.verifiers(origin)[0]?.text ?? '' }
  const at = firstExpectation(SYSTEM_STREAM)
  // Whether it was written is determined by reading the stream again.
  return reasonOf(await appendedNext(deps, { tenant: SYSTEM_TENANT, type: 'LedgerCreated', data, at }))
}

/** Throws `IdentityError` where the fact would take the place of a lost one (LOG-70). */
async function appendedNext(deps: LedgerIdentityDeps, fact: Fact): Promise<AppendResult> {
  try {
    await refuseLostEnd(deps, fact.at.stream, fact.at.revision - 1)
  } catch (error) {
    throw error instanceof DamagedStreamError ? new IdentityError('ledger-damaged', error.message) : error
  }
  return appendFact(deps, fact)
}

function reasonOf(result: AppendResult): string | undefined {
  return 'detail' in result ? result.detail : undefined
}

/** Number of events of the ledger's own stream after which a start saves a snapshot of it. */
const SNAPSHOT_EVERY_EVENTS = 32

/** Reads the stream from its snapshot on, and verifies each event. */
async function readSystemStream(deps: LedgerIdentityDeps): Promise<SystemStream | undefined> {
  const { readOnly } = deps
  const snapshot = await loadSnapshot(deps)
  let founding = snapshot?.founding
  let [kid, logKey, read] = [snapshot?.kid ?? '', snapshot?.logKey ?? '', 0]
  let expected = snapshot?.next ?? firstExpectation(SYSTEM_STREAM)
  for await (const { record, checked, next } of systemEvents(deps, expected, systemFault)) {
    expected = next
    read += 1
    const data: unknown = parseJson(record.data)
    if (checked.header.type === 'LedgerCreated') founding = EVENTS.LedgerCreated.schema.parse(data)
    if (checked.header.type === 'KeyRotated') kid = EVENTS.KeyRotated.schema.parse(data).kid
    if (checked.header.type === 'LogKeyRotated') logKey = EVENTS.LogKeyRotated.schema.parse(data).verifierKey
  }
  if (founding === undefined) return undefined
  const known = { founding, kid: kid || founding.kid, logKey: logKey || founding.verifierKey, next: expected }
  if (read >= SNAPSHOT_EVERY_EVENTS && readOnly !== true && deps.logs?.acknowledges !== true) saveSnapshot(deps, known)
  return known
}

function useAnnounced({ sealer, logKeys }: LedgerIdentityDeps, { founding, kid, logKey }: SystemStream): void {
  sealer.sealWith(kid)
  logKeys.signWith(founding.origin, logKey)
}

function systemFault(revision: number, faults: readonly { code: string; message: string }[]): IdentityError {
  const keys = faults.some((fault) => fault.code === 'unknown-key' || fault.code === 'mac')
  const messages = faults.map((fault) => fault.message).join('; ')
  if (keys && revision === 0) {
    return new IdentityError(
      'foreign-keys',
      `these keys did not found this ledger (${messages}); use the key file that belongs to the store`,
    )
  }
  return new IdentityError(
    'ledger-damaged',
    `${SYSTEM_STREAM} @ ${revision} does not verify (${messages}); run "countersign verify"`,
  )
}

function checkIdentity(deps: LedgerIdentityDeps, { founding, kid, logKey }: SystemStream): void {
  const { origin, verifierKey } = founding
  if (deps.logKeys.placeInFile(origin, verifierKey) !== 0) {
    throw new IdentityError(
      'foreign-verifier-key',
      `the key file's checkpoint key is not this ledger's (${verifierKey}); use the one that founded it`,
    )
  }
  if (deps.logKeys.placeInFile(origin, logKey) < 0) {
    throw new IdentityError(
      'foreign-verifier-key',
      `the key file is older than the rotation of the log's key: it lacks ${logKey}; use the newest key file of this ledger`,
    )
  }
  if (ringIndex(deps.sealer.ring, kid) < 0) {
    throw new IdentityError(
      'foreign-keys',
      `the key ring lacks ${kid}, which this ledger seals with; use its newest key file`,
    )
  }
}

/**
 * Records each new key of the ring, sealed with the key before it, and each new key of the logs, signed by the key before it; then the newest keys
 * are used. Throws if the store does not accept an event; the old keys stay in use then.
 */
export async function recordRotations(deps: LedgerIdentityDeps): Promise<void> {
  const { sealer, logKeys, log, effects } = deps
  let tries = 0
  let reason: string | undefined
  for (let pending: Rotation | undefined; ; ) {
    sealer.reload()
    logKeys.reload()
    const known = await readSystemStream(deps)
    if (known === undefined) return
    useAnnounced(deps, known)
    if (pending?.isOnRecord(known) === true) {
      log.info(pending.logged, pending.message)
      tries = 0
    }
    pending = nextRotation(deps, known)
    if (pending === undefined) return

    if (tries >= APPEND_AGAIN_MAX) throw notTaken(pending.type, reason ?? 'other writers were faster each time')
    if (tries > 0) await effects.sleep(ROTATE_AGAIN_MS * 2 ** tries)
    tries += 1
    const { type, data } = pending
    reason = reasonOf(await appendedNext(deps, { tenant: SYSTEM_TENANT, type, data, at: known.next }))
  }
}

interface Rotation {
  readonly type: 'KeyRotated' | 'LogKeyRotated'
  readonly data: JsonObject
  readonly isOnRecord: (known: SystemStream) => boolean
  readonly logged: object
  readonly message: string
}

/** The next key of the key file that is not recorded yet. */
function nextRotation({ sealer, logKeys }: LedgerIdentityDeps, known: SystemStream): Rotation | undefined {
  const { kid: previousKid, founding, logKey } = known
  const next = sealer.ring.keys[ringIndex(sealer.ring, previousKid) + 1]
  if (next !== undefined) {
    const { kid } = next
    const isOnRecord = (then: SystemStream): boolean => then.kid !== previousKid
    const data = { v: 1, kid, previousKid }
    return { type: 'KeyRotated', data, isOnRecord, logged: { kid, previousKid }, message: 'key rotated' }
  }
  const following = logKeys.nextAfter(founding.origin, logKey)
  if (following === undefined) return undefined
  const { verifierKey, previousKey } = following
  const isOnRecord = (then: SystemStream): boolean => then.logKey !== logKey
  const logged = { verifierKey, previousKey }
  return { type: 'LogKeyRotated', data: { v: 1, ...following }, isOnRecord, logged, message: 'key of the log rotated' }
}

// A snapshot of the ledger's own stream, kept in the views under a MAC of the key ring, so that a start reads only later events. If it is
// lost, the whole stream is read once.

interface SystemStream {
  readonly founding: EventBody<'LedgerCreated'>
  /** The last key that the ledger announced for its seals. */
  readonly kid: string
  /** Verifier key, under the origin, of the last key that the ledger announced for its logs. */
  readonly logKey: string
  readonly next: Expectation
}

interface SnapshotDeps extends SealedFolds {
  readonly store: EventStore
}

const PLACE: FoldPlace = {
  tenant: SYSTEM_TENANT,
  stream: SYSTEM_STREAM,
  projection: 'system/1',
  prefix: 'countersign/system-snapshot/v1\n',
}

/** Undefined if there is none that is intact, belongs to this ledger, and matches the current store. */
async function loadSnapshot(deps: SnapshotDeps): Promise<SystemStream | undefined> {
  const known = loadSealedFold(deps, PLACE, ({ text }) => parseJson<SystemStream>(text))
  if (known === undefined) return undefined
  // A store that was restored from a copy, or a different one, has another event there, or none.
  const head = await readOne(deps.store, { stream: SYSTEM_STREAM, revision: known.next.revision - 1 })
  return head !== undefined && recordDigest(head.header) === known.next.prevDigest ? known : undefined
}

/** If the views cannot save it, only the next start takes longer. */
function saveSnapshot(deps: SnapshotDeps, known: SystemStream): void {
  saveSealedFold(deps, PLACE, { revision: known.next.revision - 1, text: JSON.stringify(known) })
}
