import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import { drive } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http: views that cannot follow the store')

/** A file that takes writes until a test says that its disk is full; `method` is the one that writes. */
function onFullDisk<File extends object>(file: File, method: keyof File) {
  let isFull = false
  const proxy = new Proxy(file, {
    get: (target, key) => {
      if (key === method && isFull) {
        return () => {
          throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
        }
      }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const fill = (full: boolean): void => {
    isFull = full
  }
  return { file: proxy, fill }
}

test('a list or an audit answer that would lack events is 503 with why, over HTTP and on the pages, until the disk has room (F158)', async () => {
  const views = onFullDisk(openSqliteViews({ path: ':memory:' }), 'saveRuns')
  const index = onFullDisk(openSqliteAudit({ path: ':memory:' }), 'save')
  await using edge = await testEdge({ views: views.file, auditIndex: index.file, audit: true })
  const start = async (id: string) => {
    await drive(edge.inner, id, { tenant: edge.tenant, actor: 'alice' }).start()
  }
  await start('before')
  const paths = ['/v1/runs', '/v1/calls', '/v1/audit/open-runs', '/v1/audit/events', '/v1/audit/runs']
  for (const path of paths) assert.is((await edge.get(path)).status, 200, path)
  const { asOf } = (await (await edge.get('/v1/audit/open-runs')).json()) as { asOf: JsonObject }

  views.fill(true)
  index.fill(true)
  await start('open')
  for (const path of paths) {
    const answer = await edge.get(path)
    const { code, detail } = (await answer.json()) as JsonObject
    assert.equal([answer.status, code], [503, 'view-behind'], path)
    assert.match(String(detail), /takes no writes, as on a full disk/)
    assert.ok(Number(answer.headers.get('retry-after')) > 0, path)
  }
  const pinned = await edge.get(`/v1/audit/open-runs?asOf=${Number(asOf.treeSize)}`)
  assert.is(pinned.status, 200, 'what the index holds whole is answered, of exactly that size')
  const olga = await signedIn(edge)
  for (const path of ['/ui/runs', '/ui/audit/open-runs', '/ui/spend']) {
    const page = await olga.get(path)
    assert.is(page.status, 503, path)
    assert.match(await page.text(), /cannot follow the store/)
  }
  assert.is((await edge.get('/v1/runs/open')).status, 200, 'a run itself needs neither')

  views.fill(false)
  index.fill(false)
  const items = ((await (await edge.get('/v1/audit/open-runs')).json()) as JsonObject).items as readonly JsonObject[]
  assert.equal(items.map(({ run }) => run).sort(), ['before', 'open'])
  assert.is(((await (await edge.get('/v1/runs')).json()) as { items: unknown[] }).items.length, 2)
})

test.run()
