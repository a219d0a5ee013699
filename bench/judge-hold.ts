/** @module P19: the longest time for which the judgement of one large handoff, in a run with large tool results, blocks the event loop. */
import type { Json, JsonObject } from '../schemas/json.ts'
import type { Outcome } from '../src/ledger/ledger.ts'
import { WorkQueue } from '../src/resources/work-queue.ts'
import type { Bench, BenchGroup } from './bench.ts'
import { CALLER, type LocalLedger, openLocalLedger, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const RESULTS = 3
/** About 300 KiB. */
const ORDERS = 2_400

const KINDS = [
  { id: 'P19 equal', what: 'all of it as the tools answered', changed: 0 },
  { id: 'P19 changed', what: 'each value another than established', changed: 3 },
] as const

export const judgeHold: BenchGroup = { name: 'a large handoff', ids: KINDS.map(({ id }) => id), open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const local = await openLocalLedger(folder.at('data'), { work: new WorkQueue() })
  const samples = new Samples()
  let run = 0
  return {
    round: async () => {
      for (const { id, changed } of KINDS) {
        run += 1
        samples.add(id, await longestHold(local, `r${run}`, changed))
      }
    },
    rows: () => KINDS.map(({ id, what }) => holdRow(samples, id, what)),
    [Symbol.asyncDispose]: async () => {
      await local[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function holdRow(samples: Samples, id: string, what: string): Row {
  return {
    id,
    what: `longest hold of the event loop, handoff of 300 KiB after ${RESULTS} results of its size, ${what}`,
    unit: 'ms',
    numerator: median(samples.of(id)),
    bound: 'at-most',
    floor: 100,
    target: 50,
  }
}

/** Milliseconds for the handoff alone: the run is started with its context, and its results are recorded, before the measurement. */
async function longestHold({ ledger }: LocalLedger, run: string, changed: number): Promise<number> {
  await startRun(ledger, run, { ungrounded: 'warn' })
  must(await handOver(ledger, run, ordersOf(0, 0)))
  for (let n = 0; n < RESULTS; n += 1) await recordResult({ ledger, run }, ordersOf(n * ORDERS, 0), n)
  const watch = watchLoop()
  await handOver(ledger, run, ordersOf(0, changed))
  return watch.longestMs()
}

const handOver = (ledger: LocalLedger['ledger'], run: string, orders: Json): Promise<Outcome> =>
  ledger.execute(CALLER, run, { kind: 'envelope', body: { agent: 'a', payload: { facts: { orders } } } }, {})

async function recordResult({ ledger, run }: { ledger: LocalLedger['ledger']; run: string }, result: Json, n: number) {
  const claim = await ledger.execute(CALLER, run, { kind: 'claim', body: { tool: 'orders', args: { n } } }, {})
  const callId = String(must(claim).callId)
  must(await ledger.execute(CALLER, run, { kind: 'settle', callId, body: { fence: 1, result } }, {}))
}

function must(outcome: Outcome): JsonObject {
  if (!outcome.ok) throw new Error(`${outcome.refusal.code}: ${outcome.refusal.detail}`)
  return outcome.body
}

function ordersOf(from: number, changed: number): Json {
  return Array.from({ length: ORDERS }, (_, i) => ({
    order_id: `A-${from + i}`,
    city: `city ${(from + i) * 7 + changed}`,
    total: (from + i) * 1.25 + 10 + changed,
    lines: [{ sku: `S${i}`, qty: i + 11 + changed, note: `a line of order ${i}` }],
  }))
}

/** Measures the turns of the event loop: the longest interval between two of them is the longest time that anything has to wait. */
function watchLoop(): { readonly longestMs: () => number } {
  let [lastMs, longest, on] = [performance.now(), 0, true]
  const look = (): void => {
    const nowMs = performance.now()
    longest = Math.max(longest, nowMs - lastMs)
    lastMs = nowMs
    if (on) setImmediate(look)
  }
  setImmediate(look)
  return {
    longestMs: () => {
      on = false
      return Math.max(longest, performance.now() - lastMs)
    },
  }
}
