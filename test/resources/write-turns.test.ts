import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { batchDigest } from '../../src/http/batch-digest.ts'
import { WorkQueue } from '../../src/resources/work-queue.ts'
import { RequestTurns, TURN_REQUESTS, WriteTurns } from '../../src/resources/write-turns.ts'
import { jsonDigest } from '../../src/signing/digests.ts'
import type { Append } from '../../src/store/event-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, ok, refusedWith, verifiedFold } from '../support/run-driver.ts'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const KIB = 1024
const turns = suite('turns of the event loop')

/** Counts turns until it is stopped. */
function turnCount(): { readonly now: () => number; readonly stop: () => void } {
  let [turn, on] = [0, true]
  const next = (): void => {
    turn += 1
    if (on) setImmediate(next)
  }
  setImmediate(next)
  return {
    now: () => turn,
    stop: () => {
      on = false
    },
  }
}

/** An edge whose store says in which turn each append of a handoff came. */
async function countedEdge() {
  const count = turnCount()
  const handed: { readonly turn: number; readonly stream: string }[] = []
  const inner = openMemoryStore()
  const append = (each: Append) => {
    if (each.records[0]?.type === 'EnvelopeAccepted') handed.push({ turn: count.now(), stream: each.stream })
    return inner.append(each)
  }
  const edge = await testEdge({ store: wrapStore(inner, { append }), work: new WorkQueue() })
  return { edge, handed, count }
}

const prose = (kib: number): JsonObject => ({ facts: { about: 'window, no stop. '.repeat((kib * KIB) / 17) } })
const envelope = (run: string, kib: number) => ({ op: 'envelope', run, body: { agent: 'a', payload: prose(kib) } })

turns('a turn takes on 64 KiB or one piece alone, in the order in which they came (F40)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 200 * KIB }), { maxLength: 40 }), async (sizes) => {
      const soon: (() => void)[] = []
      const loop = new WriteTurns({ nowMs: () => 0, soon: (call) => soon.push(call) })
      const done: number[] = []
      let inTurn: number[] = []
      const all = sizes.map(async (bytes, index) => {
        const turn = loop.pass(bytes, 'acme')
        if (turn !== undefined) await turn
        inTurn.push(bytes)
        if (bytes >= 8 * KIB) done.push(index)
      })
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        const large = inTurn.filter((bytes) => bytes >= 8 * KIB)
        assert.ok(large.length <= 1 || large.reduce((sum, bytes) => sum + bytes, 0) <= 64 * KIB, `${large}`)
        inTurn = []
        const next = soon.shift()
        if (next === undefined) break
        next()
      }
      await Promise.all(all)
      assert.equal(
        done,
        [...done].sort((a, b) => a - b),
      )
    }),
    { numRuns: 50 },
  )
})

turns(
  'the large items of a batch are decided in turns of their own, and others are answered between them (F40)',
  async () => {
    const { edge, handed, count } = await countedEdge()
    await using _ = edge
    for (const run of ['r', 's', 'small']) await edge.started(run)
    const items = Array.from({ length: 16 }, (_, i) => envelope(i % 2 === 0 ? 'r' : 's', 100))
    let answered = 0
    let over = false
    const batch = edge.post('/v1/batch', { items }).finally(() => {
      over = true
      count.stop()
    })
    const others = (async () => {
      while (!over) {
        assert.is((await edge.get('/v1/runs/small')).status, 200)
        if (handed.length > 0 && handed.length < items.length) answered += 1
        // Answers from memory come in the same turn.
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const { items: outcomes } = await bodyOf(await batch)
    await others
    assert.equal([...new Set(outcomes.map(({ status }) => status))], [201])
    assert.is(new Set(handed.map(({ turn }) => turn)).size, items.length, 'no two in one turn')
    assert.ok(answered > 0, 'requests are answered between the first item and the last')
  },
)

turns(
  'large handoffs that come at once are decided one a turn, and none in the turn in which another is parsed (F40)',
  async () => {
    const { edge, handed, count } = await countedEdge()
    await using _ = edge
    const runs = Array.from({ length: 6 }, (_, i) => `r${i}`)
    for (const run of runs) await edge.started(run)
    const { body } = envelope('', 300)
    const answers = await Promise.all(runs.map((run) => edge.post(`/v1/runs/${run}/envelopes`, body)))
    count.stop()
    assert.equal([...new Set(answers.map(({ status }) => status))], [201])
    const at = handed.map(({ turn }) => turn).sort((a, b) => a - b)
    assert.is(new Set(at).size, runs.length)
    // Six turns were for parsing: the first to decide cannot come sooner.
    assert.ok((at[0] ?? 0) >= runs.length, `${at}`)
  },
)

turns("a batch's digest is the digest of its body, whatever turns it took", async () => {
  const items = [envelope('r', 100), envelope('é\u2028', 1), { b: [1, 'x'], a: { d: null, c: 1e21 } }]
  const by = { turns: new WriteTurns(), tenant: 'acme' }
  assert.is(await batchDigest(items, by), jsonDigest({ items }))
  assert.is(await batchDigest([], by), jsonDigest({ items: [] }))
})

/** A queue on whose clock each piece takes as long as a slice, and how many slices were waited for. */
function sliceCount(): { readonly work: WorkQueue; readonly slices: () => number } {
  let [nowMs, slices] = [0, 0]
  const nextMs = (): number => {
    nowMs += 10
    return nowMs
  }
  const work = new WorkQueue({ nowMs: nextMs, soon: setImmediate, later: setTimeout })
  const later = work.writes.later.bind(work.writes)
  work.writes.later = (tenant) => {
    slices += 1
    return later(tenant)
  }
  return { work, slices: () => slices }
}

const rowsOf = (from: number, price: number): JsonObject[] =>
  Array.from({ length: 600 }, (_, i) => ({ id: `r${from}-${i}`, price: i * 7 + price }))

turns(
  'results of tools are indexed, and a handoff is judged by them, in slices of counted work, and so are those of a run that is loaded (F80, F93)',
  async () => {
    const { work, slices } = sliceCount()
    await using test = await testLedger({ work })
    const run = drive(test, 'r')
    await run.start()
    for (const n of [0, 1, 2]) {
      const callId = await run.claimed('read', { args: { n } })
      ok(await run.settle(callId, { fence: 1, result: rowsOf(n, 0) }))
    }
    assert.is(slices(), 0, 'recording a result reads nothing of it')
    const count = turnCount()
    const before = count.now()
    ok(await run.hand('a', { facts: rowsOf(0, 0) }))
    const settled = slices()
    assert.ok(settled > 20, `${settled} slices`)
    assert.ok(count.now() - before >= settled, `${count.now() - before} turns for ${settled} slices`)
    const refused = refusedWith(await run.hand('a', { facts: rowsOf(0, 1) }), 'contradiction')
    assert.ok(Number(refused.evidence?.findingsTotal) >= 600)
    assert.ok(slices() - settled > 10, `${slices() - settled} slices`)
    count.stop()
  },
)

turns(
  'while a handoff is judged in slices, other runs go on, and whatever else is asked of its run is decided after it, on what it established (F93)',
  async () => {
    const { work, slices } = sliceCount()
    await using test = await testLedger({ work })
    const [run, other] = [drive(test, 'r'), drive(test, 'other')]
    await run.start()
    await other.start()
    ok(await run.hand('a', { facts: rowsOf(0, 0) }))
    ok(await run.hand('a', { facts: rowsOf(0, 0), more: 1 }))
    const order: string[] = []
    const noted = <T>(name: string, done: Promise<T>): Promise<T> => done.finally(() => order.push(name))
    const before = slices()
    const all = [
      noted('first', run.hand('a', { facts: [...rowsOf(0, 0), ...rowsOf(1, 0)], more: 1 })),
      noted('second', run.hand('b', { facts: [...rowsOf(0, 0), ...rowsOf(2, 0)], more: 1 })),
      noted('claim', run.claim('read')),
      noted('other', other.claim('read')),
    ] as const
    const [first, second, claim, elsewhere] = await Promise.all(all)
    assert.ok(slices() - before > 10)
    ok(first)
    ok(claim)
    ok(elsewhere)
    refusedWith(second, 'contradiction')
    assert.is(order[0], 'other')
    await verifiedFold(test, 'r')
  },
)

/** Turns that a test begins one by one. */
function byHand(): { readonly soon: (call: () => void) => void; readonly turn: () => Promise<void> } {
  const calls: (() => void)[] = []
  return {
    soon: (call) => void calls.push(call),
    turn: async () => {
      for (const call of calls.splice(0)) call()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

turns(
  'one tenant waits for a few of the requests that another one sends at once, however many these are, and each in the order in which it came (A386)',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 4 }), async (many, others) => {
        const { soon, turn } = byHand()
        const loop = new RequestTurns({ nowMs: () => 0, soon })
        // Two tenants have asked: from here on they take turns.
        for (const tenant of ['neighbour0', 'hostile']) await loop.enter(tenant)
        await turn()
        const begun: string[] = []
        const enter = async (name: string): Promise<void> => {
          await loop.enter(name.split(' ')[0] ?? '')
          begun.push(name)
        }
        const all = Array.from({ length: many }, (_, n) => enter(`hostile ${n}`))
        for (let n = 0; n < others; n += 1) all.push(enter(`neighbour${n} 0`))
        for (let turns = 0; begun.length < many + others; turns += 1) {
          const before = begun.length
          await turn()
          assert.ok(begun.length - before <= TURN_REQUESTS || turns === 0)
        }
        await Promise.all(all)
        const last = begun.findLastIndex((name) => name.startsWith('neighbour'))
        assert.ok(last <= TURN_REQUESTS + 2 * others, `${last} of ${begun.length}`)
        const hostile = begun.filter((name) => name.startsWith('hostile'))
        assert.equal(
          hostile,
          hostile.map((_, n) => `hostile ${n}`),
        )
      }),
      { numRuns: 50 },
    )
  },
)

turns('a tenant that has been alone for a minute begins all its requests at once (A386)', async () => {
  const { soon, turn } = byHand()
  let nowMs = 0
  const loop = new RequestTurns({ nowMs: () => nowMs, soon })
  const many = Array.from({ length: 4 * TURN_REQUESTS }, () => 'alone')
  assert.ok(many.every((tenant) => loop.enter(tenant) === undefined))
  assert.is(loop.enter('another'), undefined)
  assert.ok(many.some((tenant) => loop.enter(tenant) !== undefined))
  for (let turns = 0; turns < 5; turns += 1) await turn()
  nowMs = 60_001
  assert.ok(many.every((tenant) => loop.enter(tenant) === undefined))
})

turns('large pieces of one tenant go in turn with those of another, by their bytes (A386)', async () => {
  const { soon, turn } = byHand()
  const loop = new WriteTurns({ nowMs: () => 0, soon })
  const done: string[] = []
  const piece = async (tenant: string, bytes: number): Promise<void> => {
    await loop.pass(bytes, tenant)
    done.push(tenant)
  }
  const all = [
    ...Array.from({ length: 64 }, () => piece('hostile', 512 * KIB)),
    ...Array.from({ length: 4 }, () => piece('neighbour', 16 * KIB)),
  ]
  for (let turns = 0; turns < 4; turns += 1) await turn()
  assert.is(done.filter((tenant) => tenant === 'neighbour').length, 4, done.join(' '))
  assert.ok(done.filter((tenant) => tenant === 'hostile').length <= 4, done.join(' '))
  while (done.length < 68) await turn()
  await Promise.all(all)
})

turns(
  'a request of one tenant is handled before most of those that came before it from another one (A386)',
  async () => {
    await using edge = await testEdge({ work: new WorkQueue() })
    await edge.started('r')
    const own = { authorization: `Bearer ${await edge.token({ tenant: edge.foreign })}` }
    // Both tokens are known by now: to check one for the first time takes turns of its own.
    await edge.get('/v1/runs/none', own)
    const answered: string[] = []
    const hostile = Array.from({ length: 100 }, async () => {
      await edge.get('/v1/runs/r')
      answered.push('hostile')
    })
    const neighbour = edge.get('/v1/runs/none', own).then(() => answered.push('neighbour'))
    await Promise.all([...hostile, neighbour])
    assert.ok(answered.indexOf('neighbour') <= 4 * TURN_REQUESTS, `after ${answered.indexOf('neighbour')} of 100`)
  },
)

turns.run()
