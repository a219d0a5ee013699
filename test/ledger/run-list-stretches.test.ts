import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Followed } from '../../src/ledger/followed.ts'
import { RunList } from '../../src/ledger/read/run-list.ts'
import { type Pace, ReaderLeftError } from '../../src/resources/work-queue.ts'
import { DerivedFileRenewedError } from '../../src/store/derived-file.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import type { RunRow, ViewStore } from '../../src/store/view-store.ts'
import { runRow } from '../support/run-row.ts'

const test = suite('run list: stretches')

const RUNS = 2000
const TO = { projection: 'runs', version: 1, from: undefined, position: '1', digest: 'd' }

const rows = Array.from({ length: RUNS }, (_, index): RunRow => {
  const time = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString()
  return runRow({ runId: `r${index}`, status: index === 0 ? 'failed' : 'open', startedAt: time, updatedAt: time })
})

const FOLLOWING = { nowMs: () => 0, appendsSoFar: () => 0, followed: new Followed(() => 0) }

interface Home extends Disposable {
  readonly list: RunList
  readonly views: ViewStore
}

function listOver(views: ViewStore): RunList {
  const options = { nowMs: () => 0, appendsSoFar: () => 0, followed: new Followed(() => 0) }
  return new RunList(openMemoryStore(), views, options)
}

function home(): Home {
  const views = openSqliteViews({ path: ':memory:' })
  views.saveRuns(rows, TO)
  const list = listOver(views)
  const close = (): void => {
    list[Symbol.dispose]()
    views[Symbol.dispose]()
  }
  return { list, views, [Symbol.dispose]: close }
}

const pace = (turn: () => Promise<void> | undefined): Pace => ({ turn, isOver: false, leave: () => undefined })
test('what is lost of a tenant is asked once for a list, however many rows it has', async () => {
  using at = home()
  let asked = 0
  const list = new RunList(openMemoryStore(), at.views, {
    ...FOLLOWING,
    lossesOf: () => {
      asked += 1
      return [{ scope: 'run', code: 'missing', stream: 'run-acme.r7', revision: 0 }]
    },
  })
  const { items } = await list.list({ tenant: 'acme', actor: 'a' }, { limit: 100 })
  list[Symbol.dispose]()
  assert.is(items.length, 100)
  assert.is(asked, 1)
})

const ALICE = { tenant: 'acme', actor: 'a' }
const FAILED = { status: 'failed', limit: 10 }

test('a filter that one of two thousand runs fits gives other work its turns while it looks, and finds it (F109)', async () => {
  using at = home()
  let turns = 0
  const counting = pace(() => {
    turns += 1
    return undefined
  })
  const { items } = await at.list.list({ tenant: 'acme', actor: 'a', pace: counting }, FAILED)
  assert.equal(
    items.map(({ runId }) => runId),
    ['r0'],
  )
  assert.ok(turns >= 4, `${turns} turns`)
})

test('a look through the list ends when its reader leaves (F109)', async () => {
  using at = home()
  let turns = 0
  const leaving = pace(() => {
    turns += 1
    if (turns === 2) throw new ReaderLeftError()
    return undefined
  })
  const looked = at.list.list({ tenant: 'acme', actor: 'a', pace: leaving }, FAILED)
  assert.instance(await looked.catch((error: unknown) => error), ReaderLeftError)
  assert.is(turns, 2)
})

test('a list that is rebuilt while it is looked through is looked through again: no answer of two halves (F109)', async () => {
  using at = home()
  let turns = 0
  const renewing = pace(() => {
    turns += 1
    if (turns === 1) {
      at.views.renew('a test')
      at.views.saveRuns(
        rows.map((row) => ({ ...row, status: row.runId === 'r1999' ? 'failed' : 'open' })),
        TO,
      )
    }
    return undefined
  })
  const { items } = await at.list.list({ tenant: 'acme', actor: 'a', pace: renewing }, FAILED)
  assert.equal(
    items.map(({ runId }) => runId),
    ['r1999'],
  )
})

test('a list that is rebuilt between its pass and its reading is read again, or refused where that goes on: it is never empty (F130)', async () => {
  using inner = openSqliteViews({ path: ':memory:' })
  inner.saveRuns(rows, TO)
  let renewals = 1
  const noteFile = (): void => {
    if (renewals > 0) inner.renew('a test')
    else inner.saveRuns(rows, TO)
    renewals -= 1
  }
  const views = new Proxy(inner, {
    get: (target, name) => (name === 'noteFile' ? noteFile : Reflect.get(target, name)),
  })
  using list = listOver(views)
  const { items } = await list.list(ALICE, FAILED)
  assert.equal(
    items.map(({ runId }) => runId),
    ['r0'],
  )
  renewals = Number.POSITIVE_INFINITY
  const refused = await list.list(ALICE, FAILED).catch((error: unknown) => error)
  assert.instance(refused, DerivedFileRenewedError)
})

test.run()
