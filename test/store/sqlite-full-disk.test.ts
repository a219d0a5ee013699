import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { collect, headerId, idsOf, record } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite store on a small disk')
const folder = tempFolder()
const disk = folder.file('disk')
mkdirSync(disk)
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]).status === 0
test.after(() => {
  if (mounted) spawnSync('umount', [disk])
  folder[Symbol.dispose]()
})

/** Appends until the store refuses; gives the ids that were acknowledged and the refusal. */
async function fill(store: EventStore): Promise<{ readonly acked: readonly string[]; readonly kind: string }> {
  const acked: string[] = []
  for (let revision = await store.head('run-acme.r1'); ; revision += 1) {
    const written = record({ bytes: 8_000 })
    const result = await store.append({ stream: 'run-acme.r1', expectedRevision: revision, records: [written] })
    if (result.kind !== 'appended') return { acked, kind: result.kind }
    acked.push(written.id)
  }
}

const claim = mounted ? test : test.skip
claim('a full disk is reported with certainty, reads go on, and appends succeed once there is room', async () => {
  const ballast = `${disk}/ballast`
  writeFileSync(ballast, Buffer.alloc(1024 * 1024))
  const path = `${disk}/ledger.sqlite`
  const store = await openSqliteStore({ path })
  const first = await fill(store)
  assert.is(first.kind, 'full')
  assert.ok(first.acked.length > 20)
  assert.equal(await idsOf(store), first.acked, 'everything acknowledged is read, nothing else')
  assert.is(store.status().state, 'full')

  rmSync(ballast)
  const second = await fill(store)
  assert.ok(second.acked.length > 10, 'without a restart')
  assert.equal(await idsOf(store), [...first.acked, ...second.acked])
  await store[Symbol.asyncDispose]()

  await using again = await openSqliteStore({ path })
  assert.equal((await collect(again.readStream('run-acme.r1'))).map(headerId), [...first.acked, ...second.acked])
  assert.is(await again.head('run-none.x'), NO_STREAM)
})

test.run()
