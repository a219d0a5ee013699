// An order in three steps, the last of which fails: what was done is undone, newest first, and the error is the one that was thrown.
import { open, outcomeOf } from 'countersign/agent'

const cs = await open({ path: ':memory:' })

const pay = cs.tool(async (cents: number) => ({ payment: 'p-1', cents }), {
  name: 'pay',
  compensate: async ({ args, result }) => console.log(`refund ${args[0]} cents of ${result.payment}`),
})
const reserve = cs.tool(async (sku: string, count: number) => ({ reservation: `${sku} x ${count}` }), {
  name: 'reserve',
  compensate: async ({ result }) => console.log(`put back ${result.reservation}`),
})
const notify = cs.tool(async (text: string) => text.length, { name: 'notify' })
const ship = cs.tool(
  async (address: string): Promise<string> => {
    throw new Error(`no carrier goes to ${address}`)
  },
  { name: 'ship', compensate: 'not-needed' },
)

try {
  await cs.run({ id: 'order-8', name: 'order' }, async () => {
    await pay(2500)
    await reserve('book', 2)
    await notify('on its way')
    return ship('Atlantis')
  })
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
  const outcome = outcomeOf(error)
  console.log(`${outcome?.status}: undone ${names(outcome?.compensated)}; standing ${names(outcome?.standing)}`)
}
await cs.close()

function names(calls: readonly { readonly tool: string }[] = []): string {
  return calls.map(({ tool }) => tool).join(', ')
}
