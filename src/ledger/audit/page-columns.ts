/** @module A page of records for the index on its way between threads: strings and numbers pass in a tenth of the time that objects take. */

import type { EventFacts } from '../../../projections/event-facts.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import type { Verdict } from '../../../schemas/verdict.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import { type SeenRecord, seenRecord } from '../read/seen-record.ts'
import { eventSaid, type IndexFields, type PageToIndex, type RecordToIndex } from './page-to-index.ts'

export interface PageColumns {
  readonly streams: readonly string[]
  readonly revisions: Float64Array
  readonly positions: readonly string[]
  /** Of each record: 1 where its clock was behind, 0 where it was not, and `UNSAID`. */
  readonly clocked: Int8Array
  /** Of each record that says something, `WIDTH` of them. */
  readonly texts: readonly (string | undefined)[]
  /** As they are stored, by their place. */
  readonly records: ReadonlyMap<number, ReadRecord>
  readonly seen: SeenRecord
}

/** Texts that `addTexts` puts down of each record. */
const WIDTH = 19
/** Of a stream that has no rows: nobody asks what it says. */
const UNSAID = -1

/** Undefined of a page without records. Throws what `eventSaid` throws. */
export function columnsOf(page: readonly ReadRecord[]): PageColumns | undefined {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const clocked = new Int8Array(page.length).fill(UNSAID)
  const texts: (string | undefined)[] = []
  const records = new Map<number, ReadRecord>()
  for (const [at, record] of page.entries()) {
    const name = parseStream(record.stream)
    if (name === undefined || name.kind === 'value') continue
    // What passes between threads holds no block of others.
    if (!(record.revision > 0)) records.set(at, { ...record, salt: Uint8Array.from(record.salt) })
    const said = eventSaid(record)
    clocked[at] = said.clocked ? 1 : 0
    addTexts(texts, said)
  }
  return {
    streams: page.map(({ stream }) => stream),
    revisions: Float64Array.from(page, ({ revision }) => revision),
    positions: page.map(({ position }) => position),
    ...{ clocked, texts, records },
    seen: seenRecord(last),
  }
}

function addTexts(texts: (string | undefined)[], { id, facts, call, charged, text }: IndexFields): void {
  const { type, time, actor, principal, kid, verdict, rules } = facts
  texts.push(id, call, text, charged && JSON.stringify(charged))
  texts.push(type, time, actor, principal, kid, verdict, rules.length === 0 ? undefined : JSON.stringify(rules))
  const { agent, tool, approval, reservation, compensates, provider, model } = facts
  texts.push(agent, tool, facts.call, approval, reservation, compensates, provider, model)
}

/** The page that the columns were made of. */
export function pageOfColumns({
  streams,
  revisions,
  positions,
  clocked,
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
    if (clocked[at] === UNSAID) return { ...place, said: unsaid }
    const from = first
    first += WIDTH
    return { ...place, said: () => saidAt(texts, from, clocked[at] === 1) }
  })
  return { records: page, seen }
}

function unsaid(): never {
  throw new Error('a record of a stream without rows was asked what it says')
}

/** In the order of `addTexts`. */
function saidAt(texts: readonly (string | undefined)[], from: number, clocked: boolean): IndexFields {
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
  return { id, clocked, call, text, charged: part, facts: facts as EventFacts }
}

const NO_RULES: readonly string[] = []

function rulesIn(text: string | undefined): readonly string[] {
  return text === undefined ? NO_RULES : (parseJson(text) as readonly string[])
}
