/** @module Whether two kept checkpoints are of one history of a log: from the two alone where that suffices, otherwise from what their log proves. */
import { type Checkpoint, formatCheckpoint } from '../merkle/checkpoint.ts'
import { sameHash } from '../merkle/hashes.ts'
import type { Verdict } from './fault.ts'

/** The log that the checkpoints should be of. What it says is only used where it follows from a signed root. */
export interface ProvingLog {
  /** Root of the first `size` leaves of the tree that the checkpoint signed; undefined unless the log proves it. Requires 0 < size < checkpoint.size. */
  readonly rootWithin: (checkpoint: Checkpoint, size: number) => Promise<Uint8Array | undefined>
  /** The log's own last checkpoint, its signature checked; undefined if there is none. */
  readonly last: () => Promise<Checkpoint | undefined>
}

/** `VERIFIED`: one history. `TAMPERED`: the log signed two. `UNVERIFIABLE`: neither is proven. */
export interface JudgedHistory {
  readonly verdict: Exclude<Verdict, 'INCOMPLETE'>
  readonly message: string
}

/** Both checkpoints must be signed by a key of their log; their order does not matter. Throws only errors of `log`. */
export async function judgeHistory(one: Checkpoint, other: Checkpoint, log: ProvingLog): Promise<JudgedHistory> {
  const [older, newer] = one.size <= other.size ? [one, other] : [other, one]
  if (older.origin !== newer.origin)
    return unproven(`they are of two logs, ${older.origin} and ${newer.origin}: compare checkpoints of one`)
  const compared = await compare(older, newer, log)
  if (compared !== undefined) return compared ? consistent(older, newer) : forked(older, newer)
  const last = await log.last()
  if (last === undefined || last.origin !== newer.origin)
    return unproven('the log has no checkpoint of its own to prove anything with')
  for (const kept of [newer, older]) if ((await compareAny(kept, last, log)) === false) return forked(kept, last)
  if (last.size < newer.size)
    return unproven(
      `the last checkpoint of the log covers ${last.size} events: it was cut off, or this is an older copy`,
    )
  return unproven('the log does not prove that one continues the other: run "countersign verify"')
}

const compareAny = (one: Checkpoint, other: Checkpoint, log: ProvingLog): Promise<boolean | undefined> =>
  one.size <= other.size ? compare(one, other, log) : compare(other, one, log)

/** Whether the newer one continues the older one; undefined if that is not proven. A log signs exactly one text for each size. */
async function compare(older: Checkpoint, newer: Checkpoint, log: ProvingLog): Promise<boolean | undefined> {
  if (older.size === newer.size) return formatCheckpoint(older) === formatCheckpoint(newer)
  // Every tree continues the empty one, which has one root.
  if (older.size === 0) return true
  const root = await log.rootWithin(newer, older.size)
  return root && sameHash(root, older.root)
}

function consistent(older: Checkpoint, newer: Checkpoint): JudgedHistory {
  const message = `the checkpoints of ${older.size} and ${newer.size} events of the log ${newer.origin} are of one history`
  return { verdict: 'VERIFIED', message }
}

function forked(one: Checkpoint, other: Checkpoint): JudgedHistory {
  const message = `the checkpoints of ${one.size} and ${other.size} events of the log ${one.origin} contradict each other: the log signed two histories; keep both as evidence`
  return { verdict: 'TAMPERED', message }
}

function unproven(message: string): JudgedHistory {
  return { verdict: 'UNVERIFIABLE', message }
}
