/**
 * @module One life of an agent with a ledger of its own that speaks to a provider over HTTP: `wire-child.js FOLDER LOOP URL KEY LIFE`. Effects are lines of
 * `FOLDER/effects`, what the code sees are lines of `FOLDER/seen-LIFE`. At its end it writes the run's export to `FOLDER/record.jsonl`, and what the run gave to `FOLDER/given-LIFE`.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../../src/agent/open.ts'
import { bodyOf, type Effects } from './client-loops.ts'
import { WIRE_LOOPS } from './wire-loops.ts'

const [folder = '', name = '', url = '', key = '', life = ''] = process.argv.slice(2)
const file = join(folder, 'effects')
const read = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
const effects: Effects = { add: (line) => appendFileSync(file, `${line}\n`), has: (line) => read().includes(line) }
const see = (what: string): void => appendFileSync(join(folder, `seen-${life}`), `${JSON.stringify(what)}\n`)
/** Far more than it takes: everything is reserved and charged, nothing is refused. */
const BUDGET = { tokens: 1_000_000_000 }

await using cs = await open({ path: join(folder, 'data') })
const { loop } = WIRE_LOOPS[name as keyof typeof WIRE_LOOPS]
const body = bodyOf(cs, { effects, loop: (act) => loop({ act, url, key, see }), turns: 0 })
const output =
  life === 'replay'
    ? (await cs.replay('agent', body)).output
    : await cs.run({ id: 'agent', name: 'agent', budget: BUDGET }, body)
let record = ''
for await (const part of cs.export('agent')) record += part
writeFileSync(join(folder, 'record.jsonl'), record)
// Packages may write to standard output by themselves.
writeFileSync(join(folder, `given-${life}`), String(output))
