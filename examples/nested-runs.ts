// An order is a run, and each delivery a run within it: linked in the record, resumed together, and undone together when the order cannot be kept.
import { open, outcomeOf } from 'countersign/agent'

await using cs = await open({ path: ':memory:' })
const undone: string[] = []
const charge = cs.tool((cents: number) => ({ payment: 'p-1', cents }), {
  name: 'charge',
  compensate: ({ result }) => undone.push(`refunded ${result.cents}`),
})
const book = cs.tool((truck: string) => ({ truck }), {
  name: 'book',
  compensate: ({ result }) => undone.push(`cancelled ${result.truck}`),
})

const deliver = (to: string) =>
  cs.run({ name: 'delivery', input: { to } }, async (run) => {
    const { truck } = await book(`truck to ${to}`)
    return { truck, delivery: run.id }
  })

async function order(cities: readonly string[]): Promise<string[]> {
  await charge(2500)
  const trucks: string[] = []
  for (const city of cities) trucks.push((await deliver(city)).truck)
  if (trucks.length > 2) throw new Error('no more than two trucks a day')
  return trucks
}

console.log(await cs.run({ id: 'order-1', name: 'order' }, () => order(['Bern', 'Basel'])))

try {
  await cs.run({ id: 'order-2', name: 'order' }, () => order(['Bern', 'Basel', 'Chur']))
} catch (error) {
  console.log(`${error instanceof Error ? error.message : error}: ${outcomeOf(error)?.status}`)
}
console.log(undone.join(', '))
