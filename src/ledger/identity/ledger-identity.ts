/** @module One ledger, one identity: the founding event, and the rotations behind it (STR-3). */
import type { EventBody } from '../../../schemas/events.ts'
import { EVENTS } from '../../../schemas/events.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import { checkRecord, type Expectation, firstExpectation, nextExpectation } from '../../signing/check.ts'
import { currentKey, ringIndex } from '../../signing/key-ring.ts'
import { ed25519PublicBytes, verifierKey } from '../../signing/ledger-keys.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Effects, KeySource, Log } from '../ports.ts'
import { appendFact } from './append-fact.ts'
import type { Sealer } from './sealer.ts'

/** Where nobody named the logs: the ledger's own id keeps two ledgers' logs apart. */
const DEFAULT_ORIGIN = 'countersign.local'
const APPEND_AGAIN_MAX = 8
const ROTATE_AGAIN_MS = 25

/** The keys do not belong to this store, or the store is not whole enough to say. The message says what to do. */
export class IdentityError extends Error {
  readonly code: 'foreign-keys' | 'foreign-verifier-key' | 'ledger-damaged' | 'no-ledger'

  constructor(code: IdentityError['code'], message: string) {
    super(message)
    this.name = 'IdentityError'
    this.code = code
  }
}

export interface LedgerIdentityDeps {
  readonly store: EventStore
  readonly keys: KeySource
  readonly sealer: Sealer
  readonly effects: Effects
  readonly log: Log
  readonly origin?: string | undefined
  /** The store is another's to write: nothing is founded, no rotation is put on record. */
  readonly readOnly?: boolean | undefined
}

interface SystemStream {
  readonly founding: EventBody<'LedgerCreated'>
  /** The last key the ledger said it seals with. */
  readonly kid: string
  readonly next: Expectation
}

/** The ledger's identity, made at the first start and checked at every later one. */
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
    deps.sealer.sealWith(known.kid)
    if (deps.readOnly !== true) await recordRotations(deps)
    return known.founding
  }
  throw new IdentityError(
    'ledger-damaged',
    `the founding event could not be written (${reason ?? 'no reason given'}); look at the store and start again`,
  )
}

/** Writes nothing. Throws `IdentityError` where the keys do not belong to the ledger in this store; an empty store has none. */
export async function refuseForeignKeys(deps: LedgerIdentityDeps): Promise<void> {
  const known = await readSystemStream(deps)
  if (known !== undefined) checkIdentity(deps, known)
}

function nothingHere(): IdentityError {
  return new IdentityError('no-ledger', 'there is no ledger in this store yet: name the store with --data or --store')
}

function ownVerifierKey(deps: LedgerIdentityDeps, origin: string): string {
  return verifierKey(origin, ed25519PublicBytes(deps.keys.current().checkpointKey))
}

/** What kept it from being written, as far as the store said. */
async function found(deps: LedgerIdentityDeps): Promise<string | undefined> {
  const { effects, keys } = deps
  const ledgerId = effects.newId()
  const origin = deps.origin ?? `${DEFAULT_ORIGIN}/${ledgerId}`
  const { kid } = currentKey(keys.current().ring)
  deps.sealer.sealWith(kid)
  const data = { v: 1, ledgerId, origin, kid, verifierKey: ownVerifierKey(deps, origin) }
  const at = firstExpectation(SYSTEM_STREAM)
  // Whether it was written is seen by reading on.
  const result = await appendFact(deps, { tenant: SYSTEM_TENANT, type: 'LedgerCreated', data, at })
  return 'detail' in result ? result.detail : undefined
}

async function readSystemStream(deps: LedgerIdentityDeps): Promise<SystemStream | undefined> {
  const { store, sealer } = deps
  let founding: EventBody<'LedgerCreated'> | undefined
  let kid = ''
  let expected = firstExpectation(SYSTEM_STREAM)
  for await (const page of store.readStream(SYSTEM_STREAM)) {
    for (const record of page) {
      const checked = checkRecord(record, expected, { ring: sealer.ring, runKeys: sealer.runKeys })
      if (!checked.ok) throw systemFault(record.revision, checked.faults)
      expected = nextExpectation(checked)
      const data: unknown = JSON.parse(record.data)
      if (checked.header.type === 'LedgerCreated') founding = EVENTS.LedgerCreated.schema.parse(data)
      if (checked.header.type === 'KeyRotated') kid = EVENTS.KeyRotated.schema.parse(data).kid
    }
  }
  return founding === undefined ? undefined : { founding, kid: kid === '' ? founding.kid : kid, next: expected }
}

function systemFault(revision: number, faults: readonly { code: string; message: string }[]): IdentityError {
  const keys = faults.some((fault) => fault.code === 'unknown-key' || fault.code === 'mac')
  const said = faults.map((fault) => fault.message).join('; ')
  if (keys && revision === 0) {
    return new IdentityError(
      'foreign-keys',
      `these keys did not found this ledger (${said}); use the key file that belongs to the store`,
    )
  }
  return new IdentityError(
    'ledger-damaged',
    `${SYSTEM_STREAM} @ ${revision} does not verify (${said}); run "countersign verify"`,
  )
}

function checkIdentity(deps: LedgerIdentityDeps, { founding, kid }: SystemStream): void {
  const own = ownVerifierKey(deps, founding.origin)
  if (own !== founding.verifierKey) {
    throw new IdentityError(
      'foreign-verifier-key',
      `the key file's checkpoint key is not this ledger's (${founding.verifierKey}); use the one that founded it`,
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
 * Puts each key that the ring has gained on record, sealed by the key before it; then the newest one seals. Throws where the store
 * does not take it: the old key goes on sealing.
 */
export async function recordRotations(deps: LedgerIdentityDeps): Promise<void> {
  const { sealer, log, effects } = deps
  let tries = 0
  for (let previousKid: string | undefined; ; ) {
    sealer.reload()
    const known = await readSystemStream(deps)
    if (known === undefined) return
    sealer.sealWith(known.kid)
    if (previousKid !== undefined && known.kid !== previousKid) {
      log.info({ kid: known.kid, previousKid }, 'key rotated')
      tries = 0
    }
    const next = sealer.ring.keys[ringIndex(sealer.ring, known.kid) + 1]
    if (next === undefined) return

    if (tries >= APPEND_AGAIN_MAX) throw new TypeError(`KeyRotated to ${next.kid} could not be written`)
    if (tries > 0) await effects.sleep(ROTATE_AGAIN_MS * 2 ** tries)
    tries += 1
    previousKid = known.kid
    const data = { v: 1, kid: next.kid, previousKid }
    await appendFact(deps, { tenant: SYSTEM_TENANT, type: 'KeyRotated', data, at: known.next })
  }
}
