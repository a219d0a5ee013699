/** @module State words: which word may follow which under keys such as `status`, `state`, `stage` or `phase`. */

const STATE_WORD_MAX_CHARS = 64

/** Groups of words with one meaning. From `FINAL_RANK` on, words of equal rank may replace each other only within a group. */
const INITIAL = [
  'draft, drafted',
  'proposed, suggested, envisaged',
  'open, opened, new, reported, detected',
  'todo, to do, not started, backlog, unassigned',
  'pending, queued, waiting, awaiting, requested, created, tbd',
]
const INTERRUPTED = 'blocked, paused, on hold, held, retrying, partial, partially done'
const RUNNING = [
  'running, in progress, started, active, working, processing, ongoing, executing, underway, doing, wip',
  'under review, in review, reviewing, submitted, acknowledged, ack, investigating, assigned, triaged, identified, monitoring',
  INTERRUPTED,
]
const DECIDED = [
  'approved, accepted, granted, confirmed, authorised, authorized, signed, verified, cleared, passed, ok, valid',
]
/** Not left for a word of work, though another of them, or an end, may follow. */
const HANDED_ON: readonly string[] = [
  'shipped, dispatched, sent',
  'delivered, handed over',
  'released, published, launched, deployed',
  'paid, paid out',
  'issued, sold',
]
const ENDED: readonly string[] = [
  'done, completed, complete, finished, succeeded, success, successful, fulfilled, executed, ended, posted',
  'resolved, fixed, mitigated, recovered, restored',
  'failed, failure, error, errored, timed out, crashed',
  'cancelled, canceled, aborted, withdrawn, voided, expired',
  'rejected, denied, declined, refused, disapproved',
  'skipped, not applicable, ignored',
]
const CLOSED = ['closed, archived, settled, postmortem']
const UNDONE = ['compensated, reverted, refunded, rolled back, reversed, undone']

interface StateWord {
  readonly rank: number
  /** Words of one group have the same meaning. */
  readonly group: string
}

/** From this rank on, no word that is not known may follow. */
const HANDED_ON_RANK = 3
const FINAL_RANK = 4
const WORDS = new Map<string, StateWord>()
for (const [rank, groups] of [INITIAL, RUNNING, DECIDED, HANDED_ON, ENDED, CLOSED, UNDONE].entries()) {
  for (const group of groups) for (const word of group.split(', ')) WORDS.set(word, { rank, group })
}

/** Words that mean "not yet" under any key. */
const NOT_YET =
  /^(?:pending|queued|todo|to do|not started|in progress|under review|processing|awaiting(?: .*)?|tb[acd]|to be \w+)$/
const NEGATED = /^(?:not |no longer |never |non ?|un|in|dis)(\S.*)$/
const PLACEHOLDER = /^(?:tb[acd]|to be \w+|unknown|not known(?: yet)?|n\/a)$/

const STATE_KEYS: ReadonlySet<string> = new Set(['status', 'state', 'stage', 'phase'])

/** `words` are those of the key. If neither word is known, as in the state of a country or of a patient, no transition is allowed. */
export function isStateKey(words: readonly string[]): boolean {
  return STATE_KEYS.has(words.at(-1) ?? '')
}

/** Whether one word may replace another: it moves forward, or has the same meaning. */
export function mayFollow(before: string, after: string, isState: boolean): boolean {
  if (before.length > STATE_WORD_MAX_CHARS || after.length > STATE_WORD_MAX_CHARS) return false
  const [from, to] = [stateText(before), stateText(after)]
  if (PLACEHOLDER.test(from)) return to !== ''
  if (!isState && !NOT_YET.test(from)) return false
  const [was, is] = [stateOf(from), stateOf(to)]
  if (was === undefined) return isState && is !== undefined && (is.rank > 0 || to === 'open')
  if (is === undefined) return isState && to !== '' && was.rank < HANDED_ON_RANK && !(isDecision(was) && takesBack(to))
  if (was.group === is.group) return true
  if (isDecision(was) && isNegative(is)) return false
  return was.rank < is.rank || (was.rank === is.rank && was.rank < FINAL_RANK)
}

/** The name of the word's group, or the normalised word; under it a state is remembered. */
export function canonicalState(word: string): string {
  const text = stateText(word.slice(0, STATE_WORD_MAX_CHARS))
  return stateOf(text)?.group ?? text
}

/** An interruption is not a return: interrupted work resumes in its earlier state, and may be interrupted again. */
export function isInterruption(word: string): boolean {
  return canonicalState(word) === INTERRUPTED
}

function stateText(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
}

/** Looks up a word; `awaiting confirmation` counts as a waiting word, whatever it waits for. */
function stateOf(text: string): StateWord | undefined {
  return WORDS.get(text) ?? (/^(?:awaiting|waiting|pending) /.test(text) ? WORDS.get('pending') : undefined)
}

/** Whether the word is a decision; moving forward cannot reverse a decision. */
function isDecision({ rank }: StateWord): boolean {
  return rank === 2
}

/** Whether the text negates a decision: `not approved`, `unconfirmed`, `no longer valid`. */
function takesBack(text: string): boolean {
  const word = NEGATED.exec(text)?.[1]
  const said = word === undefined ? undefined : stateOf(word)
  return said !== undefined && isDecision(said)
}

function isNegative({ group }: StateWord): boolean {
  return group.startsWith('rejected') || group.startsWith('failed')
}
