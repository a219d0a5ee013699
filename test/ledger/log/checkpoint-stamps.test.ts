import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CheckpointTimestamped } from '../../../schemas/events/checkpoint-timestamped.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { Stamping, TimestampAuthority } from '../../../src/ledger/log/timestamp-authority.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import { verifyConsistency } from '../../../src/merkle/consistency.ts'
import { collect } from '../../support/records.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { openedCheckpoint, type TestLogs, testLogs } from '../../support/test-logs.ts'
import { testStoreKeys } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

const test = suite('ledger: time-stamps of checkpoints')

const STAMPED: Stamping = {
  ok: true,
  time: '2026-07-14T09:30:00.000Z',
  policy: '1.2.3.4.1',
  serial: '2a',
  reply: Buffer.from('3000', 'hex'),
}

function authority(answer: () => Stamping | Promise<Stamping> = () => STAMPED) {
  const texts: string[] = []
  const stamp: TimestampAuthority['stamp'] = async (text) => {
    texts.push(text)
    return answer()
  }
  return { texts, name: 'time.example', stamp }
}

async function stampsOf({ store, tenant }: TestLogs) {
  const records = await collect(store.readStream(ledgerStream(tenant)))
  return records.flatMap(({ data }) => CheckpointTimestamped.schema.safeParse(JSON.parse(data)).data ?? [])
}

/** What the authority said comes behind the checkpoint: the next pass that finds it puts it on record. */
function recorded(at: TestLogs, count: number) {
  return eventually(async () => {
    await at.logs.publish()
    const stamps = await stampsOf(at)
    return stamps.length >= count ? stamps : undefined
  }, `${count} time-stamps on record`)
}

test('a signed checkpoint is time-stamped behind its signing, and the token is on record with the text that it is for (LOG-32, LOG-33)', async () => {
  const by = authority()
  await using at = await testLogs({ stamps: { authority: by, intervalMs: 0 } })
  await at.fill(at.tenant, 'one', 3)
  await at.logs.publish()
  const note = at.logs.checkpoint(at.tenant)
  assert.ok(note.ok)
  const text = openedCheckpoint(note.value, at.logs.verifierKey(at.tenant))
  const [stamp] = await recorded(at, 1)
  assert.equal([stamp?.text, stamp?.authority, stamp?.size], [text, 'time.example', parseCheckpoint(text)?.size])
  assert.equal(
    by.texts.filter((each) => each === text),
    [text],
  )

  await at.fill(at.tenant, 'two', 3)
  await at.logs.publish()
  const found = await at.logs.timestamp(at.tenant)
  assert.ok(found.ok)
  assert.is(found.value.text, text)
  const { size, treeSize, consistency } = found.value
  const last = at.logs.checkpoint(at.tenant)
  const now = last.ok ? parseCheckpoint(openedCheckpoint(last.value, at.logs.verifierKey(at.tenant))) : undefined
  assert.is(treeSize, now?.size)
  const [fromRoot, toRoot] = [parseCheckpoint(text)?.root, now?.root].map((root) => root ?? new Uint8Array())
  assert.ok(fromRoot && toRoot && treeSize > size)
  assert.ok(verifyConsistency({ from: size, fromRoot, to: treeSize, toRoot, proof: consistency }))
  assert.equal((await at.logs.timestamp(at.tenant, size - 1)).ok, false)
})

test('a time-stamp on record makes no checkpoint due, so that a log at rest comes to rest (LOG-33, F189)', async () => {
  const by = authority()
  await using at = await testLogs({ stamps: { authority: by, intervalMs: 0 } })
  await at.fill(at.tenant, 'one', 1)
  await recorded(at, 1)
  const size = at.logs.state(at.tenant).published
  for (let n = 0; n < 5; n += 1) await at.logs.publish()
  assert.is(at.logs.state(at.tenant).published, size)
  assert.is((await stampsOf(at)).length, 1)
  assert.is(by.texts.filter((text) => text.includes(`/${at.tenant}\n`)).length, 1)
})

test('within the interval no further checkpoint of a log is time-stamped, through a restart too (LOG-33)', async () => {
  using folder = tempFolder()
  const by = authority()
  const options = { folder: folder.path, keys: testStoreKeys(), stamps: { authority: by, intervalMs: 3_600_000 } }
  for (const life of [1, 2, 3]) {
    await using at = await testLogs(options)
    await at.fill(at.tenant, `run-${life}`, 2)
    await recorded(at, 1)
    await at.logs.publish()
    assert.is(by.texts.filter((text) => text.includes(`/${at.tenant}\n`)).length, 1, `life ${life}`)
  }
})

test('an authority that fails, or never answers, keeps no checkpoint back and is counted by why (LOG-33, F189)', async () => {
  let isAway = true
  const by = authority(() => (isAway ? { ok: false, code: 'rejected', message: 'no time' } : STAMPED))
  await using at = await testLogs({ stamps: { authority: by, intervalMs: 0 } })
  await at.fill(at.tenant, 'one', 1)
  await at.logs.publish()
  const { published } = at.logs.state(at.tenant)
  const [failure] = await eventually(() => {
    const { stampFailures } = at.ledger.stats()
    return stampFailures.length > 0 ? stampFailures : undefined
  }, 'the failure is counted')
  assert.equal([failure?.authority, failure?.code], ['time.example', 'rejected'])
  assert.ok(at.lines.some(({ level, message }) => level === 'warn' && message.endsWith('no time')))
  await at.fill(at.tenant, 'two', 1)
  await at.logs.publish()
  assert.ok(at.logs.state(at.tenant).published > published)
  isAway = false
  assert.is((await recorded(at, 1)).length, 1)

  await using silent = await testLogs({
    stamps: { authority: authority(() => new Promise(() => undefined)), intervalMs: 0 },
  })
  await silent.fill(silent.tenant, 'one', 1)
  await silent.logs.publish()
  assert.ok(silent.logs.state(silent.tenant).published > 0)
  assert.equal(await silent.logs.timestamp(silent.tenant), {
    ok: false,
    code: 'no-timestamp',
    size: silent.logs.state(silent.tenant).published,
  })
})

test.run()
