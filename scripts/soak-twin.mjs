// A long run of programs over the public SDK: each is run to its end, killed at every command and resumed, and replayed from the ledger and from a file, in
// process and every tenth over HTTP. All executions must observe the same. Run after a build. `--programs N` (default 500), `--seed N`, `--minutes N` (no
// program is started after that), `--each` (a line for each program). The first program with a difference is shrunk and printed; exit code 1.
import { parseArgs } from 'node:util'

const TEST = new URL('../dist/test/', import.meta.url)
const { livePrograms } = await import(new URL('support/twin-lives.js', TEST).href)
const { HOMES } = await import(new URL('agent/homes.js', TEST).href)
const { values } = parseArgs({
  options: {
    programs: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    each: { type: 'boolean' },
  },
})
const programs = Number(values.programs ?? 500)
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const endMs = values.minutes === undefined ? Number.POSITIVE_INFINITY : Date.now() + Number(values.minutes) * 60_000
const SHARE = { 'in process': 1, 'over HTTP': 10 }

console.log(`seed ${seed}`)
for (const { name, open } of HOMES) {
  await using home = await open()
  const many = Math.ceil(programs / SHARE[name])
  const beganMs = Date.now()
  const told = (line) => {
    if (values.each === true || line.includes(': failed, ')) console.log(`${name}: ${line}`)
  }
  const goesOn = () => Date.now() < endMs
  const lived = await livePrograms(home, { programs: many, seed, every: true, goesOn, told })
  console.log(
    `${name}: ${lived.programs} programs, ${lived.kills} kills in ${Math.round((Date.now() - beganMs) / 1000)} s, all the same`,
  )
}
process.exit(0)
