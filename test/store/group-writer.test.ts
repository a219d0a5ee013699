import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Append, NO_STREAM } from '../../src/store/event-store.ts'
import { GroupWriter } from '../../src/store/sqlite/group-writer.ts'
import { openWriter } from '../../src/store/sqlite/open-writer.ts'
import { prepareStorePath } from '../../src/store/sqlite/store-path.ts'
import { type GroupOutcome, packGroup } from '../../src/store/sqlite/writer-protocol.ts'
import { appendOf, record } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('group writer')

/** A record that the table refuses: its body is bytes where text must be. */
function poison(stream: string): Append {
  const data: unknown = new Uint8Array([1])
  return { stream, expectedRevision: NO_STREAM, records: [record(), { ...record(), data: data as string }] }
}

function withWriter(work: (write: (appends: readonly Append[]) => GroupOutcome, count: () => unknown) => void): void {
  using folder = tempFolder()
  const db = openWriter(prepareStorePath(folder.file('ledger.sqlite')))
  const writer = new GroupWriter(db)
  let groups = 0
  const write = (appends: readonly Append[]): GroupOutcome => {
    groups += 1
    return writer.write(packGroup(groups, appends))
  }
  work(write, () => db.prepare('SELECT count(*) FROM events').pluck().get())
  db.close()
}

test('rows that the table refuses fail their append alone: the other 63 commit, without a gap (STR-20)', () => {
  withWriter((write, count) => {
    const appends = Array.from({ length: 64 }, (_, each) => appendOf(`run-acme.r${each}`, NO_STREAM, 2))
    appends[20] = poison('run-acme.r20')
    const outcome = write(appends)
    assert.is(outcome.kind, 'committed')
    if (outcome.kind !== 'committed') return
    assert.equal([...outcome.refusals.keys()], [20])
    assert.is(outcome.refusals.get(20)?.kind, 'invalid')
    assert.is(count(), 126)

    const after = write([appendOf('run-acme.r20', NO_STREAM), appendOf('run-acme.r21', 1)])
    assert.ok(
      after.kind === 'committed' && after.refusals.size === 0 && after.before === 126,
      'the stream is as before',
    )
  })
})

test('what builds on refused rows conflicts in the same group', () => {
  withWriter((write) => {
    const outcome = write([poison('run-acme.r1'), appendOf('run-acme.r1', 1), appendOf('run-acme.r1', NO_STREAM)])
    assert.is(outcome.kind, 'committed')
    if (outcome.kind !== 'committed') return
    assert.equal(outcome.refusals.get(1), { kind: 'conflict', actual: NO_STREAM })
    assert.is(outcome.refusals.has(2), false)
  })
})

test('a request id is refused within the group that records it', () => {
  withWriter((write, count) => {
    const asked = (expectedRevision: number): Append => {
      const records = [record({ requestId: 'request-1' })]
      return { stream: 'run-acme.r1', expectedRevision, records }
    }
    const outcome = write([asked(NO_STREAM), asked(0), appendOf('run-acme.r1', 0)])
    assert.is(outcome.kind, 'committed')
    if (outcome.kind !== 'committed') return
    assert.equal(outcome.refusals.get(1), { kind: 'duplicate-request', requestId: 'request-1', revision: 0 })
    assert.is(count(), 2)
  })
})

test('salts of any length come back as they were', () => {
  using folder = tempFolder()
  const db = openWriter(prepareStorePath(folder.file('ledger.sqlite')))
  const pool = Uint8Array.from({ length: 64 }, (_, index) => index)
  const salts = [pool.subarray(8, 24), new Uint8Array(0), pool.subarray(0, 1), pool]
  const records = salts.map((salt) => ({ ...record(), salt }))
  new GroupWriter(db).write(packGroup(1, [{ stream: 'run-acme.r1', expectedRevision: NO_STREAM, records }]))
  const found = db.prepare('SELECT salt FROM events ORDER BY position').pluck().all() as Buffer[]
  assert.equal(
    found.map((salt) => [...salt]),
    salts.map((salt) => [...salt]),
  )
  db.close()
})

test.run()
