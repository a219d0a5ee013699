// A sequence that a model chose, as data: groups in order, the calls of a group side by side; rolled back group by group.
import { open, sagaReport } from 'countersign/agent'

const cs = await open({ path: ':memory:' })

for (const name of ['flight', 'hotel', 'car']) {
  cs.tool({
    name,
    execute: async ({ city }: { city: string }) => `${name} in ${city}`,
    compensate: async ({ result }) => console.log(`cancel ${result}`),
  })
}
cs.tool({
  name: 'pay',
  execute: async ({ cents }: { cents: number }) => {
    if (cents > 1000) throw new Error('card declined')
    return cents
  },
})

const trip = (cents: number) => [
  { tool: 'flight', args: { city: 'Oslo' } },
  [
    { tool: 'hotel', args: { city: 'Oslo' } },
    { tool: 'car', args: { city: 'Oslo' } },
  ],
  { tool: 'pay', args: { cents } },
]

const good = await cs.saga(trip(900), { id: 'trip-1' })
console.log(good.status)
const bad = await cs.saga(trip(1900), { id: 'trip-2' })
console.log(sagaReport(bad))
await cs.close()
