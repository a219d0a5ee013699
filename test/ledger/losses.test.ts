import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Loss } from '../../schemas/loss.ts'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { exportText } from '../../src/export/issue-export.ts'
import { LogStartError } from '../../src/ledger/log/log-deps.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { logKeyChain } from '../../src/signing/ledger-keys.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'
import {
  alice,
  beside,
  codes,
  last,
  opened,
  putBack,
  removed,
  site,
  startedCode,
  withoutLog,
} from '../support/lossy-site.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import type { TestLogs } from '../support/test-logs.ts'

const test = suite('what a ledger has lost')

async function trailerOf({ ledger }: TestLogs, query: { readonly run?: string } = {}) {
  let text = ''
  for await (const part of exportText(ledger, alice, { format: 'jsonl', query })) text += part
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '').trailer
}

test('the end of the store is cut, and log.db knows more: the log stops there, new runs are refused, and put back it goes on (LOG-46, LOG-47)', async () => {
  using at = await site()
  const rows = rowsOf(at.path)
  const end = rows.slice(-1)
  removed(at.path, [end[0]?.position ?? 0])
  {
    await using ledger = await opened(at)
    assert.equal(codes(ledger.logs.losses('acme')), ['tenant missing'])
    assert.equal(ledger.logs.losses('beta'), [])
    assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
    assert.equal(codes((await trailerOf(ledger)).losses), ['tenant missing'])
    assert.equal(ledger.ledger.stats().stoppedLogs, [{ tenant: 'acme', code: 'missing' }])
  }
  // As a copy has it that was made before anything was written behind the loss.
  tamper(at.path, (db) => {
    db.prepare('DELETE FROM events WHERE position >= ?').run(end[0]?.position)
    db.prepare('UPDATE head SET position = ?').run(end[0]?.position)
  })
  putBack(at.path, end)
  await using ledger = await opened(at)
  await ledger.logs.publish()
  assert.equal(ledger.logs.losses('acme'), [])
  assert.is(await startedCode(ledger, 'acme'), 'started')
  assert.is((await trailerOf(ledger)).losses, undefined)
})

test('a start on a store that lacks what a kept checkpoint covers is refused, and changes nothing, also where log.db has it (LOG-46)', async () => {
  using at = await site()
  const rows = rowsOf(at.path)
  const checkpoint = last(rows, ledgerStream('acme'))
  const before = rows.filter(({ position }) => position < checkpoint.position)
  const covered = last(before, runStream('acme', 'one'))
  removed(
    at.path,
    rows.map(({ position }) => position).filter((position) => position >= covered.position),
  )
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      await using _ = await opened(at)
      assert.unreachable('it must not start')
    } catch (error) {
      assert.is(error instanceof LogStartError ? error.code : error, 'store-behind-checkpoint')
    }
  }
})

test('the last event of a run that a checkpoint covers is gone, and later events are there: a start stops that log alone, nothing is signed over it, and put back it goes on (LOG-46, LOG-106, A642)', async () => {
  using at = await site()
  const lost = last(rowsOf(at.path), runStream('acme', 'one'))
  removed(at.path, [lost.position])
  for (let starts = 0; starts < 2; starts += 1) {
    await using ledger = await opened(at)
    assert.equal(ledger.logs.losses('acme'), [
      { scope: 'tenant', code: 'missing', stream: lost.stream, revision: lost.revision },
    ])
    assert.equal(ledger.logs.losses('beta'), [])
    assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
    const { published } = ledger.logs.state('acme')
    await ledger.logs.publish()
    assert.is(ledger.logs.state('acme').published, published)
  }
  putBack(at.path, [lost])
  await using ledger = await opened(at)
  await ledger.logs.publish()
  assert.equal(ledger.logs.losses('acme'), [])
  assert.is(await startedCode(ledger, 'acme'), 'started')
})

test('an event is gone, log.db too, and no stream tells whose it was: nothing is written, nothing signed, everything says so; put back, it goes on (LOG-44, LOG-47)', async () => {
  using at = await site()
  const gone = last(rowsOf(at.path), runStream('beta', 'far'))
  removed(at.path, [gone.position])
  withoutLog(at)
  {
    await using ledger = await opened(at)
    await ledger.logs.publish()
    assert.equal(
      [codes(ledger.logs.losses('acme')), codes(ledger.logs.losses('beta'))],
      [['store position-gap'], ['store position-gap']],
    )
    const { published } = ledger.logs.state('acme')
    assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
    const body = { agent: 'a', payload: { n: 10 } }
    const written = await ledger.ledger.execute(alice, 'one', { kind: 'envelope', body } as never, {})
    assert.is(written.ok ? 'written' : written.refusal.code, 'log-stopped')
    assert.equal(codes((await trailerOf(ledger)).losses), ['store position-gap'])
    await ledger.logs.publish()
    assert.is(ledger.logs.state('acme').published, published, 'nothing is signed')
  }
  putBack(at.path, [gone])
  await using ledger = await opened(at)
  await ledger.logs.publish()
  assert.equal(ledger.logs.losses('acme'), [])
  assert.is(await startedCode(ledger, 'acme'), 'started')
})

test('the first event of a run is altered: its log stops, whatever else there is of the run, and it is not a stranger (LOG-44)', async () => {
  for (const [column, from, to] of [
    ['header', '"actor"', '"aktor"'],
    ['data', '"v":1', '"v":2'],
  ] as const) {
    using at = await site()
    const first = rowsOf(at.path).find(({ stream }) => stream === runStream('acme', 'two'))
    if (first === undefined) throw new Error('no run')
    const text = first[column].replace(from, to)
    assert.not.equal(text, first[column])
    tamper(at.path, (db) => db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(text, first.position))
    withoutLog(at)
    await using ledger = await opened(at)
    await ledger.logs.publish()
    const [loss] = ledger.logs.losses('acme')
    assert.equal([loss?.scope, loss?.stream, loss?.revision], ['tenant', first.stream, 0], column)
    assert.equal(ledger.logs.losses('beta'), [])
  }
})

test('each export says what it lacks, by what it reads itself: an altered event, one that is gone, a run without its end (LOG-45, LOG-48)', async () => {
  using at = await site()
  const rows = rowsOf(at.path)
  const altered = rows.filter(({ stream }) => stream === runStream('acme', 'one')).at(2)
  const end = last(rows, runStream('acme', 'two'))
  if (altered === undefined) throw new Error('no event')
  await using ledger = await opened(at)
  assert.is((await trailerOf(ledger)).v, 2)
  beside(at.path, (db) => {
    db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1,"agent":"b"}', altered.position)
    db.prepare('DELETE FROM events WHERE position = ?').run(end.position)
  })
  const whole = await trailerOf(ledger)
  const named = (whole.losses as Loss[]).map(({ stream, revision }) => `${stream} @ ${revision}`)
  assert.is(whole.v, 3)
  assert.ok(named.includes(`${altered.stream} @ ${altered.revision}`), named.join())
  assert.ok(named.includes(`${end.stream} @ ${end.revision}`), named.join())
  const found = await ledger.ledger.run(alice, 'two')
  assert.is(found.ok ? 'shown' : found.refusal.code, 'stream-damaged')
  const body = { agent: 'a', payload: { n: 10 } }
  const written = await ledger.ledger.execute(alice, 'two', { kind: 'envelope', body } as never, {})
  assert.is(written.ok ? 'written' : written.refusal.code, 'stream-damaged')
})

test('a run whose stream has another name now is marked in the list at once, before its log has passed again (LOG-48)', async () => {
  using at = await site()
  await using live = await opened(at)
  const sealed = async () => {
    const { items } = await live.ledger.listRuns(alice, { limit: 10 })
    return items.map(({ runId, seal }) => `${runId} ${seal ?? 'sound'}`).sort()
  }
  assert.equal(await sealed(), ['one sound', 'two sound'])
  beside(at.path, (db) => db.prepare('UPDATE streams SET name = ? WHERE name = ?').run('run-acme.twox', 'run-acme.two'))
  assert.equal(await sealed(), ['one sound', 'two invalid'])
})

test('a run of which the list passed over events that do not fit their places is marked in it at once, before anything has verified them (LOG-48)', async () => {
  using at = await site()
  await using live = await opened(at)
  const { position, ...row } = last(rowsOf(at.path), runStream('acme', 'two'))
  // As the next event of its run, with the header of the one before it.
  beside(at.path, (db) => {
    const slipIn = db.prepare(
      'INSERT INTO events (position, stream_id, revision, header, salt, data) VALUES (?, ?, ?, ?, ?, ?)',
    )
    slipIn.run(position + 100, row.stream_id, row.revision + 1, row.header, row.salt, row.data)
  })
  const { items } = await live.ledger.listRuns(alice, { limit: 10 })
  assert.equal(items.map(({ runId, revision, seal }) => `${runId} ${revision} ${seal ?? 'sound'}`).sort(), [
    'one 4 sound',
    'two 3 invalid',
  ])
})

test('two events of a run change places under a serving ledger: the log stops once, others go on with checkpoints of their own, and put right it goes on (LOG-3, LOG-27, LOG-47)', async () => {
  using at = await site()
  await using ledger = await opened(at)
  await ledger.fill('acme', 'swapped', 2)
  const [, one, two] = rowsOf(at.path).filter(({ stream }) => stream === runStream('acme', 'swapped'))
  if (one === undefined || two === undefined) throw new Error('no events')
  const swap = (): void =>
    beside(at.path, (db) => {
      const move = db.prepare('UPDATE events SET position = ? WHERE position = ?')
      for (const [to, from] of [
        [-1, one.position],
        [one.position, two.position],
        [two.position, -1],
      ])
        move.run(to, from)
    })
  swap()
  const before = ledger.renewals.length
  for (const run of ['b1', 'b2', 'b3']) {
    await ledger.fill('beta', run, 1)
    await ledger.logs.publish()
  }
  assert.is(ledger.renewals.length, before, 'nothing is rebuilt for what is as it was')
  assert.is(codes(ledger.logs.losses('acme')).length, 1)
  assert.equal(ledger.logs.losses('beta'), [])
  swap()
  await ledger.logs.publish()
  assert.equal(ledger.logs.losses('acme'), [])
  assert.is(await startedCode(ledger, 'acme'), 'started')
  const { ring } = at.keys
  const verifierKeys = (origin: string) => logKeyChain(at.keys).map((key) => noteVerifier(origin, key).text)
  const faults: string[] = []
  await verifyRecords(ledger.store.readAll(), {
    ...{ keys: { ring, runKeys: createRunKeys(ring), verifierKeys }, wholeStore: true },
    onFault: ({ code, message }) => faults.push(`${code} ${message}`),
  })
  assert.equal(faults, [])
})

test.run()
