/**
 * @module Event ids seen before, in memory that does not grow: a Bloom filter, of long histories, names
 * the few that may repeat, a second reading decides.
 * An id is a UUID of 74 random bits, so its own digits serve as hashes.
 */
const FILTER_BITS = 2 ** 27
/** Bits for each id: of one million ids hardly any is looked at a second time, of ten million one in 300. */
const PROBES = 5
const FEW_IDS = 4_096

export interface SeenIds {
  /** Marks an id; true where it may have been marked before. */
  readonly mayRepeat: (id: string) => boolean
}

/** The last twelve digits are random: two numbers of 24 bits. */
const DIGITS = { first: 24, second: 30, end: 36 } as const

export function createSeenIds(filterBits: number = FILTER_BITS): SeenIds {
  // Most of what is verified is short: as long as it is, the ids themselves take less than the filter.
  const few = new Set<string>()
  let bits: Uint8Array | undefined
  const mark = (into: Uint8Array, id: string): boolean => {
    const first = Number.parseInt(id.slice(DIGITS.first, DIGITS.second), 16)
    const second = Number.parseInt(id.slice(DIGITS.second, DIGITS.end), 16)
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
  return {
    mayRepeat: (id) => {
      if (bits === undefined && few.size < FEW_IDS) {
        const repeated = few.has(id)
        few.add(id)
        return repeated
      }
      if (bits === undefined) {
        bits = new Uint8Array(filterBits / 8)
        for (const each of few) mark(bits, each)
        few.clear()
      }
      return mark(bits, id)
    },
  }
}
