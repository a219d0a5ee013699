/** @module What was found, for people. */
import type { BundleProof } from './predicate.ts'
import { provenOf } from './report.ts'
import { plain } from './shown-text.ts'
import { type About, type BundleVerdict, type BundleWord, CONSISTENT, SEVERITY } from './verdict.ts'

const SHOWN_MAX = 100

interface Shown {
  readonly paint?: (word: BundleWord) => string
  /** Where the key was found. */
  readonly keyFrom?: string | undefined
}

/** What was found, for people. `paint` may colour a verdict. Every text out of the bundle is shown without what a terminal would obey. */
export function reportLines(
  found: BundleVerdict,
  { paint = (word) => word, keyFrom: from = '--key' }: Shown = {},
): readonly string[] {
  const { verdict, faults, notes, events, matching, leaves, values } = found
  const rest = faults.length - SHOWN_MAX
  return [
    ...faults.slice(0, SHOWN_MAX).map((fault) => `${paint(fault.verdict)}  ${fault.code}  ${plain(fault.message)}`),
    ...(rest > 0 ? [`... and ${rest} more (--json lists up to 1000)`] : []),
    `${paint(verdict)}  ${events} events, ${matching} of them answer the query, held against ${HELD_AGAINST[found.proof as BundleProof]?.(leaves) ?? 'nothing'}`,
    ...(values > 0 ? [`values: ${values} that events name are here, whole, with the digests that are named`] : []),
    ...aboutLines(found, from).map(plain),
    ...notes.map((note) => `note: ${plain(note)}`),
    'not shown by this: that what was recorded is true, nor that all that happened was recorded',
  ]
}

const HELD_AGAINST: Readonly<Record<BundleProof, (leaves: number) => string>> = {
  log: (leaves) => `all ${leaves} of the log`,
  stream: (leaves) => `what the checkpoint of ${leaves} says of the run`,
}

/** In words what the verdict is about. */
function aboutLines({ about, witnesses, keyGiven, macs, verdict }: BundleVerdict, from: string): readonly string[] {
  if (about === undefined) return []
  const { query, tenant, log, size, root, key, ledgerId, exportedBy, time, exportId, period, kept, timestamp } = about
  const { answer, succession } = about
  const { run, ...rest } = query
  const part = Object.keys(rest).length === 0 ? 'all events' : `the events that answer ${JSON.stringify(rest)}`
  const { actor, principal, via } = exportedBy
  const who = [
    actor,
    ...(principal === undefined ? [] : [`for ${principal}`]),
    ...(via ? [`via ${via.join(', ')}`] : []),
  ]
  const cosigned = witnesses.map(({ name, seconds }) => `${name} at ${timeText(seconds)}`)
  return [
    ...(answer === undefined ? [] : answerLines(answer, SEVERITY.indexOf(verdict) <= SEVERITY.indexOf(CONSISTENT))),
    `what: ${part} of ${run === undefined ? `tenant ${tenant}` : `run ${run} of tenant ${tenant}`}, up to the checkpoint`,
    `period: ${period === undefined ? 'no event' : `${period[0]} to ${period[1]}`}, by the clock of the ledger`,
    `log: ${log}, ${size} events, root ${root}, ledger ${ledgerId}`,
    `key: ${key}, ${keyGiven ? `yours (${from})` : 'which came with the bundle'}`,
    ...(succession === undefined ? [] : [successionLine(succession)]),
    `witnesses: ${cosigned.length === 0 ? 'none was checked (--witness KEY)' : cosigned.join('; ')}`,
    `kept checkpoint: ${kept === undefined ? 'none was held against it (--checkpoint FILE)' : `of ${kept} events`}`,
    ...(timestamp === undefined ? [] : stampLines(timestamp)),
    `exported: ${time} by ${who.join(' ')}, export ${exportId}; that is the word of the signer`,
    ...(macs > 0 ? [`macs: ${macs} were checked`] : []),
  ]
}

/** What is wrong stands above: then nothing is said to be shown. */
function answerLines({ question, rows }: NonNullable<About['answer']>, isSound: boolean): readonly string[] {
  const { query, filter, by, seed, asOf } = question
  const asked = [
    ...(Object.keys(filter).length === 0 ? [] : [JSON.stringify(filter)]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(seed === undefined ? [] : [`seed ${seed}`]),
    ...(asOf === undefined ? [] : [`as of the first ${asOf} events of the log`]),
  ]
  return [`answer: ${rows} rows to ${[query, ...asked].join(' ')}.${isSound ? ` ${provenOf(question)}` : ''}`]
}

function successionLine({ by, time, shownBy }: NonNullable<About['succession']>): string {
  const since = time === undefined ? 'you have no succession that says since when' : `since ${time}`
  const shown =
    shownBy.length === 0
      ? 'nothing shows that it was signed before the succession'
      : `that it was signed before the succession is shown by ${shownBy.join(', ')}`
  return `succession: ${by} follows the key that signed this (${since}); ${shown}`
}

function stampLines({ size, time, signedBy }: NonNullable<About['timestamp']>): readonly string[] {
  const checked =
    signedBy === undefined
      ? 'the token is for that checkpoint, and the log continues it; its signature was not checked here: openssl ts -verify -data timestamp.txt -in timestamp.tsr -CAfile AUTHORITY.pem'
      : `signed by ${signedBy}, whom your authorities vouch for`
  return [`time-stamp: the first ${size} events of the log existed by ${time}; ${checked}`]
}

const timeText = (seconds: number): string =>
  seconds < 8.64e12 ? new Date(seconds * 1000).toISOString() : `second ${seconds}`
