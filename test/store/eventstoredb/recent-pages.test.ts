import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ReadRecord } from '../../../src/store/event-store.ts'
import { type PageRequest, RecentPages } from '../../../src/store/eventstoredb/recent-pages.ts'

const test = suite('what was read of $all a moment ago')

const place = (number: number) => ({ commit: BigInt(number), prepare: BigInt(number) })
const numberOf = (at: { readonly commit: bigint } | undefined): number => Number(at?.commit ?? 0n)
const PAGE = 10

/** A log with gaps in its positions; `bytes` is the size of each body. */
function logOf(count: number, bytes: number) {
  const records = Array.from({ length: count }, (_, n): ReadRecord => {
    const position = `${3 * n + 3}/${3 * n + 3}`
    return { position, stream: 's', revision: n, header: '{}', salt: new Uint8Array(0), data: 'x'.repeat(bytes) }
  })
  const log = {
    records,
    reads: 0,
    /** A page of it, as the node would send it. */
    read: async ({ at, end }: PageRequest) => {
      log.reads += 1
      const found = records
        .filter(({ revision }) => 3 * revision + 3 > numberOf(at) && 3 * revision + 3 <= numberOf(end))
        .slice(0, PAGE)
      await Promise.resolve()
      return {
        records: found,
        upTo: place(found.length < PAGE ? numberOf(end) : 3 * (found.at(-1)?.revision ?? 0) + 3),
      }
    },
  }
  return log
}

/** From `from` to `to`, page by page; the revisions that came. */
async function readOn(pages: RecentPages, log: ReturnType<typeof logOf>, from: number, to: number): Promise<number[]> {
  const seen: number[] = []
  let at = from === 0 ? undefined : place(from)
  while (numberOf(at) < to) {
    const wanted = { at, end: place(to) }
    const { records, upTo } = await pages.page(wanted, () => log.read(wanted))
    assert.ok(numberOf(upTo) > numberOf(at), 'each page goes on')
    seen.push(...records.map(({ revision }) => revision))
    at = upTo
  }
  return seen
}

const expected = (from: number, to: number, count: number): number[] =>
  Array.from({ length: count }, (_, n) => n).filter((n) => 3 * n + 3 > from && 3 * n + 3 <= to)

test('readers who follow side by side are each given every event once and in order, and the node is asked once (F255)', async () => {
  const log = logOf(200, 10)
  const pages = new RecentPages()
  const all = await Promise.all([1, 2, 3].map(() => readOn(pages, log, 0, 600)))
  for (const seen of all) assert.equal(seen, expected(0, 600, 200))
  assert.is(log.reads, 200 / PAGE)
})

/** Small and repeatable (Numerical Recipes). */
function* numbers(seed: number): Generator<number, never> {
  let state = seed
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state
  }
}

test('from whichever place to whichever end, alone or at once, with memory for all or for a part, nothing is left out, doubled or out of order (F255)', async () => {
  for (const bytes of [10, 200_000]) {
    const log = logOf(120, bytes)
    const pages = new RecentPages()
    const next = numbers(7)
    for (let turn = 0; turn < 60; turn += 1) {
      const ways = Array.from({ length: 1 + (next.next().value % 3) }, () => {
        const [a, b] = [next.next().value % 361, next.next().value % 361]
        return [Math.min(a, b), Math.max(a, b)] as const
      })
      const seen = await Promise.all(ways.map(([from, to]) => readOn(pages, log, from, to)))
      assert.equal(
        seen,
        ways.map(([from, to]) => expected(from, to, 120)),
      )
      if (turn % 20 === 19) pages.forget()
    }
  }
})

test('what was forgotten while it was read is not remembered: the node may have been replaced by one that lacks it (F256)', async () => {
  const log = logOf(5, 10)
  const pages = new RecentPages()
  const wanted = { at: undefined, end: place(15) }
  const reading = pages.page(wanted, async () => {
    const found = await log.read(wanted)
    pages.forget()
    return found
  })
  await reading
  await readOn(pages, log, 0, 15)
  assert.is(log.reads, 2)
})

test('a reading that fails is its reader’s alone: the others read for themselves', async () => {
  const log = logOf(5, 10)
  const pages = new RecentPages()
  const wanted = { at: undefined, end: place(15) }
  const failing = pages.page(wanted, () => Promise.reject(new Error('away')))
  const other = readOn(pages, log, 0, 15)
  assert.instance(await failing.catch((error: unknown) => error), Error)
  assert.equal(await other, [0, 1, 2, 3, 4])
})

test.run()
