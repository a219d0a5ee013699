// Large values: kept beside the events, served on resume; too large, an answer for the caller; and of a secret only a digest.
import { open, ResultTooLarge } from 'countersign/agent'

const cs = await open({ path: ':memory:' })

const search = cs.tool(
  async (query: string, most: number) => {
    console.log(`search ${query}`)
    return Array.from({ length: most }, (_, n) => ({ id: `HAT${n}`, text: 'a room with a view '.repeat(10) }))
  },
  { name: 'search', compensate: 'not-needed' },
)

const diagnose = cs.tool(async (patient: string) => `${patient} is well`, {
  name: 'diagnose',
  compensate: 'not-needed',
  record: 'digest',
})

const report = async (): Promise<string> => {
  const found = await search('Oslo', 1_000)
  const all = await search('Norway', 100_000).catch((error: unknown) => {
    if (!(error instanceof ResultTooLarge)) throw error
    return search('Norway', 2_000)
  })
  return `${found.length} rooms in Oslo, ${all.length} in Norway`
}

console.log(await cs.run({ id: 'rooms', name: 'rooms' }, report))

let event = ''
for await (const text of cs.export('rooms')) event += text
console.log(`the export has ${event.length < 20_000 ? 'the digests' : 'the values'}`)

const { verdict } = await cs.replay('rooms', report)
console.log(`replayed ${verdict}ly, without a search`)

await cs.run({ id: 'ward', name: 'ward' }, async () => {
  await diagnose('Ann')
})
const replayed = await cs.replay('ward', () => diagnose('Ann')).catch((error: { code: string }) => error.code)
console.log(`what the doctor said is ${String(replayed)}`)
await cs.close()
