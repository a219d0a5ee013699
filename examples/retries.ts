// Both scopes of a retry: of the tool alone, and of the whole saga, which is rolled back and begun anew.
import { open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const backoff = { type: 'exponential', delayMs: 10, jitter: true } as const

let asked = 0
cs.tool({
  name: 'quote',
  retries: 2,
  backoff,
  execute: async (_: object) => {
    asked += 1
    if (asked < 3) throw new Error('busy')
    return 'a quote'
  },
})

cs.tool({
  name: 'hold-seat',
  execute: async (_: object, { idempotencyKey }) => {
    console.log('hold a seat')
    return idempotencyKey
  },
  compensate: async () => console.log('let the seat go'),
})

let paid = 0
cs.tool({
  name: 'pay',
  retries: 1,
  retryScope: 'transaction',
  backoff,
  execute: async (_: object) => {
    paid += 1
    if (paid === 1) throw new Error('the hold was too old')
    return 'paid'
  },
})

const tool = await cs.saga([{ tool: 'quote', args: {} }])
console.log(`scope tool: ${tool.status} after ${tool.steps[0]?.attempts} attempts, the saga begun ${tool.tries} time`)

const steps = [
  { tool: 'hold-seat', args: {} },
  { tool: 'pay', args: {} },
]
const transaction = await cs.saga(steps)
console.log(`scope transaction: ${transaction.status}, the saga begun ${transaction.tries} times`)
await cs.close()
