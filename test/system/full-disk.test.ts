import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Answer, ApiClient } from '../support/api-client.ts'
import { countersign } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { smallDisk } from '../support/small-disk.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a server on a full disk')
const disk = smallDisk(4)
if (disk === undefined) console.log('skipped: a full disk, only root may mount one')
test.after(() => disk?.[Symbol.dispose]())
const claim = disk === undefined ? test.skip : test

const TEXT = 'x'.repeat(16_000)

/** Posts until a refusal; gives the last answer and how many were accepted. */
async function fillUp(
  client: ApiClient,
  from: number,
): Promise<{ readonly refused: Answer; readonly accepted: number }> {
  for (let n = from; ; n += 1) {
    const payload = { facts: ['kept'], notes: n, text: TEXT }
    const answer = await client.postOnce('/v1/runs/full/envelopes', `n${n}`, { agent: 'a', payload })
    if (answer.status !== 201) return { refused: answer, accepted: n - from }
  }
}

claim(
  'a full disk answers 507, goes on reading, and takes appends again without a restart once there is room; it is not ready meanwhile, and says so once (F6, F45)',
  async () => {
    if (disk === undefined) return
    disk.fill(2 * 1024 * 1024)
    await using server = await startServer({ data: `${disk.path}/data` })
    const client = await server.client()
    await client.post('/v1/runs', { id: 'full', name: 'full' })
    const first = await fillUp(client, 0)
    assert.is(first.refused.status, 507, first.refused.text)
    assert.is(first.refused.body.code, 'store-full')
    assert.ok(first.accepted > 10, String(first.accepted))

    const reads = ['/v1/runs/full', '/v1/runs/full/context', '/v1/runs/full/events']
    for (const path of [...reads, '/healthz', '/metrics']) {
      assert.is((await client.get(path)).status, 200, path)
    }
    // What rests on a file that follows the store takes room where that lags behind.
    const runs = await client.get('/v1/runs')
    if (runs.status !== 200) assert.equal([runs.status, runs.body.code], [503, 'view-behind'])
    // A list of the tenant is as of its log.
    const list = await client.get('/v1/events')
    if (list.status !== 200) assert.equal([list.status, list.body.code], [503, 'store-unavailable'])
    const unrecorded = await client.get('/v1/runs/full/export')
    assert.is(unrecorded.status, 503, 'nothing leaves that cannot be recorded')
    assert.match(String(unrecorded.body.detail), 'is recorded first')
    assert.is((await client.get('/v1/runs/full/context')).body.context instanceof Object, true)
    const again = await client.postOnce('/v1/runs/full/envelopes', 'small', {
      agent: 'a',
      payload: { facts: ['kept'], text: TEXT },
    })
    assert.is(again.status, 507, 'and it stays 507')
    const ready = await client.get('/readyz')
    assert.is(ready.status, 503, 'nobody is sent here to append')
    assert.match(ready.text, /full/)
    const metrics = (await client.get('/metrics')).text
    assert.match(
      metrics
        .split('\n')
        .filter((l) => l.includes('store_'))
        .join('\n'),
      // A small event may still have found room in between: then the disk was full again.
      /store_faults_total\{operation="write",errno="ENOSPC"\} [1-3]$/m,
    )

    disk.free()
    const isReady = async (): Promise<true | undefined> =>
      (await client.get('/readyz')).status === 200 ? true : undefined
    await eventually(isReady, 'ready again without an append')
    const pid = server.pid
    const second = await within(fillUp(client, first.accepted), 'appends after room was made')
    assert.ok(second.accepted > 10, `${second.accepted} after room was made: ${second.refused.text}`)
    assert.is(server.pid, pid)
    const events = await client.get('/v1/runs/full')
    assert.is(events.body.step, first.accepted + second.accepted, 'each acknowledged envelope, and no other')

    assert.equal(await server.stop(), { code: 0, signal: null })
    // Once full, once again after the second filling, whatever was refused in between.
    const told = server.output.split('\n').filter((line) => line.includes('the disk of the store is full'))
    assert.ok(told.length >= 1 && told.length <= 3, told.join('\n'))
    const { file, operation, errno } = JSON.parse(told[0] ?? '{}') as Record<string, string>
    assert.equal({ file, operation, errno }, { file: `${server.data}/store.db`, operation: 'write', errno: 'ENOSPC' })
    assert.ok(server.output.includes('the store takes appends again'))
    const verified = await countersign(['verify', '--data', server.data])
    assert.is(verified.code, 0, verified.stdout + verified.stderr)
  },
)

test.run()
