import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ServerEvent, withoutContents } from '../../projections/server-fold.ts'
import { evolve, init } from '../../projections/server-run.ts'
import { EVENTS, isRunEventType } from '../../schemas/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { toEvents } from '../../src/store/eventstoredb/event-form.ts'
import { OWN_PROJECTIONS } from '../../src/verify/server-projections.ts'
import { digestOf } from '../support/decider.ts'
import type { LoggedEvent } from '../support/eventstoredb/log.ts'
import { ProjectionScript } from '../support/eventstoredb/projection-script.ts'
import { randomRun } from '../support/random-run.ts'
import { rounds } from '../support/rounds.ts'
import { drive, recordsOf, verifiedFold } from '../support/run-driver.ts'
import { accepted, claimed, reserved, started, succeeded, used } from '../support/run-events.ts'
import { testLedger } from '../support/test-ledger.ts'

const test = suite('projections on the server')

const STREAM = runStream('acme', 'r')
const SERVER_STATE_MAX_BYTES = 16 * 1024 * 1024
const NEARLY_TOO_LARGE_BYTES = 5.235e6

const scriptOf = (file: string): string =>
  readFileSync(new URL(`../../projections/server/${file}`, import.meta.url), 'utf8')

function serverEvent({ type, data }: Draft, revision: number, header: object = {}): ServerEvent {
  const time = '2026-01-01T00:00:00.000Z'
  const metadata = { header: { v: 1, stream: STREAM, revision, type, time, tenant: 'acme', actor: 'alice', ...header } }
  return { streamId: STREAM, sequenceNumber: revision, data, metadata }
}

/** The schemas' own types are more than the compiler takes in at once. */
const TYPES = EVENTS as unknown as Readonly<Record<string, { readonly schema: Shaped }>>
interface Shaped {
  readonly shape: Readonly<Record<string, Parser>>
}
interface Parser {
  readonly safeParse: (value: unknown) => { readonly success: boolean }
}

/** As the node keeps an appended event. */
function loggedEvents(records: readonly ReadRecord[]): readonly LoggedEvent[] {
  return records.map((record) => {
    const header = JSON.parse(record.header)
    const { stream, revision } = record
    const [event] = toEvents({
      stream,
      expectedRevision: revision - 1,
      records: [{ ...record, id: header.id, type: header.type }],
    })
    if (event === undefined) throw new Error('one event a record')
    return {
      id: header.id,
      stream,
      revision: BigInt(revision),
      type: header.type,
      contentType: 'application/json',
      data: Buffer.from(event.data),
      metadata: Buffer.from(event.metadata),
      position: BigInt(revision),
      createdMs: 0,
    }
  })
}

const asPages = async function* (records: readonly ReadRecord[]): AsyncGenerator<readonly ReadRecord[]> {
  yield records
}

async function runState(records: readonly ReadRecord[]): Promise<Json> {
  const own = OWN_PROJECTIONS.find(({ script }) => script === 'run.js')
  const folded = await own?.fold(asPages(records))
  return isJsonObject(folded) ? (folded.state ?? null) : null
}

test("one source, two engines: the script in the server's interpreter holds what the fold here holds, at every event of 60 random runs", async () => {
  await using ledger = await testLedger()
  const scripts = OWN_PROJECTIONS.map((own) => ({ own, script: new ProjectionScript(scriptOf(own.script)) }))
  const types = new Set<string>()
  for (let seed = 1; seed <= rounds(24, 60); seed += 1) {
    await randomRun(ledger, `r${seed}`, { seed })
    const records = await recordsOf(ledger.store, `r${seed}`)
    const events = loggedEvents(records)
    for (const { own, script } of scripts) {
      let state: string | undefined
      for (const [at, event] of events.entries()) {
        types.add(event.type)
        state = script.handle(state, event)
        if (at % rounds(21, 7) !== 0 && at < events.length - 1) continue
        const ours = await own.fold(asPages(records.slice(0, at + 1)))
        assert.is(canonicalJson(JSON.parse(state)), canonicalJson(ours), `${own.name}, run ${seed}, event ${at}`)
        assert.is(JSON.parse(state).stopped, null)
      }
    }
  }
  assert.ok(types.size >= 22, `too few kinds of events: ${[...types].join(' ')}`)
})

test("the state on the server is the run's own, but for contexts and manifests", async () => {
  await using ledger = await testLedger()
  for (let seed = 100; seed < 100 + rounds(4, 30); seed += 1) {
    const run = drive(ledger, `r${seed}`)
    await randomRun(ledger, run.runId, { seed })
    await run.do({ kind: 'manifest', body: { agent: 'cat', writes: ['facts'] } })
    await run.hand('cat', { facts: ['seen'] }, { mode: 'extend' })
    const state = await runState(await recordsOf(ledger.store, run.runId))
    const whole: JsonObject = JSON.parse(JSON.stringify(await verifiedFold(ledger, run.runId)))
    const snapshot = { ...(whole.snapshot as JsonObject), context: {} }
    const manifests = Object.entries(whole.manifests as JsonObject).map(([key, value]) => [
      key,
      { ...(value as JsonObject), manifest: {} },
    ])
    assert.equal(state, { ...whole, context: {}, snapshot, manifests: Object.fromEntries(manifests) }, run.runId)
  }
})

test('whatever a body may hold that nests without limit is left out of it', () => {
  let deep: Json = []
  for (let level = 0; level < 80; level += 1) deep = [deep]
  let nesting = 0
  for (const [type, { schema }] of Object.entries(TYPES).filter(([name]) => isRunEventType(name))) {
    for (const [member, part] of Object.entries(schema.shape)) {
      const value = [deep, { deep }].find((each) => part.safeParse(each).success)
      if (value === undefined) continue
      nesting += 1
      assert.not.match(JSON.stringify(withoutContents(type, { [member]: value })), /\[\[/, `${type}.${member}`)
    }
  }
  assert.ok(nesting >= 12, `${nesting} members`)
})

test("no content reaches the state: a payload nested deeper than the server's serialiser goes is folded like any other", () => {
  let deep: Json = 'bottom'
  for (let level = 0; level < 62; level += 1) deep = [deep]
  const script = new ProjectionScript(scriptOf('run.js'))
  const drafts = [started(), accepted(1, { facts: deep }), claimed(1, { args: deep })]
  let state: string | undefined
  for (const [revision, draft] of drafts.entries()) {
    const { data, metadata } = serverEvent(draft, revision)
    const [raw, meta] = [Buffer.from(JSON.stringify(data)), Buffer.from(JSON.stringify(metadata))]
    const position = BigInt(revision)
    const same = { id: 'x', stream: STREAM, contentType: 'application/json', createdMs: 0 }
    state = script.handle(state, { ...same, type: draft.type, revision: position, position, data: raw, metadata: meta })
  }
  assert.not.match(state ?? '', /bottom/)
  assert.is(JSON.parse(state ?? '').stopped, null)
})

test('what is no run of a ledger stops its own fold and no other: nothing that a stream holds makes the script throw', () => {
  const first = serverEvent(started(), 0)
  const second = serverEvent(claimed(1), 1)
  const cases: [why: string, events: ServerEvent[]][] = [
    ['no-run', [serverEvent(claimed(1), 0)]],
    ['unreadable', [{ ...first, metadata: undefined }]],
    ['unreadable', [{ ...first, data: 'text' }]],
    ['unreadable', [first, { ...second, data: null }]],
    ['unreadable', [first, { ...second, metadata: { header: null } }]],
    ['unreadable', [first, serverEvent(claimed(1), 1, { revision: 7 })]],
    ['unreadable', [first, serverEvent(claimed(1), 1, { stream: 'run-other.r' })]],
    [
      'unreadable',
      [
        first,
        {
          ...second,
          data: { v: 1 },
          metadata: { header: { ...(second.metadata as { header: object }).header, type: 'UsageRecorded' } },
        },
      ],
    ],
    ['unknown-version', [first, { ...second, data: { ...(second.data as object), v: 3 } }]],
    ['gap', [first, serverEvent(claimed(1), 2)]],
    ['gap', [serverEvent(started(), 1)]],
  ]
  for (const [why, events] of cases) {
    let state = init() as ReturnType<typeof evolve>
    for (const event of events) state = evolve(state, event)
    assert.is(state.stopped, why)
    assert.is(state.state, null)
    const last = events.at(-1)?.sequenceNumber ?? 0
    const later = evolve(state, serverEvent(claimed(2), last + 1))
    assert.equal([later.revision, later.stopped], [last + 1, why], 'it still says how far it has seen')
  }
})

test('an event that is handed over twice is folded once', () => {
  let state = evolve(init(), serverEvent(started(), 0))
  for (const event of [serverEvent(reserved(1, 5), 1), serverEvent(reserved(1, 5), 1)]) state = evolve(state, event)
  assert.is(state.state?.spend.reservedTokens, 5)
})

const HOSTILE_NAME = '\u9f8d'.repeat(250)
/** Events of a run that only grows, with the longest names there can be. */
const HOSTILE: readonly ((n: number, name: string) => Draft)[] = [
  (n, name) => claimed(n, { agent: name, tool: name, scope: name, group: name, key: name + name }),
  (n, name) => claimed(n, { agent: name, phase: 'model' }),
  (n, agent) => reserved(n, 1, { agent }),
  (n, agent) => used(n, { agent }),
  (n, agent) => accepted(n, {}, { agent }),
  (n, agent) => ({ type: 'ManifestRegistered', data: { v: 1, agent, manifest: {}, hash: digestOf({ n }) } }),
]

test('a run without end is left to the ledger before its state outgrows what the server can write, whatever its names', () => {
  for (const [kind, hostile] of HOSTILE.entries()) {
    let state = evolve(init(), serverEvent(started(), 0))
    let before = ''
    for (let revision = 1; state.stopped === null; revision += 1) {
      const event = serverEvent(hostile(revision, `${HOSTILE_NAME}${revision}`), revision)
      if (state.foldedBytes > NEARLY_TOO_LARGE_BYTES) before = JSON.stringify(state)
      state = evolve(state, event)
    }
    const bytes = Buffer.byteLength(before)
    assert.is(state.stopped, 'too-large')
    assert.ok(bytes > 1024 * 1024 && bytes < SERVER_STATE_MAX_BYTES, `kind ${kind}: ${bytes} bytes`)
  }
})

test('an ordinary run of thousands of handoffs and calls is folded to its end', () => {
  let state = evolve(init(), serverEvent(started(), 0))
  const request = { id: crypto.randomUUID() }
  for (let n = 1; n <= 4_000; n += 1) {
    for (const draft of [accepted(n, { facts: ['x'] }), claimed(n), succeeded(n)]) {
      state = evolve(state, serverEvent(draft, state.revision + 1, { request }))
    }
  }
  assert.equal([state.revision, state.stopped], [12_000, null])
})

test('the scripts hold no schema library and need nothing but ECMAScript', () => {
  for (const { script } of OWN_PROJECTIONS) {
    const text = scriptOf(script)
    assert.not.match(text, /zod|require\(|import |process\.|Date\.now|Math\.random|crypto/)
    assert.ok(text.length < 72_000, `${script}: ${text.length}`)
    assert.equal(new ProjectionScript(text).definition, {
      source: 'category',
      category: 'run',
      byStream: true,
      outputsState: false,
      handlers: {},
    })
  }
})

test.run()
