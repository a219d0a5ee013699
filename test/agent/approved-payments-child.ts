/** @module A process that pays what is approved and dies whenever its parent likes: `approved-payments-child.js FOLDER`. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RunWaiting } from '../../src/agent/errors.ts'
import { open } from '../../src/agent/open.ts'

const [folder = ''] = process.argv.slice(2)
const BANK = join(folder, 'bank')
const paid = (): string => (existsSync(BANK) ? readFileSync(BANK, 'utf8') : '')

await using cs = await open({ path: join(folder, 'data'), actor: 'clerk' })
// From here on its parent counts.
process.stdout.write('open\n')
const pay = cs.tool({
  name: 'pay',
  approve: { when: 'args.cents > 100' },
  leaseMs: 100,
  execute: async ({ to, cents }: { to: number; cents: number }, { idempotencyKey }) => {
    appendFileSync(BANK, `${idempotencyKey} ${to} ${cents}\n`)
    await new Promise((resolve) => setTimeout(resolve, 3))
    return to
  },
  check: ({ to }, { idempotencyKey }) =>
    paid().includes(idempotencyKey) ? { done: true, result: to } : { done: false },
})
try {
  await cs.run({ id: 'r', whenWaiting: 'leave' }, async () => {
    for (let to = 0; to < 6; to += 1) await pay({ to, cents: to % 2 === 0 ? 5_000 : 50 })
    return 'all paid'
  })
  process.stdout.write('all paid\n')
} catch (error) {
  if (!(error instanceof RunWaiting)) throw error
  process.stdout.write('waits\n')
}
