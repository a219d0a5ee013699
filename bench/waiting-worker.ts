/** @module A worker on an idle server, both in processes of their own: how soon it goes on after a grant, and what it costs while nothing is due. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../src/agent/index.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { appendedEvents } from './http-stage.ts'
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'
import { makeToken, processorMs, serveLedger } from './server-child.ts'
import { median, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const IDS = { grant: 'worker grant p50', idle: 'worker idle' } as const
const GRANTS = 40
const IDLE_MS = 15_000
/** Until the worker has left the run, and waits for the next one. */
const SETTLED_MS = 100
/** A delay that people do not notice. */
const GRANT_TARGET_MS = 100
const IDLE_TARGET_PERCENT = 1

export const waitingWorker: BenchGroup = { name: 'a worker that waits', ids: Object.values(IDS), open }

async function open(options: BenchOptions): Promise<Bench> {
  // Not every system says how much of the processor a process used.
  const isTold = processorMs(process.pid) !== undefined
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const server = await serveLedger(data)
  const tokens = {
    worker: makeToken(data, 'runs:write runs:read payloads:read'),
    approver: makeToken(data, 'approvals:write runs:read payloads:read', { subject: 'approver' }),
  }
  const { url } = server
  const worker = startWorker(url, tokens.worker)
  const [cs, approver] = [connect({ url, token: tokens.worker }), connect({ url, token: tokens.approver })]
  const samples = new Samples()
  let orders = 0
  const grantMs = async (): Promise<number> => {
    orders += 1
    const id = `order-${orders}`
    await cs.start('order', id, { id })
    const approval = await firstOf(() => approver.approvals.list())
    await delay(SETTLED_MS)
    const grantedAtMs = Date.now()
    await approver.approvals.grant(approval)
    const paidAtMs = await worker.paid(id)
    await cs.result(id)
    return paidAtMs - grantedAtMs
  }
  return {
    round: async () => {
      await grantMs()
      const times: number[] = []
      for (let n = 0; n < scaled(options, GRANTS); n += 1) times.push(await grantMs())
      samples.add(IDS.grant, median(times))
      if (isTold) samples.add(IDS.idle, await idlePercent(server, worker.pid, scaled(options, IDLE_MS)))
    },
    rows: () => [grantRow(samples), ...(isTold ? [idleRow(samples)] : [])],
    [Symbol.asyncDispose]: async () => {
      await Promise.all([cs.close(), approver.close(), worker.end()])
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function grantRow(samples: Samples): Row {
  return {
    id: IDS.grant,
    what: 'from the request that grants an approval to the call it was for, in a worker over HTTP, p50',
    unit: 'ms',
    numerator: median(samples.of(IDS.grant)),
    target: GRANT_TARGET_MS,
    bound: 'at-most',
  }
}

function idleRow(samples: Samples): Row {
  return {
    id: IDS.idle,
    what: 'processor time of a worker for which nothing is due, of one core',
    unit: '%',
    numerator: median(samples.of(IDS.idle)),
    target: IDLE_TARGET_PERCENT,
    bound: 'at-most',
  }
}

/** Throws if anything was appended meanwhile. */
async function idlePercent(server: { readonly url: string }, pid: number, ms: number): Promise<number> {
  const [events, usedMs, beganMs] = [await appendedEvents(server), processorMs(pid) ?? 0, performance.now()]
  await delay(ms)
  const percent = (((processorMs(pid) ?? 0) - usedMs) / (performance.now() - beganMs)) * 100
  const appended = (await appendedEvents(server)) - events
  if (appended > 0) throw new Error(`${appended} events were appended although nothing was due`)
  return percent
}

async function firstOf<T>(list: () => AsyncIterable<T>): Promise<T> {
  for (;;) {
    for await (const item of list()) return item
    await delay(1)
  }
}

interface WaitingWorker {
  readonly pid: number
  /** When it paid this order, in milliseconds since 1970. */
  readonly paid: (order: string) => Promise<number>
  readonly end: () => Promise<void>
}

function startWorker(url: string, token: string): WaitingWorker {
  const script = fileURLToPath(new URL('waiting-worker-child.js', import.meta.url))
  const child = spawn(process.execPath, [script, url, token], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit')
  void ended.finally(() => process.off('exit', kill))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    pid: child.pid ?? 0,
    paid: async (order) => {
      const { value = '', done } = await lines.next()
      if (done === true) throw new Error('the worker ended')
      const paid = JSON.parse(value) as { readonly order: string; readonly atMs: number }
      if (paid.order !== order) throw new Error(`the worker paid ${paid.order}, not ${order}`)
      return paid.atMs
    },
    end: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
