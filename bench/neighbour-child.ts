/** @module Child: so many connections of one tenant, each asking the same again as soon as it has its answer, until the process is ended. */
import { asker, type Deed } from './asker.ts'

const [url = '', token = '', deed = 'read', connections = '1'] = process.argv.slice(2)
const places = Array.from({ length: Number(connections) }, (_, index) => ({ url, token, name: `h${index}` }))
const asking = await Promise.all(places.map((place) => asker(place, deed as Deed)))
process.stdout.write('{"asking":true}\n')
await Promise.all(
  asking.map(async (ask) => {
    for (;;) await ask()
  }),
)
