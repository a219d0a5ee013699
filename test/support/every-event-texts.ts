/** @module Everything that is made of a store with every event type: exports in each format, what auditors find, folds, and words. */
import { evolveRun } from '../../projections/run.ts'
import { evolveRunRow, type RunRowState } from '../../projections/run-row.ts'
import type { RunState } from '../../projections/run-state.ts'
import { evolveOnServer, initialOnServer } from '../../projections/server-fold.ts'
import { runStream } from '../../schemas/names.ts'
import { foldEvent, newRecord } from '../../src/agent/history/recorded-run.ts'
import { describeEvent } from '../../src/dashboard/story/describe.ts'
import { emptyStory, foldStory } from '../../src/dashboard/story/run-story.ts'
import type { ExportScope } from '../../src/export/format.ts'
import { FORMATS, type FormatName } from '../../src/export/formats.ts'
import { AUDIT_QUERIES, type AuditQueryName } from '../../src/ledger/audit/audit-queries.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { ledgerEvent, recordedEvent } from '../../src/ledger/read/parse-record.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { ReportFacts } from '../../src/verify/bundle/report-facts.ts'
import { auditOfStore } from './audit-of-store.ts'
import { RUN, TENANT } from './every-event.ts'
import { collect } from './records.ts'

/** Texts by the names of the files in `test/vectors/events/` that hold them. */
export async function textsOfEveryEvent(store: EventStore): Promise<Readonly<Record<string, string>>> {
  const events = (await collect(store.readAll())).map(ledgerEvent)
  const formats = (Object.keys(FORMATS) as FormatName[]).filter((format) => format !== 'cloudevents-batch')
  const exports = formats.map((format) => [`every-event.${FORMATS[format].extension}`, exported(format, events)])
  return {
    ...Object.fromEntries(exports),
    'words.txt': events.map((event) => `${event.header.type}: ${describeEvent(event)}\n`).join(''),
    'audit.json': pretty(await audited(store)),
    'folds.json': pretty(folded(events)),
    'report.json': pretty(reported(events)),
  }
}

const pretty = (value: unknown): string => `${JSON.stringify(value, asJson, 1)}\n`

function asJson(_: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value)
  return value instanceof Set ? [...value] : value
}

/** The batch of CloudEvents, which is their lines with commas between them. */
export async function batchOfEveryEvent(store: EventStore): Promise<string> {
  return exported('cloudevents-batch', (await collect(store.readAll())).map(ledgerEvent))
}

/** Without the trailer, which counts and digests what stands here. */
function exported(format: FormatName, events: readonly LedgerEvent[]): string {
  const leaves = new Map(events.map(({ header }, at) => [header.id, at]))
  const scope: ExportScope = { ledgerId: 'ledger-1', tenant: TENANT, leafIndex: (id) => leaves.get(id) }
  const writer = FORMATS[format].open(scope)
  return writer.head + events.map(writer.event).join('') + writer.rest()
}

/** The answer to every named query. */
async function audited(store: EventStore): Promise<object> {
  using index = openSqliteAudit({ path: ':memory:' })
  const audit = auditOfStore({ store, index })
  const caller = { tenant: TENANT, actor: 'auditor' }
  const answers: Record<string, unknown> = {}
  for (const name of Object.keys(AUDIT_QUERIES) as AuditQueryName[]) {
    const seed = name === 'sample' ? { seed: 'seed' } : {}
    const filter = name === 'search' ? { text: 'bern' } : {}
    const answer = await audit.ask(caller, { name, filter, ...seed }, { limit: 500 })
    answers[name] = answer.ok ? answer.items : answer.detail
  }
  return answers
}

function folded(all: readonly LedgerEvent[]): object {
  const events = all.filter(({ header }) => header.stream === runStream(TENANT, RUN))
  let state: RunState | undefined
  let row: RunRowState | undefined
  const onServer = initialOnServer()
  const story = emptyStory()
  const record = newRecord()
  for (const event of events) {
    const known = recordedEvent(event.header, event.texts.data)
    state = evolveRun(state, known)
    row = evolveRunRow(row, recordedEvent(event.header, event.texts.data))
    evolveOnServer<RunState>(evolveRun, onServer, {
      streamId: event.header.stream,
      sequenceNumber: event.header.revision,
      data: JSON.parse(event.texts.data),
      metadata: { header: event.header },
    })
    foldStory(story, [event])
    const { type, time, revision } = event.header
    foldEvent(record, { type, time, revision, data: JSON.parse(event.texts.data) } as never)
  }
  return { state, row, onServer, story, record }
}

function reported(events: readonly LedgerEvent[]): object {
  const facts = new ReportFacts()
  for (const event of events) facts.take(event)
  facts.nextPass()
  const { ends, types, agents, notable, openRuns, openCalls } = facts
  const counted = { ends: ends.entries(), types: types.entries(), agents: agents.entries() }
  return { ...counted, notable, openRuns, openCalls, tokens: facts.tokens, costs: facts.costs }
}
