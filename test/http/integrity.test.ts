import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { alteredStore, withOtherBody } from '../support/altered-store.ts'
import { drive, ok } from '../support/run-driver.ts'
import { bearer, testEdge } from '../support/test-edge.ts'
import { openTestStore } from '../support/test-store.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http: broken seals')

const bodyOf = async (response: Response): Promise<JsonObject> => (await response.json()) as JsonObject

test('a broken seal is seen on every list of the API, on every page, and in the metrics (LOG-24, A218)', async () => {
  const altered = alteredStore(await openTestStore())
  await using edge = await testEdge({ store: altered.store, audit: true, merkleLogs: true })
  const { tenant, inner } = edge
  for (const id of ['whole', 'broken']) {
    const run = drive(inner, id, { tenant, actor: 'alice' })
    await run.start()
    ok(await run.hand('ann', { facts: { total: 'exactly 4,000' } }))
  }
  await inner.ledger.logs?.publish()
  const olga = await signedIn(edge)
  assert.not.match(await olga.html('/ui/runs'), /role="alert"/)

  altered.alter(withOtherBody(runStream(tenant, 'broken'), 1, ['4,000', '9,000']))
  await inner.ledger.integrity.scrub()
  const integrity = await bodyOf(await edge.get('/v1/integrity'))
  const [fault] = integrity.items as readonly JsonObject[]
  assert.equal([fault?.run, fault?.revision, fault?.code], ['broken', 1, 'data-digest'])
  const rows = (await bodyOf(await edge.get('/v1/runs'))).items as readonly JsonObject[]
  assert.equal(rows.map(({ runId, seal }) => [runId, seal]).sort(), [
    ['broken', 'invalid'],
    ['whole', undefined],
  ])
  assert.is((await bodyOf(await edge.get('/v1/runs/broken'))).seal, 'invalid')
  for (const path of ['/v1/runs/broken/events', '/v1/events', '/v1/audit/events?run=broken']) {
    const items = (await bodyOf(await edge.get(path))).items as readonly JsonObject[]
    const broken = items
      .filter(({ seal }) => seal === 'invalid')
      .map(({ revision, header }) => revision ?? (header as JsonObject).revision)
    assert.equal(broken, [1], path)
  }
  assert.match(await (await edge.get('/metrics')).text(), /countersign_integrity_faults [1-9]\d*\n/)

  for (const path of ['/ui/runs', '/ui/runs/whole', '/ui/spend', '/ui/log', '/ui/audit/events']) {
    assert.match(await olga.html(path), /role="alert"[\s\S]*does not verify/, path)
  }
  assert.match(await olga.html('/ui/runs'), /seal broken/)
  assert.match(await olga.html('/ui/runs/broken'), /id="event-1"[\s\S]*seal broken/)
  assert.not.match(await olga.html('/ui/runs/whole'), /seal broken/)
  assert.match(await olga.html('/ui/log'), /Was anything altered\?[\s\S]*data-digest/)
  assert.match(await olga.html('/ui/audit/events?run=broken'), /badge-bad"><bdi>broken</)

  const foreign = await bearer(edge, { tenant: edge.foreign })
  assert.equal((await bodyOf(await edge.get('/v1/integrity', foreign))).items, [])
  const elsewhere = await signedIn(edge, { run: 'whole' })
  assert.not.match(await elsewhere.html('/ui/runs/whole'), /role="alert"/)
})

test.run()
