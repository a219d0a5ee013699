/**
 * @module A worker that dies whenever its parent likes, and stops in order on SIGTERM: `killed-worker-child.js FOLDER URL TOKEN`. What it does outside is a line
 * in the file `effects`: the key of the call, the run, and what was done. The code of the run `broken` asks for another wait in each life, and so diverges. Its
 * wait is long enough to be left before it ends.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Run } from '../../../src/agent/index.ts'

const [folder = '', url = '', token = ''] = process.argv.slice(2)
const EFFECTS = join(folder, 'effects')
const done = (): string => (existsSync(EFFECTS) ? readFileSync(EFFECTS, 'utf8') : '')

await using cs = connect({ url, token, divergesAfterMs: 2_000 })
const tool = (name: string, approve: boolean) =>
  cs.tool({
    name,
    approve,
    leaseMs: 500,
    compensate: 'not-needed',
    execute: async ({ order }: { readonly order: string }, { idempotencyKey }) => {
      appendFileSync(EFFECTS, `${idempotencyKey} ${order} ${name}\n`)
      await new Promise((resolve) => setTimeout(resolve, 2))
      return name
    },
    check: (_, { idempotencyKey }) =>
      done().includes(idempotencyKey) ? { done: true, result: name } : { done: false },
  })
const [reserve, pay, ship] = [tool('reserve', false), tool('pay', true), tool('ship', false)]

const worker = cs.worker({
  runs: {
    order: async (run: Run<string>) => {
      const order = run.input
      await reserve({ order })
      await cs.run({ name: 'payment' }, async () => pay({ order }))
      await run.sleep(20)
      const to = await run.waitFor<string>('address')
      await ship({ order })
      return `${order} to ${to}`
    },
    broken: async (run: Run) => run.waitFor(`life-${randomUUID()}`, { until: 1_000 }),
  },
  concurrency: 4,
  holdMs: 2_000,
  retryMs: 100,
})
process.on('SIGTERM', () => void worker.stop())
process.stdout.write('works\n')
await worker.done
