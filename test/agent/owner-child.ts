/**
 * @module A process that may die over a call under a long lease: `owner-child.js FOLDER HOME [die]`. HOME is `here`, or the URL and the token of a
 * ledger, separated by a space. Says when, by its own clock, it was ready, and when its first live call ran.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, open } from '../../src/agent/index.ts'

const [folder = '', home = '', fate] = process.argv.slice(2)
const [url = '', token = ''] = home.split(' ')

await using cs = home === 'here' ? await open({ path: join(folder, 'data') }) : connect({ url, token })
let ranAtMs = 0
/** Milliseconds that the runtime waited for before the first live call: what the ledger does in the background is not waited for. */
const waitsMs: number[] = []
const { setTimeout: wait } = globalThis
globalThis.setTimeout = ((done: () => void, ms = 0, ...more: []) => {
  if (ranAtMs === 0 && /\b(OwnerWait|pause)/.test(new Error().stack ?? '')) waitsMs.push(ms)
  return wait(done, ms, ...more)
}) as typeof setTimeout
const reserve = cs.tool(
  async (seats: number) => {
    ranAtMs ||= performance.now()
    appendFileSync(join(folder, 'effects'), 'reserve\n')
    if (fate === 'die') {
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => setInterval(() => {}, 1_000))
    }
    return seats
  },
  { name: 'reserve', onUnknown: 'retry', leaseMs: 600_000 },
)
const readyAtMs = performance.now()
const output = await cs.run({ id: 'order' }, () => reserve(2))
process.stdout.write(JSON.stringify({ output, waitedMs: Math.round(ranAtMs - readyAtMs), waitsMs }))
