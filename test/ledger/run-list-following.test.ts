import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Followed } from '../../src/ledger/followed.ts'
import { QuietFollower } from '../../src/ledger/read/quiet-follower.ts'
import { type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { appendOf } from '../support/records.ts'
import { testLogs } from '../support/test-logs.ts'

const test = suite('ledger: how far the run list follows the store')

const WRITTEN_MAX = 100

test('a list that is requested while others write follows the store to where it was, and not the writers (F258)', async () => {
  await using store = openMemoryStore()
  let written = 0
  /** Somebody writes another event whenever a page was read. */
  const readAll: EventStore['readAll'] = async function* (options) {
    for await (const page of store.readAll(options)) {
      yield page
      if (written === WRITTEN_MAX) continue
      written += 1
      await store.append(appendOf(`run-remote.r${written}`, NO_STREAM))
    }
  }
  const busy = new Proxy(store, {
    get: (target, name) => {
      if (name === 'readAll') return readAll
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await using at = await testLogs({ store: busy })
  await at.fill(at.tenant, 'one', 2)
  written = 0
  const { items } = await at.ledger.listRuns({ tenant: at.tenant, actor: 'tester' }, { limit: 10 })
  assert.is(items[0]?.runId, 'one')
  assert.ok(written <= 2, `${written} pages were read`)
})

test('whoever only wants to know that the view is this ledger’s has one page of it followed, not all that was written (F258)', async () => {
  let pages = 0
  const pass = async (goOn: () => boolean): Promise<void> => {
    do pages += 1
    while (goOn() && pages < WRITTEN_MAX)
  }
  using follower = new QuietFollower(pass, { appendsSoFar: () => 0, followed: new Followed(() => 0) })
  await follower.check()
  assert.is(pages, 1)
  await follower.catchUp()
  assert.is(pages, WRITTEN_MAX)
})

test('a list is whole for whoever requested it, also where somebody else’s check of the view comes between (F258)', async () => {
  let pages = 0
  const pass = async (goOn: () => boolean): Promise<void> => {
    pages = 0
    do {
      pages += 1
      await Promise.resolve()
    } while (goOn() && pages < WRITTEN_MAX)
  }
  using follower = new QuietFollower(pass, { appendsSoFar: () => 0, followed: new Followed(() => 0) })
  const first = follower.check()
  const second = first.then(() => follower.check())
  await follower.catchUp()
  assert.is(pages, WRITTEN_MAX)
  await second
})

test.run()
