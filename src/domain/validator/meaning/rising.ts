/** @module Clocks and counters: values that a run may move up and not down, known by the words of their keys. */

/** A limit on attempts is no count of attempts. */
const LIMITS: ReadonlySet<string> = new Set(
  'max maximum min minimum limit limits allowed cap per planned expected target required quota rate price cost'.split(
    ' ',
  ),
)
const COUNTERS: ReadonlySet<string> = new Set(
  (
    'attempt attempts retry retries tries iteration iterations turn turns round rounds step tick seen spent elapsed processed visits heartbeat ' +
    'heartbeats uptime'
  ).split(' '),
)
/** With `count`, `no` or `number` behind it: `retry_count`. */
const COUNT: ReadonlySet<string> = new Set(['count', 'counter', 'no', 'number', 'total'])
const CLOCK_ACTIONS: ReadonlySet<string> = new Set(
  'updated modified checked synced refreshed touched polled changed heartbeat fetched'.split(' '),
)

/** What was worked off, in the words of an agent's own books. */
const WORKED_OFF: ReadonlySet<string> = new Set(
  'steps ticks hops calls done processed completed handled delivered inspected checked counted measured read sent reviewed translated sold scanned'.split(
    ' ',
  ),
)

/** `frames_inspected`, `words_done`, `steps`: a number under them usually rises. */
export function isCountingKey(words: readonly string[]): boolean {
  return WORKED_OFF.has(words.at(-1) ?? '') && !words.some((word) => LIMITS.has(word))
}

/** `attempts`, `retry_count`, `times_seen`; a number under them may rise. */
export function isCounterKey(words: readonly string[]): boolean {
  const last = words.at(-1) ?? ''
  if (words.some((word) => LIMITS.has(word))) return false
  if (COUNTERS.has(last)) return true
  return COUNT.has(last) && words.length > 1 && COUNTERS.has(words.at(-2) ?? '')
}

/** `updated_at`, `last_checked`, `first_contact_last_seen`; a time under them may move on. */
export function isClockKey(words: readonly string[]): boolean {
  const last = words.at(-1) ?? ''
  if (last === 'seen' || last === 'heartbeat' || CLOCK_ACTIONS.has(last)) return true
  return (last === 'at' || last === 'on' || last === 'time') && CLOCK_ACTIONS.has(words.at(-2) ?? '')
}
