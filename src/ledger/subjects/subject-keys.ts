/** @module The keys of data subjects: created when a value of a subject is first kept, used for callers that may read bodies, destroyed by an erasure. */
import { createHmac, randomBytes } from 'node:crypto'
import { SYSTEM_TENANT } from '../../../schemas/names.ts'
import { currentKey, deriveRunKey, type KeyRing } from '../../signing/key-ring.ts'
import {
  SUBJECT_SECRET_BYTES,
  type SubjectKey,
  subjectKey,
  unwrapSecret,
  wrapSecret,
} from '../../signing/subject-key.ts'
import type { SubjectKeyRow, SubjectStore } from '../../store/subject-store.ts'
import type { Sealer } from '../identity/sealer.ts'

const NONCE_BYTES = 12
/** No stream of a run has this name. */
const PROOF = 'subjects/erased'
/** Maximum number of keys held in memory, and of pairs of key and run known to be noted. */
const KNOWN_MAX = 4_096

export interface SubjectKeysDeps {
  readonly store: SubjectStore
  readonly sealer: Pick<Sealer, 'ring' | 'reload'>
  readonly ledgerId: string
  readonly newId: () => string
  /** Called from time to time with the number of keys in the file, by which a lost file or an older copy is recognized. */
  readonly noteKeys?: ((file: { readonly id: string; readonly keys: number }) => void) | undefined
}

/** The fate of a key that does not exist: its erasure is recorded, or it is missing without a record. */
export type KeyFate = 'erased' | 'missing'

export class SubjectKeys {
  readonly ledgerId: string
  readonly store: SubjectStore
  readonly #deps: SubjectKeysDeps
  readonly #known = new Map<string, SubjectKey>()
  readonly #noted = new Set<string>()
  /** Keys destroyed by this process on a recorded request. */
  readonly #destroyed = new Set<string>()

  constructor(deps: SubjectKeysDeps) {
    this.#deps = deps
    this.store = deps.store
    this.ledgerId = deps.ledgerId
  }

  /** The key for values of a subject recorded in a run from now on. Its use in the run is durable before anything is encrypted. */
  inUse(tenant: string, subject: string, run: string): SubjectKey {
    const { store } = this.#deps
    const row = store.usedIn(tenant, subject, run) ?? store.inUse(tenant, subject)
    const key = row === undefined ? this.#made(tenant, subject) : this.#of(row)
    if (key === undefined) throw new TypeError('a key of subjects.db cannot be unwrapped with this key ring')
    const use = `${key.id}\n${run}`
    if (!this.#noted.has(use)) {
      store.noteRun(key.id, run)
      if (this.#noted.size >= KNOWN_MAX) this.#noted.clear()
      this.#noted.add(use)
    }
    return key
  }

  /** Undefined if the key is destroyed, or belongs to another ledger. */
  byId(id: string): SubjectKey | undefined {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const row = this.#deps.store.key(id)
    return row === undefined ? undefined : this.#of(row)
  }

  /** Destroys keys in the file and in memory. */
  destroy(ids: readonly string[]): void {
    this.#deps.store.destroy(ids)
    for (const id of ids) {
      this.#known.delete(id)
      this.#destroyed.add(id)
    }
  }

  /** Called once `SubjectErased` is recorded: from then on readers see `[erased]`, regardless of the key file. */
  noteErased(ids: readonly string[]): void {
    this.#deps.store.noteDone(ids.map((id) => ({ id, proof: this.#proofOf(id) })))
  }

  /** A row of the file alone proves nothing, because anybody who can write the file could have emptied it. */
  fateOf(id: string): KeyFate {
    const isErased = this.#destroyed.has(id) || this.#deps.store.proofOf(id) === this.#proofOf(id)
    return isErased ? 'erased' : 'missing'
  }

  #proofOf(id: string): string {
    const [oldest] = this.#deps.sealer.ring.keys
    if (oldest === undefined) throw new TypeError('the key ring is empty')
    return createHmac('sha256', deriveRunKey(oldest.secret, SYSTEM_TENANT, PROOF))
      .update(id)
      .digest('base64url')
  }

  /** Number of keys in the file that belong to another ledger: the key ring cannot open them. */
  foreign(): number {
    const rows = this.#deps.store.inState('open', 'closing').filter(({ wrapped }) => wrapped !== null)
    return rows.filter((row) => plainSecret(this.#deps.sealer.ring, row) === undefined).length
  }

  /** Wraps all keys under the newest key of the ring, so that an older one no longer opens any of them. */
  rewrap(): void {
    const { store, sealer } = this.#deps
    const { kid, secret } = currentKey(sealer.ring)
    const rows = store.inState('open', 'closing').filter((row) => row.kid !== kid)
    const wrapped = rows.flatMap((row) => {
      const plain = plainSecret(sealer.ring, row)
      return plain === undefined ? [] : [{ id: row.id, kid, wrapped: wrap(secret, row.id, plain) }]
    })
    if (wrapped.length > 0) store.rewrap(wrapped)
  }

  #made(tenant: string, subject: string): SubjectKey {
    const { store, sealer, newId } = this.#deps
    const [id, secret] = [newId(), randomBytes(SUBJECT_SECRET_BYTES)]
    const { kid, secret: ringSecret } = currentKey(sealer.ring)
    store.add({ id, tenant, subject, kid, wrapped: wrap(ringSecret, id, secret) })
    this.noteKeys(isPowerOfTwo)
    return this.#keep(subjectKey(id, secret))
  }

  noteKeys(when: (keys: number) => boolean): void {
    const { store, noteKeys } = this.#deps
    const file = noteKeys && store.identity()
    if (file !== undefined && when(file.keys)) noteKeys?.(file)
  }

  #of(row: SubjectKeyRow): SubjectKey | undefined {
    const known = this.#known.get(row.id)
    if (known !== undefined) return known
    const { sealer } = this.#deps
    if (!sealer.ring.keys.some(({ kid }) => kid === row.kid)) sealer.reload()
    const secret = plainSecret(sealer.ring, row)
    return secret === undefined ? undefined : this.#keep(subjectKey(row.id, secret))
  }

  #keep(key: SubjectKey): SubjectKey {
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(key.id, key)
    return key
  }
}

function plainSecret(ring: KeyRing, { id, kid, wrapped }: SubjectKeyRow): Uint8Array | undefined {
  const by = ring.keys.find((each) => each.kid === kid)
  return by === undefined || wrapped === null ? undefined : unwrapSecret(by.secret, id, wrapped)
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0

function wrap(ringSecret: Uint8Array, id: string, secret: Uint8Array): string {
  return wrapSecret(ringSecret, id, { secret, nonce: randomBytes(NONCE_BYTES) })
}
