import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { httpConnection } from '../../src/agent/runtime/http-connection.ts'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import { createRuntime } from '../../src/agent/runtime/runtime.ts'
import { createClient } from '../../src/client/client.ts'
import type { LedgerError } from '../../src/client/errors.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { codeOf, rejection } from '../agent/homes.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('http: what is seen of approvals')

const body = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject
const POLICY = { approve: [{ tools: ['pay'] }] }

async function asked(edge: TestEdge, run: string, args: JsonObject): Promise<string> {
  await edge.started(run, { policy: POLICY })
  const refused = await body(await edge.post(`/v1/runs/${run}/calls`, { tool: 'pay', args, key: 'k' }))
  assert.is(refused.code, 'approval-pending')
  return String(refused.approvalId)
}

/** From `forge()` on, what was recorded of a run reads otherwise than it was sealed. */
function forgeable(run: string): { readonly store: EventStore; readonly forge: () => void } {
  const inner = openMemoryStore()
  let forged = false
  const store = wrapStore(inner, {
    readStream: async function* (...args) {
      for await (const page of inner.readStream(...args)) {
        yield page.map((record) => {
          const hit = forged && record.stream.endsWith(`.${run}`) && record.revision > 0
          return hit ? { ...record, data: record.data.replace('5000', '5001') } : record
        })
      }
    },
  })
  return {
    store,
    forge: () => {
      forged = true
    },
  }
}

test('a run that cannot be read is named with the queue and with the open calls, and hides no other one (RUN-91)', async () => {
  const { store, forge } = forgeable('bad')
  await using edge = await testEdge({ store })
  const good = await asked(edge, 'good', { cents: 5_000 })
  await asked(edge, 'bad', { cents: 5_000 })
  await edge.post('/v1/runs/bad/calls', { tool: 'ship', args: { cents: 5_000 } })
  await edge.post('/v1/runs/good/calls', { tool: 'ship', args: { cents: 5_000 } })
  forge()
  const queue = await body(await edge.get('/v1/approvals', await bearer(edge, { scopes: ['approvals:write'] })))
  assert.equal(
    (queue.items as JsonObject[]).map(({ approvalId }) => approvalId),
    [good],
  )
  const named = (list: JsonObject) => (list.unreadable as JsonObject[]).map(({ runId, code }) => [runId, code])
  assert.equal(named(queue), [['bad', 'stream-damaged']])
  const open = await body(await edge.get('/v1/calls?status=open'))
  assert.equal(
    (open.items as JsonObject[]).map(({ runId }) => runId),
    ['good'],
  )
  assert.equal(named(open), [['bad', 'stream-damaged']])
})

test('in a program the queue ends with an error that names such a run, behind all that can be decided (RUN-91)', async () => {
  const { store, forge } = forgeable('bad')
  await using edge = await testEdge({ store })
  const good = await asked(edge, 'good', { cents: 5_000 })
  await asked(edge, 'bad', { cents: 5_000 })
  forge()
  const token = await edge.token({ scopes: ['approvals:write'] })
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  const caller = { tenant: edge.tenant, actor: 'bob' }
  for (const connection of [
    httpConnection(createClient({ url: 'http://ledger.test', token, fetch, backoffMs: 1, retries: 5 })),
    ledgerConnection({ ledger: edge.inner.ledger, caller, place: 'test', close: async () => undefined }),
  ]) {
    const seen: string[] = []
    const error = await rejection(
      (async () => {
        for await (const { approvalId } of createRuntime(connection).approvals.list()) seen.push(approvalId)
      })(),
    )
    assert.equal([seen, codeOf(error)], [[good], 'runs-unreadable'])
    const { unreadable } = (error as LedgerError).problem
    assert.equal(
      (unreadable as JsonObject[]).map(({ runId, code }) => [runId, code]),
      [['bad', 'stream-damaged']],
    )
  }
})

test('arguments too large for an event are kept beside the request, shown as they begin, and decided on by their digest (RUN-91)', async () => {
  await using edge = await testEdge()
  const args = { note: 'é'.repeat(100_000) }
  const approvalId = await asked(edge, 'r', args)
  const headers = await bearer(edge, { subject: 'bob', scopes: ['approvals:write'] })
  const { items } = await body(await edge.get('/v1/approvals', headers))
  const [item = {}] = items as JsonObject[]
  const ref = item.argsRef as JsonObject
  assert.is(item.args, undefined)
  assert.equal(item.argsPreview, JSON.stringify(args).slice(0, 4_096))
  assert.is(ref.bytes, Buffer.byteLength(JSON.stringify(args)))
  const value = await edge.get(`/v1/runs/r/values/${encodeURIComponent(String(ref.digest))}`)
  assert.equal(await value.json(), args)
  const granted = await edge.post(`/v1/runs/r/approvals/${approvalId}/grant`, { argsDigest: jsonDigest(args) }, headers)
  assert.is(granted.status, 200)
  const other = await edge.post('/v1/runs/r/calls', { tool: 'pay', args: { note: 'é'.repeat(100_001) }, key: 'k' })
  assert.is((await body(other)).code, 'approval-mismatch')
  assert.is((await edge.post('/v1/runs/r/calls', { tool: 'pay', args, key: 'k' })).status, 201)
  const { items: events } = await body(await edge.get('/v1/runs/r/events?type=ApprovalRequested'))
  const [event = {}] = events as { data?: JsonObject }[]
  assert.is(event.data?.v, 2)
})

test('a page of the queue ends where its items are as large as a page may be, and the next goes on behind them (RUN-91)', async () => {
  await using edge = await testEdge()
  for (let n = 0; n < 60; n += 1) await asked(edge, `r${n}`, { n, note: 'x'.repeat(60_000) })
  const headers = await bearer(edge, { scopes: ['approvals:write'] })
  const seen: unknown[] = []
  let cursor = ''
  let pages = 0
  do {
    const page = await body(await edge.get(`/v1/approvals?limit=500${cursor}`, headers))
    seen.push(...(page.items as JsonObject[]).map(({ runId }) => runId))
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    pages += 1
  } while (cursor !== '')
  assert.is(new Set(seen).size, 60)
  assert.is(seen.length, 60)
  assert.ok(pages > 1 && pages < 10, `${pages} pages`)
})

test.run()
