/**
 * @module The keys that sign this ledger's logs: all whose checkpoints count, oldest first, and the one that signs now. A new key of the
 * key file signs once its succession is on record (LOG-28); a successor that another process recorded is known by its note.
 */
import type { KeyObject } from 'node:crypto'
import { readSuccession } from '../../merkle/key-succession.ts'
import { type NoteVerifier, noteVerifier } from '../../merkle/note-key.ts'
import { type FormerLogKey, logKeyChain } from '../../signing/ledger-keys.ts'
import type { KeySource } from '../ports.ts'

/** The body of a rotation that is to be recorded. */
export interface NextLogKey {
  readonly previousKey: string
  readonly verifierKey: string
  readonly succession: string
}

export class LogKeys {
  readonly #source: KeySource
  /** Public halves, oldest first: those of the key file, and what was learned from the record beyond them. */
  #chain: readonly KeyObject[]
  #successions: readonly string[]
  #signer: KeyObject
  #generation = 0

  constructor(source: KeySource) {
    this.#source = source
    const keys = source.current()
    this.#chain = logKeyChain(keys)
    this.#successions = keys.formerLogKeys.map(successionOf)
    this.#signer = keys.checkpointKey
  }

  /** Private half of the key that signs now. */
  get signer(): KeyObject {
    return this.#signer
  }

  /** Another number whenever the keys are others. */
  get generation(): number {
    return this.#generation
  }

  /** Signed notes that lead from each key to the one after it. */
  get successions(): readonly string[] {
    return this.#successions
  }

  /** Whose checkpoints of the log count, oldest first. */
  verifiers(name: string): readonly NoteVerifier[] {
    return this.#chain.map((key) => noteVerifier(name, key))
  }

  /** The verifier of what is signed now. */
  signing(name: string): NoteVerifier {
    return noteVerifier(name, this.#signer)
  }

  /** Takes over what the key file has gained. What signs stays the same until `signWith`. */
  reload(): void {
    const keys = this.#source.current()
    const chain = logKeyChain(keys)
    if (chain.length <= this.#chain.length || !begins(chain, this.#chain)) return
    this.#set(chain, keys.formerLogKeys.map(successionOf))
  }

  /** Takes over the newest key's successor, by a succession on record. Anything that is none is passed over. */
  learn(note: string): void {
    const read = readSuccession(note)
    const newest = this.#chain.at(-1)
    if (read === undefined || newest?.equals(read.from.key) !== true) return
    this.#set([...this.#chain, read.to.key], [...this.#successions, note])
  }

  /** From now on this key signs, named as it stands on record under the ledger's origin. False where the key file does not hold it. */
  signWith(origin: string, verifierKey: string): boolean {
    const { checkpointKey } = this.#source.current()
    const signer = [this.#signer, checkpointKey].find((key) => noteVerifier(origin, key).text === verifierKey)
    if (signer === undefined) return false
    if (signer !== this.#signer) this.#generation += 1
    this.#signer = signer
    return true
  }

  /** Place of a key on record among those of the key file, oldest first; -1 where it holds no such key. */
  placeInFile(origin: string, verifierKey: string): number {
    return logKeyChain(this.#source.current()).findIndex((key) => noteVerifier(origin, key).text === verifierKey)
  }

  /** What the key file says of the key after the one on record; undefined where that one is the newest, or none of the file's. */
  nextAfter(origin: string, verifierKey: string): NextLogKey | undefined {
    const keys = this.#source.current()
    const at = this.placeInFile(origin, verifierKey)
    const next = at < 0 ? undefined : logKeyChain(keys)[at + 1]
    const succession = keys.formerLogKeys[at]?.succession
    if (next === undefined || succession === undefined) return undefined
    return { previousKey: verifierKey, verifierKey: noteVerifier(origin, next).text, succession }
  }

  #set(chain: readonly KeyObject[], successions: readonly string[]): void {
    this.#chain = chain
    this.#successions = successions
    this.#generation += 1
  }
}

const successionOf = ({ succession }: FormerLogKey): string => succession

function begins(chain: readonly KeyObject[], known: readonly KeyObject[]): boolean {
  return known.every((key, index) => chain[index]?.equals(key) === true)
}
