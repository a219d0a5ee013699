/**
 * @module Detection of repeated event ids in bounded memory: for long histories, a Bloom filter names the few ids that may repeat, and a second pass decides.
 * An id is a UUID with 74 random bits, so its own digits serve as hashes.
 */
import { hexNumber, ID_BYTES, idAt } from './packed-text.ts'

const FILTER_BITS = 2 ** 27
/** Bits per id: of one million ids hardly any is checked a second time, of ten million one in 300. */
const PROBES = 5
const FEW_IDS = 4_096

export interface SeenIds {
  /** Marks an id; returns true if it may have been marked before. */
  readonly mayRepeat: (id: string) => boolean
  /** Marks `count` ids whose texts are contiguous; returns those that may have been marked before. */
  readonly repeatedIn: (ids: Uint8Array, count: number) => readonly string[]
}

/** Offsets of the last twelve digits, which are random: two numbers of 24 bits. */
const DIGITS = { first: 24, second: 30, end: 36 } as const

export function createSeenIds(filterBits: number = FILTER_BITS): SeenIds {
  // Most sources are short: for a few ids, a set takes less memory than the filter.
  const few = new Set<string>()
  let bits: Uint8Array | undefined
  const mark = (into: Uint8Array, first: number, second: number): boolean => {
    const step = 2 * second + 1
    let bit = (first * 8 + (second & 7)) % filterBits
    let repeated = true
    for (let probe = 0; probe < PROBES; probe += 1) {
      if (probe > 0) bit = (bit + step) % filterBits
      const at = bit >>> 3
      const mask = 1 << (bit & 7)
      const byte = into[at] ?? 0
      if ((byte & mask) === 0) repeated = false
      into[at] = byte | mask
    }
    return repeated
  }
  const markText = (into: Uint8Array, id: string): boolean => {
    const first = Number.parseInt(id.slice(DIGITS.first, DIGITS.second), 16)
    return mark(into, first, Number.parseInt(id.slice(DIGITS.second, DIGITS.end), 16))
  }
  const filled = (): Uint8Array => {
    const made = new Uint8Array(filterBits / 8)
    for (const each of few) markText(made, each)
    few.clear()
    return made
  }
  const mayRepeat = (id: string): boolean => {
    if (bits === undefined && few.size < FEW_IDS) {
      const repeated = few.has(id)
      few.add(id)
      return repeated
    }
    bits ??= filled()
    return markText(bits, id)
  }
  const mayRepeatAt = (ids: Uint8Array, at: number): boolean => {
    if (bits === undefined) return mayRepeat(idAt(ids, at))
    const second = at + DIGITS.second
    return mark(bits, hexNumber(ids, at + DIGITS.first, second), hexNumber(ids, second, at + DIGITS.end))
  }
  return {
    mayRepeat,
    repeatedIn: (ids, count) => {
      const repeated: string[] = []
      for (let at = 0; at < count * ID_BYTES; at += ID_BYTES) if (mayRepeatAt(ids, at)) repeated.push(idAt(ids, at))
      return repeated
    },
  }
}
