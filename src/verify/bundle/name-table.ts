/** @module What has to be remembered of many names between one event and the next, in a bounded number of bytes. */
import * as crypto from 'node:crypto'
import { sha256 } from './hashes.ts'

const SLOT_WORDS = 6
const FIRST_WORDS = 64 * SLOT_WORDS
const HASHES = 2 ** 32
/** So that nobody can choose names whose hashes lie close together. */
const SALT = crypto.randomBytes(16)

type Numbers = readonly [first: number, second: number]

type Hash = readonly [number, number, number, number]

/**
 * Two numbers by name: open addressing in one array, where 127 bits of a salted SHA-256 stand for the name. Names that do not fit wait: a pass over the
 * events holds those whose hash begins below a bound, which sinks as more come, and the next pass goes on from there.
 */
export class NameTable {
  #maxBytes: number
  #words = new Uint32Array(FIRST_WORDS)
  #used = 0
  #from = 0
  #to = HASHES

  /** It holds at most `maxBytes`, also while it grows, but never less than 4.5 KiB. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get heldBytes(): number {
    return this.#words.byteLength
  }

  /** Undefined for a name that was not set, was taken away, or waits for another pass. */
  get(name: string): Numbers | undefined {
    const at = slotOf(this.#words, hashOf(name))
    return isLive(this.#words, at) ? numbersAt(this.#words, at) : undefined
  }

  /** Two zeros take the name away. */
  set(name: string, first: number, second: number): void {
    const hash = hashOf(name)
    if (this.#used === roomIn(this.#words)) this.#makeRoom()
    if (!this.#isOfPass(hash)) return
    const at = slotOf(this.#words, hash)
    if (isFree(this.#words, at)) {
      if (first === 0 && second === 0) return
      this.#used += 1
    }
    this.#words.set([...hash, first, second], at)
  }

  /** The numbers of all names that this pass holds. */
  *entries(): Generator<Numbers, void> {
    for (const at of liveSlots(this.#words)) yield numbersAt(this.#words, at)
  }

  /** Whether no name has had to wait so far. */
  get isWhole(): boolean {
    return this.#from === 0 && this.#to === HASHES
  }

  /** Forgets all names; answers whether some have had to wait: the next pass holds those, and no other. */
  nextPass(): boolean {
    const isMore = this.#to < HASHES
    this.#from = this.#to
    this.#to = HASHES
    this.#words = new Uint32Array(FIRST_WORDS)
    this.#used = 0
    return isMore
  }

  #isOfPass([first]: readonly [first: number, ...rest: unknown[]]): boolean {
    return first >= this.#from && first < this.#to
  }

  /** Names that were taken away leave their slots; then there are twice the slots, or, where that is too much, some names have to wait. */
  #makeRoom(): void {
    const old = this.#words
    const doubled = 2 * old.length
    // Both are held for a moment.
    const isTooMuch = (old.length + doubled) * 4 > this.#maxBytes && old.length > FIRST_WORDS
    this.#words = new Uint32Array(isTooMuch ? old.length : doubled)
    const held = () => liveSlots(old).filter((at) => this.#isOfPass([old[at] as number]))
    let slots = held()
    while (slots.length > roomIn(this.#words) / 2) {
      this.#to = this.#from + Math.ceil((this.#to - this.#from) / 2)
      slots = held()
    }
    for (const from of slots) {
      const slot = old.subarray(from, from + SLOT_WORDS)
      this.#words.set(slot, slotOf(this.#words, slot as Iterable<number> as Hash))
    }
    this.#used = slots.length
  }
}

/** The last bit of a hash is set, so that no slot in use looks free. */
function hashOf(name: string): Hash {
  const hash = sha256(SALT, name)
  return [hash.readUInt32LE(0), hash.readUInt32LE(4), hash.readUInt32LE(8), (hash.readUInt32LE(12) | 1) >>> 0]
}

/** Where the slot of a hash begins, or the free one where it would stand. */
function slotOf(words: Uint32Array, [a, b, c, d]: Hash): number {
  let at = (b % (words.length / SLOT_WORDS)) * SLOT_WORDS
  const isIts = () => words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d
  while (!isFree(words, at) && !isIts()) at = (at + SLOT_WORDS) % words.length
  return at
}

function liveSlots(words: Uint32Array): number[] {
  const found: number[] = []
  for (let at = 0; at < words.length; at += SLOT_WORDS) if (isLive(words, at)) found.push(at)
  return found
}

const roomIn = (words: Uint32Array): number => Math.floor(((words.length / SLOT_WORDS) * 3) / 4)
const isFree = (words: Uint32Array, at: number): boolean => words[at + 3] === 0
const isLive = (words: Uint32Array, at: number): boolean => words[at + 4] !== 0 || words[at + 5] !== 0
const numbersAt = (words: Uint32Array, at: number): Numbers => [words[at + 4] as number, words[at + 5] as number]
