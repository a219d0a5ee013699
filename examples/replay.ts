// A run again, from its record: no tool is called. Code that asks for something else is found at its first step aside.
import { AgentError, open } from 'countersign/agent'

const cs = await open({ path: ':memory:' })
const search = cs.tool(
  async (city: string) => {
    console.log(`searching ${city}`)
    return [`${city} Inn`, `${city} Palace`]
  },
  { name: 'search' },
)
const book = cs.tool(
  async (hotel: string, nights: number) => {
    console.log(`booking ${hotel}`)
    return { hotel, nights, code: 'b-1' }
  },
  { name: 'book' },
)

const stay = (nights: number) => async () => {
  const [first = 'nothing'] = await search('Oslo')
  return book(first, nights)
}

await cs.run({ id: 'stay-1' }, stay(2))
const replayed = await cs.replay('stay-1', stay(2))
console.log(`${replayed.verdict}: ${replayed.calls} calls served, output ${JSON.stringify(replayed.output)}`)

try {
  await cs.replay('stay-1', stay(3))
} catch (error) {
  if (!(error instanceof AgentError)) throw error
  console.log(`${error.code}: ${JSON.stringify(error.evidence.actual)}`)
}
await cs.close()
