import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Stamping } from '../../src/ledger/log/timestamp-authority.ts'
import { sha256Hex } from '../../src/signing/digests.ts'
import { stampedBy } from '../support/stamped-logs.ts'
import { stampingAuthority } from '../support/stamping-authority.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'
import { eventually } from '../support/within.ts'

const test = suite('time-stamps, as operators and auditors see them')

const HOUR_MS = 3_600_000

const readiness = async (edge: TestEdge) =>
  (await (await edge.app.request('/readyz')).json()) as {
    status: string
    timestamps?: { late: boolean; dueSince: string; lastFailure?: { at: string; code: string } }
  }

function logsOf(edge: TestEdge) {
  const { logs } = edge.inner.ledger
  if (logs === undefined) throw new Error('no logs')
  return logs
}

function stamped(edge: TestEdge) {
  return eventually(async () => {
    await logsOf(edge).publish()
    const found = await logsOf(edge).timestamp(edge.tenant)
    return found.ok ? found.value : undefined
  }, 'the time-stamp on record')
}

test('readiness, the metrics and the log’s page say when a time-stamp failed and since when one is due, and the server stays ready (HTTP-24, F220)', async () => {
  const tsa = await stampingAuthority()
  let isAway = true
  const real = stampedBy(tsa)
  const away: Stamping = { ok: false, code: 'unreachable', message: 'nobody answers' }
  const authority = {
    name: real.name,
    stamp: async (text: string) => (isAway ? away : real.stamp(text, new AbortController().signal)),
  }
  await using edge = await testEdge({
    audit: true,
    merkleLogs: true,
    realClock: false,
    stamps: { authority, intervalMs: 24 * HOUR_MS },
    settings: { openMetrics: true },
  })
  await edge.started('r')
  await logsOf(edge).publish()
  await eventually(() => edge.inner.ledger.stats().stamping?.lastFailure, 'the failure is known')
  const soon = await readiness(edge)
  assert.equal(
    [soon.status, soon.timestamps?.late, soon.timestamps?.lastFailure?.code],
    ['ready', false, 'unreachable'],
  )
  edge.inner.clock.nowMs += 11 * 60_000
  const later = await readiness(edge)
  assert.equal([later.status, later.timestamps?.late], ['ready', true])
  assert.is(later.timestamps?.dueSince, soon.timestamps?.dueSince)
  const metrics = await (await edge.app.request('/metrics')).text()
  assert.match(metrics, /^countersign_timestamp_due_timestamp_seconds \d+/m)
  assert.match(metrics, /^countersign_timestamp_last_failure_timestamp_seconds \d+/m)
  const client = await signedIn(edge)
  const html = await client.html('/ui/log')
  assert.match(html, /A time-stamp has been due since/)
  assert.match(html, /last gave no token at[\s\S]*unreachable/)

  isAway = false
  await stamped(edge)
  await eventually(async () => {
    await logsOf(edge).publish()
    return (await readiness(edge)).timestamps === undefined ? true : undefined
  }, 'nothing is due any more')
})

test('the log’s page shows who time-stamped which checkpoint when, and a time-stamp that was kept is held against the log (LOG-34, A257)', async () => {
  const tsa = await stampingAuthority()
  const stamps = { authority: stampedBy(tsa), intervalMs: HOUR_MS }
  await using edge = await testEdge({ audit: true, merkleLogs: true, stamps })
  await edge.started('r')
  const { text, time } = await stamped(edge)
  const client = await signedIn(edge)
  const html = await client.html('/ui/log')
  assert.match(html, /time\.example/)
  assert.match(html, new RegExp(sha256Hex(text)))
  assert.match(html, new RegExp(`datetime="${time.replaceAll('.', '\\.')}"`))
  const kept = await (await client.get('/ui/download/log/timestamp')).text()
  await edge.started('later')
  await logsOf(edge).publish()
  const check = async (pasted: string, by = client) => (await by.post('/ui/log/check', { note: pasted })).text()
  const fits = await check(kept)
  assert.match(fits, /The log is the one that was signed then/)
  assert.match(fits, /of time\.example, and dated 20/)
  const { checkpoint, ...more } = JSON.parse(kept) as { checkpoint: string; reply: string }
  const other = checkpoint.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`)
  assert.match(
    await check(JSON.stringify({ ...more, checkpoint: other })),
    /does not fit the checkpoint \(wrong-imprint\)/,
  )
  assert.match(await check(JSON.stringify({ ...more, checkpoint, reply: 'MAA=' })), /does not fit the checkpoint/)
  assert.match(await check(JSON.stringify({ checkpoint })), /no time-stamp as this ledger gives them/)
  assert.match(await check('{'), /no time-stamp as this ledger gives them/)
  const foreign = await signedIn(edge, { tenant: 'beta' })
  assert.match(await check(kept, foreign), /no checkpoint of this log/)
})

test('a ledger without time-stamps says so, and its readiness says nothing of them (HTTP-24)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  await edge.started('r')
  assert.equal(await readiness(edge), { status: 'ready', store: 'ready' })
  assert.match(await (await signedIn(edge)).html('/ui/log'), /No authority time-stamps these checkpoints/)
})

test.run()
