/** @module Events that are dated well before others ahead of them in the log: clocks differ, and an event has the date that its sealer gives it. */
import type { Header } from '../../../schemas/header.ts'
import type { SignedHead } from './checkpoint.ts'
import { isTime } from './forms.ts'
import { place } from './shown-text.ts'

/** Clocks of processes that write one log may differ by so much, and more is named without a verdict. */
const CLOCKS_DIFFER_MS = 5 * 60_000
const STREAMS_NAMED = 100

/** The events of one stream that are dated back. */
interface DatedBack {
  readonly first: Header
  readonly index: number
  /** The time of the event ahead of them that is dated last. */
  readonly after: string
  /** Comes behind the checkpoint that was kept, and is dated before what that covers. */
  readonly behindKept: boolean
  events: number
  /** Some are in the bundle. */
  isAsked: boolean
}

/** `kept`: a checkpoint that the reader has from before. */
export function createDates(kept: SignedHead | undefined) {
  const streams = new Map<string, DatedBack>()
  let [latest, covered] = ['', '']
  const isBack = (time: string, than: string) => time < than && Date.parse(time) + CLOCKS_DIFFER_MS < Date.parse(than)
  /** The next event of the log, and whether the bundle must hold it. */
  const take = (header: Header, index: number, isAsked: boolean): void => {
    const { stream, time } = header
    if (!isTime(time)) return
    if (isBack(time, latest)) {
      const behindKept = kept !== undefined && index >= kept.size && isBack(time, covered)
      const known = streams.get(stream) ?? { first: header, index, after: latest, behindKept, events: 0, isAsked }
      known.events += 1
      known.isAsked ||= isAsked
      streams.set(stream, known)
    }
    if (time > latest) latest = time
    if (kept !== undefined && index < kept.size) covered = latest
  }
  const notes = (): readonly string[] => {
    if (streams.size === 0) return []
    const rank = ({ behindKept, isAsked }: DatedBack) => (behindKept ? 2 : 0) + (isAsked ? 1 : 0)
    const all = [...streams.values()].sort((a, b) => rank(b) - rank(a) || a.index - b.index)
    const named = all.slice(0, STREAMS_NAMED).map(textOfStream)
    const events = all.reduce((sum, each) => sum + each.events, 0)
    const more = all.length > named.length ? `; and of ${all.length - named.length} more streams` : ''
    return [
      `${events} events are dated more than 5 minutes before others ahead of them in the log: clocks differ, or somebody dated them back; ${named.join('; ')}${more}`,
    ]
  }
  return { take, notes, latest: () => latest }
}

function textOfStream({ first, index, after, behindKept, events, isAsked }: DatedBack): string {
  const where = `${place(first)}, leaf ${index}, dated ${first.time}, behind ${after}`
  const more = events > 1 ? `, and ${events - 1} more of its stream` : ''
  return `${where}${more}${behindKept ? ', behind the checkpoint that was kept' : ''}${isAsked ? '' : ', outside the query'}`
}

export const DATES_UNKNOWN =
  'a bundle of one run cannot tell whether its events are dated before others ahead of them in the log: ask for one with the whole log'
