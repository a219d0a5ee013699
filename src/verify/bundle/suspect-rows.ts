/** @module Rows of an answer that are handoffs with suspects: how many of each were open behind the last event of the answer. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { HANDED, isSuspect, onlyText, REWOUND } from './event-facts.ts'
import { EventRows, type Row } from './event-rows.ts'
import { hasBody, type LoggedEvent } from './gathered.ts'
import { Stop } from './verdict.ts'

export const REVIEWED = 'SuspectReviewed'

/** What a ledger names of the suspects of a run: their number, and places up to this length. */
const NAMED_MAX = 256
const PATH_MAX_CHARS = 512
const HANDOFFS_MAX = 200_000

/** A handoff with suspects. */
interface Raised {
  readonly step: number
  readonly suspects: number
  isUndone: boolean
  open: number
}

interface Suspect {
  readonly of: Raised
  readonly id: string
  readonly count: number
  /** What closed it: a person (0), or the handoff of this step. */
  closedBy?: number | undefined
}

interface OfRun {
  suspects: Suspect[]
  readonly raised: Raised[]
}

export class SuspectRows extends EventRows {
  #runs = new Map<string, OfRun>()
  #raised = new Map<number, Raised>()

  gather(event: LoggedEvent, leaf: number): void {
    if (!hasBody(event)) return
    const { header, data } = event
    const run = this.#runs.get(header.stream) ?? { suspects: [], raised: [] }
    if (header.type === HANDED) {
      const raised = raisedBy(run, data)
      if (raised === undefined) return
      this.#runs.set(header.stream, run)
      if (this.#raised.set(leaf, raised).size > HANDOFFS_MAX) throw new Stop('UNVERIFIABLE', 'too-large', MANY_SUSPECTS)
    } else if (header.type === REVIEWED) {
      for (const id of jsonList(data.suspects)) closeSuspect(run, id, 0)
    } else if (header.type === REWOUND && typeof data.toStep === 'number') rewindSuspects(run, data.toStep)
  }

  nextPass(): boolean {
    for (const raised of this.#raised.values()) raised.open = 0
    for (const { suspects } of this.#runs.values())
      for (const { of, count, closedBy } of suspects) if (closedBy === undefined) of.open += count
    return false
  }

  override rows(event: LoggedEvent, leaf: number): Row[] {
    return super.rows(event, leaf).map((row) => {
      const { isUndone = false, suspects = 0, open = 0 } = this.#raised.get(leaf) ?? {}
      return { ...row, status: isUndone ? 'rolled-back' : open > 0 ? 'open' : 'closed', suspects, open }
    })
  }
}

const MANY_SUSPECTS = `a bundle answers for at most ${HANDOFFS_MAX} handoffs with suspects: ask of one run`
const jsonList = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** Closes what the handoff explains, and adds what it raises: the first of its places by themselves, the others as one. */
function raisedBy(run: OfRun, { step, findings, suspectsTotal, suspectsClosed }: JsonObject): Raised | undefined {
  if (typeof step !== 'number') return undefined
  for (const each of jsonList(suspectsClosed)) if (isJsonObject(each)) closeSuspect(run, each.id, step)
  const found = jsonList(findings).filter(isJsonObject).filter(isSuspect)
  const total = Math.max(typeof suspectsTotal === 'number' ? suspectsTotal : 0, found.length)
  if (total === 0) return undefined
  if (run.suspects.length + found.length > NAMED_MAX) run.suspects = run.suspects.filter((each) => each.closedBy !== 0)
  const room = Math.max(0, NAMED_MAX - run.suspects.length)
  const raised = { step, suspects: total, isUndone: false, open: 0 }
  const named = found
    .flatMap(({ path }, i) => ((onlyText(path) ?? '').length <= PATH_MAX_CHARS ? [`${step}.${i + 1}`] : []))
    .slice(0, room)
  run.suspects.push(...named.map((id) => ({ of: raised, id, count: 1 })))
  if (total > named.length) run.suspects.push({ of: raised, id: `${step}.rest`, count: total - named.length })
  run.raised.push(raised)
  return raised
}

function closeSuspect({ suspects }: OfRun, id: Json | undefined, by: number): void {
  const suspect = suspects.find((each) => each.id === id)
  if (suspect !== undefined) suspect.closedBy ??= by
}

/** Undone handoffs raise nothing any more, and what they closed is open again. */
function rewindSuspects(run: OfRun, toStep: number): void {
  for (const raised of run.raised) if (raised.step > toStep) raised.isUndone = true
  run.suspects = run.suspects.filter(({ of }) => !of.isUndone)
  for (const suspect of run.suspects) if ((suspect.closedBy ?? 0) > toStep) suspect.closedBy = undefined
}
