import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM, StoreUnavailableError } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { appendOf, idsOf } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('files of an sqlite store in use')

async function state(store: EventStore, wanted: string): Promise<void> {
  while (store.status().state !== wanted) await sleep(5)
}

test('the log stays near its bound however much is written', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  await using store = await openSqliteStore({ path, logFrames: 100 })
  let logBytes = 0
  for (let turn = 0; turn < 60; turn += 1) {
    await store.append(appendOf('run-acme.r1', 100 * turn - 1, 100))
    logBytes = Math.max(logBytes, statSync(`${path}-wal`).size)
  }
  assert.ok(logBytes < 3 * 100 * 4_096, `${logBytes} bytes`)
  assert.ok(statSync(path).size > 100 * 4_096, 'the file holds what the log no longer does')
})

test('a log deleted under the writer costs no acknowledged event: the store saves them and opens anew', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  const acked: string[] = []
  {
    await using store = await openSqliteStore({ path })
    for (let revision = 0; revision < 5; revision += 1) {
      const append = appendOf('run-acme.r1', revision - 1)
      await store.append(append)
      acked.push(append.records[0]?.id ?? '')
    }
    rmSync(`${path}-wal`)
    assert.is((await store.append(appendOf('run-acme.r1', 4))).kind, 'unavailable')
    await state(store, 'ready')
    assert.equal(await idsOf(store), acked)
    const last = appendOf('run-acme.r1', 4)
    assert.is((await store.append(last)).kind, 'appended')
    acked.push(last.records[0]?.id ?? '')
    // What a kill at this moment would leave behind.
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, folder.file(`copy.sqlite${suffix}`))
  }
  await using copy = await openSqliteStore({ path: folder.file('copy.sqlite') })
  assert.equal(await idsOf(copy), acked)
})

test('a file deleted or replaced under the writer stops the store: it never starts over as an empty one', async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  const store = await openSqliteStore({ path })
  await store.append(appendOf('run-acme.r1', NO_STREAM))
  rmSync(path)
  assert.is((await store.append(appendOf('run-acme.r1', 0))).kind, 'unavailable')
  assert.is(store.status().state, 'unavailable')
  await sleep(60)
  assert.is((await store.append(appendOf('run-acme.r1', 0))).kind, 'unavailable')
  assert.not(existsSync(path))
  await store[Symbol.asyncDispose]()
})

test('a file that is renamed away or replaced is named before the next write, and serves again once it is back (STR-55, A546)', async () => {
  using folder = tempFolder()
  const [path, away] = [folder.file('ledger.sqlite'), folder.file('away.sqlite')]
  await using store = await openSqliteStore({ path })
  await store.append(appendOf('run-acme.r1', NO_STREAM))
  for (const replace of [() => undefined, () => copyFileSync(away, path)]) {
    renameSync(path, away)
    replace()
    assert.match(store.status().detail ?? '', 'was removed or replaced')
    await store.head('run-acme.r1').then(
      () => assert.unreachable(),
      (error: unknown) => assert.instance(error, StoreUnavailableError),
    )
    renameSync(away, path)
    assert.is(store.status().state, 'ready')
    assert.is(await store.head('run-acme.r1'), 0)
  }
})

test.run()
