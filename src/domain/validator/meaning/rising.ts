/** @module Recognises clocks and counters, which may rise but not fall during a run, by the words of their keys. */

/** Words of limits: a limit on attempts is not a count of attempts. */
const LIMITS: ReadonlySet<string> = new Set(
  (
    'max maximum min minimum limit limits allowed cap per planned expected target required quota rate price cost ' +
    'tolerance threshold dose setpoint'
  ).split(' '),
)
/** Whether the key is that of a limit, a price or a setting, which no reading changes. */
export function isLimitKey(words: readonly string[]): boolean {
  return words.some((word) => LIMITS.has(word))
}

const COUNTERS: ReadonlySet<string> = new Set(
  (
    'attempt attempts retry retries tries iteration iterations turn turns round rounds step tick seen spent elapsed processed visits heartbeat ' +
    'heartbeats uptime'
  ).split(' '),
)
/** Words that make a counter together with the word before: `retry_count`. */
const COUNT: ReadonlySet<string> = new Set(['count', 'counter', 'no', 'number', 'total'])
const CLOCK_ACTIONS: ReadonlySet<string> = new Set(
  'updated modified checked synced refreshed touched polled changed heartbeat fetched'.split(' '),
)

/** Words for work done, in an agent's own bookkeeping. */
const WORKED_OFF: ReadonlySet<string> = new Set(
  'steps ticks hops calls done completed handled delivered inspected counted measured read sent reviewed translated sold scanned'.split(
    ' ',
  ),
)

/** `frames_inspected`, `words_done`, `steps`: a number under such a key usually rises. */
export function isCountingKey(words: readonly string[]): boolean {
  return WORKED_OFF.has(words.at(-1) ?? '') && !isLimitKey(words)
}

/** `attempts`, `retry_count`, `times_seen`: a number under such a key may rise. */
export function isCounterKey(words: readonly string[]): boolean {
  const last = words.at(-1) ?? ''
  if (isLimitKey(words)) return false
  if (COUNTERS.has(last)) return true
  return COUNT.has(last) && words.length > 1 && COUNTERS.has(words.at(-2) ?? '')
}

/** Words before `at` of a key that says when something was read or kept. */
const READINGS: ReadonlySet<string> = new Set(
  'sampled measured captured observed saved read synchronized recorded'.split(' '),
)
const READING_KEYS: ReadonlySet<string> = new Set([
  'as of',
  'timestamp',
  'last saved',
  'last report',
  'last cycle',
  'last sample',
  'last reading',
])

/** `sampled_at`, `as_of`, `timestamp`: a time that is usually later in an agent's own bookkeeping, but that may be a fact elsewhere. */
export function isReadingTimeKey(words: readonly string[]): boolean {
  return READING_KEYS.has(words.join(' ')) || (words.at(-1) === 'at' && READINGS.has(words.at(-2) ?? ''))
}

/** `updated_at`, `last_checked`, `first_contact_last_seen`: a time under such a key may move forward. */
export function isClockKey(words: readonly string[]): boolean {
  const last = words.at(-1) ?? ''
  if (last === 'seen' || last === 'heartbeat' || CLOCK_ACTIONS.has(last)) return true
  return (last === 'at' || last === 'on' || last === 'time') && CLOCK_ACTIONS.has(words.at(-2) ?? '')
}
