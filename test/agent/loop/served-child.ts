/**
 * @module One life of an agent on a ledger that is served: `served-child.js FOLDER LOOP TURNS LIFE`, with the ledger's URL and token in the environment.
 * Effects are lines of `FOLDER/effects`, what the code sees are lines of `FOLDER/seen-LIFE`. Prints what its run gave.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../../../src/agent/connect.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import type { Countersign } from '../../../src/agent/runtime/runtime.ts'
import { bodyOf, type Effects, LOOPS } from './client-loops.ts'

const [folder = '', loop = '', turns = '', life = ''] = process.argv.slice(2)
const file = join(folder, 'effects')
const read = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
const effects: Effects = { add: (line) => appendFileSync(file, `${line}\n`), has: (line) => read().includes(line) }
const see = (what: string): void => appendFileSync(join(folder, `seen-${life}`), `${what}\n`)

/** Three workers with one queue, races, values and sleeps: what is done next depends on what came first. */
function pool(cs: Countersign): (run: Run) => Promise<string> {
  const work = cs.tool(
    async (n: number) => {
      await new Promise((resolve) => setTimeout(resolve, (n * 7) % 23))
      effects.add(`tool_0 ${n * 7}`)
      return { z: n, at: new Date(n).toISOString(), a: ['ü', n + 0.5] }
    },
    {
      name: 'work',
      compensate: 'not-needed',
      check: ([n]) => (effects.has(`tool_0 ${n * 7}`) ? { done: true, result: gives(n) } : { done: false }),
    },
  )
  const gives = (n: number) => ({ z: n, at: new Date(n).toISOString(), a: ['ü', n + 0.5] })
  const note = cs.tool((text: string) => text.length, { name: 'note', effects: 'none', dedupe: 'position' })
  return async (run) => {
    const seen: string[] = []
    const log = (what: string): void => {
      seen.push(what)
      see(what)
    }
    const queue = Array.from({ length: Number(turns) * 2 }, (_, n) => n)
    const worker = async (name: string): Promise<void> => {
      for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
        log(`${name} ${JSON.stringify(await work(n))}`)
        log(`${name} noted ${await note(seen.join('\n'))}`)
        if (n % 5 === 0) log(`first ${await Promise.race([run.sleep(20).then(() => 'slept'), note(`${n}`)])}`)
        if (n % 4 === 0)
          log(`drawn ${await run.once(`drawn ${n}`, () => Math.random())} ${(await run.now()).toISOString()}`)
      }
    }
    await Promise.all(['p', 'q', 'r'].map(worker))
    return JSON.stringify(seen)
  }
}

await using cs = connect({ url: process.env.LEDGER_URL ?? '', token: process.env.LEDGER_TOKEN ?? '' })
const chosen = LOOPS[loop as keyof typeof LOOPS]
const body = chosen === undefined ? pool(cs) : bodyOf(cs, { effects, loop: chosen, turns: Number(turns) })
const output =
  life === 'replay' ? (await cs.replay('agent', body)).output : await cs.run({ id: 'agent', name: 'agent' }, body)
process.stdout.write(String(output))
