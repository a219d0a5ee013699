/** @module Keys of lists whose order is significant. Recorded runs are folded with it, so it must not change. */

const ORDERS: ReadonlySet<string> = new Set(
  (
    'route chain sequence steps order ordering itinerary path ranking ranked stages phases stops waypoints range interval bounds window ' +
    'coordinates position dims dimensions procedure workflow pipeline priorities hierarchy escalation'
  ).split(' '),
)

/** Whether one of the last two words of a key names an order: `approval_chain`, `price_range`, `dims_cm`. */
export function namesOrder(words: readonly string[]): boolean {
  return words.slice(-2).some((word) => ORDERS.has(word))
}
