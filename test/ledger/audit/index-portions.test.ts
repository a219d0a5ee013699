import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AuditProjection } from '../../../src/ledger/audit/audit-projection.ts'
import { fileGuard } from '../../../src/ledger/identity/file-guard.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import { MemoryBudget } from '../../../src/resources/memory-budget.ts'
import type { AuditIndex } from '../../../src/store/audit-index.ts'
import type { EventStore, ReadRecord } from '../../../src/store/event-store.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { randomRun } from '../../support/random-run.ts'
import { collect } from '../../support/records.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const test = suite('ledger: the auditors’ index, made in portions')

/** The same records in pages of any size, as slices of time cut them. */
function portioned(store: EventStore, random: () => number): EventStore {
  async function* cut(pages: AsyncIterable<readonly ReadRecord[]>): AsyncGenerator<readonly ReadRecord[]> {
    for await (const page of pages) {
      for (let from = 0; from < page.length; ) {
        const end = from + 1 + Math.floor(random() * 40)
        yield page.slice(from, end)
        from = end
      }
    }
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'readAll') return (...asked: Parameters<EventStore['readAll']>) => cut(target.readAll(...asked))
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** More than a few transactions hold. */
async function filled(inner: TestLedger): Promise<void> {
  for (let seed = 1; seed <= 6; seed += 1) await randomRun(inner, `r${seed}`, { seed, steps: 50 })
  for (let n = 0; n < 4; n += 1) {
    const run = drive(inner, `long${n}`)
    await run.start()
    for (let step = 0; step < 80; step += 1)
      await run.hand('ann', { step, note: `(${n}) Plan_B: growth of ${step} %, naïve` })
  }
  assert.ok((await collect(inner.store.readAll())).length > 400)
}

interface Making {
  readonly path: string
  readonly inner: TestLedger
}

async function withIndex<T>(
  { path, inner }: Making,
  store: EventStore,
  work: (index: AuditIndex, pass: (goOn: () => boolean) => Promise<void>) => Promise<T>,
): Promise<T> {
  using index = openSqliteAudit({ path, guard: fileGuard(inner.keys, 'audit') })
  const projection = new AuditProjection({ store, index, sealer: new Sealer(inner.keys), memory: new MemoryBudget() })
  return await work(index, (goOn) => projection.pass(goOn))
}

/** All that an index says: every row, its charges, what is open, and what a few words find. */
async function decodeRecord(making: Making): Promise<unknown> {
  return withIndex(making, making.inner.store, async (index) => {
    assert.ok(await index.isAuthentic(), 'its rows are sealed')
    const view = { tenant: alice.tenant, size: index.size(alice.tenant) }
    const page = { after: undefined, limit: 10_000 }
    const window = { after: -1, upTo: view.size }
    return {
      rows: index.rows(view, {}, page),
      found: ['apple', 'f3', 'plan', 'naive', 'b'].map((word) => index.rows(view, { phrases: [[word]] }, page)),
      open: [
        index.openCalls(view, {}, page),
        index.openReservations(view, {}, page),
        index.openCompensations(view, {}, page),
      ],
      spend: index.spend(view, {}, { by: 'agent', after: undefined, limit: 100, window }),
    }
  })
}

test('an index that is made in any portions, given way and left in the middle over and over, says what one says that was made at once', async () => {
  await using inner = await testLedger()
  await filled(inner)
  using folder = tempFolder()
  const whole = { path: folder.file('whole.db'), inner }
  await withIndex(whole, inner.store, async (_, pass) => pass(() => true))
  const expected = await decodeRecord(whole)
  for (let seed = 1; seed <= 5; seed += 1) {
    const random = seededRandom(testSeed(seed))
    const making = { path: folder.file(`${seed}.db`), inner }
    const store = portioned(inner.store, random)
    const end = await inner.store.end()
    for (let left = false; !left; ) {
      left = await withIndex(making, store, async (index, pass) => {
        // A process that dies takes what it had not saved with it: the next one goes on from what the file has.
        let passes = Math.floor(random() * 3)
        await pass(() => {
          passes -= 1
          return passes >= 0
        })
        const reached = index.progress()?.position
        return reached !== undefined && end !== undefined && store.comparePositions(reached, end) >= 0
      })
    }
    assert.equal(await decodeRecord(making), expected, `seed ${seed}`)
  }
})

test('rows that could not be saved are made again, whole, from where the file is', async () => {
  await using inner = await testLedger()
  await filled(inner)
  using folder = tempFolder()
  const whole = { path: folder.file('whole.db'), inner }
  await withIndex(whole, inner.store, async (_, pass) => pass(() => true))
  const making = { path: folder.file('failing.db'), inner }
  await withIndex(making, inner.store, async (index) => {
    const save = index.save.bind(index)
    let saves = 0
    const failing = new Proxy(index, {
      get: (target, name) =>
        name === 'save'
          ? (...asked: Parameters<AuditIndex['save']>) => {
              saves += 1
              if (saves === 2) throw new Error('the disk is full')
              return save(...asked)
            }
          : Reflect.get(target, name),
    })
    const store = portioned(inner.store, seededRandom(7))
    const deps = { store, index: failing, sealer: new Sealer(inner.keys), memory: new MemoryBudget() }
    const projection = new AuditProjection(deps)
    const failed = await projection.pass(() => true).catch((error: unknown) => error)
    assert.instance(failed, Error)
    await projection.pass(() => true)
    assert.ok(saves > 2)
  })
  assert.equal(await decodeRecord(making), await decodeRecord(whole))
})

test('what follows a call that was claimed again stands under the agent of the last claim, whether the index was left in between or not (F187)', async () => {
  await using inner = await testLedger()
  const run = drive(inner, 'r')
  await run.start()
  using folder = tempFolder()
  const [whole, left] = ['whole.db', 'left.db'].map((name) => ({ path: folder.file(name), inner }))
  const pass = (making: Making) => withIndex(making, inner.store, async (_, goOn) => goOn(() => true))
  const call = { key: 'k', leaseMs: 1_000, onUnknown: 'retry' } as const
  await run.claimed('pay', { ...call, agent: 'ann' })
  inner.clock.nowMs += 60_000
  const { callId, fence } = ok(await run.claim('pay', { ...call, agent: 'bob' }))
  await pass(left as Making)
  ok(await run.settle(String(callId), { fence: Number(fence), result: 'paid' }))
  await pass(left as Making)
  await pass(whole as Making)
  const agentsOf = async (making: Making) =>
    withIndex(making, inner.store, async (index) =>
      index
        .rows({ tenant: alice.tenant, size: index.size(alice.tenant) }, {}, { after: undefined, limit: 10 })
        .flatMap(({ call: of, type, agent }) => (of === undefined ? [] : [`${type} ${agent}`])),
    )
  const agents = await agentsOf(whole as Making)
  assert.is(agents.at(-1), 'ToolCallSucceeded bob')
  assert.equal(await agentsOf(left as Making), agents)
})

test.run()
