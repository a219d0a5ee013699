/**
 * @module The keys that sign the logs of this ledger: all keys whose checkpoints are valid, oldest first, and the current signing key. A new key of
 * the key file signs once its succession is recorded (LOG-28); a successor recorded by another process is learned from its note.
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
  /** Public keys, oldest first: those of the key file, and further ones learned from the store. */
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

  /** Private key that signs at the moment. */
  get signer(): KeyObject {
    return this.#signer
  }

  /** Changes whenever the keys change. */
  get generation(): number {
    return this.#generation
  }

  /** Signed notes that lead from each key to its successor. */
  get successions(): readonly string[] {
    return this.#successions
  }

  /** Verifiers of the keys whose checkpoints of the log are valid, oldest first. */
  verifiers(name: string): readonly NoteVerifier[] {
    return this.#chain.map((key) => noteVerifier(name, key))
  }

  /** The verifier of the current signing key. */
  signing(name: string): NoteVerifier {
    return noteVerifier(name, this.#signer)
  }

  /** Loads new keys of the key file. The signing key stays the same until `signWith`. */
  reload(): void {
    const keys = this.#source.current()
    const chain = logKeyChain(keys)
    if (chain.length <= this.#chain.length || !begins(chain, this.#chain)) return
    this.#set(chain, keys.formerLogKeys.map(successionOf))
  }

  /** Adds the successor of the newest key from a recorded succession. A note that is not such a succession is ignored. */
  learn(note: string): void {
    const read = readSuccession(note)
    const newest = this.#chain.at(-1)
    if (read === undefined || newest?.equals(read.from.key) !== true) return
    this.#set([...this.#chain, read.to.key], [...this.#successions, note])
  }

  /** Makes this key the signing key; it is named as recorded under the origin of the ledger. Returns false if the key file does not hold it. */
  signWith(origin: string, verifierKey: string): boolean {
    const { checkpointKey } = this.#source.current()
    const signer = [this.#signer, checkpointKey].find((key) => noteVerifier(origin, key).text === verifierKey)
    if (signer === undefined) return false
    if (signer !== this.#signer) this.#generation += 1
    this.#signer = signer
    return true
  }

  /** Index of a recorded key among the keys of the key file, oldest first; -1 if the file does not hold it. */
  placeInFile(origin: string, verifierKey: string): number {
    return logKeyChain(this.#source.current()).findIndex((key) => noteVerifier(origin, key).text === verifierKey)
  }

  /** The next key after the recorded one according to the key file; undefined if the recorded key is the newest, or is not in the file. */
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
