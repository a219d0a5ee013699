// A process dies right after it has charged a card. The next one, with the same code, finds the charge and goes on: one charge, one label.
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from 'countersign/agent'

async function order(folder: string, dies: boolean): Promise<void> {
  const bank = join(folder, 'bank.txt')
  await using cs = await open({ path: join(folder, 'data') })
  const charge = cs.tool({
    name: 'charge',
    leaseMs: 100,
    execute: async ({ order, cents }: { order: string; cents: number }, { idempotencyKey }) => {
      appendFileSync(bank, `${idempotencyKey} ${order} ${cents}\n`)
      if (dies) process.kill(process.pid, 'SIGKILL')
      return { cents }
    },
    // Asked before a call whose outcome is unknown is run again.
    check: ({ cents }, { idempotencyKey }) =>
      readFileSync(bank, 'utf8').includes(idempotencyKey) ? { done: true, result: { cents } } : { done: false },
  })
  const ship = cs.tool(async (reference: string) => `label ${reference.length}`, { name: 'ship' })

  const label = await cs.run({ id: 'order-9', name: 'order' }, async (run) => {
    // Values that differ from life to life come from the record.
    const reference = await run.uuid()
    await charge({ order: reference, cents: 2500 })
    return ship(reference)
  })
  console.log(label)
}

const [folder] = process.argv.slice(2)
if (folder !== undefined) {
  await order(folder, true)
} else {
  const fresh = mkdtempSync(join(tmpdir(), 'countersign-example-'))
  const { signal } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), fresh])
  console.log(`the first process ended by ${signal}`)
  await order(fresh, false)
  console.log(`charges: ${readFileSync(join(fresh, 'bank.txt'), 'utf8').trim().split('\n').length}`)
  rmSync(fresh, { recursive: true })
}
