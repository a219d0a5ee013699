/**
 * @module Event ids seen before, in memory that does not grow: a Bloom filter names the few that may repeat, a second reading decides.
 * An id is a UUID of 74 random bits, so its own digits serve as hashes.
 */
const FILTER_BITS = 2 ** 27
/** Bits for each id: of one million ids hardly any is looked at a second time, of ten million one in 300. */
const PROBES = 5

export interface SeenIds {
  /** Marks an id; true where it may have been marked before. */
  readonly mayRepeat: (id: string) => boolean
}

/** The last twelve digits are random: two numbers of 24 bits. */
const DIGITS = { first: 24, second: 30, end: 36 } as const

export function createSeenIds(filterBits: number = FILTER_BITS): SeenIds {
  const bits = new Uint8Array(filterBits / 8)
  return {
    mayRepeat: (id) => {
      const first = Number.parseInt(id.slice(DIGITS.first, DIGITS.second), 16)
      const second = Number.parseInt(id.slice(DIGITS.second, DIGITS.end), 16)
      const start = first * 8 + (second % 8)
      let repeated = true
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = (start + probe * (2 * second + 1)) % filterBits
        const at = Math.floor(bit / 8)
        const mask = 1 << (bit % 8)
        const byte = bits[at] ?? 0
        if ((byte & mask) === 0) repeated = false
        bits[at] = byte | mask
      }
      return repeated
    },
  }
}
