import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { valueStream } from '../../schemas/names.ts'
import { partsFault, salted, valueParts } from '../../src/ledger/values/value-parts.ts'
import { mayExceed } from '../../src/ledger/values/value-size.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { AppendResult, EventStore } from '../../src/store/event-store.ts'
import { collect } from '../support/records.ts'
import { drive, ok, refusedWith } from '../support/run-driver.ts'
import { bearer, testEdge } from '../support/test-edge.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'

const values = suite('ledger: large values beside the events')

const BIG = { rows: 'x'.repeat(300_000) }
const refOf = (call: JsonObject, name: string): JsonObject => {
  const ref = call[name]
  if (ref === undefined || !isJsonObject(ref)) throw new Error(`${name} is missing`)
  return ref
}

values(
  'a value is durable before the event that names it, and its digest is no plain digest of its content (REC-19)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const callId = await run.claimed('t', { args: BIG })
    ok(await run.settle(callId, { result: BIG }))
    const call = await run.call(callId)
    assert.is(call.args, undefined)
    assert.equal(call.argsRef, call.resultRef, 'one value of a run is stored once')
    const { digest, bytes, mediaType } = refOf(call, 'argsRef')
    assert.equal([bytes, mediaType], [canonicalJson(BIG).length, 'application/json'])
    assert.is.not(digest, `sha256:${createHash('sha256').update(canonicalJson(BIG)).digest('hex')}`)
    const order = (await collect(test.store.readAll())).map(({ stream }) => stream)
    const first = order.indexOf(valueStream(alice.tenant, String(digest)))
    assert.ok(
      first >= 0 && order.filter((stream) => stream.startsWith(valueStream(alice.tenant, ''))).length === 3,
      'in parts of 128 KiB',
    )
    assert.ok(first < order.length - 2)
    const found = await test.ledger.value(alice, 'r', String(digest))
    assert.is(found.ok && found.value, canonicalJson(BIG))
  },
)

values('64 KiB stand in the event, one byte more beside it', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  for (const [chars, inline] of [
    [65_534, true],
    [65_535, false],
  ] as const) {
    const callId = await run.claimed('t')
    ok(await run.settle(callId, { result: 'x'.repeat(chars) }))
    assert.is((await run.call(callId)).resultRef === undefined, inline)
  }
})

values('a command that is refused stores no value, and one sent again stores it once', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const callId = await run.claimed('t')
  const stored = async (): Promise<number> =>
    (await collect(test.store.readAll())).filter(({ stream }) => stream.startsWith(valueStream(alice.tenant, '')))
      .length
  refusedWith(await run.settle(callId, { fence: 9, result: BIG }), 'stale-fence')
  const orphan = { tool: 't', args: BIG, parentCall: '01890a5d-ac96-774b-8cce-000000000001' }
  refusedWith(await run.do({ kind: 'claim', body: orphan }), 'call-not-found')
  assert.is(await stored(), 0)
  ok(await run.settle(callId, { result: BIG }))
  const parts = await stored()
  assert.ok(parts > 0)
  ok(await run.settle(callId, { result: BIG }))
  refusedWith(await run.settle(callId, { result: { rows: 'y'.repeat(300_000) } }), 'already-settled')
  assert.is(await stored(), parts)
})

values('a value over the limit is refused with both sizes, and nothing is stored (REC-23)', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const callId = await run.claimed('t')
  const refused = refusedWith(await run.settle(callId, { result: 'x'.repeat(8 * 1024 * 1024) }), 'value-too-large')
  assert.equal(refused.evidence, { limit: 8 * 1024 * 1024, actual: 8 * 1024 * 1024 + 2 })
  assert.is((await run.call(callId)).status, 'claimed')
})

values(
  'an input and an output of a run lie beside the events as arguments do, and are read by their digests (REC-19)',
  async () => {
    await using edge = await testEdge()
    const as = await bearer(edge, { scopes: ['runs:write', 'runs:read', 'audit:read'] })
    const put = (path: string, body: JsonObject): Promise<Response> =>
      Promise.resolve(
        edge.app.request(path, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json', ...as },
        }),
      )
    const start = { id: 'r', name: 'r', input: BIG }
    assert.is((await put('/v1/runs', start)).status, 201)
    assert.is((await put('/v1/runs', start)).status, 200, 'the same input resumes the run')
    assert.is((await put('/v1/runs', { ...start, input: 'another' })).status, 422)
    assert.is((await put('/v1/runs/r/complete', { output: { again: BIG } })).status, 200)
    const ended = (await (await put('/v1/runs', start)).json()) as JsonObject
    assert.equal([ended.status, ended.output], ['completed', undefined])
    const events = (await (await edge.app.request('/v1/runs/r/events', { headers: as })).json()) as JsonObject
    const [first] = events.items as readonly { readonly data: JsonObject }[]
    assert.equal([first?.data.v, first?.data.input], [2, undefined])
    for (const [ref, value] of [
      [refOf(first?.data ?? {}, 'inputRef'), BIG],
      [refOf(ended, 'outputRef'), { again: BIG }],
    ] as const) {
      const found = await edge.app.request(`/v1/runs/r/values/${ref.digest}`, { headers: as })
      assert.is(await found.text(), canonicalJson(value))
    }
  },
)

values('an input or an output over the limit is refused with both sizes, and nothing is stored (REC-23)', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  const large = 'x'.repeat(8 * 1024 * 1024)
  const sizes = { limit: 8 * 1024 * 1024, actual: 8 * 1024 * 1024 + 2 }
  const start = (input: string) => run.do({ kind: 'start', body: { id: 'r', name: 'r', input } })
  assert.equal(refusedWith(await start(large), 'value-too-large').evidence, sizes)
  assert.equal(await collect(test.store.readStream('run-acme.r')), [])
  ok(await start('small'))
  assert.equal(
    refusedWith(await run.do({ kind: 'complete', body: { output: large } }), 'value-too-large').evidence,
    sizes,
  )
  ok(await run.do({ kind: 'complete', body: { output: 'small' } }))
})

values(
  'a value of another run, or of another tenant, is not found; a token of another run is refused (A202)',
  async () => {
    await using test = await testLedger()
    const [mine, other] = [drive(test, 'mine'), drive(test, 'other')]
    await mine.start()
    await other.start()
    const callId = await mine.claimed('t', { args: BIG })
    const digest = String(refOf(await mine.call(callId), 'argsRef').digest)
    const codeOf = async (caller: typeof alice & { run?: string }, runId: string): Promise<string> => {
      const found = await test.ledger.value(caller, runId, digest)
      return found.ok ? 'found' : found.refusal.code
    }
    assert.is(await codeOf(alice, 'other'), 'value-not-found')
    assert.is(await codeOf({ ...alice, tenant: 'globex' }, 'mine'), 'run-not-found')
    assert.is(await codeOf({ ...alice, run: 'other' }, 'mine'), 'run-mismatch')
    assert.is(await codeOf({ ...alice, run: 'mine' }, 'mine'), 'found')
    const twin = await other.claimed('t', { args: BIG })
    assert.is.not(refOf(await other.call(twin), 'argsRef').digest, digest, 'equal values of two runs have two digests')
  },
)

/** Takes only one record of a value, then fails until told otherwise. */
function stoppingStore(store: EventStore): EventStore & { stop: boolean } {
  const changes = {
    stop: false,
    append: async (append: Parameters<EventStore['append']>[0]): Promise<AppendResult> => {
      if (!changes.stop || !append.stream.startsWith('value-')) return store.append(append)
      await store.append({ ...append, records: append.records.slice(0, 1) })
      return { kind: 'unavailable', detail: 'gone', retryAfterMs: 1 }
    },
  }
  return wrapStore(store, changes) as EventStore & { stop: boolean }
}

values(
  'a value that a crash cut off is finished by whoever stores it next, and no event names it before (F140)',
  async () => {
    const store = stoppingStore(await openTestStore())
    await using test = await testLedger({ store })
    const run = drive(test, 'r')
    await run.start()
    const callId = await run.claimed('t')
    store.stop = true
    refusedWith(await run.settle(callId, { result: BIG }), 'store-unavailable')
    assert.is((await run.call(callId)).status, 'claimed')
    store.stop = false
    ok(await run.settle(callId, { result: BIG }))
    const { digest } = refOf(await run.call(callId), 'resultRef')
    const found = await test.ledger.value(alice, 'r', String(digest))
    assert.is(found.ok && found.value, canonicalJson(BIG))
  },
)

values('two processes that store one value at once have it once, whole (REC-21)', async () => {
  await using test = await testLedger()
  const sibling = await test.sibling()
  const run = drive(test, 'r')
  await run.start()
  const claim = (ledger: typeof sibling, tool: string) =>
    ledger.execute(alice, 'r', { kind: 'claim', body: { tool, args: BIG } }, {})
  const outcomes = await Promise.all([claim(test.ledger, 'a'), claim(sibling, 'b'), claim(test.ledger, 'c')])
  for (const outcome of outcomes) ok(outcome)
  const parts = (await collect(test.store.readAll())).filter(({ stream }) =>
    stream.startsWith(valueStream(alice.tenant, '')),
  )
  assert.is(parts.length, 3)
  await sibling[Symbol.asyncDispose]()
})

values(
  'a handoff is not judged without a result that it may be about: one that is missing refuses it (F141)',
  async () => {
    const store = await openTestStore()
    const hidden = { on: false }
    const readStream: EventStore['readStream'] = (stream, options) =>
      hidden.on && stream.startsWith('value-') ? (async function* () {})() : store.readStream(stream, options)
    await using test = await testLedger({ store: wrapStore(store, { readStream }) })
    const run = drive(test, 'r')
    await run.start()
    const callId = await run.claimed('t')
    ok(await run.settle(callId, { result: BIG }))
    const sibling = await test.sibling()
    hidden.on = true
    const hand = { kind: 'envelope', body: { agent: 'a', payload: { k: 1 } } } as const
    refusedWith(await sibling.execute(alice, 'r', hand, {}), 'stream-damaged')
    hidden.on = false
    ok(await sibling.execute(alice, 'r', hand, {}))
    await sibling[Symbol.asyncDispose]()
  },
)

values(
  'over HTTP a value comes with its call in one request, and is read by its digest with the scope of the run (A202)',
  async () => {
    await using edge = await testEdge()
    const run = drive(edge.inner, 'r', { tenant: edge.tenant, actor: 'alice' })
    await run.start()
    const callId = await run.claimed('t')
    const ask = async (path: string, init: RequestInit = {}, scopes = ['runs:write', 'runs:read']) =>
      edge.app.request(`/v1/runs/r${path}`, {
        ...init,
        headers: { 'content-type': 'application/json', ...(await bearer(edge, { scopes })) },
      })
    const result = { rows: Array.from({ length: 200_000 }, (_, n) => ({ n })) }
    const body = JSON.stringify({ fence: 1, result })
    const settled = await ask(`/calls/${callId}/settle`, { method: 'POST', body })
    assert.is(settled.status, 200, await settled.clone().text())
    const { digest } = refOf(await run.call(callId), 'resultRef')
    const read = await ask(`/values/${encodeURIComponent(String(digest))}`)
    assert.is(await read.text(), canonicalJson(result))
    assert.is((await ask(`/values/sha256:${'0'.repeat(64)}`)).status, 404)
    assert.is((await ask(`/values/${digest}`, {}, ['runs:write'])).status, 403)
    const next = await run.claimed('t')
    const tooLarge = await ask(`/calls/${next}/settle`, {
      method: 'POST',
      body: JSON.stringify({ fence: 1, result: 'x'.repeat(9_000_000) }),
    })
    assert.is(tooLarge.status, 413)
  },
)

const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>

values('a value whose size is over a limit is never taken for one below it', () => {
  fc.assert(
    fc.property(json, fc.nat(200), (value, limit) => {
      const bytes = Buffer.byteLength(canonicalJson(value))
      if (bytes > limit) assert.ok(mayExceed(value, limit))
    }),
  )
})

values(
  'cut into parts, at any size and with any characters, a text comes back whole, and another is distinguished from it (REC-19)',
  () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9_000 }),
        (text, times) => {
          const whole = text.repeat(times)
          const value = salted(whole, Buffer.alloc(32, 7))
          const parts = valueParts('r', whole, value)
          assert.is(parts.map((part) => part.text).join(''), whole)
          assert.is(partsFault(parts, value.ref.digest), undefined)
          const [first] = parts
          if (first === undefined) throw new Error('there is a part')
          assert.ok(partsFault([{ ...first, text: `${first.text.slice(1)}!` }, ...parts.slice(1)], value.ref.digest))
          if (parts.length > 1) assert.ok(partsFault(parts.slice(1), value.ref.digest))
        },
      ),
      { numRuns: 30 },
    )
  },
)

values.run()
