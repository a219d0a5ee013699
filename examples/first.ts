// The shortest way in: wrap two functions, run them. Run it twice: the second time the run of that id answers from its record.
import { open } from 'countersign/agent'

async function chargeCard(cents: number, card: string) {
  console.log(`charging ${cents} to ${card}`)
  return { id: 'payment-1', cents }
}

async function refund(payment: string) {
  console.log(`refunding ${payment}`)
}

async function shipOrder(payment: { id: string }) {
  return `label for ${payment.id}`
}

const cs = await open()
const charge = cs.tool(chargeCard, { compensate: ({ result }) => refund(result.id) })
const ship = cs.tool(shipOrder, { retries: 3 })
const label = await cs.run({ name: 'order', id: 'order-7', budget: { cost: '2.00 USD' } }, async () =>
  ship(await charge(2500, 'card-1')),
)
console.log(label)
await cs.close()
