/**
 * @module What an answer claims, held against the model. A judgement is undefined where the answer claims nothing that is not so, and else says what is not
 * so. An answer that admits that something is missing or could not be checked claims nothing.
 */

import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { unpackTar } from '../support/bundles.ts'
import type { Answer } from './truth-oracle-edge.ts'
import { WORD } from './truth-oracle-history.ts'
import { type Acknowledged, Model, type Row, rootOf } from './truth-oracle-model.ts'

export interface Truth {
  readonly model: Model
  readonly tenant: string
  /** The run that was struck, and another one of the tenant. */
  readonly run: string
  readonly other: string
  /** What is lost was acknowledged, and nothing else is wrong. */
  readonly isAcknowledged: boolean
  /** The rows of the store are the acknowledged ones. */
  readonly isComplete: boolean
  /** Of the tenant's log. */
  readonly key: string | undefined
  /** The rows as they are when everything was asked. */
  readonly rows: () => readonly Row[]
  /** Beside a server: what it had recorded by itself before the damage, which a checkpoint may cover. */
  readonly recorded: () => readonly Row[]
}

export type Judge = (answer: Answer, truth: Truth) => string | undefined | Promise<string | undefined>

/** Words with which an exit says that it does not speak of everything. */
const ADMISSION =
  /"seal":"invalid"|\bincomplete\b|\btampered\b|\bunverifiable\b|not checked|log-stopped|stream-damaged|integrity-fault|"stopped"|"loss|"brokenEvents"|\blost\b|"hole/i

export const admits = (text: string): boolean => ADMISSION.test(text)

/** Every bundle without the key of a run says that its macs were not checked, which is no word on what is missing. */
const admitsIn = (notes: readonly string[]): boolean => notes.some((note) => !note.startsWith('macs ') && admits(note))

/** Not found, said of what was acknowledged, is a claim; any other refusal is none. */
export const refusal = ({ status, text, cut }: Answer, what: string): string | undefined | 'asked' => {
  if (status === 404 && !admits(text)) return `404 for ${what}, which was acknowledged`
  return status === 200 && !cut ? 'asked' : undefined
}

const found =
  (what: string, judge: Judge): Judge =>
  (answer, truth) => {
    const refused = refusal(answer, what)
    return refused === 'asked' ? judge(answer, truth) : refused
  }

export const leavesOf = ({ model, tenant }: Truth): readonly Acknowledged[] => model.leaves(tenant)
export const struck = ({ model, tenant, run }: Truth): readonly Acknowledged[] => model.ofRun(tenant, run)
export const sound = ({ model, tenant, other }: Truth): readonly Acknowledged[] => model.ofRun(tenant, other)

type Expected = (truth: Truth) => readonly Acknowledged[]

const recordText = ({ header, salt, data }: Row): string => `{"header":${header},"salt":"${salt}","data":${data}}`

/** How a format writes an event; OTLP has some events only, and those by their ids. */
const WRITTEN: Readonly<Record<string, (event: Acknowledged) => string | undefined>> = {
  jsonl: recordText,
  cloudevents: recordText,
  'cloudevents-batch': recordText,
  ocsf: (event) => JSON.stringify(recordText(event)).slice(1, -1),
  csv: (event) => event.data.replaceAll('"', '""'),
  otlp: ({ type, id }) => (type === 'EnvelopeAccepted' ? id : undefined),
}

/** All events that were acknowledged stand in it as they were, and none beside them at their places. */
export const exported = (format: string, expected: Expected): Judge =>
  found('the export', ({ text }, truth) => {
    if (!text.includes('digest') || !/[Tt]railer/.test(text.slice(-4_000)) || admits(endOf(text))) return undefined
    const write = WRITTEN[format] ?? recordText
    const events = expected(truth)
    const lacks = events.filter((event) => {
      const written = write(event)
      return written !== undefined && !text.includes(written)
    })
    if (lacks.length > 0) return `whole, without ${names(lacks)} as acknowledged (of ${events.length})`
    return format === 'jsonl' ? strangersIn(text.split('\n'), truth) : undefined
  })

const trailerOf = (text: string): string => text.trimEnd().split('\n').at(-1) ?? ''

/** A batch ends with a line that closes its list. */
const endOf = (text: string): string => text.trimEnd().split('\n').slice(-2).join(' ')

const names = (events: readonly Acknowledged[]): string => {
  const shown = events.slice(0, 3).map(({ stream, revision }) => `${stream} @ ${revision}`)
  return shown.join(', ') + (events.length > 3 ? ` and ${events.length - 3} more` : '')
}

/** Events of runs that nobody wrote, and events that come twice. */
function strangersIn(lines: readonly string[], { model }: Truth): string | undefined {
  const seen = new Set<string>()
  for (const line of lines) {
    if (!line.startsWith('{"header":')) continue
    const { header } = JSON.parse(line) as { header: { id: string; stream: string; revision: number } }
    if (seen.has(header.id)) return `whole, with ${header.stream} @ ${header.revision} twice`
    seen.add(header.id)
    const known = model.at(header)
    if (known !== undefined && known.id !== header.id)
      return `whole, with another event at ${header.stream} @ ${header.revision}`
  }
  return undefined
}

export const bundled = (expected: Expected): Judge =>
  found('the bundle', async ({ bytes }, truth) => {
    const judged = verifyBundle(bytes, truth.key === undefined ? {} : { key: truth.key })
    if (judged.verdict !== 'VERIFIED' || admitsIn(judged.notes)) return undefined
    const files = await unpackTar(Buffer.from(bytes))
    const text = files.get('events.jsonl')?.toString('utf8') ?? ''
    const events = expected(truth)
    const lacks = events.filter((event) => !text.includes(recordText(event)))
    if (lacks.length > 0) return `VERIFIED ${judged.events} events, without ${names(lacks)} (of ${events.length})`
    return strangersIn(text.split('\n'), truth)
  })

type Rows = readonly Readonly<Record<string, unknown>>[]
/** Undefined where the rows are what follows from the acknowledged events. */
export type Question = (rows: Rows, truth: Truth) => string | undefined

export const byId =
  (events: (truth: Truth) => readonly Acknowledged[]): Question =>
  (rows, truth) => {
    const there = new Set(rows.map(({ event }) => event))
    const lacks = events(truth).filter(({ id }) => !there.has(id))
    if (lacks.length > 0) return `${rows.length} rows, without ${names(lacks)}`
    return undefined
  }

export const QUESTIONS: Readonly<Record<string, { readonly query: string; readonly judge: Question }>> = {
  runs: {
    query: 'runs',
    judge: (rows, { model, tenant }) => {
      for (const run of model.runs(tenant)) {
        const row = rows.find((each) => each.run === run)
        const count = model.ofRun(tenant, run).length
        if (row === undefined) return `${rows.length} rows, without ${run}`
        if (Number(row.events) < count && row.missingCount === 0)
          return `${run}: ${row.events} events, none missing, of ${count}`
      }
      return undefined
    },
  },
  events: { query: 'events', judge: byId(leavesOf) },
  search: {
    query: `search?text=${WORD}`,
    judge: byId((truth) =>
      leavesOf(truth).filter(({ type, data }) => type === 'EnvelopeAccepted' && data.includes(WORD)),
    ),
  },
  spend: { query: 'spend?by=run', judge: spent },
  'open-calls': {
    query: 'open-calls',
    judge: (rows, { model, tenant }) => {
      const of = (isClaim: boolean) =>
        model
          .leaves(tenant)
          .filter(({ type }) => type.startsWith('ToolCall') && (type === 'ToolCallClaimed') === isClaim)
          .map(({ data }) => String(JSON.parse(data).callId))
      const settled = new Set(of(false))
      const open = of(true).filter((call) => !settled.has(call))
      const there = rows.map(({ call }) => String(call))
      const lacks = open.filter((call) => !there.includes(call))
      const more = there.filter((call) => settled.has(call))
      if (lacks.length > 0) return `${rows.length} rows, without the open call ${lacks[0]}`
      return more.length > 0 ? `open is said of the settled call ${more[0]}` : undefined
    },
  },
}

export function spent(rows: Rows, { model, tenant }: Truth): string | undefined {
  for (const run of model.runs(tenant)) {
    const row = rows.find(({ key }) => key === run)
    const tokens = sumOf(model.ofRun(tenant, run))
    if (Number(row?.tokens ?? 0) !== tokens) return `${run}: ${row?.tokens ?? 0} tokens of ${tokens}`
  }
  return undefined
}

function sumOf(events: readonly Acknowledged[]): number {
  let sum = 0
  for (const { type, data } of events) if (type.startsWith('Envelope')) sum += Number(JSON.parse(data).tokens ?? 0)
  return sum
}

export const audited = (question: Question): Judge =>
  found('the query', ({ text }, truth) => {
    const { items, nextCursor } = JSON.parse(text)
    return nextCursor !== null || admits(text) ? undefined : question(items, truth)
  })

/** Rows of a command that ended well, a line each. */
export const printed = (question: Question): Judge =>
  found('the query', ({ text }, truth) => question(text.split('\n').filter(Boolean).map(parsed), truth))

const parsed = (line: string): Rows[number] => JSON.parse(line)

export const answered = (question: Question): Judge =>
  found('the answer', ({ text }, truth) => {
    if (!trailerOf(text).startsWith('{"trailer"') || admits(text)) return undefined
    return question(rowsOfAnswer(text), truth)
  })

export const answerBundled = (question: Question): Judge =>
  found('the answer', async ({ bytes }, truth) => {
    const judged = verifyBundle(bytes, truth.key === undefined ? {} : { key: truth.key })
    if (judged.verdict !== 'VERIFIED' || admitsIn(judged.notes)) return undefined
    const text = (await unpackTar(Buffer.from(bytes))).get('answer.jsonl')?.toString('utf8') ?? ''
    const said = question(rowsOfAnswer(text), truth)
    return said === undefined ? undefined : `VERIFIED, ${said}`
  })

const rowsOfAnswer = (text: string): Rows =>
  text
    .trimEnd()
    .split('\n')
    .slice(1)
    .filter((line) => !line.startsWith('{"trailer"'))
    .map((line) => JSON.parse(line))

const isRunWhole = (events: readonly Acknowledged[], { rows, model }: Truth): boolean => {
  const lost = new Set(model.lostIn(rows()))
  return !events.some((event) => lost.has(event))
}

export const replayed = (expected: Expected): Judge =>
  found('the run', ({ text }, truth) => {
    const { verdict, events } = JSON.parse(trailerOf(text) || '{}')
    if (verdict !== 'VERIFIED') return undefined
    const known = expected(truth)
    if (events < known.length) return `VERIFIED ${events} events of ${known.length}`
    return isRunWhole(known, truth) ? undefined : `VERIFIED ${events} events, some of them not as acknowledged`
  })

export const reported: Judge = found('the run', ({ text }, truth) => {
  const { events, verdict } = JSON.parse(text)
  if (verdict?.verdict !== 'VERIFIED' || events?.missingCount !== 0 || admits(text)) return undefined
  const known = struck(truth)
  if (verdict.events >= known.length && events.events >= known.length && isRunWhole(known, truth)) return undefined
  return `VERIFIED, ${events.events} events, missing: 0, of ${known.length}`
})

/** The tree of a checkpoint is that of the acknowledged leaves, and of what was written since. */
export const checkpointed: Judge = found('the checkpoint', ({ text }, truth) => {
  const [, size = '0', root] = text.split('\n')
  const headers = leavesOf(truth).map(({ header }) => header)
  // What was changed in its place may have lost its id, and what stands in another place has it still.
  const isNew = (event: Acknowledged): boolean =>
    truth.model.byId(event.id) === undefined && truth.model.at(event) === undefined
  const present = new Model(truth.rows())
  const lost = new Model(truth.recorded()).leaves(truth.tenant).filter(({ id }) => present.byId(id) === undefined)
  const later = [...lost, ...present.leaves(truth.tenant)].filter(isNew)
  const leaves = [...headers, ...later.map(({ header }) => header)].slice(0, Number(size))
  if (leaves.length < Number(size)) return `signed ${size} leaves of ${leaves.length} that there are`
  return rootOf(leaves).toString('base64') === root
    ? undefined
    : `signed ${size} leaves that are not the acknowledged ones`
})

/** That no checkpoint covers the event yet is no word against it. */
export const proven: Judge = (answer) => {
  const refused = answer.text.includes('"not-published"') ? undefined : refusal(answer, 'the event')
  return refused === 'asked' ? undefined : refused
}

export const runListed: Judge = found('the list', ({ text }, { model, tenant }) => {
  const { items, nextCursor } = JSON.parse(text) as { items: Rows; nextCursor: string | null }
  if (nextCursor !== null) return undefined
  for (const run of model.runs(tenant)) {
    const row = items.find(({ runId }) => runId === run)
    if (row === undefined) return admits(text) ? undefined : `${items.length} runs, without ${run}`
    const end = model.ofRun(tenant, run).length - 1
    // Of a store that has lost events which nobody can name, the list says so as a whole.
    if (Number(row.revision) < end && !admits(JSON.stringify(row)) && !text.includes('"scope":"store"'))
      return `${run} at revision ${row.revision} of ${end}`
  }
  return undefined
})

export const runRead: Judge = found('the run', ({ text }, truth) => {
  const end = struck(truth).length - 1
  const { revision } = JSON.parse(text)
  if (admits(text)) return undefined
  return revision < end ? `at revision ${revision} of ${end}` : undefined
})

export const eventsRead: Judge = found('the run', ({ text }, truth) => {
  const { items } = JSON.parse(text) as { items: { header: { id: string } }[] }
  const there = new Set(items.map(({ header }) => header.id))
  const lacks = struck(truth).filter(({ id }) => !there.has(id))
  return lacks.length > 0 && !admits(text) ? `${items.length} events, without ${names(lacks)}` : undefined
})

/** Of an exit that says in one word how it stands with the whole store. */
export const saysWell =
  (claims: (text: string) => boolean): Judge =>
  ({ status, text }, { isComplete }) =>
    isComplete || status !== 200 || !claims(text) ? undefined : text.trim().slice(0, 80)

/** A page that shows nothing of what is wrong, after other exits came upon it. */
export const shown: Judge = ({ status, text }, { isComplete, run }) => {
  if (isComplete || status !== 200) return undefined
  return PAGE_ADMISSION.test(text) ? undefined : `the page says nothing of it (${run})`
}

/** An acknowledged loss is named on the page of its own run alone (LOG-77). */
export const runShown: Judge = (answer, truth) =>
  truth.isAcknowledged && isRunWhole(struck(truth), truth) ? undefined : shown(answer, truth)

/** A list of runs marks each run that lost an event for good; where no run of the tenant did, it has nothing to say (LOG-77). */
export const runsShown: Judge = (answer, truth) => {
  const { model, tenant } = truth
  const areWhole = model.runs(tenant).every((run) => isRunWhole(model.ofRun(tenant, run), truth))
  return truth.isAcknowledged && areWhole ? undefined : shown(answer, truth)
}

/** The banner of every page, and words that one might have in its place. */
const PAGE_ADMISSION =
  /\b(?:does|do) not verify|\bincomplete\b|\bdamaged\b|\bstopped\b|\b(?:is|are) missing\b|\blost\b/i

export const written: Judge = ({ status, text }, truth) => {
  // A handoff that contradicts an earlier one is refused on record: at a revision, too.
  if (status !== 201 && status !== 409) return undefined
  const end = struck(truth).length - 1
  const said = JSON.parse(text)
  const revision = said.rejected?.revision ?? said.revision
  return revision <= end ? `revision ${revision} is acknowledged a second time` : undefined
}
