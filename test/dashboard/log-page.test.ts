import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { holdAgainst } from '../../src/dashboard/saved-checkpoint.ts'
import type { TenantLogs } from '../../src/ledger/log/tenant-logs.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: the log')

async function withLog() {
  const edge = await testEdge({ audit: true, merkleLogs: true })
  await edge.started('r')
  const { logs } = edge.inner.ledger
  if (logs === undefined) throw new Error('no logs')
  await logs.publish()
  return { edge, logs, note: noteOf(logs, edge.tenant), [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

function noteOf(logs: TenantLogs, tenant: string): string {
  const note = logs.checkpoint(tenant)
  if (!note.ok) throw new Error(note.code)
  return note.value
}

test('a checkpoint that was kept is pasted, and the page says that the log still begins with what it covers, or what is wrong with it', async () => {
  await using open = await withLog()
  const { edge, logs, note } = open
  const client = await signedIn(edge)
  await edge.started('later')
  await logs.publish()
  const check = async (text: string) => await (await client.post('/ui/log/check', { note: text })).text()
  assert.match(await check(note.replaceAll('\n', '\r\n')), /The log is the one that was signed then/)
  assert.match(await check(note.replace(/\n(\d+)\n/, (_, size) => `\n${Number(size) + 1}\n`)), /signature does not fit/)
  assert.match(await check(`<script>alert(1)</script>`), /no signed note.*&lt;script&gt;/s)
  const foreign = await signedIn(edge, { tenant: 'beta' })
  assert.match(await (await foreign.post('/ui/log/check', { note })).text(), /No key of this log signed it/)
  const reader = await signedIn(edge, { scopes: ['runs:read'] })
  assert.is((await reader.post('/ui/log/check', { note })).status, 403)
})

test('the roots of checkpoints on record read as in the signed text, so that one can be held against the other', async () => {
  await using open = await withLog()
  const html = await (await signedIn(open.edge)).html('/ui/log')
  const [, , root = ''] = open.note.split('\n')
  const table = html.slice(html.indexOf('Recorded checkpoints'))
  assert.ok(root.length === 44 && table.includes(`<code>${root}</code>`), root)
})

test('a log that was cut, rewritten or forked since is told by a checkpoint that was kept, and a log that is gone too (A370)', async () => {
  await using open = await withLog()
  const { edge, logs, note } = open
  const held = (changed: Partial<TenantLogs>) => {
    const { verifierKey, successions, consistency, checkpoint } = logs
    const own = { verifierKey, successions, consistency, checkpoint }
    return holdAgainst({ ...own, ...changed }, edge.tenant, note)
  }
  assert.is(held({}).verdict, 'same')
  const cut = held({ consistency: () => ({ ok: false, code: 'beyond-checkpoint', size: 1 }) })
  assert.equal([cut.verdict, /was cut, or restored/.test(cut.text)], ['altered', true])
  const rewritten = held({
    consistency: (...range) => {
      const found = logs.consistency(...range)
      return found.ok ? { ok: true, value: { ...found.value, fromRoot: Buffer.alloc(32) } } : found
    },
  })
  assert.equal([rewritten.verdict, /was rewritten/.test(rewritten.text)], ['altered', true])
  assert.is(held({ consistency: () => ({ ok: false, code: 'no-checkpoint', size: 0 }) }).verdict, 'altered')
  const other = note.replace(/\nstreams\/v1 .*\n/, `\nstreams/v1 ${Buffer.alloc(32).toString('base64')}\n`)
  assert.is.not(other, note)
  const forked = held({ checkpoint: () => ({ ok: true, value: other }) })
  assert.equal([forked.verdict, /the log signed two histories/.test(forked.text)], ['altered', true])
})

test.run()
