import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EqualCalls, type OpenCallPlace } from '../../src/ledger/read/equal-calls.ts'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { seededRandom } from '../support/random.ts'

const test = suite('ledger: equal calls')

/** A store of claims and their ends, and which calls are open in it. */
function world() {
  const records: ReadRecord[] = []
  const open = new Map<string, OpenCallPlace>()
  const append = (type: string, runId: string, body: object): void => {
    const position = String(records.length + 1)
    const [header, data] = [JSON.stringify({ type }), JSON.stringify(body)]
    records.push({ position, stream: `run-t.${runId}`, revision: 0, header, data } as ReadRecord)
  }
  let reads = 0
  const store = {
    end: async () => String(records.length),
    comparePositions: (a: string, b: string) => Number(a) - Number(b),
    async *readAll({ after = '0', until = '0' }: { after?: string | undefined; until?: string | undefined }) {
      for (let at = Number(after); at < Number(until); at += 7) {
        await Promise.resolve()
        yield records.slice(at, Math.min(at + 7, Number(until)))
      }
    },
  }
  async function* read(): AsyncGenerator<OpenCallPlace, void> {
    reads += 1
    for (const place of [...open.values()]) {
      await new Promise((resolve) => setImmediate(resolve))
      // As a run is read when it is its turn.
      if (open.has(place.callId)) yield place
    }
  }
  return {
    equal: new EqualCalls(store, read),
    claim: (callId: string, n: number, runId = `r-${callId}`) => {
      open.set(callId, { runId, callId, digest: `sha256:${n} pay` })
      append('ToolCallClaimed', runId, { callId, tool: 'pay', phase: 'forward', args: n, argsDigest: `sha256:${n}` })
    },
    end: (callId: string, runId = `r-${callId}`) => {
      open.delete(callId)
      append('ToolCallSucceeded', runId, { callId })
    },
    noise: (count: number) => {
      for (let n = 0; n < count; n += 1) append('UsageRecorded', 'r', {})
    },
    open,
    reads: () => reads,
  }
}

const idsOf = (places: readonly OpenCallPlace[]) => places.map(({ callId }) => callId).sort()

test('whatever opens and ends while it is asked, no open equal call is missing, and after a silence all are looked up anew (CAP-40)', async () => {
  const random = seededRandom(1)
  const { equal, claim, end, noise, open, reads } = world()
  noise(1)
  for (let turn = 0; turn < 300; turn += 1) {
    const id = `c${turn}`
    claim(id, Math.floor(random() * 4))
    const before = [...open.values()].filter(({ digest }) => digest === open.get(id)?.digest)
    const asked = equal.equalTo('t', id)
    const kept = new Set(idsOf(before))
    for (const other of [...open.keys()].filter((each) => each !== id && random() < 0.1)) {
      await Promise.resolve()
      end(other)
      kept.delete(other)
    }
    const found = new Set(idsOf(await asked))
    for (const callId of kept) assert.ok(found.has(callId), `turn ${turn}: ${callId} is open`)
    const now = idsOf(await equal.equalTo('t', id))
    assert.equal(now, idsOf([...open.values()].filter(({ digest }) => digest === open.get(id)?.digest)))
    if (turn % 100 === 50) noise(6_000)
  }
  assert.is(reads(), 4)
})

test('a run that cannot be looked into is named with the equal calls of any: it may hold one (CAP-40)', async () => {
  const { equal, claim, open, noise } = world()
  noise(1)
  open.set('damaged', { runId: 'damaged', callId: 'damaged', digest: undefined })
  claim('a', 1)
  claim('b', 2)
  assert.equal(idsOf(await equal.equalTo('t', 'a')), ['a', 'damaged'])
})

test('a call of another run that was given the same id hides none (CAP-40)', async () => {
  const { equal, claim, end } = world()
  claim('other', 1)
  assert.equal(idsOf(await equal.equalTo('t', 'other')), ['other'])
  claim('other', 2, 'r-mine')
  end('other', 'r-mine')
  claim('own', 1)
  assert.equal(idsOf(await equal.equalTo('t', 'own')), ['other', 'own'])
})

test.run()
