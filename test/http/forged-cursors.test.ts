import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { RingSealedPlaces } from '../../src/ledger/read/sealed-places.ts'
import { sha256 } from '../../src/signing/digests.ts'
import { createKeyRing, currentKey } from '../../src/signing/key-ring.ts'
import { drive } from '../support/run-driver.ts'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http: forged cursors')

/** A cursor as the first release made it: under a check that anybody can compute. */
function encodeCursor(scope: readonly unknown[], place: readonly Json[]): string {
  const text = JSON.stringify(place)
  const check = sha256(`countersign/cursor/v1\n${JSON.stringify(scope)}\n${text}`).subarray(0, 9)
  return Buffer.concat([check, Buffer.from(text)]).toString('base64url')
}

/** Genuine for a ledger of other keys. */
function sealedElsewhere(scope: readonly unknown[]): string {
  const ring = createKeyRing('2026-01-01T00:00:00.000Z', (bytes) => Buffer.alloc(bytes, 9))
  const places = new RingSealedPlaces({ ring, kid: currentKey(ring).kid, reload: () => undefined })
  return places.seal(JSON.stringify(scope), JSON.stringify(['1', 'x']))
}

const FORGED: readonly (readonly Json[])[] = [
  [{}, {}],
  ['\u0000', 'x'],
  ['', ''],
  ["1' OR 1=1", 'x'],
  ['x'.repeat(300), 'x'],
  [1e308, 'x', [{}]],
  [-1.5, 'x', {}],
  [null, null, null, null],
  [['1'], ['x']],
]

test('a cursor that is forged, cut, altered, oversized or of another place is 400 with its code, wherever one is taken (HTTP-5, A53)', async () => {
  await using edge = await testEdge({ merkleLogs: true, audit: 'unrecorded', settings: { heartbeatMs: 10 } })
  const { tenant } = edge
  const run = drive(edge.inner, 'r', { tenant, actor: 'alice' })
  await run.start()
  for (let n = 0; n < 4; n += 1) await run.called('ship', { args: { n } })
  const browser = await signedIn(edge)
  const events = await bodyOf(await edge.get('/v1/events?limit=2'))
  const calls = await bodyOf(await edge.get('/v1/runs/r/calls?limit=1'))
  const genuine = [events.nextCursor, events.tailCursor, calls.nextCursor].filter((each) => typeof each === 'string')
  assert.is(genuine.length, 3)

  const api: Record<string, readonly unknown[]> = {
    '/v1/events?limit=2&cursor=': ['events', tenant, '/v1/events', {}],
    '/v1/events?after=': ['tail', tenant],
    '/v1/runs/r/events?limit=2&cursor=': ['events', tenant, '/v1/runs/r/events', {}],
    '/v1/runs/r/calls?limit=1&cursor=': [tenant, '/v1/runs/r/calls'],
    '/v1/tail?after=': ['tail', tenant],
    '/v1/runs/r/tail?after=': ['tail', tenant],
    '/v1/audit/events?limit=1&cursor=': ['audit', tenant, 'events', { filter: {} }],
    '/v1/audit/runs?limit=1&cursor=': ['audit', tenant, 'runs', { filter: {} }],
    '/v1/export?offset=1&cursor=': ['export', tenant, '/v1/export', 'jsonl', {}],
  }
  for (const [path, scope] of Object.entries(api)) {
    const foreign = encodeCursor(
      scope.map((each) => (each === tenant ? 'other' : each)),
      ['1', 'x'],
    )
    const flipped = genuine
      .map((each) => Buffer.from(each, 'base64url'))
      .flatMap((bytes) => Array.from(bytes, (byte, at) => Buffer.from(bytes.with(at, byte ^ 1)).toString('base64url')))
    const mangled = genuine.flatMap((each) => [each.slice(0, -3), `${each}A`, each.replace(/^./, '_'), each.slice(4)])
    const forged = FORGED.map((place) => encodeCursor(scope, place))
    for (const cursor of [
      '',
      '%00',
      'x'.repeat(5_000),
      '%F0%9F%92%A9',
      foreign,
      sealedElsewhere(scope),
      ...mangled,
      ...forged,
      ...flipped,
    ]) {
      const response = await edge.get(path + cursor)
      const where = `${path}${cursor.slice(0, 60)}`
      assert.is(response.status, 400, where)
      assert.match((await bodyOf(response)).code, /^invalid-(cursor|query)$/, where)
    }
  }
  for (const id of ['garbage', ...FORGED.map((place) => encodeCursor(['tail', tenant], place))]) {
    assert.is((await edge.get('/v1/tail', { 'last-event-id': id })).status, 400, id)
  }
  for (const path of ['/ui/live', '/ui/runs/r/live']) {
    for (const place of ["' OR 1", '\u0000', 'x'.repeat(150)].map((text) => Buffer.from(text).toString('base64url'))) {
      assert.is((await browser.get(`${path}?after=${place}`)).status, 400, path)
      assert.is((await browser.get(path, { 'last-event-id': place })).status, 400, path)
    }
  }
  assert.equal(
    edge.logs.filter(({ level }) => level === 'error'),
    [],
  )
})

test.run()
