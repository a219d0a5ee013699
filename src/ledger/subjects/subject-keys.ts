/** @module The keys of subjects in use: made when something of a subject is first kept, read for who may read bodies, gone with an erasure. */
import { randomBytes } from 'node:crypto'
import { currentKey, type KeyRing } from '../../signing/key-ring.ts'
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
/** Keys that are held in memory, and pairs of key and run that are known to be noted. */
const KNOWN_MAX = 4_096

export interface SubjectKeysDeps {
  readonly store: SubjectStore
  readonly sealer: Pick<Sealer, 'ring' | 'reload'>
  readonly ledgerId: string
  readonly newId: () => string
}

export class SubjectKeys {
  readonly ledgerId: string
  readonly store: SubjectStore
  readonly #deps: SubjectKeysDeps
  readonly #known = new Map<string, SubjectKey>()
  readonly #noted = new Set<string>()

  constructor(deps: SubjectKeysDeps) {
    this.#deps = deps
    this.store = deps.store
    this.ledgerId = deps.ledgerId
  }

  /** The key for what is recorded of a subject in a run from now on; that it is used there is durable before anything is encrypted. */
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

  /** Undefined where it is destroyed, or not this ledger's. */
  byId(id: string): SubjectKey | undefined {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const row = this.#deps.store.key(id)
    return row === undefined ? undefined : this.#of(row)
  }

  /** In the file and in memory. */
  destroy(ids: readonly string[]): void {
    this.#deps.store.destroy(ids)
    for (const id of ids) this.#known.delete(id)
  }

  /** Under the ring's newest key, all that are not: then an older one opens none of them. */
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
    return this.#keep(subjectKey(id, secret))
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

function wrap(ringSecret: Uint8Array, id: string, secret: Uint8Array): string {
  return wrapSecret(ringSecret, id, { secret, nonce: randomBytes(NONCE_BYTES) })
}
