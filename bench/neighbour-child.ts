/** @module Child process: many connections of one tenant, each repeating its request as soon as it has the answer, until the process is killed. */
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
