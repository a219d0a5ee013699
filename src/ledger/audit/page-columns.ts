/** @module Transfers a page of records for the index between threads as columns: strings and numbers pass in a tenth of the time of objects. */

import type { EventFacts } from '../../../projections/event-facts.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { MARKS, type Mark } from '../../../schemas/marks.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { Verdict } from '../../../schemas/verdict.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import { type SeenRecord, seenRecord } from '../read/seen-record.ts'
import { eventSaid, type IndexFields, type PageToIndex, type RecordToIndex } from './page-to-index.ts'

export interface PageColumns {
  readonly streams: readonly string[]
  readonly revisions: Float64Array
  readonly positions: readonly string[]
  /** Per record: the sum of `CLOCKED` and `MISPLACED` as far as they hold, or `UNSAID`. */
  readonly flags: Int8Array
  /** `WIDTH` texts for each record with fields. */
  readonly texts: readonly (string | undefined)[]
  /** Stored records that are needed for their seal, by their index in the page. */
  readonly records: ReadonlyMap<number, ReadRecord>
  readonly seen: SeenRecord
}

/** Number of texts that `addTexts` adds per record. */
const WIDTH = 20
/** Marks a record of a stream without rows, whose fields are never read. */
const UNSAID = -1
const [CLOCKED, MISPLACED] = [1, 2]

/** Undefined for a page without records. Throws the errors of `eventSaid`. */
export function columnsOf(page: readonly ReadRecord[]): PageColumns | undefined {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const flags = new Int8Array(page.length).fill(UNSAID)
  const texts: (string | undefined)[] = []
  const records = new Map<number, ReadRecord>()
  for (const [at, record] of page.entries()) {
    const name = parseStream(record.stream)
    if (name === undefined || name.kind === 'value') continue
    // Copied, so that the transferred value does not hold the larger buffer that it is a part of.
    if (!(record.revision > 0)) records.set(at, { ...record, salt: Uint8Array.from(record.salt) })
    const said = eventSaid(record)
    flags[at] = (said.clocked ? CLOCKED : 0) + (said.misplaced ? MISPLACED : 0)
    addTexts(texts, said)
  }
  return {
    streams: page.map(({ stream }) => stream),
    revisions: Float64Array.from(page, ({ revision }) => revision),
    positions: page.map(({ position }) => position),
    ...{ flags, texts, records },
    seen: seenRecord(last),
  }
}

function addTexts(texts: (string | undefined)[], { id, facts, call, charged, text }: IndexFields): void {
  const { type, time, actor, principal, kid, verdict, rules, marks } = facts
  texts.push(id, call, text, charged && JSON.stringify(charged))
  texts.push(type, time, actor, principal, kid, verdict, rules.length === 0 ? undefined : JSON.stringify(rules))
  const { agent, tool, approval, reservation, compensates, provider, model } = facts
  texts.push(marks.length === 0 ? undefined : marks.join())
  texts.push(agent, tool, facts.call, approval, reservation, compensates, provider, model)
}

/** Rebuilds the page from its columns. */
export function pageOfColumns({
  streams,
  revisions,
  positions,
  flags,
  texts,
  records,
  seen,
}: PageColumns): PageToIndex {
  let first = 0
  const page = streams.map((stream, at): RecordToIndex => {
    const place = {
      stream,
      revision: revisions[at] ?? Number.NaN,
      position: positions[at] ?? '',
      record: records.get(at),
    }
    const flag = flags[at] ?? UNSAID
    if (flag === UNSAID) return { ...place, said: unsaid }
    const from = first
    first += WIDTH
    return { ...place, said: () => saidAt(texts, from, flag) }
  })
  return { records: page, seen }
}

function unsaid(): never {
  throw new Error('a record of a stream without rows was asked what it says')
}

/** Reads the texts in the order of `addTexts`. */
function saidAt(texts: readonly (string | undefined)[], from: number, flag: number): IndexFields {
  let at = from
  const [id, call, text, charged] = [texts[at++] ?? '', texts[at++], texts[at++] ?? '', texts[at++]]
  const facts: { readonly [F in keyof Required<EventFacts>]: EventFacts[F] | undefined } = {
    type: texts[at++] ?? '',
    time: texts[at++] ?? '',
    actor: texts[at++] ?? '',
    principal: texts[at++] ?? '',
    kid: texts[at++] ?? '',
    verdict: texts[at++] as Verdict | undefined,
    rules: rulesIn(texts[at++]),
    marks: marksIn(texts[at++]),
    agent: texts[at++],
    tool: texts[at++],
    call: texts[at++],
    approval: texts[at++],
    reservation: texts[at++],
    compensates: texts[at++],
    provider: texts[at++],
    model: texts[at++],
  }
  const part = charged === undefined ? undefined : (parseJson(charged) as JsonObject)
  const [clocked, misplaced] = [(flag & CLOCKED) > 0, (flag & MISPLACED) > 0]
  return { id, clocked, misplaced, call, text, charged: part, facts: facts as EventFacts }
}

const marksIn = (text = ''): readonly Mark[] => MARKS.filter((mark) => text.split(',').includes(mark))

const NO_RULES: readonly string[] = []

function rulesIn(text: string | undefined): readonly string[] {
  return text === undefined ? NO_RULES : (parseJson(text) as readonly string[])
}
