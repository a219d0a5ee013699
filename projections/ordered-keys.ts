/** @module Keys of lists whose order says something. Recorded runs are folded by it, so that it must not change. */

const ORDERS: ReadonlySet<string> = new Set(
  (
    'route chain sequence steps order ordering itinerary path ranking ranked stages phases stops waypoints range interval bounds window ' +
    'coordinates position dims dimensions procedure workflow pipeline priorities hierarchy escalation'
  ).split(' '),
)

/** `approval_chain`, `price_range`, `dims_cm`: one of the last two words of the key. */
export function namesOrder(words: readonly string[]): boolean {
  return words.slice(-2).some((word) => ORDERS.has(word))
}
